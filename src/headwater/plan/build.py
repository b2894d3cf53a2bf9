"""Program to plan in one place: draft tables and rules, choose delta rules and loops, put them into strata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from headwater.language.syntax import Assign, Atom, Negation
from headwater.plan import delta_rules
from headwater.plan.drafts import Draft, Drafts, draft
from headwater.plan.loops import alone, pull_with_loop, with_loop
from headwater.plan.model import Aggregation, FlatRule, FrontierLoop, Plan, PlannedStratum, Ships, Source, Table
from headwater.plan.placement import place
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
    layers = strata(program)
    weights, keys = _weights(program, layers), dict(_keys(program, drafts))
    rules = [
        flatten(
            number,
            replace(rule, weights=weights[_home(rule.table, drafts)], keys=keys, filtered=program.filters),
            drafts.tables,
        )
        for number, rule in enumerate(drafts.rules)
    ]
    planned = tuple(_strata(program, layers, drafts))
    shipped = {shipment.table for shipment in shipments}
    for stratum in planned:
        if stratum.recursive:
            own = [rules[number] for number in stratum.rules]
            for rule in alone(stratum, own, outboxes=not shipped.isdisjoint(stratum.tables)):
                rules[rule.id] = rule
    return Plan(
        tuple(_tables(drafts, rules)),
        tuple(rules),
        tuple(drafts.aggregations),
        planned,
        tuple(rule.id for rule in rules if drafts.tables[rule.table].base),
        program.rules,
        types.nulls.present,
        shipments,
    )


def _tables(drafts: Drafts, rules: Iterable[FlatRule]) -> Iterable[Table]:
    """The tables, with what the rules that fill them ask for."""
    depth: dict[str, int] = {}
    clusters: dict[str, int] = {}
    for rule in rules:
        depth[rule.table] = max(depth.get(rule.table, 0), len(rule.atoms))
        for delta_rule in rule.arrive:
            if isinstance(delta_rule.loop, FrontierLoop) and delta_rule.loop.clusters is not None:
                clusters[rule.table] = delta_rule.loop.clusters
    for name, table in drafts.tables.items():
        yield replace(table, depth=depth.get(name, 0), clusters=clusters.get(name))


def _strata(program: Program, layers: tuple[Stratum, ...], drafts: Drafts) -> Iterable[PlannedStratum]:
    rules_of: dict[str, list[int]] = {}
    for number, rule in enumerate(drafts.rules):
        rules_of.setdefault(rule.table, []).append(number)
    bags_of: dict[str, list[str]] = {}
    for bag, home in drafts.homes.items():
        bags_of.setdefault(home, []).append(bag)
    aggregation_of = {aggregation.table: at for at, aggregation in enumerate(drafts.aggregations)}
    ends = bounded(program)
    for stratum in layers:
        parts = tuple(part for part, relation in drafts.parts.items() if relation in stratum.relations)
        if parts:
            made = tuple(number for part in parts for number in rules_of[part])
            yield PlannedStratum(parts, made, (), recursive=False, mode=Mode.MONOTONE, computes=False)
        names = [name for relation in stratum.relations for name in (relation, *bags_of.get(relation, ()))]
        own = tuple(number for name in names for number in rules_of.get(name, ()))
        inside = tuple(aggregation_of[name] for name in names if name in aggregation_of)
        computes = any(_computes(drafts.rules[number]) for number in own)
        yield PlannedStratum(
            tables=tuple(names),
            rules=own,
            aggregations=inside,
            recursive=stratum.recursive,
            mode=stratum.mode,
            computes=stratum.recursive and (computes or any(_adds_up(drafts.aggregations[at]) for at in inside)),
            bounded=ends.issuperset(stratum.relations),
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


def _keys(program: Program, drafts: Drafts) -> Iterable[tuple[str, frozenset[int]]]:
    """Columns on which no two rows of a table agree: a declared key, or the group of an aggregate."""
    for relation in program.relations:
        if relation.key is not None:
            yield relation.name, frozenset(relation.key)
    for name, table in drafts.tables.items():
        if table.single:
            yield name, frozenset(table.picks[0].group)
    for aggregation in drafts.aggregations:
        yield aggregation.table, frozenset(aggregation.group)


def _home(table: str, drafts: Drafts) -> str:
    """The relation in whose stratum, or before it, a table is filled."""
    return drafts.homes.get(table) or drafts.parts.get(table, table)


def _computes(rule: Draft) -> bool:
    return any(isinstance(goal, Assign) for goal in rule.body)


def _adds_up(aggregation: Aggregation) -> bool:
    """Whether it makes values that are in none of its bindings."""
    return any(measure.function not in ("min", "max") for measure in aggregation.measures)


def flatten(
    number: int,
    rule: Draft,
    tables: Mapping[str, Table],
    choose: delta_rules.Choose = delta_rules.structural,
    last: int | None = None,
) -> FlatRule:
    """A rule with its delta rules, whose orders `choose` gives."""
    table = tables[rule.table]
    wanted = [tuple(range(len(table.types)))] if not table.picks else [pick.group for pick in table.picks]
    unasked = delta_rules.spontaneous(rule, number)
    arrive = delta_rules.arrive(rule, number, choose, last)
    forbid, allow = delta_rules.forbid(rule, number, choose), delta_rules.allow(rule, number, choose)
    pulls = [delta_rules.pull(rule, number, columns, table.types, choose) for columns in dict.fromkeys(wanted)]
    return FlatRule(
        id=number,
        origin=rule.origin,
        table=rule.table,
        head=rule.head,
        body=rule.body,
        atoms=tuple(goal.relation for goal in rule.body if isinstance(goal, Atom)),
        negated=tuple(goal.atom.relation for goal in rule.body if isinstance(goal, Negation)),
        types=rule.types,
        nullable=rule.nullable,
        arrive=tuple(with_loop(delta_rule, rule, tables) for delta_rule in arrive),
        forbid=tuple(with_loop(delta_rule, rule, tables) for delta_rule in forbid),
        allow=tuple(with_loop(delta_rule, rule, tables) for delta_rule in allow),
        spontaneous=None if unasked is None else with_loop(unasked, rule, tables),
        pulls=tuple(pull_with_loop(pull, rule, tables) for pull in pulls),
        weights=rule.weights,
        keys=rule.keys,
        owned=rule.owned,
        mine=rule.mine,
        filtered=rule.filtered,
        last=last,
    )
