"""The rules of one stratum, prepared once: which delta rules run when rows of which table come or go."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.engine.aggregation import Aggregator
from headwater.engine.best.selection import is_ranked
from headwater.engine.rules.context import Context
from headwater.engine.rules.delta_rule import Runner
from headwater.engine.store.store import Store, Use
from headwater.engine.stratum_names import StratumNames
from headwater.plan.model import FlatRule, Plan, PlannedStratum
from headwater.program.model import Keeps
from headwater.program.recursion.strata import Mode

Runners = dict[str, list[Runner]]  # by the table whose rows start them


class StratumRules:
    """The tables of a stratum, and its delta rules by what starts them. Nothing here changes while a stratum runs."""

    def __init__(self, stratum: PlannedStratum, plan: Plan, context: Context, uses: Iterable[Use]) -> None:
        self.stratum = stratum
        self.context = context
        self.stores = {name: context.stores[name] for name in stratum.tables}
        self.flat = [plan.rules[number] for number in stratum.rules]
        self.aggregators = [Aggregator(plan.aggregations[at], at, context) for at in stratum.aggregations]
        self.uses: dict[str, list[Use]] = {}
        for use in uses:
            if use.child.name in self.stores:
                self.uses.setdefault(use.parent.name, []).append(use)
        self.outboxes = [shipment.outbox for shipment in plan.shipments if shipment.table in self.stores]
        self.arrive: Runners = {}
        self.late: Runners = {}  # rules that fill an outbox wait until this shard has nothing else to do
        self.forbid: Runners = {}
        self.allow: Runners = {}
        self.pulls: dict[str, list[tuple[tuple[int, ...], Runner]]] = {name: [] for name in stratum.tables}
        self.spontaneous: list[Runner] = []
        for rule in self.flat:
            self._prepare(rule)
        for pulls in self.pulls.values():
            pulls.sort(key=lambda pull: pull[1].pull is None)  # the quick ones first: they leave less to the others
        summed = (source.name for aggregator in self.aggregators for _, source in aggregator.sources)
        self.reads = frozenset((*self.arrive, *self.late, *self.forbid, *summed))
        self.names = StratumNames(stratum, plan, context)
        picks = any(store.table.picks for store in self.stores.values())
        self.plain = stratum.mode is Mode.MONOTONE and not self.aggregators and not picks
        started = (runner for runners in self.arrive.values() for runner in runners)
        self.closing = {runner.rule.table: runner for runner in started if runner.closes}
        self.ranked = {name for name, store in self.stores.items() if stratum.recursive and _goes_by_rank(store)}

    def _prepare(self, rule: FlatRule) -> None:
        for table, delta_rule in zip(rule.atoms, rule.arrive, strict=True):
            waits = self.stratum.recursive and rule.table in self.outboxes and table in self.stores
            arrive = self.late if waits else self.arrive
            arrive.setdefault(table, []).append(Runner(delta_rule, rule, self.context))
        for table, forbid, allow in zip(rule.negated, rule.forbid, rule.allow, strict=True):
            self.forbid.setdefault(table, []).append(Runner(forbid, rule, self.context, searching=True))
            self.allow.setdefault(table, []).append(Runner(allow, rule, self.context))
        for pull in rule.pulls:
            runner = Runner(pull.delta_rule, rule, self.context, pull.columns)
            self.pulls[rule.table].append((pull.columns, runner))
        if rule.spontaneous is not None:
            self.spontaneous.append(Runner(rule.spontaneous, rule, self.context))


def _goes_by_rank(store: Store) -> bool:
    """Whether better rows go first, because they spare much of what worse ones would derive."""
    return store.table.single or (store.table.keeps is Keeps.FRONTIER and is_ranked(store))
