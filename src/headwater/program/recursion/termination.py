"""Recursions that may never end: arguments that can take ever new values around a cycle (warnings, never errors).

Values come from the data unless a rule makes new ones: by arithmetic, by building lists or texts, by a
user's function. A recursion ends if no argument is fed back into itself through such a step. If one is, it
may still end, and there is no warning (HW701) when

- the rule bounds it: `C < k`, `length(P) < 9`, `!inPath(P2, S)`;
- only the best rows are kept: the argument is aggregated by `min`, `max` or `top` in the recursion, or a rewrite
  keeps only the rows that a `min` or `max` over it can see, which it does where no output shows the others;
- it is a stage, and all that is asked for names a stage.

So the question is asked of the program as written, for its words, and of the rewritten one, for what will run.

Sums inside a recursion end only on data without cycles (HW702).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from headwater.core.diagnostics import Diagnostic, Severity
from headwater.core.functions.function import Registry, lookup
from headwater.core.functions.registry import FUNCTIONS
from headwater.core.graph import components
from headwater.language import syntax
from headwater.language.terms import assigned, body_atoms, names, positive_atoms
from headwater.program.model import Program
from headwater.program.names import rule_name
from headwater.program.recursion.cycles import Cycle, cycles
from headwater.program.recursion.stages import stage_columns
from headwater.program.recursion.strata import wavers

Place: TypeAlias = tuple[str, int]  # a column of a relation

_ADDS_UP = frozenset({"sum", "count", "avg", "mcount", "msum", "collect"})
_NO_REVISIT = frozenset({"inPath", "member", "contains"})


@dataclass(frozen=True, slots=True)
class _ValueStep:
    """In `rule`, the value in column `start` of a recursive goal goes into column `end` of the head."""

    rule: syntax.Rule
    start: Place
    end: Place
    variable: str  # what stands in the head
    source: str  # what stands in the goal
    grows: str | None  # the operation that makes new values on the way, if any


def termination_warnings(program: Program, running: Program, registry: Registry = FUNCTIONS) -> Iterator[Diagnostic]:
    """What may never end in a checked program, of which `running` is left after all rewrites."""
    found = cycles(program)
    if not found:
        return
    runs = {relation.name for relation in running.relations}
    best = {relation.name for relation in running.relations if relation.selections}
    uses = _uses(program)
    for cycle in found:
        if runs.isdisjoint(cycle.relations):
            continue  # no output needs it
        yield from _endless_sums(cycle)
        stages = stage_columns(cycle.rules, cycle.relations)
        if stages is not None and _names_its_stage(cycle, stages, uses):
            continue
        steps = [step for rule in cycle.recursive_rules() for step in _steps(rule, cycle, registry)]
        if stages is not None and any(wavers(rule, cycle.relations) for rule in cycle.rules):
            steps = [step for step in steps if stages[step.end[0]] == step.end[1]]
        yield from _growing(cycle, steps, best)


def _uses(program: Program) -> dict[str, list[tuple[str | None, syntax.Atom]]]:
    """What asks for each relation: queries (None) and, in a program with queries, heads of rules."""
    found: dict[str, list[tuple[str | None, syntax.Atom]]] = {}
    if program.queries:
        for query in program.queries:
            found.setdefault(query.atom.relation, []).append((None, query.atom))
        for rule in program.rules:
            for atom, _ in body_atoms(rule):
                found.setdefault(atom.relation, []).append((rule.head.relation, atom))
    return found


def _names_its_stage(
    cycle: Cycle, stages: dict[str, int], uses: dict[str, list[tuple[str | None, syntax.Atom]]]
) -> bool:
    """Whether every use of the cycle from outside says which stage it wants."""
    outside = [atom for name in cycle.relations for user, atom in uses.get(name, ()) if user not in cycle.relations]
    return bool(outside) and all(isinstance(atom.args[stages[atom.relation]], syntax.Constant) for atom in outside)


def _steps(rule: syntax.Rule, cycle: Cycle, registry: Registry) -> Iterator[_ValueStep]:
    """How values flow from the recursive goals of a rule into its head."""
    places: dict[str, list[Place]] = {}
    for atom in positive_atoms(rule):
        if atom.relation in cycle.relations:
            for place, arg in enumerate(atom.args):
                if isinstance(arg, syntax.Variable):
                    places.setdefault(arg.name, []).append((atom.relation, place))
    terms = assigned(rule)
    for place, made in enumerate(rule.head.args):
        if isinstance(made, syntax.Variable):
            for source, grows in _sources(made.name, terms, registry):
                for start in places.get(source, ()):
                    yield _ValueStep(rule, start, (rule.head.relation, place), made.name, source, grows)


def _sources(name: str, terms: dict[str, syntax.Term], registry: Registry) -> Iterator[tuple[str, str | None]]:
    """The variables that a variable is computed from, each with the operation that makes new values, if any."""
    seen: set[tuple[str, str | None]] = set()
    waiting: list[tuple[str, str | None]] = [(name, None)]
    while waiting:
        top = waiting.pop()
        if top in seen:
            continue
        seen.add(top)
        if top[0] in terms:
            waiting.extend(_leaves(terms[top[0]], top[1], registry))
        else:
            yield top


def _leaves(term: syntax.Term, grows: str | None, registry: Registry) -> Iterator[tuple[str, str | None]]:
    match term:
        case syntax.Variable(name):
            yield name, grows
        case syntax.Constant() | syntax.Wildcard():
            pass
        case syntax.Binary(op, left, right):
            makes = grows if op == "%" else grows or op
            yield from _leaves(left, makes, registry)
            yield from _leaves(right, makes, registry)
        case syntax.ListTerm(items):
            for item in items:
                yield from _leaves(item, grows or "[]", registry)
        case syntax.Call(name, args):
            function = lookup(registry, name)
            makes = grows or name if function is None or function.grows else grows
            for arg in args:
                yield from _leaves(arg, makes, registry)
        case _:
            assert_never(term)


def _growing(cycle: Cycle, steps: list[_ValueStep], best: set[str]) -> Iterator[Diagnostic]:
    part_of, feeding = _feeding(steps)
    held = {part_of[place] for place in part_of if place[0] in best}
    for together in _by_rule(feeding):
        open_steps = [step for step in together if part_of[step.end] not in held]
        if open_steps and not any(_bounds(step) for step in together):
            yield _warning(cycle, open_steps)


def _feeding(steps: list[_ValueStep]) -> tuple[dict[Place, int], list[_ValueStep]]:
    """The part that each place belongs to, with those that it feeds and is fed by; the steps that make a part grow."""
    edges: dict[Place, list[Place]] = {}
    for step in steps:
        edges.setdefault(step.start, []).append(step.end)
        edges.setdefault(step.end, [])
    part_of = {place: part for part, members in enumerate(components(edges)) for place in members}
    return part_of, [step for step in steps if step.grows and part_of[step.start] == part_of[step.end]]


def _by_rule(steps: list[_ValueStep]) -> list[list[_ValueStep]]:
    found: dict[int, list[_ValueStep]] = {}
    for step in steps:
        found.setdefault(id(step.rule), []).append(step)
    return list(found.values())


def bounded(program: Program, registry: Registry = FUNCTIONS) -> frozenset[str]:
    """Relations of recursions that keep all rows and whose values a goal of each rule stops from growing for ever.

    Such a recursion may take many rounds and is still no endless one. Where the best rows are kept, or values are added
    up, the data decides.
    """
    found: set[str] = set()
    for cycle in cycles(program):
        if any(isinstance(arg, syntax.Aggregate) for rule in cycle.rules for arg in rule.head.args):
            continue
        steps = [step for rule in cycle.recursive_rules() for step in _steps(rule, cycle, registry)]
        if all(any(map(_bounds, together)) for together in _by_rule(_feeding(steps)[1])):
            found |= cycle.relations
    return frozenset(found)


def _bounds(step: _ValueStep) -> bool:
    """Whether a goal of the rule stops this argument from growing for ever."""
    tied = {step.variable, step.source}
    for goal in step.rule.body:
        match goal:
            case syntax.Condition(call, negated=True) if call.function in _NO_REVISIT:
                if any(tied & names(arg) for arg in call.args):
                    return True
            case syntax.Comparison("=", syntax.Call(name, args), syntax.Constant(False)) if name in _NO_REVISIT:
                if any(tied & names(arg) for arg in args):
                    return True
            case syntax.Comparison(op, left, right) if op not in ("=", "!="):
                if op in (">", ">="):
                    left, right = right, left  # now left < right
                above = bool(tied & names(left)) and not tied & names(right)
                below = bool(tied & names(right)) and not tied & names(left)
                if (above and step.grows != "-") or (below and step.grows in ("-", "*", "/")):
                    return True
            case _:
                pass
    return False


def _warning(cycle: Cycle, steps: list[_ValueStep]) -> Diagnostic:
    rule = steps[0].rule
    columns = sorted({(step.end[1], step.variable) for step in steps})
    listed = " and ".join(f"`{variable.partition(chr(39))[0]}`" for _, variable in columns)
    grow = "grows" if len(columns) == 1 else "grow"
    span = rule.head.args[columns[0][0]].span or rule.head.span
    message = f"this recursion may never end: {listed} {grow} each time round"
    note = f"{rule_name(rule)} makes new values; {cycle.around(rule, steps[0].start[0])}"
    return Diagnostic("HW701", message, span, note=note, hint=_way_out(steps), severity=Severity.WARNING)


def _way_out(steps: list[_ValueStep]) -> str:
    numbers = [step for step in steps if step.grows in ("+", "-", "*", "/")]
    paths = [step for step in steps if step.grows in ("concatPath", "concat", "append", "[]")]
    ways = []
    if numbers:
        name = numbers[0].variable.partition("'")[0]
        ways.append(f"bound it (`{name} {'> 0' if numbers[0].grows == '-' else '< 100'}`)")
        ways.append(f"keep only the best (`min<{name}>`)")
    if paths:
        ways.append(f"refuse to come back (`!inPath({paths[0].source.partition(chr(39))[0]}, X)`)")
    return ", or ".join(ways or ["bound it by a comparison"])


def _endless_sums(cycle: Cycle) -> Iterator[Diagnostic]:
    """Rules that add up values of their own cycle without a stage."""
    if stage_columns(cycle.rules, cycle.relations) is not None:
        return
    for rule in cycle.recursive_rules():
        for arg in rule.head.args:
            if isinstance(arg, syntax.Aggregate) and arg.function in _ADDS_UP and _is_fed_back(rule, arg, cycle):
                read = next(atom.relation for atom, _ in body_atoms(rule) if atom.relation in cycle.relations)
                yield Diagnostic(
                    "HW702",
                    f"`{arg.function}` adds up values of its own recursion, which ends only if the data has no cycle",
                    arg.span or rule.head.span,
                    note=cycle.around(rule, read),
                    severity=Severity.WARNING,
                )


def _is_fed_back(rule: syntax.Rule, arg: syntax.Aggregate, cycle: Cycle) -> bool:
    inside = {
        each.name
        for atom in positive_atoms(rule)
        if atom.relation in cycle.relations
        for each in atom.args
        if isinstance(each, syntax.Variable)
    }
    value = arg.args[-1]
    if not isinstance(value, syntax.Variable):
        return False
    return any(name in inside for name, _ in _sources(value.name, assigned(rule), FUNCTIONS))
