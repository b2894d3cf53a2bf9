"""Which aggregates and negations may stand where: stratification, and what replaces it inside a recursion.

Negation inside a cycle is an error (HW501). So are count, sum and avg (HW502), unless stages or a linear sum
justify them (`headwater.program.recursion.stages`), and values of monotone aggregates that do not flow monotonically
(HW504, see `headwater.program.recursion.monotone`). All rules for one relation must agree on what they aggregate
(HW503), and a recursive relation aggregates one column (HW505). `top`, `mcount` and `msum` stand alone in a head
(HW507), and what is carried along goes with one `min` or `max` (HW514).
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.language.syntax import Aggregate, Rule
from headwater.language.terms import body_atoms
from headwater.program.model import Program
from headwater.program.names import rule_name
from headwater.program.recursion.aggregates import (
    AGGREGATES,
    PICK_ONE,
    WITH,
    aggregate_columns,
    carried_columns,
    value_columns,
)
from headwater.program.recursion.cycles import Cycle, cycles
from headwater.program.recursion.monotone import monotone_problems
from headwater.program.recursion.stages import is_linear_sum, stage_columns
from headwater.program.recursion.strata import wavers

_STAND_ALONE = frozenset({"top", "mcount", "msum"})


def strata_problems(program: Program) -> Iterator[Diagnostic]:
    yield from _alone(program)
    yield from _carried(program)
    yield from _pooling(program)
    for cycle in cycles(program):
        yield from cycle_problems(cycle)


def cycle_problems(cycle: Cycle) -> Iterator[Diagnostic]:
    """Negations and aggregates that may not stand inside this cycle."""
    yield from _negations(cycle)
    yield from _aggregates(cycle)


def _negations(cycle: Cycle) -> Iterator[Diagnostic]:
    reported: set[tuple[str, Span | None]] = (
        set()
    )  # one NOT IN in a query becomes several rules, and is still one mistake
    for rule in cycle.rules:
        for atom, negated in body_atoms(rule):
            if negated and atom.relation in cycle.relations:
                span = atom.span or rule.span
                if span is not None and (atom.relation, span) in reported:
                    continue
                reported.add((atom.relation, span))
                message = f"`{atom.relation}` is negated inside the cycle that defines it"
                hint = "split the relation in two, so that the negated one is complete before it is asked"
                yield Diagnostic("HW501", message, span, note=cycle.around(rule, atom.relation), hint=hint)


def _aggregates(cycle: Cycle) -> Iterator[Diagnostic]:
    several = [rule for rule in cycle.rules if len(value_columns(rule.head)) > 1]
    for rule in several:
        message = f"recursive relation `{rule.head.relation}` aggregates more than one column"
        hint = "derive one relation per aggregate and join them"
        yield Diagnostic("HW505", message, rule.head.span or rule.span, hint=hint)
    if several:
        return
    wavering = [rule for rule in cycle.rules if wavers(rule, cycle.relations)]
    if wavering:
        if stage_columns(cycle.rules, cycle.relations) is None and not is_linear_sum(cycle.rules, cycle.relations):
            for rule in wavering:
                yield _wavering(rule, cycle)
        return
    problems = list(monotone_problems(cycle))
    if problems and stage_columns(cycle.rules, cycle.relations) is None:
        yield from problems


def _wavering(rule: Rule, cycle: Cycle) -> Diagnostic:
    aggregate = next(arg for arg in rule.head.args if isinstance(arg, Aggregate))
    read = next(atom.relation for atom, _ in body_atoms(rule) if atom.relation in cycle.relations)
    monotone = {"count": "mcount", "sum": "msum"}.get(aggregate.function)
    hint = "give the cycle a stage argument that counts up (`J1 = J + 1`)"
    if monotone:
        hint += f", or use `{monotone}<(K, N)>` if the values only grow"
    message = f"`{aggregate.function}` stands inside a recursion, where more rows could undo its value"
    return Diagnostic("HW502", message, aggregate.span or rule.span, note=cycle.around(rule, read), hint=hint)


def _alone(program: Program) -> Iterator[Diagnostic]:
    """`top` gives several rows per group, and `mcount` and `msum` keep values of their own: each stands alone."""
    for rule in program.rules:
        shapes = [arg for arg in rule.head.args if isinstance(arg, Aggregate)]
        single = next((shape for shape in shapes if shape.function in _STAND_ALONE), None)
        if single is not None and len(shapes) > 1:
            message = f"`{single.function}` stands beside another aggregate in the head of `{rule.head.relation}`"
            hint = f"derive `{single.function}` in a relation of its own and join the two by their group"
            yield Diagnostic("HW507", message, single.span or rule.span, hint=hint)


def _carried(program: Program) -> Iterator[Diagnostic]:
    """What is carried along goes with the best value of exactly one aggregate, which is none of those that add up."""
    for rule in program.rules:
        carried = carried_columns(rule.head)
        if not carried:
            continue
        shapes = [arg for arg in rule.head.args if isinstance(arg, Aggregate) and arg.function != WITH]
        if len(shapes) != 1 or shapes[0].function not in PICK_ONE:
            beside = " and ".join(f"`{shape.function}`" for shape in shapes) or "no aggregate"
            arg = rule.head.args[carried[0]]
            message = f"a value is carried along with {beside} in the head of `{rule.head.relation}`"
            note = "it goes with the best value of one `min` or `max`, as in `min<(C, P)>`"
            hint = "derive the other aggregates in a relation of their own and join the two by their group"
            yield Diagnostic("HW514", message, arg.span or rule.span, note=note, hint=hint)


def _pooling(program: Program) -> Iterator[Diagnostic]:
    """All rules for one relation pool their bindings, so they must aggregate the same way."""
    first: dict[str, Rule] = {}
    for rule in program.rules:
        if aggregate_columns(rule.head):
            first.setdefault(rule.head.relation, rule)
    for rule in program.rules:
        model = first.get(rule.head.relation)
        if model is None or model is rule:
            continue
        if not aggregate_columns(rule.head):
            kinds = [arg.function for arg in model.head.args if isinstance(arg, Aggregate)]
            fixed = next((kind for kind in kinds if not AGGREGATES[kind].pools), None)
            if fixed is not None:
                message = f"a plain value cannot be added to `{rule.head.relation}`, a `{fixed}` by {rule_name(model)}"
                hint = f"aggregate with `{fixed}` in every rule, or derive the plain rows under another name"
                yield Diagnostic("HW506", message, rule.head.span or rule.span, hint=hint)
        elif _shape(rule) != _shape(model):
            message = f"the rules for `{rule.head.relation}` aggregate in different ways"
            note = f"{rule_name(model)} has {_shown(model)}, this one {_shown(rule)}"
            yield Diagnostic("HW503", message, rule.head.span or rule.span, note=note)


def _shape(rule: Rule) -> tuple[tuple[int, str, int | None], ...]:
    return tuple(
        (place, arg.function, arg.limit) for place, arg in enumerate(rule.head.args) if isinstance(arg, Aggregate)
    )


def _shown(rule: Rule) -> str:
    return " and ".join(
        f"`{function}{f' of {limit}' if limit else ''}` in column {place + 1}"
        for place, function, limit in _shape(rule)
    )
