"""Keep, in a recursive relation, only the rows that a min or max over it can see (000 section 6; 002 section 5.1.1).

`spCost(S, D, min<C>) :- path(S, D, Z, P, C).` needs only the cheapest paths; so do rules that join `path` with `spCost`
on the group and the value, and aggregates that carry other columns along (`min<(C, P)>`). If a cheapest path is always
built from cheapest paths, the others need not be kept, nor built upon: `path` gets a `Selection` and its recursion ends
where longer paths only cost more. Several aggregates over one relation give several selections; a row is kept while it
is best for at least one.

Why it is exact. Let B be the best rows of the relation without selection. For each selection, in every recursive
rule, put for a recursive goal's row another one of the same group with a better value: by `carries` the
body still holds and the head row stays in its group and gets strictly better. So a row of B rests only on rows
of B, and, as derivations are finite, all of B is still derived; nothing outside it is kept. This needs no
sign of the costs, only that the program without selection terminates. Where the head's value merely gets no
worse (`larger(C1, C2)`), the best *value* is still found, but not every row that ties: then it fires only
if no rule but the aggregates reads the relation.

What it does not promise: sums of floats that tie only by rounding count as strictly ordered, so of two rows whose
rounded sums are equal one may be missing; the best values are exact all the same.

Does not fire when anything else can see rows that are not best: the relation is an output, negated, read by another
rule; or when a recursive rule looks at more than group and value of the row it builds on
(`!inPath(P2, S)`: the better path may be the one that is refused), or is part of a larger cycle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.language.syntax import Aggregate, Atom, Constant, Rule, Variable
from headwater.language.terms import body_atoms, goal_names
from headwater.program.model import Program, Relation, Selection
from headwater.program.recursion.aggregates import aggregate_columns, carried_columns
from headwater.program.recursion.cycles import cycles
from headwater.rewrite.shapes import path_ends, rule_shapes
from headwater.rewrite.substructure import carries

_BEST = {"min": "min", "mmin": "min", "max": "max", "mmax": "max"}


@dataclass(frozen=True, slots=True)
class _Use:
    """An aggregate rule over the relation: what it selects, and what its head says about each group column."""

    selection: Selection
    head: str
    value_at: int  # position of the aggregate in the head
    group_at: tuple[int | Constant, ...]  # for each group column: its position in the head, or the constant asked for
    alone: bool  # the body is the relation's atom and nothing else
    carries: bool  # it carries other columns of the best rows along, and so must see all that tie


def aggregate_selection(program: Program) -> Program:
    outputs = frozenset(program.outputs)
    relations = {relation.name: relation for relation in program.relations}
    readers: dict[str, list[Rule]] = {}
    rules_of: dict[str, list[Rule]] = {}
    for rule in program.rules:
        rules_of.setdefault(rule.head.relation, []).append(rule)
        for name in {atom.relation for atom, _ in body_atoms(rule)}:
            readers.setdefault(name, []).append(rule)
    chosen: dict[str, tuple[Selection, ...]] = {}
    for cycle in cycles(program):
        name, *others = cycle.relations
        relation = relations[name]
        if not others and name not in outputs and relation.key is None and not relation.selections:
            selections = _selections(relation, relations, rules_of, readers[name])
            if selections:
                chosen[name] = selections
    if not chosen:
        return program
    return replace(
        program,
        relations=tuple(
            replace(relation, selections=chosen[relation.name]) if relation.name in chosen else relation
            for relation in program.relations
        ),
    )


def _selections(
    relation: Relation,
    relations: Mapping[str, Relation],
    rules_of: Mapping[str, Sequence[Rule]],
    readers: Sequence[Rule],
) -> tuple[Selection, ...]:
    """The selections to add, empty unless every use of the relation is accounted for."""
    own = rules_of[relation.name]
    if any(aggregate_columns(rule.head) for rule in own):
        return ()
    uses: list[_Use] = []
    joining: list[Rule] = []
    for rule in readers:
        if rule.head.relation != relation.name:
            use = _aggregate_use(rule, relation)
            if use is None:
                joining.append(rule)
            else:
                uses.append(use)
    if not all(_sees_only_best(rule, relation, uses, rules_of) for rule in joining):
        return ()
    recursive = [rule for rule in own if any(atom.relation == relation.name for atom, _ in body_atoms(rule))]
    if any(negated for rule in recursive for atom, negated in body_atoms(rule) if atom.relation == relation.name):
        return ()
    selections = tuple(dict.fromkeys(use.selection for use in uses))
    if any(relation.columns[selection.value].nullable for selection in selections):
        return ()  # what is built on a better value need not be better: it may be null all the same
    strictly = bool(joining) or relation.time is not None or any(use.carries for use in uses)
    ends = {relation.name: path_ends(relation, own, relations)}
    for rule in recursive:
        shapes = rule_shapes(rule, relations, ends)
        if not all(carries(rule, selection, shapes, strictly=strictly) for selection in selections):
            return ()
    return selections


def _aggregate_use(rule: Rule, relation: Relation) -> _Use | None:
    """The rule as `q(G, min<C>) :- p(G, C, ...), ...`, where goals beside `p` look at nothing of it but G."""
    reading = [(atom, negated) for atom, negated in body_atoms(rule) if atom.relation == relation.name]
    carried = carried_columns(rule.head)
    aggregates = [
        (at, arg) for at, arg in enumerate(rule.head.args) if isinstance(arg, Aggregate) and at not in carried
    ]
    if len(reading) != 1 or reading[0][1] or len(aggregates) != 1:
        return None
    (atom, _), (value_at, aggregate) = reading[0], aggregates[0]
    match aggregate:
        case Aggregate(function=function, args=(Variable(name=value_name),)) if function in _BEST:
            pass
        case _:
            return None
    beside = [goal for goal in rule.body if goal is not atom]
    elsewhere = {name for goal in beside for name in goal_names(goal)}
    head_at = {arg.name: at for at, arg in enumerate(rule.head.args) if isinstance(arg, Variable)}
    named = [arg.name for arg in atom.args if isinstance(arg, Variable)]
    if len(set(named)) != len(named) or value_name not in named:
        return None
    group: list[int] = []
    group_at: list[int | Constant] = []
    value: int | None = None
    for at, arg in enumerate(atom.args):
        match arg:
            case Constant():
                group.append(at)
                group_at.append(arg)
            case Variable(name=name) if name == value_name:
                if name in elsewhere or name in head_at:
                    return None
                value = at
            case Variable(name=name) if name in head_at and at != relation.time:
                group.append(at)
                group_at.append(head_at[name])
            case Variable(name=name) if name in elsewhere:
                return None
            case _:
                continue
    assert value is not None
    selection = Selection(tuple(group), value, "min" if _BEST[aggregate.function] == "min" else "max")
    return _Use(selection, rule.head.relation, value_at, tuple(group_at), alone=not beside, carries=bool(carried))


def _sees_only_best(
    rule: Rule, relation: Relation, uses: Sequence[_Use], rules_of: Mapping[str, Sequence[Rule]]
) -> bool:
    """Each goal over the relation stands beside an aggregate of it, joined on the group and the value."""
    positive = [atom for atom, negated in body_atoms(rule) if not negated]
    for atom, negated in body_atoms(rule):
        if atom.relation == relation.name and not (
            not negated and any(_joined(atom, other, use, rules_of) for other in positive for use in uses)
        ):
            return False
    return True


def _joined(atom: Atom, aggregate: Atom, use: _Use, rules_of: Mapping[str, Sequence[Rule]]) -> bool:
    """Whether the aggregate's value in this group can only be the relation's own best."""
    if aggregate.relation != use.head or not (use.alone or len(rules_of[use.head]) == 1):
        return False
    if not _same(atom.args[use.selection.value], aggregate.args[use.value_at]):
        return False
    return all(
        _same(atom.args[at], stands if isinstance(stands, Constant) else aggregate.args[stands])
        for at, stands in zip(use.selection.group, use.group_at, strict=True)
    )


def _same(left: object, right: object) -> bool:
    match left, right:
        case Variable(name=one), Variable(name=other):
            return one == other
        case Constant(value=one, type=its), Constant(value=other, type=others):
            return one == other and its == others
        case _:
            return False
