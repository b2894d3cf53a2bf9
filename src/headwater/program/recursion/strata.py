"""Strata: the relations in the order in which they can be worked out, recursive ones together.

`strata` only orders and classifies; whether a program may be stratified this way is asked by the checks
(`headwater.program.recursion.stratified`), so that a rewritten program can be ordered without being judged again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from headwater.core.graph import components
from headwater.language.syntax import Aggregate, Rule
from headwater.language.terms import body_atoms
from headwater.program.model import Program
from headwater.program.recursion.aggregates import AGGREGATES
from headwater.program.recursion.cycles import Cycle, cycles
from headwater.program.recursion.monotone import monotone_problems
from headwater.program.recursion.stages import stage_columns


class Mode(Enum):
    """How a recursive stratum reaches its fixpoint (a stratum without recursion is MONOTONE)."""

    MONOTONE = "monotone"  # sets, and aggregates that only improve
    STAGED = "staged"  # count, sum or avg inside the cycle: stage by stage, or linear in a sum


@dataclass(frozen=True, slots=True)
class Stratum:
    """`rules` are indexes into the program's rules whose head is here, facts of these relations included.

    `stage` gives the stage column of each of `relations` where the mode is STAGED by an explicit stage; in a
    stratum that is linear in a sum it is None.
    """

    relations: tuple[str, ...]
    rules: tuple[int, ...]
    recursive: bool
    mode: Mode = Mode.MONOTONE
    stage: tuple[int, ...] | None = None


def strata(program: Program) -> tuple[Stratum, ...]:
    """The derived relations in dependency order; base relations and their facts belong to no stratum."""
    known = {relation.name for relation in program.relations if relation.derived}  # perhaps with facts only, by now
    derived = {rule.head.relation for rule in program.rules if rule.body or rule.head.relation in known}
    rules_of: dict[str, list[int]] = {name: [] for name in _in_order(program, derived)}
    reads: dict[str, list[str]] = {name: [] for name in rules_of}
    for index, rule in enumerate(program.rules):
        name = rule.head.relation
        if name in derived:
            rules_of[name].append(index)
            reads[name] += (atom.relation for atom, _ in body_atoms(rule) if atom.relation in derived)
    cycle_of = {name: cycle for cycle in cycles(program) for name in cycle.relations}
    found = []
    for members in components(reads):
        indexes = tuple(sorted(index for name in members for index in rules_of[name]))
        found.append(_stratum(members, indexes, cycle_of.get(members[0])))
    return tuple(found)


def _in_order(program: Program, derived: set[str]) -> dict[str, None]:
    order = dict.fromkeys(relation.name for relation in program.relations if relation.name in derived)
    order.update(dict.fromkeys(rule.head.relation for rule in program.rules if rule.body))
    return order


def _stratum(members: tuple[str, ...], indexes: tuple[int, ...], cycle: Cycle | None) -> Stratum:
    if cycle is None:
        return Stratum(members, indexes, recursive=False)
    needs_stages = any(wavers(rule, cycle.relations) for rule in cycle.rules)
    if not needs_stages and next(monotone_problems(cycle), None) is None:
        return Stratum(members, indexes, recursive=True)
    stages = stage_columns(cycle.rules, cycle.relations)
    if stages is None:
        return Stratum(members, indexes, True, Mode.STAGED if needs_stages else Mode.MONOTONE)
    return Stratum(members, indexes, True, Mode.STAGED, tuple(stages[name] for name in members))


def wavers(rule: Rule, cycle: frozenset[str]) -> bool:
    """Whether the rule aggregates over its own cycle in a way that more rows can undo (count, sum, avg)."""
    if not any(atom.relation in cycle for atom, _ in body_atoms(rule)):
        return False
    return any(
        not AGGREGATES[arg.function].monotone
        for arg in rule.head.args
        if isinstance(arg, Aggregate) and arg.function in AGGREGATES
    )
