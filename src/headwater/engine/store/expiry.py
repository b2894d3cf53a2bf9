"""The rows of a table in the order in which their leases end: the queue-based index of 004, section IV-A.

Rows are entered in runs, one per transaction that added any, each sorted by lease; runs of similar length are merged,
so that there are few. Whoever asks for the rows that are due looks at the front of every run. A row stays in the queue
when it is deleted or gives way to another, and is simply passed over when its time comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headwater.engine.store.index import Rows
from headwater.engine.store.states import GONE

if TYPE_CHECKING:
    from headwater.engine.store.store import Store


class Expiries:
    """The rows of one store in the order in which their leases end."""

    __slots__ = ("_column", "_entered", "_runs", "_store")

    def __init__(self, store: Store) -> None:
        assert store.table.lease is not None
        self._store = store
        self._column = store.table.lease
        self._entered = 0
        self._runs: list[Rows] = []

    def enter(self) -> None:
        """Take in the rows that the store has gained."""
        store = self._store
        if self._entered == store.size:
            return
        self._runs.append(self._sorted(np.arange(self._entered, store.size, dtype=np.int32)))
        self._entered = store.size
        while len(self._runs) > 1 and 2 * self._runs[-1].size >= self._runs[-2].size:
            last = self._runs.pop()
            self._runs[-1] = self._sorted(np.concatenate([self._runs[-1], last]))

    def _sorted(self, rows: Rows) -> Rows:
        return rows[np.argsort(self._store.data[rows, self._column], kind="stable")]

    def due(self, now: int) -> Rows:
        """The rows that are not gone although their lease is over."""
        self.enter()
        found = [run[: self._ended(run, now)] for run in self._runs]
        rows = found[0] if len(found) == 1 else np.concatenate(found) if found else _NO_ROWS
        return rows[self._store.stamp[rows] != GONE] if rows.size else rows

    def forget(self, now: int) -> None:
        """Nobody will ask again for rows whose lease was over by then."""
        left: list[Rows] = []
        for run in self._runs:
            ended = self._ended(run, now)
            if ended:
                run = run[ended:].copy() if 2 * ended > run.size else run[ended:]
            if run.size:
                left.append(run)
        self._runs = left

    def next(self) -> int | None:
        """The first moment at which a lease ends."""
        self.enter()
        firsts = [int(self._store.data[run[0], self._column]) for run in self._runs]
        return min(firsts, default=None)

    def _ended(self, run: Rows, now: int) -> int:
        """How many rows at the front of a run have a lease that is over."""
        low, high = 0, run.size
        while low < high:
            middle = (low + high) // 2
            if self._store.data[run[middle], self._column] <= now:
                low = middle + 1
            else:
                high = middle
        return low

    @property
    def nbytes(self) -> int:
        return sum(int(run.nbytes) for run in self._runs)


_NO_ROWS: Rows = np.zeros(0, dtype=np.int32)
