"""The minimal sets of variables that make a monotone function true, smallest first.

Of a row's function these are the minimal sets of facts that derive it; of the dual, the smallest sets of facts whose
loss removes the row. All are found at once, as a diagram of sets that shares its parts: `low` leads to the sets
without a node's variable, `high` to those with it. The rule: a minimal set of f with x is a minimal set of f|x=1 that
does not already make f|x=0 true.

The function must be monotone: more variables never make it false. `BudgetSpent` is raised after too many steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from headwater.core.errors import BudgetSpent
from headwater.provenance.functions.diagram import Diagram

_NONE, _EMPTY = 0, 1  # no set at all; the set without members


class MinimalSets:
    """The minimal sets of a function, counted and in order."""

    def __init__(self, function: Diagram, steps: int) -> None:
        self._function = function
        self._steps = steps
        self._variable = [-1, -1]
        self._low = [0, 1]
        self._high = [0, 1]
        self._known: dict[tuple[int, int, int], int] = {}
        self._kept: dict[tuple[int, int], int] = {}
        sets = [_NONE, _EMPTY]
        for at in range(2, function.root + 1):
            low = sets[function.low[at]]
            high = self._outside(sets[function.high[at]], function.low[at])
            sets.append(self._node(function.variable[at], low, high))
        self._root = sets[function.root]
        self._count = [0, 1]
        self._shortest = [-1, 0]  # members of the smallest set below a node
        for at in range(2, len(self._variable)):
            low, high = self._low[at], self._high[at]
            self._count.append(self._count[low] + self._count[high])
            below = self._shortest[high] + 1
            self._shortest.append(below if low == _NONE else min(below, self._shortest[low]))

    def __len__(self) -> int:
        return self._count[self._root]

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Every minimal set, smallest first; among equals, by their variables."""
        if self._root == _NONE:
            return
        queue: list[tuple[int, tuple[int, ...], int]] = [(self._shortest[self._root], (), self._root)]
        while queue:
            _, members, at = heappop(queue)
            if at == _EMPTY:
                yield members
                continue
            if self._low[at] != _NONE:
                heappush(queue, (len(members) + self._shortest[self._low[at]], members, self._low[at]))
            more = (*members, self._variable[at])
            heappush(queue, (len(more) + self._shortest[self._high[at]], more, self._high[at]))

    def _node(self, variable: int, low: int, high: int) -> int:
        if high == _NONE:
            return low
        key = (variable, low, high)
        if key not in self._known:
            self._known[key] = len(self._variable)
            self._variable.append(variable)
            self._low.append(low)
            self._high.append(high)
        return self._known[key]

    def _outside(self, sets: int, function: int) -> int:
        """The sets that do not make a function true; a loop, as diagrams are deeper than Python's stack."""
        pending = [(sets, function)]
        while pending:
            key = at, node = pending[-1]
            if key in self._kept:
                pending.pop()
                continue
            if at == _NONE or node <= 1:
                self._kept[key] = _NONE if node == 1 else at
                continue
            if at == _EMPTY:
                self._kept[key] = self._outside_empty(node)
                continue
            self._steps -= 1
            if self._steps < 0:
                raise BudgetSpent("error[HW903]: there are too many derivations to enumerate")
            mine, theirs = self._variable[at], self._function.variable[node]
            if mine == theirs:
                parts = ((self._low[at], self._function.low[node]), (self._high[at], self._function.high[node]))
            elif mine < theirs:
                parts = ((self._low[at], node), (self._high[at], node))
            else:
                parts = ((at, self._function.low[node]), (at, self._function.low[node]))
            missing = [part for part in parts if part not in self._kept]
            if missing:
                pending.extend(missing)
            elif mine <= theirs:
                self._kept[key] = self._node(mine, self._kept[parts[0]], self._kept[parts[1]])
            else:
                self._kept[key] = self._kept[parts[0]]
        return self._kept[sets, function]

    def _outside_empty(self, node: int) -> int:
        while node > 1:
            node = self._function.low[node]
        return _NONE if node == 1 else _EMPTY
