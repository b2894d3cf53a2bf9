"""Base rows of which a rule needs only the best: those that no other row of the same group makes needless.

Of a hundred rides from one place to another, a rule that looks for the cheapest way needs those that no cheaper ride
outlasts. What it would derive from the others is needless in the same way, and would be offered only to be refused. A
row that makes another needless ends no earlier; so it can only go first if it is deleted, and then what rests on it
looks for its next best among all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headwater.engine.store import kernels
from headwater.engine.store.index import Rows, Space, box_of
from headwater.engine.store.journal import Journal
from headwater.engine.store.store import Store

_WORTH = 64  # rows that are sifted in the time that one takes to be joined


@dataclass(frozen=True, slots=True)
class Sieve:
    """Of one store, as of a point of a transaction: the rows that are useful."""

    position: int
    useful: npt.NDArray[np.bool_]
    lists: dict[int, tuple[Space, Rows, Rows] | None]

    @classmethod
    def of(cls, store: Store, value: int, starting: int, journal: Journal, *, largest: bool) -> Sieve | None:
        """The sieve for rows that agree on all but `value`; None if it is not worth it for so many rows that start, or
        groups lie too far apart."""
        position = journal.position(store)
        found = journal.sieves.get((store.name, value))
        if found is not None and found.position == position:
            return found
        if starting * _WORTH < store.size:
            return None
        assert store.table.lease is not None
        useful = _sifted(store, value, store.table.lease, largest=largest)
        if useful is None:
            return None
        journal.sieves[store.name, value] = made = cls(position, useful, {})
        return made

    def by(self, column: int, store: Store) -> tuple[Space, Rows, Rows] | None:
        """The useful rows by the value of a column."""
        if column not in self.lists:
            self.lists[column] = rows_by(store, np.flatnonzero(self.useful).astype(np.int32), column)
        return self.lists[column]


def rows_by(store: Store, rows: Rows, column: int) -> tuple[Space, Rows, Rows] | None:
    """Rows in the order of a column, and where those with each value begin; None if values lie too far apart."""
    space = Space.around(store.bounds.low[[column]], store.bounds.high[[column]], store.size)
    if space is None:
        return None
    begin = np.empty(space.cells + 1, dtype=np.int32)
    order = np.empty(rows.size, dtype=np.int32)
    codes = np.ascontiguousarray(store.data[rows, column].reshape(-1, 1))
    only = np.zeros(1, dtype=np.int64)
    kernels.sort_by_cell(codes, rows.size, only, space.base, space.extent, begin, order)
    return space, begin, rows[order]


def _sifted(store: Store, value: int, lease: int, *, largest: bool) -> npt.NDArray[np.bool_] | None:
    group = [at for at in store.table.identity if at != value]
    space = Space.around(store.bounds.low[group], store.bounds.high[group], store.size)
    if space is None:
        return None
    useful = np.empty(store.size, dtype=np.bool_)
    first = np.zeros(space.cells, dtype=np.int32)
    following = np.empty(store.size, dtype=np.int32)
    lists = np.array(group, dtype=np.int64), first, following, *box_of(space)
    kernels.sift(store.size, store.data, store.stamp, (value, lease, largest), lists, useful)
    return useful
