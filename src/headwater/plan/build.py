"""Program to plan in one place: draft tables and rules, choose delta rules, put them into strata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from headwater.language.syntax import Assign, Atom, Negation
from headwater.plan import delta_rules
from headwater.plan.model import Aggregation, FlatRule, Plan, PlannedStratum, Ships, Source
from headwater.plan.placement import place
from headwater.plan.tables import Draft, Drafts, draft
from headwater.program.model import Program
from headwater.program.recursion.strata import Mode, Stratum, strata
from headwater.program.recursion.termination import bounded
from headwater.program.types.inference import Types

_NOTHING: Mapping[int, Source] = MappingProxyType({})


def build(
    program: Program, types: Types, *, ships: Ships | None = None, owned: Mapping[int, Source] = _NOTHING
) -> Plan:
    """The plan of a checked program whose types are known as far as data has shown them.

    With `ships`, of a localised program that several shards evaluate together. With `owned`, of a program that every
    shard evaluates for itself: the rules named there fire only for the values that a shard owns.
    """
    drafts = draft(program, types, owned)
    shipments = () if ships is None else place(program, drafts, ships)
    depth: dict[str, int] = {}
    for one in drafts.rules:
        atoms = sum(isinstance(goal, Atom) for goal in one.body)
        depth[one.table] = max(depth.get(one.table, 0), atoms)
    tables = {name: replace(table, depth=depth.get(name, 0)) for name, table in drafts.tables.items()}
    layers = strata(program)
    weights = _weights(program, layers)
    rules = tuple(
        _flatten(number, replace(one, weights=weights[_home(one.table, drafts)]), drafts)
        for number, one in enumerate(drafts.rules)
    )
    rules_of: dict[str, list[int]] = {}
    for rule in rules:
        rules_of.setdefault(rule.table, []).append(rule.id)
    bags_of: dict[str, list[str]] = {}
    for bag, home in drafts.homes.items():
        bags_of.setdefault(home, []).append(bag)
    aggregation_of = {one.table: at for at, one in enumerate(drafts.aggregations)}
    ends = bounded(program)
    planned: list[PlannedStratum] = []
    for stratum in layers:
        parts = tuple(part for part, relation in drafts.parts.items() if relation in stratum.relations)
        if parts:
            made = tuple(number for part in parts for number in rules_of[part])
            planned.append(PlannedStratum(parts, made, (), recursive=False, mode=Mode.MONOTONE, computes=False))
        names = [name for relation in stratum.relations for name in (relation, *bags_of.get(relation, ()))]
        own = tuple(number for name in names for number in rules_of.get(name, ()))
        inside = [drafts.aggregations[aggregation_of[name]] for name in names if name in aggregation_of]
        planned.append(
            PlannedStratum(
                tables=tuple(names),
                rules=own,
                aggregations=tuple(aggregation_of[name] for name in names if name in aggregation_of),
                recursive=stratum.recursive,
                mode=stratum.mode,
                computes=stratum.recursive
                and (any(_computes(drafts.rules[number]) for number in own) or any(map(_adds_up, inside))),
                bounded=ends.issuperset(stratum.relations),
            )
        )
    facts = tuple(rule.id for rule in rules if tables[rule.table].base)
    aggregations = tuple(drafts.aggregations)
    return Plan(
        tuple(tables.values()),
        rules,
        aggregations,
        tuple(planned),
        facts,
        program.rules,
        types.nulls.present,
        shipments,
    )


class _Weights(dict[str, int]):
    """Expected sizes as seen from one stratum: base 0, lower strata 1, the stratum itself 2."""

    def __init__(self, derived: frozenset[str], own: frozenset[str]) -> None:
        self._derived = derived
        super().__init__((name, 2) for name in own)

    def __missing__(self, name: str) -> int:
        return 1 if name in self._derived else 0


def _weights(program: Program, layers: tuple[Stratum, ...]) -> dict[str, _Weights]:
    derived = frozenset(relation.name for relation in program.relations if relation.derived)
    weights = {relation.name: _Weights(derived, frozenset()) for relation in program.relations}
    for stratum in layers:
        seen = _Weights(derived, frozenset(stratum.relations))
        weights.update((name, seen) for name in stratum.relations)
    return weights


def _home(table: str, drafts: Drafts) -> str:
    """The relation in whose stratum, or before it, a table is filled."""
    return drafts.homes.get(table) or drafts.parts.get(table, table)


def _computes(one: Draft) -> bool:
    return any(isinstance(goal, Assign) for goal in one.body)


def _adds_up(one: Aggregation) -> bool:
    """Whether it makes values that are in none of its bindings."""
    return any(measure.function not in ("min", "max") for measure in one.measures)


def _flatten(number: int, one: Draft, drafts: Drafts) -> FlatRule:
    table = drafts.tables[one.table]
    wanted = [tuple(range(len(table.types)))] if not table.picks else [pick.group for pick in table.picks]
    return FlatRule(
        id=number,
        origin=one.origin,
        table=one.table,
        head=one.head,
        body=one.body,
        atoms=tuple(goal.relation for goal in one.body if isinstance(goal, Atom)),
        negated=tuple(goal.atom.relation for goal in one.body if isinstance(goal, Negation)),
        types=one.types,
        nullable=one.nullable,
        arrive=delta_rules.arrive(one, number),
        forbid=delta_rules.forbid(one, number),
        allow=delta_rules.allow(one, number),
        spontaneous=delta_rules.spontaneous(one, number),
        pulls=tuple(delta_rules.pull(one, number, columns, table.types) for columns in dict.fromkeys(wanted)),
    )
