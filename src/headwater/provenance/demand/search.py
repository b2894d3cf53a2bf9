"""The search for all that one row can depend on: the values asked for, and the base rows that match them.

The rules of a `Demand` run over the engine's own base tables, in semi-naive rounds from the one row, so that the cost
follows what is found and not what is stored. The search covers all worlds at once: a negated goal holds in some of
them, so it always passes, and the rows against it are looked for as well.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headwater.engine.reading import EVER, Batch, Codes, Journal, Rows, RowSet, Runner, TableReader, context, heads_of
from headwater.engine.shard import Shard
from headwater.plan import delta_rules
from headwater.plan.drafts import Draft
from headwater.plan.model import FlatRule
from headwater.provenance.demand.magic_sets import Demand, TableQuestion
from headwater.provenance.functions.node_budget import NodeBudget
from headwater.provenance.worlds.all_derivations import Row, Wanted, with_every_match


class Search:
    """What a row, given in the columns of the plan that the demand is of, can depend on; `BudgetSpent` if too much."""

    def __init__(self, shard: Shard, demand: Demand, row: Row, budget: NodeBudget, check: Callable[[], None]) -> None:
        self._demand = demand
        self._bases = {name: TableReader(shard.stores[name]) for name in demand.bases}
        self._found = {name: RowSet(table) for name, table in demand.tables.items()}
        self._context = context({**self._bases, **self._found}, shard.symbols, holds_nulls=demand.holds_nulls)
        self._budget = budget
        self._spent = 0
        self._check = check
        self._met = {name: np.zeros(base.size, dtype=np.bool_) for name, base in self._bases.items()}
        key = np.array([[row[column] for column in demand.goal.columns]], dtype=np.int64).reshape(1, -1)
        if demand.goal.table in self._bases:
            base = self._bases[demand.goal.table]
            self._met[base.name][base.with_keys(demand.goal.columns, key)[1]] = True
            if demand.goal.name in self._found:
                self._take(demand.goal.name, [key])
        else:
            self._ask(key)
            self._meet()

    def facts(self) -> dict[str, Codes]:
        """The base rows met that users inserted."""
        return self._rows(stated=False)

    def stated(self) -> dict[str, Codes]:
        """Those that the program states."""
        return self._rows(stated=True)

    def wanted(self) -> dict[str, Wanted]:
        """Of each derived table the values that it is asked for."""
        return {
            name: [(asked.columns, self._found[asked.name]) for asked in questions]
            for name, questions in self._demand.questions.items()
        }

    def asked_of_base(self) -> dict[TableQuestion, Codes]:
        """The values that base tables are asked for, where the demand asks them."""
        asked = (question for questions in self._demand.base_questions.values() for question in questions)
        found = ((question, self._found[question.name]) for question in asked)
        return {question: reader.codes(reader.alive()) for question, reader in found}

    def _rows(self, *, stated: bool) -> dict[str, Codes]:
        found: dict[str, Codes] = {}
        for name, met in self._met.items():
            base = self._bases[name]
            rows = np.flatnonzero(met).astype(np.int32)
            whole = base.codes(rows[base.inserted(rows) != stated])
            found[name] = whole[:, : len(self._demand.bases[name].types)]  # leases stand last
        return found

    def _ask(self, key: Codes) -> None:
        """Derive all questions, and what may answer them."""
        starts: dict[str, list[Runner]] = {}
        for rule in self._demand.rules:
            for atom, name in enumerate(rule.atoms):
                if name in self._found:
                    starts.setdefault(name, []).append(self._runner(rule, atom))
        goal = self._demand.goal.name
        fresh: dict[str, Rows] = {goal: self._take(goal, [key])}
        while fresh:
            self._check()
            offered: dict[str, list[Codes]] = {}
            for name, rows in fresh.items():
                for runner in starts.get(name, ()):
                    for batch in runner.from_rows(rows, EVER):
                        offered.setdefault(runner.rule.table, []).append(heads_of(runner, batch))
                        self._spend(batch)
            fresh = {name: came for name, parts in offered.items() if (came := self._take(name, parts)).size}

    def _meet(self) -> None:
        """Mark the base rows in whole bodies of what is asked for."""
        for rule in self._demand.wholes:
            runner = self._runner(rule, 0, whole=True)
            bases = [(atom, self._met[name]) for atom, name in enumerate(rule.atoms) if name in self._met]
            if bases:
                self._check()
                for batch in runner.from_rows(self._found[rule.atoms[0]].alive(), EVER):
                    self._spend(batch)
                    for atom, met in bases:
                        met[batch.rows[atom]] = True

    def _runner(self, rule: FlatRule, atom: int, *, whole: bool = False) -> Runner:
        draft = Draft(rule.origin, rule.table, rule.head, rule.body, rule.types, rule.nullable, ordered=True)
        delta_rule = delta_rules.arrive(draft, rule.id)[atom]
        return Runner(with_every_match(delta_rule) if whole else delta_rule, rule, self._context, searching=True)

    def _spend(self, batch: Batch) -> None:
        self._spent += batch.size
        if self._spent > self._budget.nodes:
            raise self._budget.spent()

    def _take(self, name: str, parts: list[Codes]) -> Rows:
        """Store rows; those that are new."""
        return self._found[name].add(np.concatenate(parts), Journal())
