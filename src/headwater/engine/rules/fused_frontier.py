"""A fused delta rule into a table that keeps the frontier of value and lease: two atoms, one loop (see `Frontiers`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.types import Type
from headwater.engine.rules.context import Context
from headwater.engine.rules.probe import (
    CONSTANT,
    LEFT,
    NO_ROWS,
    RIGHT,
    Pause,
    PickLoop,
    Terms,
    as_places,
    column_of,
    terms,
)
from headwater.engine.store.frontier import Cells, Frontiers
from headwater.engine.store.index import Lists, Rows, Space
from headwater.engine.store.journal import ClosedRounds, Journal, Outcome
from headwater.engine.store.kernels import close_frontier, join_frontier
from headwater.engine.store.sieve import Sieve, rows_by
from headwater.engine.store.states import EVER, GONE
from headwater.plan.model import Best, FlatRule, FrontierLoop

_HEAP = 1 << 12
_DENSE = 4  # keys that one starting row in a store is worth


@dataclass(frozen=True, slots=True)
class _Columns:
    """What a head takes from one side: a column of its value and of its lease (-1: none)."""

    value: int
    lease: int


class FusedFrontier(PickLoop):
    """See `FrontierLoop`."""

    def __init__(self, loop: FrontierLoop, start: str, rule: FlatRule, context: Context) -> None:
        super().__init__(loop, start, rule, context)
        lease = terms(loop.lease, [Type.INT] * len(loop.lease), context.symbols)
        self._left, self._right = (
            _Columns(column_of(self._value, side), column_of(lease, side)) for side in (LEFT, RIGHT)
        )
        self._copies = _copies(self._group, LEFT), _copies(self._group, RIGHT)
        self._constants = np.array([code if side == CONSTANT else 0 for side, code in self._group], dtype=np.int64)
        self._sieves = dict(zip((LEFT, RIGHT), loop.sieves, strict=True))

    def count(self, rows: Rows, tick: int) -> int | None:
        """Not known: it goes on from rows that it finds itself."""
        return None

    def run(self, rows: Rows, tick: int, after: int, journal: Journal) -> Outcome | None:
        """As `FusedJoin.run`; None when groups do not lie close together, or rows have lost their witnesses."""
        if self._meets_nothing(rows, tick):
            return NO_ROWS, NO_ROWS
        lists = self._lists(rows, journal)
        if lists is None:
            return None
        newest = self._probe.newest(tick)
        sieve = self._sieve(LEFT, rows.size, journal)
        rows = rows if sieve is None else rows[sieve.useful[rows]]
        return self._join(lists, self._in_runs(rows)[0], newest, after, journal)

    def close(self, rows: Rows, tick: int, after: int, journal: Journal, pause: Pause) -> ClosedRounds | None:
        """As `run`, and on from the rows that come until none comes any more; None where that cannot be done."""
        if self._meets_nothing(rows, tick):
            return ClosedRounds(NO_ROWS)
        lists = self._lists(rows, journal)
        done = None if lists is None else self._close(lists, rows, self._probe.newest(tick), after, journal, pause)
        return None if done is None else ClosedRounds(*done)

    def _meets_nothing(self, rows: Rows, tick: int) -> bool:
        return rows.size == 0 or self._probe.meets_nothing(rows.size, tick)

    def _lists(self, rows: Rows, journal: Journal) -> Frontiers | None:
        marked = self._head.name in journal.marked
        return None if marked else Frontiers.of(self._head, *self._bounds(), rows.size)

    def _bounds(self) -> tuple[Cells, Cells]:
        return self._probe.bounds(as_places(self._group))

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
        slot = 1 - probe.slot if swapped is None else probe.slot
        oldest = newest if swapped is None else EVER

        def arguments() -> tuple[Any, ...]:
            return (
                rows, cells, left.data, left.stamp, (*ours, own.value, own.lease), right.data, right.stamp, oldest,
                (*theirs, other.value, other.lease), met.arrays, self._constants.copy(), self._constant, slot,
            )  # fmt: skip

        return lists.run(join_frontier, arguments, self._least, self._rule, after, journal)

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
        return starting, cells, Lists(begin, order, np.zeros(space.cells, dtype=np.int32), NO_ROWS)

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
                rows, runs, *heap, probe.key_from[0], space.base[0], space.extent[0],
                (*ours, self._left.value, self._left.lease), store.data, store.stamp,
                (*theirs, self._right.value, self._right.lease), met.arrays, self._constants.copy(), self._constant,
                1 - probe.slot,
            )  # fmt: skip

        def stopped(count: int, waiting: int) -> None:
            if waiting == heap[0].size:
                heap[:] = [np.concatenate([part, np.empty_like(part)]) for part in heap]
            pause(count)

        return lists.run(close_frontier, arguments, self._least, self._rule, after, journal, stopped)

    def _by_key(self, starting: int, journal: Journal) -> tuple[Space, Lists] | None:
        """What leads from the value of a column to the rows met, if values lie close together."""
        store, column = self._probe.right, self._probe.columns[0]
        sieve = self._sieve(RIGHT, starting, journal)
        found = None if sieve is None else sieve.by(column, store)
        if found is not None:
            space, begin, order = found
            return space, Lists(begin, order, np.zeros(space.cells, dtype=np.int32), NO_ROWS)
        index = store.index((column,))
        if index.space is None or not index.space.is_plain:
            return None
        return index.space, index.lists

    def _sieve(self, side: int, starting: int, journal: Journal) -> Sieve | None:
        value = self._sieves[side]
        if value is None:
            return None
        store = self._probe.left if side == LEFT else self._probe.right
        return Sieve.of(store, value, starting, journal, largest=self._pick.best is Best.MAX)


def _copies(group: Terms, side: int) -> tuple[Cells, Cells]:
    """The places in a group that are copied from one side, and its columns."""
    return as_places([(at, column) for at, (each, column) in enumerate(group) if each == side])
