"""Of a table that keeps one row per group: the row that stands in each group, addressed by the group itself.

Rounds of shortest paths and of components ask little else than "is this better than what stands?", so the answer is
one cell away. Groups must lie close enough together for a direct table. Promise: after `fit`, `rows` names the row
alive of every group (-1: none), and `values` its value. Smaller is better: where the pick is for the largest, values
are stored complemented. A group without a row holds `WORST`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from headwater.engine.store import kernels
from headwater.engine.store.index import Rows, Space
from headwater.engine.store.states import GONE
from headwater.plan.model import Best

if TYPE_CHECKING:
    from headwater.engine.store.store import Store

_FLOOR = 1 << 16
_CELL = 28  # bytes of a group in all arrays
WORST = np.iinfo(np.int64).max
Cells = npt.NDArray[np.int64]


class Standing:
    """Kept up to date by what the journal notes; `left`, `right` and `touched` are room for the kernels."""

    __slots__ = ("_store", "_touched_rows", "complemented", "left", "right", "rows", "space", "touched", "values")

    def __init__(self, store: Store) -> None:
        (pick,) = store.table.picks
        self._store = store
        self.complemented = pick.best is Best.MAX
        self.space: Space | None = None
        self._touched_rows: list[Rows] = []

    def note(self, rows: Rows) -> None:
        """Rows whose state may have changed."""
        self._touched_rows.append(rows)

    def knows_all(self) -> None:
        """What was noted has been entered by the caller."""
        self._touched_rows.clear()

    def fit(self, low: Cells, high: Cells, expected: int) -> bool:
        """Be up to date, with room for all groups between `low` and `high`; False if they are too far apart."""
        store = self._store
        (pick,) = store.table.picks
        group = list(pick.group)
        if store.bounds.seen:
            low, high = np.minimum(low, store.bounds.low[group]), np.maximum(high, store.bounds.high[group])
        if self.space is None or not self.space.holds(low, high):
            self.space = Space.around(low, high, max(_FLOOR, store.size, expected))
            if self.space is None or not store.budget.fits(_CELL * self.space.cells):
                self.space = None
                return False
            self._make(self.space.cells)
            self._touched_rows = [store.alive()]
        if self._touched_rows:
            self._catch_up()
        return True

    def _make(self, cells: int) -> None:
        self.rows: Rows = np.full(cells, -1, dtype=np.int32)
        self.values: Cells = np.full(cells, WORST, dtype=np.int64)
        self.left: Rows = np.full(cells, -1, dtype=np.int32)
        self.right: Rows = np.empty(cells, dtype=np.int32)
        self.touched: Cells = np.empty(cells, dtype=np.int64)

    def _catch_up(self) -> None:
        store = self._store
        rows = self._touched_rows[0] if len(self._touched_rows) == 1 else np.concatenate(self._touched_rows)
        self._touched_rows = []
        cells = self._cells_of(rows)
        alive = store.stamp[rows] > GONE
        here = self.rows[cells]
        fallen = cells[~alive & ((here == rows) | (here < 0))]  # one that came and went since was never entered
        self.rows[fallen], self.values[fallen] = -1, WORST
        self.stand(cells[alive], rows[alive])

    def stand(self, cells: Cells, rows: Rows) -> None:
        """These rows stand in these cells."""
        (pick,) = self._store.table.picks
        values = self._store.data[rows, pick.value].astype(np.int64)
        self.rows[cells] = rows
        self.values[cells] = ~values if self.complemented else values

    def _cells_of(self, rows: Rows) -> Cells:
        assert self.space is not None
        (pick,) = self._store.table.picks
        keys = np.ascontiguousarray(self._store.data[rows][:, list(pick.group)]).astype(np.int64)
        out = np.empty(rows.size, dtype=np.int64)
        kernels.cells_direct(keys, self.space.base, self.space.extent, out)
        return out

    @property
    def nbytes(self) -> int:
        if self.space is None:
            return 0
        return sum(int(array.nbytes) for array in self.arrays)

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """What stands, as kernels are given it (`BestFound`)."""
        return self.rows, self.values, self.left, self.right, self.touched
