"""What one row rests on: all rows and derivations below it, and its function of the base facts among them.

Goal-directed: the rules are joined backwards from the row, so that only rows it can rest on are read. This works where
rules only add rows: no negation, no best rows, no aggregates below. There the rows alive are all that any smaller set
of facts could derive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from headwater.core.graph import reachable
from headwater.engine.reading import tables
from headwater.engine.shard import Shard
from headwater.plan.model import Plan
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function
from headwater.provenance.functions.node_budget import NodeBudget
from headwater.provenance.worlds.all_derivations import DerivationFinder

Node: TypeAlias = tuple[str, int]  # a table and a row of it


def tables_read(plan: Plan) -> dict[str, set[str]]:
    """The tables that the rules of each derived table read."""
    reads: dict[str, set[str]] = {}
    for rule in plan.rules:
        reads.setdefault(rule.table, set()).update(rule.atoms, rule.negated)
    for aggregation in plan.aggregations:
        reads.setdefault(aggregation.table, set()).update(source.table for source in aggregation.contributions)
    return reads


def only_adds(plan: Plan, table: str) -> bool:
    """Whether more facts never take a row of this table away."""
    below = reachable(table, tables_read(plan))
    picks = any(below_it.picks for below_it in plan.tables if below_it.name in below)
    negated = any(rule.negated for rule in plan.rules if rule.table in below)
    return not picks and not negated and not any(aggregation.table in below for aggregation in plan.aggregations)


class Cone:
    """`facts` are the base rows below the row, those closest to it first."""

    def __init__(
        self, shard: Shard, table: str, row: int, budget: NodeBudget, check: Callable[[], None] = lambda: None
    ) -> None:
        self._shard = shard
        self._tables = tables(shard.stores)
        self._goal = (table, row)
        self._check = check
        self._finders: dict[str, list[DerivationFinder]] = {}
        self.facts: list[Node] = []
        self._stated: list[Node] = []
        self._uses: dict[Node, list[int]] = {}  # the derivations that a row takes part in
        self._heads: list[Node] = []
        self._parents: list[tuple[Node, ...]] = []
        self._explore(budget)

    def _explore(self, budget: NodeBudget) -> None:
        pending: dict[str, list[int]] = {self._goal[0]: [self._goal[1]]}
        seen: set[Node] = {self._goal}
        while pending:
            self._check()
            below: dict[str, list[int]] = {}
            for table, rows in pending.items():
                for node in self._derived(table, rows):
                    if node not in seen:
                        seen.add(node)
                        below.setdefault(node[0], []).append(node[1])
            pending = below
            if len(seen) + len(self._heads) > budget.nodes:
                raise budget.spent()

    def _derived(self, table: str, rows: list[int]) -> list[Node]:
        """Take in all derivations of some rows; the rows that these use."""
        reader = self._tables[table]
        numbers = np.array(rows, dtype=np.int32)
        if reader.table.base:
            for row, inserted in zip(rows, reader.inserted(numbers).tolist(), strict=True):
                (self.facts if inserted else self._stated).append((table, row))
            return []
        found: list[Node] = []
        heads = reader.codes(numbers)
        for finder in self._finders_of(table):
            for derivations in finder.of(heads):
                for at, row in enumerate(reader.find(derivations.heads).tolist()):
                    used = zip(finder.rule.atoms, derivations.parents, strict=True)
                    parents = tuple((name, column[at]) for name, column in used)
                    for parent in parents:
                        self._uses.setdefault(parent, []).append(len(self._heads))
                    self._heads.append((table, row))
                    self._parents.append(parents)
                    found.extend(parents)
        return found

    def _finders_of(self, table: str) -> list[DerivationFinder]:
        if table not in self._finders:
            rules = [rule for rule in self._shard.plan.rules if rule.table == table]
            self._finders[table] = [DerivationFinder(rule, self._shard.context) for rule in rules]
        return self._finders[table]

    def in_depth(self) -> list[Node]:
        """The facts in the order in which a walk down the derivations meets them: those of one path close together."""
        derivations: dict[Node, list[int]] = {}
        for at, head in enumerate(self._heads):
            derivations.setdefault(head, []).append(at)
        facts = set(self.facts)
        found: list[Node] = []
        seen: set[Node] = set()
        pending = [self._goal]
        while pending:
            node = pending.pop()
            if node not in seen:
                seen.add(node)
                if node in facts:
                    found.append(node)
                for at in reversed(derivations.get(node, ())):
                    pending.extend(reversed(self._parents[at]))
        return found

    def function(self, of_fact: Mapping[Node, Function], budget: NodeBudget) -> Function:
        """The row's function, given those of the facts; rounds as in semi-naive evaluation."""
        gained = {fact: of_fact[fact] for fact in self.facts if not absorption.is_never(of_fact[fact])}
        alone = (head for head, parents in zip(self._heads, self._parents, strict=True) if not parents)
        gained.update(dict.fromkeys((*self._stated, *alone), absorption.always()))
        functions = dict(gained)
        while gained:
            self._check()
            offered: dict[Node, Function] = {}
            for node, part in gained.items():
                for at in dict.fromkeys(self._uses.get(node, ())):
                    function = self._joined(at, node, part, functions, budget)
                    if function is not None:
                        budget.add(offered, self._heads[at], function)
            gained = {}
            for node, part in offered.items():
                old = functions.get(node)
                new = part if old is None else budget.disjunction(old, part)
                if old is None or not absorption.same(old, new):
                    if old is not None:
                        budget.release(old)
                    budget.hold(new)
                    functions[node] = new
                    gained[node] = absorption.smaller(part, new)
        return functions.get(self._goal, absorption.never())

    def _joined(
        self, at: int, node: Node, part: Function, functions: Mapping[Node, Function], budget: NodeBudget
    ) -> Function | None:
        """What a derivation gives its head now that one of its rows has gained; None: another row has no world yet."""
        function = part
        for parent in self._parents[at]:
            if parent != node:
                other = functions.get(parent)
                if other is None:
                    return None
                function = budget.conjunction(function, other)
        return function
