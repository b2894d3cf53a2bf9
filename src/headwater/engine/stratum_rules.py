"""The rules of one stratum, prepared once: which delta rules run when rows of which table come or go."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from headwater.engine.aggregation import Aggregator
from headwater.engine.best.selection import is_ranked
from headwater.engine.join_orders import JoinOrders
from headwater.engine.profile import START, Meter
from headwater.engine.rules.context import Context
from headwater.engine.rules.delta_rule import Runner
from headwater.engine.store.store import Store, Use
from headwater.engine.stratum_names import StratumNames
from headwater.plan.model import FlatRule, Plan, PlannedStratum
from headwater.program.model import Keeps
from headwater.program.recursion.strata import Mode

Runners = dict[str, list[Runner]]  # by the table whose rows start them


class StratumRules:
    """The tables of a stratum, and its delta rules by what starts them; only their join orders ever change."""

    def __init__(
        self, stratum: PlannedStratum, plan: Plan, context: Context, uses: Iterable[Use], meter: Meter
    ) -> None:
        self.stratum = stratum
        self.context = context
        self.meter = meter
        self.stores = {name: context.stores[name] for name in stratum.tables}
        self.flat = [plan.rules[number] for number in stratum.rules]
        self.aggregators = [Aggregator(plan.aggregations[at], at, context) for at in stratum.aggregations]
        self.uses: dict[str, list[Use]] = {}
        for use in uses:
            if use.child.name in self.stores:
                self.uses.setdefault(use.parent.name, []).append(use)
        self.outboxes = [shipment.outbox for shipment in plan.shipments if shipment.table in self.stores]
        self.joins = JoinOrders([rule for rule in self.flat if len(rule.atoms) > 2], stratum.tables, context)
        self.pairs = JoinOrders([rule for rule in self.flat if len(rule.atoms) == 2], stratum.tables, context)
        self._runners = {rule.id: _RuleRunners(rule, context) for rule in self.flat}
        self._arrange()
        summed = (source.name for aggregator in self.aggregators for _, source in aggregator.sources)
        self.reads = frozenset((*self.arrive, *self.late, *self.forbid, *summed))
        self.names = StratumNames(stratum, plan, context)
        picks = any(store.table.picks for store in self.stores.values())
        self.plain = stratum.mode is Mode.MONOTONE and not self.aggregators and not picks
        self.ranked = {name for name, store in self.stores.items() if stratum.recursive and _goes_by_rank(store)}

    def _arrange(self) -> None:
        """The delta rules by what starts them."""
        self.arrive: Runners = {}
        self.late: Runners = {}  # rules that fill an outbox wait until this shard has nothing else to do
        self.forbid: Runners = {}
        self.allow: Runners = {}
        self.pulls: dict[str, list[tuple[tuple[int, ...], Runner]]] = {name: [] for name in self.stratum.tables}
        self.spontaneous: list[Runner] = []
        for rule in self.flat:
            made = self._runners[rule.id]
            for table, runner in zip(rule.atoms, made.arrive, strict=True):
                waits = self.stratum.recursive and rule.table in self.outboxes and table in self.stores
                (self.late if waits else self.arrive).setdefault(table, []).append(runner)
            for table, forbid, allow in zip(rule.negated, made.forbid, made.allow, strict=True):
                self.forbid.setdefault(table, []).append(forbid)
                self.allow.setdefault(table, []).append(allow)
            self.pulls[rule.table] += made.pulls
            self.spontaneous += made.spontaneous
        for pulls in self.pulls.values():
            pulls.sort(key=lambda pull: pull[1].pull is None)  # the quick ones first: they leave less to the others
        started = (runner for runners in self.arrive.values() for runner in runners)
        self.closing = {runner.rule.table: runner for runner in started if runner.closes}

    def reorder(self, orders: JoinOrders) -> None:
        """Join in the orders that fit the data now. Between any two rounds that changes no row and no witness."""
        self.replan(orders.choose(self.flat))

    def replan(self, rules: Iterable[FlatRule]) -> None:
        """Run these rules as they are planned here."""
        changed = {rule.id: rule for rule in rules}
        if changed:
            self.flat = [changed.get(rule.id, rule) for rule in self.flat]
            self._runners.update((rule.id, _RuleRunners(rule, self.context)) for rule in changed.values())
            self._arrange()
            self.context.note_replanned(changed)


class _RuleRunners:
    """All delta rules of one rule, ready to run."""

    def __init__(self, rule: FlatRule, context: Context) -> None:
        ways = count()
        self.arrive = [Runner(delta_rule, rule, context, way=next(ways)) for delta_rule in rule.arrive]
        self.forbid = [Runner(delta_rule, rule, context, searching=True, way=next(ways)) for delta_rule in rule.forbid]
        self.allow = [Runner(delta_rule, rule, context, way=next(ways)) for delta_rule in rule.allow]
        self.pulls = [
            (pull.columns, Runner(pull.delta_rule, rule, context, pull.columns, way=next(ways))) for pull in rule.pulls
        ]
        self.spontaneous = [] if rule.spontaneous is None else [Runner(rule.spontaneous, rule, context, way=START)]


def _goes_by_rank(store: Store) -> bool:
    """Whether better rows go first, because they spare much of what worse ones would derive."""
    return store.table.single or (store.table.keeps is Keeps.FRONTIER and is_ranked(store))
