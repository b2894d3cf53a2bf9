"""A fused delta rule into a table that keeps the frontier of value and lease: two atoms, one loop (see `Frontiers`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.engine.codes.symbols import NULL, Symbols
from headwater.engine.rules.probe import CONSTANT, LEFT, RIGHT, Probe
from headwater.engine.store.frontier import Cells, Frontiers
from headwater.engine.store.frontier_kernels import close_frontier, join_frontier
from headwater.engine.store.index import Lists, Rows, Space
from headwater.engine.store.journal import Journal, Outcome
from headwater.engine.store.sieve import Sieve, rows_by
from headwater.engine.store.states import EVER, GONE
from headwater.engine.store.store import Store
from headwater.plan.model import Best, FlatRule, Reads

Pause = Callable[[int], None]
Terms = list[tuple[int, int]]  # sides, and columns or constants
_HEAP = 1 << 12
_DENSE = 4  # keys that one starting row in a store is worth


@dataclass(frozen=True, slots=True)
class _Columns:
    """What a head takes from one side: a column of its value and of its lease (-1: none)."""

    value: int
    lease: int


class FusedFrontier:
    """Two atoms into a table of frontiers; the value is a copy or a sum of ints, the lease the smaller of two."""

    def __init__(
        self, probe: Probe, rule: FlatRule, head: Store, value: Terms, lease: Terms, symbols: Symbols, *, nulls: bool
    ) -> None:
        (self._pick,) = head.table.picks
        types = head.table.types
        self._probe = probe
        self._rule = rule
        self._head = head
        self._group = [probe.place(rule.head[at], types[at], symbols) for at in self._pick.group]
        self._left = _Columns(_column(value, LEFT), _column(lease, LEFT))
        self._right = _Columns(_column(value, RIGHT), _column(lease, RIGHT))
        self._constant = sum(constant for side, constant in value if side == CONSTANT)
        self._copies = _copies(self._group, LEFT), _copies(self._group, RIGHT)
        self._constants = np.array([code if side == CONSTANT else 0 for side, code in self._group], dtype=np.int64)
        self._least = NULL + nulls  # where nulls can be, a sum must not look like one
        own_value = self._left.value in (-1, self._pick.value) and self._left.lease in (-1, head.table.lease)
        self._closes = probe.left is head and probe.right is not head and own_value and len(probe.columns) == 1
        copied = [at for at, (side, _) in zip(self._pick.group, self._group, strict=True) if side == LEFT]
        if self._closes and len(copied) == 1:
            head.clusters = copied[0]
        self._sifts = {LEFT: self._sifted(LEFT), RIGHT: self._sifted(RIGHT)}

    @staticmethod
    def can(value: Terms, lease: Terms) -> bool:
        """Whether value and lease are made from no more than a column of either side and a constant."""
        sides = [[side for side, _ in terms] for terms in (value, lease)]
        return all(len(set(one)) == len(one) for one in sides) and CONSTANT not in sides[1]

    @property
    def closes(self) -> bool:
        """Whether it can go on from the rows that come."""
        return self._closes and int(self._probe.key_from[0]) >= 0

    def _sifted(self, side: int) -> int | None:
        """The column of a base table of which the rule needs only the best, all others being equal."""
        probe = self._probe
        store, names, column = (
            (probe.left, probe.lefts, self._left.value)
            if side == LEFT
            else (probe.right, probe.rights, self._right.value)
        )
        table = store.table
        if not table.base or table.lease is None or column < 0 or column in (table.time, table.lease):
            return None
        keyed = column in (probe.columns if side == RIGHT else probe.key_from)
        timed = table.time is not None and table.time in names.values()
        return None if keyed or timed or (side, column) in self._group else column

    def run(self, rows: Rows, tick: int, after: int, journal: Journal, pause: Pause | None = None) -> Outcome | None:
        """As `FusedSet.run`; None when groups do not lie close together, or rows have lost their proofs.

        With `pause` (see `Frontiers.run`), goes on from the rows that come until none comes any more; None where that
        cannot be done.
        """
        probe, head = self._probe, self._head
        if rows.size == 0 or probe.meets_nothing(rows.size, tick):
            return _NO_ROWS, _NO_ROWS
        if head.name in journal.marked:
            return None
        lists = Frontiers.of(head, *self._bounds(), rows.size)
        if lists is None:
            return None
        newest = tick if probe.reads is Reads.ALL else tick - 1
        if pause is not None:
            return self._close(lists, rows, newest, after, journal, pause)
        sieve = self._sieve(LEFT, rows.size, journal)
        rows = rows if sieve is None else rows[sieve.useful[rows]]
        return self._join(lists, self._in_runs(rows)[0], newest, after, journal)

    def _bounds(self) -> tuple[Cells, Cells]:
        sides, columns = zip(*self._group, strict=True) if self._group else ((), ())
        return self._probe.bounds((np.array(sides, dtype=np.int64), np.array(columns, dtype=np.int64)))

    def _in_runs(self, rows: Rows) -> tuple[Rows, Cells]:
        """The rows in the order of what the head copies from them, so that its groups lie side by side, and the number
        of the run of such rows that each belongs to."""
        copied = [column for side, column in self._group if side == LEFT]
        runs = np.zeros(rows.size, dtype=np.int64)
        if not copied:
            return rows, runs
        codes = self._probe.left.data[rows][:, copied]
        order = np.lexsort(codes.T)
        codes = codes[order]
        np.cumsum((codes[1:] != codes[:-1]).any(axis=1), out=runs[1:])
        return rows[order], runs

    def _join(self, lists: Frontiers, rows: Rows, newest: int, after: int, journal: Journal) -> Outcome:
        probe, own, other = self._probe, self._left, self._right
        swapped = self._from_head(rows, newest)
        if swapped is not None:
            (rows, cells, met), own, other = swapped, other, own
            left, right, (theirs, ours) = probe.right, probe.left, self._copies
        else:
            left, right, (ours, theirs) = probe.left, probe.right, self._copies
            cells, met = self._met(rows)
        slot = probe.slot if swapped is None else 1 - probe.slot
        oldest = newest if swapped is None else EVER

        def arguments() -> tuple[Any, ...]:
            return (
                rows, cells, left.data, left.stamp, *ours, own.value, own.lease, right.data, *met, right.stamp, oldest,
                *theirs, other.value, other.lease, self._constants.copy(), self._constant, slot,
            )  # fmt: skip

        return lists.run(join_frontier, arguments, self._least, self._rule.id, after, journal)

    def _met(self, rows: Rows) -> tuple[Cells, Lists]:
        """The cells that starting rows lead to, and what leads from a cell to the rows met."""
        probe = self._probe
        keys = np.empty((rows.size, probe.key_from.size), dtype=np.int64)
        for at, (column, constant) in enumerate(zip(probe.key_from.tolist(), probe.constants.tolist(), strict=True)):
            keys[:, at] = probe.left.data[rows, column] if column >= 0 else constant
        index = probe.right.index(probe.columns)
        return index.cells(keys, probe.right.data), index.lists

    def _from_head(self, rows: Rows, newest: int) -> tuple[Rows, Cells, Lists] | None:
        """The other way round: rows of the head start and meet these rows, where most of them would be met anyway.

        Then they are met in the order in which they lie, and need no index.
        """
        probe, head = self._probe, self._head
        if probe.right is not head or probe.left is head or len(probe.columns) != 1 or probe.key_from[0] < 0:
            return None
        key, bounds = int(probe.key_from[0]), probe.left.bounds
        if rows.size * _DENSE < int(bounds.high[key]) - int(bounds.low[key]):
            return None
        found = rows_by(probe.left, rows, key)
        if found is None:
            return None
        space, begin, order = found
        stamps = head.stamp[: head.size]
        starting = np.flatnonzero((stamps > GONE) & (stamps <= newest)).astype(np.int32)
        cells = head.data[starting, probe.columns[0]].astype(np.int64) - space.base[0]
        cells[(cells < 0) | (cells >= space.extent[0])] = -1
        return starting, cells, Lists(begin, order, np.zeros(space.cells, dtype=np.int32), _NO_ROWS)

    def _close(
        self, lists: Frontiers, rows: Rows, newest: int, after: int, journal: Journal, pause: Pause
    ) -> Outcome | None:
        probe, store = self._probe, self._probe.right
        found = self._by_key(rows.size, journal)
        if found is None or int(store.stamp[: store.size].max(initial=0)) > newest:
            return None
        space, met = found
        rows, runs = self._in_runs(rows)
        heap: list[npt.NDArray[Any]] = [np.empty(_HEAP, dtype=np.int64), np.empty(_HEAP, dtype=np.int32)]
        ours, theirs = self._copies

        def arguments() -> tuple[Any, ...]:
            return (
                rows, runs, *heap, probe.key_from[0], space.base[0], space.extent[0], *ours, self._left.value >= 0,
                self._left.lease, store.data, *met, store.stamp, *theirs, self._right.value, self._right.lease,
                self._constants.copy(), self._constant, probe.slot,
            )  # fmt: skip

        def stopped(count: int, waiting: int) -> None:
            if waiting == heap[0].size:
                heap[:] = [np.concatenate([part, np.empty_like(part)]) for part in heap]
            pause(count)

        return lists.run(close_frontier, arguments, self._least, self._rule.id, after, journal, stopped)

    def _by_key(self, starting: int, journal: Journal) -> tuple[Space, Lists] | None:
        """What leads from the value of a column to the rows met, if values lie close together."""
        store, column = self._probe.right, self._probe.columns[0]
        sieve = self._sieve(RIGHT, starting, journal)
        found = None if sieve is None else sieve.by(column, store)
        if found is not None:
            space, begin, order = found
            return space, Lists(begin, order, np.zeros(space.cells, dtype=np.int32), _NO_ROWS)
        index = store.index((column,))
        return None if index.space is None else (index.space, index.lists)

    def _sieve(self, side: int, starting: int, journal: Journal) -> Sieve | None:
        value = self._sifts[side]
        if value is None:
            return None
        store = self._probe.left if side == LEFT else self._probe.right
        return Sieve.of(store, value, starting, journal, largest=self._pick.best is Best.MAX)


def _column(terms: Terms, side: int) -> int:
    return next((column for one, column in terms if one == side), -1)


def _copies(group: Terms, side: int) -> tuple[Cells, Cells]:
    """The places in a group that are copied from one side, and its columns."""
    found = [(at, column) for at, (one, column) in enumerate(group) if one == side]
    return np.array([at for at, _ in found], dtype=np.int64), np.array([one for _, one in found], dtype=np.int64)


_NO_ROWS: Rows = np.zeros(0, dtype=np.int32)
