"""One stratum of a shard: what it needs from transaction to transaction, and whether one concerns it.

Promise: after `run`, the stratum is up to date with the lower tables, by a `StratumRun` or, where only the best rows of
one kept table moved, without joining anything. What a transaction does inside a stratum is `stratum.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from headwater.engine.best.seen import Seen
from headwater.engine.profile import Meter
from headwater.engine.rules.context import Context
from headwater.engine.store.journal import NO_ROWS
from headwater.engine.store.store import Use
from headwater.engine.stratum import StratumRun
from headwater.engine.stratum_rules import StratumRules
from headwater.engine.transaction import Transaction
from headwater.plan.model import FlatRule, Plan, PlannedStratum


class StratumRunner:
    """One stratum of a shard: its rules, and a `StratumRun` of them for each transaction that concerns it."""

    def __init__(
        self, stratum: PlannedStratum, plan: Plan, context: Context, uses: Iterable[Use], meter: Meter
    ) -> None:
        self.stratum = stratum
        self._rules = StratumRules(stratum, plan, context, uses, meter)
        self.outboxes = self._rules.outboxes
        self._seen = None if self.outboxes else Seen.of(stratum.tables, self._rules.flat, context.stores)

    @property
    def planned(self) -> list[dict[str, int]]:
        """The sizes of tables that the join orders were chosen for."""
        return [self._rules.joins.planned, self._rules.pairs.planned]

    def restore_plan(self, planned: Sequence[Mapping[str, int]], rules: Iterable[FlatRule]) -> None:
        """Go on with join orders that were chosen for these sizes; `rules` of other strata are not looked at."""
        for orders, sizes in zip((self._rules.joins, self._rules.pairs), planned, strict=True):
            orders.restore(sizes)
        self._rules.replan(rule for rule in rules if rule.id in self.stratum.rules)

    def begin(self) -> None:
        """A new transaction begins."""
        for aggregator in self._rules.aggregators:
            aggregator.begin()

    def undo(self) -> None:
        """The stores were put back to before the transaction; do the same with what is kept beside them."""
        for aggregator in self._rules.aggregators:
            aggregator.undo()

    def concerns(self, transaction: Transaction) -> bool:
        """Whether anything that the stratum reads has changed."""
        rules = self._rules
        if not transaction.expired.isdisjoint(rules.stores) or not rules.reads.isdisjoint(transaction.fallen):
            return True
        return any(name in transaction.came or name in transaction.went for name in rules.reads)

    def run(self, transaction: Transaction, *, first: bool = False) -> None:
        """Bring the stratum up to date; `first` also derives what needs no rows at all."""
        if self._seen is not None and not first and self._follow(self._seen, transaction):
            return
        run = self.begin_run(transaction)
        run.derive(first=first)
        run.finish()

    def _follow(self, seen: Seen, transaction: Transaction) -> bool:
        name = seen.kept.name
        touched = np.concatenate([transaction.came.get(name, NO_ROWS), transaction.went.get(name, NO_ROWS)])
        if not seen.follow(touched, transaction.next_tick(), transaction.journal):
            return False
        transaction.close(seen.store)
        return True

    def begin_run(self, transaction: Transaction) -> StratumRun:
        """One run, stopped after the first marking, so that shards can tell each other what they marked."""
        rules = self._rules
        if rules.joins.due():
            rules.reorder(rules.joins)
        if (transaction.went or transaction.fallen or transaction.expired or rules.forbid) and rules.pairs.due():
            rules.reorder(rules.pairs)  # only what is lost is joined in an order of our choice
        run = StratumRun(self._rules, transaction)
        run.mark(run.lost())
        return run
