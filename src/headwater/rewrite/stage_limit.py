"""Stop a staged recursion at the last stage that is asked for.

A recursion is staged when one argument of each of its relations only ever grows along a derivation: every rule
copies it from the recursive goals (`J`), or counts it up by a constant (`J1 = J + 1`). Then rows of stage 30 rest on
rows of stages up to 30 alone, and when every use from outside names its stage (`query center(_, 30, C, D, V)`)
the rules that count up may stop there: `J < 30` is added beside `J1 = J + 1`.

Guarantees: the rows up to the last stage asked for are exactly those of the program without the limit (aggregates
and negations inside group by, or read, the same stages as before); rows of later stages, which are not asked for,
are not made. This is what lets 004's Query 6 (Lloyd clustering) end.

Does not fire when some use leaves the stage open, when there is no query (then all rows are asked for), or
when a recursive goal's stage is not tied to the head's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from headwater.core.types import Type
from headwater.language.syntax import Assign, Atom, Binary, Comparison, Constant, Rule, Term, Variable
from headwater.language.terms import body_atoms
from headwater.program.model import Program
from headwater.program.recursion.cycles import Cycle, cycles

Positions = Mapping[str, int]


class _Step(NamedTuple):
    """How a rule's head stage follows from `variable`, the stage of its recursive goals."""

    variable: Variable
    by: int


@dataclass(frozen=True, slots=True)
class _Limit:
    """For one cycle: where each of its relations has its stage, and the last stage that is asked for."""

    positions: Positions
    last: int


def stage_limit(program: Program) -> Program:
    if not program.queries:
        return program
    found = cycles(program)
    uses = _uses_from_outside(program, found)
    limits: dict[str, _Limit] = {}
    for cycle, asked in zip(found, uses, strict=True):
        limit = _limit(cycle, asked)
        if limit is not None:
            limits.update(dict.fromkeys(cycle.relations, limit))
    rules = tuple(_bounded(rule, limits.get(rule.head.relation)) for rule in program.rules)
    return program if rules == program.rules else replace(program, rules=rules)


def _limit(cycle: Cycle, uses: list[Atom]) -> _Limit | None:
    for use in uses:
        for position, arg in enumerate(use.args):
            if _stage(arg) is None:
                continue
            positions = _stage_positions(cycle, use.relation, position)
            if positions is not None:
                last = _last_stage(uses, positions)
                if last is not None:
                    return _Limit(positions, last)
    return None


def _uses_from_outside(program: Program, found: list[Cycle]) -> list[list[Atom]]:
    """For each cycle, the goals and queries that read it without being part of it."""
    cycle_of = {name: number for number, cycle in enumerate(found) for name in cycle.relations}
    uses: list[list[Atom]] = [[] for _ in found]
    for query in program.queries:
        if query.atom.relation in cycle_of:
            uses[cycle_of[query.atom.relation]].append(query.atom)
    for rule in program.rules:
        for atom, _ in body_atoms(rule):
            cycle = cycle_of.get(atom.relation)
            if cycle is not None and cycle_of.get(rule.head.relation) != cycle:
                uses[cycle].append(atom)
    return uses


def _stage(arg: Term) -> int | None:
    match arg:
        case Constant(value=int() as value, type=Type.INT):
            return value
        case _:
            return None


def _stage_positions(cycle: Cycle, start: str, position: int) -> Positions | None:
    """The stage argument of every relation of the cycle, found from that of `start`; None if it is not staged.

    Unlike `headwater.program.recursion.stages`, which asks what makes an aggregate well defined, this starts from the
    argument that was asked for, and a stage may also stay as it is all the way round.
    """
    positions = {start: position}
    rules_of: dict[str, list[Rule]] = {}
    for rule in cycle.recursive_rules():
        rules_of.setdefault(rule.head.relation, []).append(rule)
    frontier = [start]
    while frontier:
        name = frontier.pop()
        for rule in rules_of[name]:
            step = _step(rule, positions[name])
            if step is None:
                return None
            for atom, _ in body_atoms(rule):
                if atom.relation not in cycle.relations:
                    continue
                stands = _position_of(atom, step.variable, positions.get(atom.relation))
                if stands is None:
                    return None
                if atom.relation not in positions:
                    positions[atom.relation] = stands
                    frontier.append(atom.relation)
    return positions


def _step(rule: Rule, position: int) -> _Step | None:
    """The stage in the head as a variable of the body plus a constant, zero included."""
    head = rule.head.args[position]
    if not isinstance(head, Variable):
        return None
    for goal in rule.body:
        if isinstance(goal, Assign) and goal.variable.name == head.name:
            match goal.term:
                case Variable() as below:
                    return _Step(below, 0)
                case Binary("+", Variable() as below, Constant(value=int() as by, type=Type.INT)) if by >= 0:
                    return _Step(below, by)
                case Binary("+", Constant(value=int() as by, type=Type.INT), Variable() as below) if by >= 0:
                    return _Step(below, by)
                case _:
                    return None
    return _Step(head, 0)


def _position_of(atom: Atom, variable: Variable, known: int | None) -> int | None:
    """Where the stage stands in a recursive goal: at the known position, or at the only one where it occurs."""
    found = [at for at, arg in enumerate(atom.args) if isinstance(arg, Variable) and arg.name == variable.name]
    if known is not None:
        return known if known in found else None
    return found[0] if len(found) == 1 else None


def _last_stage(uses: list[Atom], positions: Positions) -> int | None:
    stages = [_stage(use.args[positions[use.relation]]) for use in uses]
    known = [stage for stage in stages if stage is not None]
    return max(known) if len(known) == len(stages) else None


def _bounded(rule: Rule, limit: _Limit | None) -> Rule:
    if limit is None or not any(atom.relation in limit.positions for atom, _ in body_atoms(rule)):
        return rule
    step = _step(rule, limit.positions[rule.head.relation])
    if step is None or step.by == 0:
        return rule
    variable = replace(step.variable, location=False)
    bound = Comparison("<", variable, Constant(limit.last - step.by + 1, Type.INT))
    return rule if bound in rule.body else replace(rule, body=(*rule.body, bound))
