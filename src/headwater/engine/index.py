"""Indexes over the rows of a store: from a key to the rows that have it.

`Index` is chained: `heads` leads from a key to its newest row, `chain` from each row to the next older one
with the same key. Rows are never taken out; readers skip those that are not alive, and compaction of the
store builds its indexes anew. Where the keys' space is small against the rows, `heads` is addressed by the key
itself (direct); else it is an open-addressing hash table.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.engine import kernels

Rows = npt.NDArray[np.int32]
Matrix = npt.NDArray[Any]
_DIRECT_CELLS_PER_ROW = 4
_DIRECT_FLOOR = 1 << 12
FULLEST = 0.7


class Space:
    """The box that keys lie in: direct addressing when it is small enough, chosen anew at every rebuild."""

    __slots__ = ("base", "extent")

    def __init__(self, base: npt.NDArray[np.int64], extent: npt.NDArray[np.int64]) -> None:
        self.base = base
        self.extent = extent

    @classmethod
    def around(cls, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64], rows: int) -> Space | None:
        """A direct space for keys between `low` and `high`, with room to grow, or None if too large."""
        spread = [int(top) - int(bottom) + 1 for bottom, top in zip(low, high, strict=True)]
        budget = max(_DIRECT_FLOOR, _DIRECT_CELLS_PER_ROW * rows)
        cells = 1
        for one in spread:
            cells *= one
        if cells > budget:
            return None
        slack = (budget / cells) ** (1 / len(spread)) if spread else 1.0
        extent = [int(one * min(slack, 1.25)) for one in spread]
        return cls(low.astype(np.int64), np.array(extent, dtype=np.int64))

    @property
    def cells(self) -> int:
        return int(np.prod(self.extent)) if self.extent.size else 1

    def holds(self, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> bool:
        return bool(np.all(low >= self.base) and np.all(high < self.base + self.extent))


class Bounds:
    """Smallest and largest code seen per column of a store."""

    __slots__ = ("high", "low")

    def __init__(self, width: int) -> None:
        self.low = np.full(width, np.iinfo(np.int64).max, dtype=np.int64)
        self.high = np.full(width, np.iinfo(np.int64).min, dtype=np.int64)

    def include(self, matrix: Matrix) -> None:
        if matrix.shape[0]:
            np.minimum(self.low, matrix.min(axis=0), out=self.low)
            np.maximum(self.high, matrix.max(axis=0), out=self.high)


def hash_size(rows: int) -> int:
    """Cells for a hash table of so many keys: a power of two that they fill to FULLEST at most."""
    return 1 << max(4, math.ceil(rows / FULLEST).bit_length())


class Index:
    """A chained index on some columns of a store; brought up to date by the store before each use."""

    __slots__ = ("chain", "columns", "covered", "heads", "space", "used")

    def __init__(self, columns: tuple[int, ...]) -> None:
        self.columns = np.array(columns, dtype=np.int64)
        self.covered = 0
        self.used = 0
        self.space: Space | None = None
        self.heads: Rows = np.full(16, -1, dtype=np.int32)
        self.chain: Rows = np.zeros(0, dtype=np.int32)

    def cover(self, data: Matrix, stamp: Rows, size: int, bounds: Bounds) -> None:
        """Take in the rows that the store has gained since the last call."""
        if self.chain.size < size:
            grown = np.empty(max(data.shape[0], size), dtype=np.int32)
            grown[: self.covered] = self.chain[: self.covered]
            self.chain = grown
        if self.covered == size:
            return
        low, high = bounds.low[self.columns], bounds.high[self.columns]
        if self._outgrown(size, low, high):
            self._rebuild(size, low, high)
        fresh = np.arange(self.covered, size, dtype=np.int32)
        if self.space is not None:
            kernels.chain_direct(data, fresh, self.columns, self.heads, self.chain, self.space.base, self.space.extent)
        else:
            self.used = kernels.chain_hash(data, fresh, self.columns, self.heads, self.chain, self.used)
        self.covered = size

    def _outgrown(self, size: int, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> bool:
        if self.space is not None:
            return not self.space.holds(low, high)
        return self.covered == 0 or self.used + size - self.covered > FULLEST * self.heads.size

    def _rebuild(self, size: int, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> None:
        self.space = Space.around(low, high, size)
        cells = self.space.cells if self.space is not None else hash_size(size)
        self.heads = np.full(cells, -1, dtype=np.int32)
        self.covered = self.used = 0

    def lookup(self, keys: npt.NDArray[np.int64], data: Matrix) -> Rows:
        """The newest row for each key, alive or not, or -1."""
        out: Rows = np.empty(keys.shape[0], dtype=np.int32)
        if self.covered == 0:
            out.fill(-1)
        elif self.space is not None:
            kernels.lookup_direct(keys, self.heads, self.space.base, self.space.extent, out)
        else:
            kernels.lookup_hash(keys, self.heads, data, self.columns, out)
        return out

    @property
    def nbytes(self) -> int:
        return int(self.heads.nbytes + self.chain.nbytes)
