"""Of a table that keeps the rows that are best or can become so: the rows of each group, in a list of its own.

The list of a group rises by lease; as no row in it is needless, values get worse along it: the first is best now, and
each is best when those before it have ended. So whether a row offered is needless is known after a step or two. Where
there is no value, and of each row the version with the latest lease is kept, a list has one row.

Groups that lie close together are addressed directly, others by hash; there, a group that has no rows any more is kept
in its place by the last one that it had. Promise: after `of`, the list of every group has exactly its rows alive.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from headwater.core.errors import EvaluationError
from headwater.engine.codes.symbols import Codes
from headwater.engine.store.index import FULLEST, Rows, Space, box_of, hash_size
from headwater.engine.store.journal import Entry, Journal, Outcome
from headwater.engine.store.kernels import DONE, FAILED, TOO_WIDE, enter_frontier, list_alone, list_frontiers
from headwater.engine.store.states import GONE
from headwater.plan.model import Best, Table
from headwater.program.model import Keeps

if TYPE_CHECKING:
    from headwater.engine.store.store import Store

_FLOOR = 1 << 16
_BUFFER = 1 << 14
_WORTH = 64  # rows that are listed in the time that one takes to be placed by sorting
Witnesses = npt.NDArray[np.int32]
Cells = npt.NDArray[np.int64]


def is_seen(table: Table, kept: Table) -> bool:
    """Whether a table has the best rows of a table that is listed."""
    return kept.listed and table.keeps is Keeps.BEST and table.picks == kept.picks and table.types == kept.types


class Frontiers:
    """Kept up to date by what the journal notes."""

    __slots__ = ("_known", "_shape", "_space", "_store", "_touched_rows", "columns", "first", "following")

    def __init__(self, store: Store) -> None:
        (pick,) = store.table.picks
        self._store = store
        self.columns = np.array(pick.group, dtype=np.int64)
        has_value = pick.value != store.table.lease
        self._shape = (pick.value if has_value else -1, store.table.lease, has_value and pick.best is Best.MAX)
        self._space: Space | None = None
        self.first: Rows = _NO_ROWS
        self.following: Rows = _NO_ROWS
        self._known = 0  # rows that may keep the place of a group, beside those the store has gained since
        self._touched_rows: list[Rows] = []

    @classmethod
    def of(cls, store: Store, low: Cells, high: Cells, offered: int) -> Frontiers | None:
        """The lists of a store, with room for all groups between `low` and `high`.

        They are not made for a few rows: before, as many must have come as make up for it.
        """
        found = store.standing
        if found is None:
            store.waited += offered
            if store.waited * _WORTH < store.size:
                return None
            store.waited = 0
            found = cls(store)
        assert isinstance(found, Frontiers)
        found._fit(low, high, offered)
        store.standing = found
        return found

    def note(self, rows: Rows) -> None:
        """Rows whose state may have changed."""
        self._touched_rows.append(rows)

    def knows_all(self) -> None:
        """What was noted has been entered by the caller."""
        self._touched_rows.clear()

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The lists as kernels are given them (`GroupLists`)."""
        return self.columns, self.first, self.following, *box_of(self._space)

    def _fit(self, low: Cells, high: Cells, offered: int) -> None:
        store = self._store
        if store.bounds.seen:
            low = np.minimum(low, store.bounds.low[self.columns])
            high = np.maximum(high, store.bounds.high[self.columns])
        if self._space is None and self.first.size:
            if store.size > self._limit:
                self._make(None)
        elif self._space is None or not self._space.holds(low, high):
            self._make(Space.around(low, high, max(_FLOOR, store.size, offered)))
        self._grow()
        if store.data.itemsize == 4 and (int(low.min(initial=0)) < _LOW or int(high.max(initial=0)) > -_LOW - 1):
            store.widen()
        self._catch_up()

    def _make(self, space: Space | None, more: int = 1024) -> None:
        """Make the lists anew, with room for more rows."""
        store = self._store
        alive = store.alive()
        self._space = space
        if space is not None and not store.budget.fits(4 * space.cells):
            self._space = space = None
        cells = hash_size(alive.size + alive.size // 4 + more) if space is None else space.cells
        store.budget.take(store, 4 * cells)
        self.first = np.zeros(cells, dtype=np.int32)
        self._known = alive.size - store.size
        self._grow()
        if self._shape[0] < 0:
            list_alone(alive, store.data, self.arrays)
            self._touched_rows = []
        else:
            self._touched_rows = [alive]

    def _strides(self) -> tuple[Cells, int]:
        """How a group that is addressed directly is found: what its codes are multiplied by, and what is added."""
        if self._space is None:
            return np.zeros(self.columns.size, dtype=np.int64), 0
        extent = self._space.extent.tolist()
        strides = np.array([math.prod(extent[at + 1 :]) for at in range(len(extent))], dtype=np.int64)
        return strides, -int((self._space.base * strides).sum())

    def _catch_up(self) -> None:
        if self._touched_rows:
            store = self._store
            rows = self._touched_rows[0] if len(self._touched_rows) == 1 else np.concatenate(self._touched_rows)
            self._touched_rows = []
            lone = self._shape[0] < 0
            if lone:  # one that is gone may stay where it is
                rows = rows[store.stamp[rows] > GONE]
            list_frontiers(rows, store.data, store.stamp, store.table.lease, lone, self.arrays)

    def _grow(self) -> None:
        if self.following.size < self._store.capacity:
            self._store.budget.take(self._store, 4 * (self._store.capacity - self.following.size))
            grown = np.empty(self._store.capacity, dtype=np.int32)
            grown[: self.following.size] = self.following
            self.following = grown

    @property
    def _limit(self) -> int:
        """How many rows the store may have before there must be more room."""
        if self._space is not None:
            return self._store.capacity
        return min(self._store.capacity, int(FULLEST * self.first.size) - self._known)

    def make_room(self, more: int = 1) -> None:
        """Room for more rows."""
        self._store.make_room(more)
        self._grow()
        if self._store.size + more > self._limit:
            self._make(None, 2 * more + self.first.size)
            self._catch_up()

    def place(self, candidates: Codes, witnesses: Witnesses, rule: int, tick: int, journal: Journal) -> Outcome:
        """Offer rows; `admit` has been called for them."""
        return self.run(enter_frontier, lambda: (candidates, witnesses), _LEAST, rule, tick, journal)

    def run(
        self,
        kernel: Callable[..., Any],
        arguments: Callable[[], tuple[Any, ...]],
        least: int,
        rule: int,
        tick: int,
        journal: Journal,
        pause: Callable[[int, int], None] | None = None,
    ) -> Outcome:
        """Have a kernel offer all its rows. Whenever it stops, its arguments are asked for anew, as arrays may have
        moved, and `pause` is told how many rows have come, and how many wait for their turn."""
        store = self._store
        journal.begin(store)
        fresh = store.size
        cursor = np.array([0, -1, -1, 0, -1], dtype=np.int64)
        free = np.int32(-1)
        lost_rows = np.empty(_BUFFER, dtype=np.int32)
        lost_stamps = np.empty(_BUFFER, dtype=np.int32)
        gone: list[Rows] = []
        while True:
            known = store.size
            state, size, free, lost = kernel(
                *arguments(), cursor, *self._strides(), self.arrays, store.arrays, self._shape,
                (least, rule, tick, fresh, self._limit), known, free, (lost_rows, lost_stamps),
            )  # fmt: skip
            store.appended(size, journal)
            if lost:
                gone.append(lost_rows[:lost].copy())
                journal.note(store, Entry(gone[-1], lost_stamps[:lost].copy()))
            if state == DONE:
                return self._entered(fresh, gone, journal, holes=int(free) >= 0)
            if state == FAILED:
                raise EvaluationError(
                    f"a sum in `{store.name}` does not fit into 64 bits; use floats (write 1.0 for 1)"
                )
            self.knows_all()
            if state == TOO_WIDE:
                store.widen()
            self.make_room()
            if pause is not None:
                pause(size - known, int(cursor[3]))

    def _entered(self, fresh: int, gone: list[Rows], journal: Journal, *, holes: bool) -> Outcome:
        store = self._store
        if holes:
            store.buried = True
            journal.disturbed.add(store.name)
        store.admit_written(fresh)
        self.knows_all()
        came = np.arange(fresh, store.size, dtype=np.int32)
        lost = gone[0] if len(gone) == 1 else np.concatenate(gone) if gone else _NO_ROWS
        return (came[store.stamp[fresh : store.size] > GONE] if holes or gone else came), lost

    @property
    def nbytes(self) -> int:
        return int(self.first.nbytes + self.following[: self._store.size].nbytes)


_LOW = int(np.iinfo(np.int32).min)
_LEAST = int(np.iinfo(np.int64).min)
_NO_ROWS: Rows = np.zeros(0, dtype=np.int32)
