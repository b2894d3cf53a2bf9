"""What one row rests on: all rows and derivations below it, and its provenance over the base facts among them.

Goal-directed: the rules are joined backwards from the row, so that nothing is looked at that the row cannot rest on.
Only for rows below which rules add and nothing else: no negation, no best rows, no aggregates. There the rows alive
are all that any smaller set of facts could derive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from headwater.core.graph import reachable
from headwater.engine.shard import Shard
from headwater.engine.store.states import BASE
from headwater.plan.model import Plan
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function
from headwater.provenance.functions.node_budget import Room
from headwater.provenance.worlds.all_derivations import Ways

Node: TypeAlias = tuple[str, int]  # a table and a row of it


def only_adds(plan: Plan, table: str) -> bool:
    """Whether more facts never take a row of this table away."""
    below = _below(plan, table)
    picks = any(one.picks for one in plan.tables if one.name in below)
    negated = any(rule.negated for rule in plan.rules if rule.table in below)
    return not picks and not negated and not any(one.table in below for one in plan.aggregations)


def _below(plan: Plan, table: str) -> set[str]:
    """A table and all that its rows rest on."""
    reads: dict[str, set[str]] = {}
    for rule in plan.rules:
        reads.setdefault(rule.table, set()).update(rule.atoms, rule.negated)
    return reachable(table, reads)


class Cone:
    """`facts` are the base rows below the row, those closest to it first."""

    def __init__(
        self, shard: Shard, table: str, row: int, room: Room, check: Callable[[], None] = lambda: None
    ) -> None:
        self._shard = shard
        self._goal = (table, row)
        self._check = check
        self._rules: dict[str, list[Ways]] = {}
        self.facts: list[Node] = []
        self._stated: list[Node] = []
        self._uses: dict[Node, list[int]] = {}  # the derivations that a row takes part in
        self._heads: list[Node] = []
        self._parents: list[tuple[Node, ...]] = []
        self._explore(room)

    def _explore(self, room: Room) -> None:
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
            if len(seen) + len(self._heads) > room.nodes:
                raise room.spent()

    def _derived(self, table: str, rows: list[int]) -> list[Node]:
        """Take in all derivations of some rows; the rows that these use."""
        store = self._shard.stores[table]
        if store.table.base:
            for row in rows:
                (self.facts if store.rules[row] == BASE else self._stated).append((table, row))
            return []
        found: list[Node] = []
        heads = store.data[np.array(rows, dtype=np.int32)].astype(np.int64)
        for ways in self._of(table):
            for some in ways.of(heads):
                numbers = store.find(some.heads).tolist()
                for at, row in enumerate(numbers):
                    parents = tuple((name, used[at]) for name, used in zip(ways.rule.atoms, some.parents, strict=True))
                    for parent in parents:
                        self._uses.setdefault(parent, []).append(len(self._heads))
                    self._heads.append((table, row))
                    self._parents.append(parents)
                    found.extend(parents)
        return found

    def _of(self, table: str) -> list[Ways]:
        if table not in self._rules:
            rules = [rule for rule in self._shard.plan.rules if rule.table == table]
            self._rules[table] = [Ways(rule, self._shard.context) for rule in rules]
        return self._rules[table]

    def in_depth(self) -> list[Node]:
        """The facts in the order in which a walk down the derivations meets them: those of one way close together."""
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

    def function(self, of_fact: Mapping[Node, Function], room: Room) -> Function:
        """The row's function, given those of the facts; rounds as in semi-naive evaluation."""
        functions: dict[Node, Function] = {}
        gained: dict[Node, Function] = {}
        for fact in self.facts:
            gained[fact] = of_fact[fact]
        for fact in self._stated:
            gained[fact] = absorption.always()
        for at, parents in enumerate(self._parents):
            if not parents:
                gained[self._heads[at]] = absorption.always()
        gained = {node: function for node, function in gained.items() if not absorption.is_never(function)}
        functions.update(gained)
        while gained:
            self._check()
            offered: dict[Node, Function] = {}
            for node, part in gained.items():
                for at in dict.fromkeys(self._uses.get(node, ())):
                    self._offer(at, node, part, functions, offered, room)
            gained = {}
            for node, part in offered.items():
                old = functions.get(node)
                new = part if old is None else room.disjunction(old, part)
                if old is None or not absorption.same(old, new):
                    if old is not None:
                        room.release(old)
                    room.hold(new)
                    functions[node] = new
                    gained[node] = absorption.smaller(part, new)
        return functions.get(self._goal, absorption.never())

    def _offer(
        self,
        at: int,
        node: Node,
        part: Function,
        functions: dict[Node, Function],
        offered: dict[Node, Function],
        room: Room,
    ) -> None:
        """What a derivation gives its head now that one of its rows has gained."""
        function = part
        for parent in self._parents[at]:
            if parent != node:
                other = functions.get(parent)
                if other is None:
                    return
                function = room.conjunction(function, other)
        head = self._heads[at]
        offered[head] = room.disjunction(offered[head], function) if head in offered else function
