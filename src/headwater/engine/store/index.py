"""Indexes over the rows of a store: from a key to the rows that have it.

A key leads to a *cell*: directly, where the keys' space is small against the rows, else by an open-addressing
hash table whose cells name one row with the key. A cell leads to its rows in two ways: `order[begin[cell] :
begin[cell + 1]]` are the rows taken in when the index was last sorted, and `~heads[cell]` starts a chain of the
rows that came since. Only direct indexes are sorted, when as many rows have come as there were. Rows are
never taken out: readers skip those that are not alive, and compaction of the store makes its indexes anew.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from headwater.engine.store import kernels
from headwater.engine.store.numbering import number_columns

if TYPE_CHECKING:
    from headwater.engine.store.store import Store

Rows = npt.NDArray[np.int32]
Matrix = npt.NDArray[Any]
Box = tuple[bool, npt.NDArray[np.int64], npt.NDArray[np.int64]]
NumberedBox = tuple[bool, npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]
_DIRECT_CELLS_PER_ROW = 16
_LARGE = 1 << 18  # rows from which cells no longer fit a cache: fewer of them are worth their memory
_CELLS_WHEN_LARGE = 4
_THRIFTY_FROM = 1 << 12  # the same for indexes over several columns, whose cells are mostly empty
_GROWING = 4  # so many times more while a table grows: it is likely to go on
_DIRECT_FLOOR = 1 << 20  # cells; memory is only touched where rows are
_SORT_FROM = 1 << 12
_CARRY = 64  # entries copied in the time that a row takes to be met
_MOVES = 4  # how often a row may be moved where rows are nearly in order, before all of them are sorted
FULLEST = 0.7


def within(
    low: npt.NDArray[np.int64], high: npt.NDArray[np.int64], least: npt.NDArray[np.int64], most: npt.NDArray[np.int64]
) -> bool:
    """Whether a range lies inside another in every column; of so few numbers plain Python is quickest."""
    return all(map(operator.ge, low.tolist(), least.tolist())) and all(map(operator.le, high.tolist(), most.tolist()))


def _cells_per_row(rows: int) -> int:
    return _DIRECT_CELLS_PER_ROW if rows < _LARGE else min(_DIRECT_CELLS_PER_ROW, _CELLS_WHEN_LARGE)


def _most_cells(rows: int, *, growing: bool, thrifty: bool) -> int:
    """How many cells so many rows are worth."""
    most = max(_DIRECT_FLOOR, _cells_per_row(rows) * rows * (_GROWING if growing else 1))
    return min(most, _CELLS_WHEN_LARGE * rows) if thrifty and rows >= _THRIFTY_FROM else most


class Space:
    """The box that keys lie in: direct addressing when it is small enough, chosen anew at every rebuild.

    With `words` (see `kernels.cells`) some columns are addressed by numbers of their values.
    """

    __slots__ = ("base", "extent", "words")

    def __init__(
        self, base: npt.NDArray[np.int64], extent: npt.NDArray[np.int64], words: npt.NDArray[np.int64] | None = None
    ) -> None:
        self.base = base
        self.extent = extent
        self.words = NOTHING if words is None else words

    @classmethod
    def around(
        cls, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64], rows: int, *, growing: bool = False,
        thrifty: bool = False,
    ) -> Space | None:  # fmt: skip
        """A direct space for keys between `low` and `high`, with room to grow, or None if too large."""
        spread = [int(top) - int(bottom) + 1 for bottom, top in zip(low, high, strict=True)]
        budget = _most_cells(rows, growing=growing, thrifty=thrifty)
        cells = math.prod(spread)
        if cells > budget:
            return None
        slack = min(budget / cells, 1.25) ** (1 / max(1, len(spread)))
        extent = [int(one * slack) for one in spread]
        return cls(low.astype(np.int64), np.array(extent, dtype=np.int64))

    @classmethod
    def numbered(
        cls, store: Store, columns: Iterable[int], more: int = 0, *, growing: bool = False, thrifty: bool = False
    ) -> Space | None:
        """As `around`, by numbers of the values that stand in some columns of a store, with room for more values."""
        keys = list(columns)
        if not store.size or not keys:
            return None
        budget = _most_cells(store.size + more, growing=growing, thrifty=thrifty)
        low, high = store.bounds.low[keys], store.bounds.high[keys]
        found = number_columns(store.data, store.size, keys, low, high, budget)
        return None if found is None else cls(*found)

    @property
    def cells(self) -> int:
        return int(np.prod(self.extent)) if self.extent.size else 1

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers."""
        return int(self.words.nbytes)

    @property
    def is_plain(self) -> bool:
        """Whether keys are addressed by their values, not by numbers."""
        return not self.words.size

    @property
    def is_full(self) -> bool:
        """Whether a column has no more numbers."""
        if self.is_plain:
            return False
        start, _, given = self._given.T
        return bool(((start > 0) & (given >= self.extent)).any())

    @property
    def _given(self) -> npt.NDArray[np.int64]:
        """Per column, where its numbers start (0: it has none), their mask, and how many are given."""
        return self.words[: 3 * self.extent.size].reshape(-1, 3)

    def knows(self, data: Matrix, start: int, size: int, columns: npt.NDArray[np.int64]) -> bool:
        """Give numbers to values of rows from `start` on; False where there is no room for all."""
        return self.is_plain or self._numbers(data, start, size, columns)[0]

    def cells_of(self, data: Matrix, start: int, size: int, columns: npt.NDArray[np.int64]) -> Matrix:
        """The cells of rows whose values it `knows`."""
        return self._numbers(data, start, size, columns)[1]

    def _numbers(self, data: Matrix, start: int, size: int, columns: npt.NDArray[np.int64]) -> tuple[bool, Matrix]:
        cells = np.empty((size - start, 1), dtype=np.int64)
        fits = kernels.number_rows(data, start, size, columns, self.base, self.extent, self.words, cells)
        return bool(fits), cells

    def chain(self, data: Matrix, rows: Rows, columns: npt.NDArray[np.int64], heads: Rows, chain: Rows) -> bool:
        """Put rows, which lie side by side, into chains; False, and nothing is done, where values have no numbers."""
        if self.is_plain or not rows.size:
            kernels.chain_direct(data, rows, columns, heads, chain, self.base, self.extent)
            return True
        start = int(rows[0])
        fits, cells = self._numbers(data, start, start + rows.size, columns)
        if fits:
            kernels.chain_cells(cells, start, heads, chain)
        return fits

    def is_wide(self, rows: int) -> bool:
        """Whether it has many more cells than so many rows are worth."""
        return self.cells > max(_DIRECT_FLOOR, 2 * _cells_per_row(rows) * rows)

    def is_sparse(self, rows: int) -> bool:
        """Whether most of its cells are empty: where all are written, as in a sorted index, that costs memory."""
        return self.cells > _CELLS_WHEN_LARGE * rows

    def holds(self, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> bool:
        if self.is_plain:
            return within(low, high, self.base, self.base + (self.extent - 1))
        plain = np.flatnonzero(self._given[:, 0] == 0)
        return within(low[plain], high[plain], self.base[plain], self.base[plain] + (self.extent[plain] - 1))


class CodeRange:
    """Smallest and largest code seen per column of a store."""

    __slots__ = ("high", "low", "version")

    def __init__(self, width: int) -> None:
        self.version = 0  # counts how often they were widened
        self.low = np.full(width, np.iinfo(np.int64).max, dtype=np.int64)
        self.high = np.full(width, np.iinfo(np.int64).min, dtype=np.int64)

    @property
    def seen(self) -> bool:
        """Whether any row has been seen (a table without columns needs none)."""
        return not self.low.size or bool(self.low[0] <= self.high[0])

    def include(self, matrix: Matrix) -> None:
        if matrix.shape[0]:
            columns = [matrix[:, column] for column in range(matrix.shape[1])]  # quicker than all at once
            self.widen(
                np.array([column.min() for column in columns], dtype=np.int64),
                np.array([column.max() for column in columns], dtype=np.int64),
            )

    def widen(self, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> None:
        np.minimum(self.low, low, out=self.low)
        np.maximum(self.high, high, out=self.high)
        self.version += 1


def hash_size(rows: int) -> int:
    """Cells for a hash table of so many keys: a power of two that they fill to FULLEST at most."""
    return 1 << max(4, math.ceil(rows / FULLEST).bit_length())


def packed_sort(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64] | None:
    """The distinct rows in ascending order, if they are nearly so already or fit into 63 bits."""
    order = kernels.order_of(rows)
    if order == kernels.ASCENDING:
        return rows  # as they are when they are numbered in the order in which they come
    if order == kernels.GROUPED:  # as edges are that a graph's objects are read with: 127 ms of loading 1M, now 12
        near = rows.copy()
        if kernels.sort_groups(near, _MOVES * rows.shape[0]):
            return near
    low = [int(rows[:, column].min()) for column in range(rows.shape[1])]
    bits = [(int(rows[:, column].max()) - low[column]).bit_length() for column in range(rows.shape[1])]
    if sum(bits) > 63:
        return None
    packed = rows[:, 0] - low[0]
    for column in range(1, rows.shape[1]):
        packed <<= bits[column]
        packed |= rows[:, column] - low[column]
    packed.sort()
    new = np.ones(packed.size, dtype=np.bool_)
    np.not_equal(packed[1:], packed[:-1], out=new[1:])
    if not new.all():
        packed = packed[new]
    out = np.empty((packed.size, len(bits)), dtype=np.int64)
    for column in range(len(bits) - 1, 0, -1):
        out[:, column] = (packed & ((1 << bits[column]) - 1)) + low[column]
        packed >>= bits[column]
    out[:, 0] = packed + low[0]
    return out


def box_of(space: Space | None) -> Box:
    """How kernels find a cell: directly or by hash, and the box of a direct table."""
    return (False, NOTHING, NOTHING) if space is None else (True, space.base, space.extent)


def numbered_box_of(space: Space | None) -> NumberedBox:
    """How kernels find a cell that know numbers: directly, by the numbers, or by hash."""
    if space is None:
        return False, NOTHING, NOTHING, NOTHING
    return space.is_plain, space.base, space.extent, space.words


def find_cells(
    keys: npt.NDArray[np.int64], size: int, space: Space | None, heads: Rows, data: Matrix, columns: Any = None
) -> npt.NDArray[np.int64]:
    """The cell of each key over `columns` (None: all), or -1 where none of the `size` rows has it."""
    cells = np.empty(keys.shape[0], dtype=np.int64)
    if size == 0:
        cells.fill(-1)
    elif space is not None and not space.is_plain:
        kernels.cells_numbered(keys, space.base, space.extent, space.words, cells)
    elif space is not None:
        kernels.cells_direct(keys, space.base, space.extent, cells)
    else:
        every = np.arange(keys.shape[1], dtype=np.int64) if columns is None else columns
        kernels.cells_hash(keys, heads, data, every, cells)
    return cells


class Lists:
    """What leads from a cell to its rows, in the order in which kernels are given it.

    A reader may stop in the middle, add rows to the store and go on: it keeps the lists that it began with, and unpacks
    them anew for each call. Rows that come only ever start chains, so that cells and cursors stay right; an index that
    is sorted or needs another table makes new lists and leaves those that readers have as they are.
    """

    __slots__ = ("begin", "chain", "heads", "order")

    def __init__(self, begin: Rows, order: Rows, heads: Rows, chain: Rows) -> None:
        self.begin = begin
        self.order = order
        self.heads = heads
        self.chain = chain

    def __iter__(self) -> Iterator[Rows]:
        return iter((self.begin, self.order, self.heads, self.chain))

    @property
    def arrays(self) -> tuple[Any, ...]:
        """As kernels are given them that know the cells already (`IndexArrays`)."""
        return NOTHING, True, NOTHING, NOTHING, NOTHING, *self


class Index:
    """An index on some columns of a store; brought up to date by the store before each use."""

    __slots__ = ("_carried", "columns", "covered", "lists", "space", "used")

    def __init__(self, columns: tuple[int, ...]) -> None:
        self.columns = np.array(columns, dtype=np.int64)
        self.covered = 0
        self.used = 0
        self.space: Space | None = None
        self.lists = Lists(_NO_ROWS, _NO_ROWS, np.zeros(16, dtype=np.int32), _NO_ROWS)
        self._carried: dict[int, Matrix] = {}

    def cover(self, store: Store) -> None:
        """Take in the rows that the store has gained since the last call."""
        data, size, bounds = store.data, store.size, store.bounds
        if self.covered == size:
            return
        low, high = bounds.low[self.columns], bounds.high[self.columns]
        if self._outgrown(store, low, high):
            self._rebuild(store, low, high)
        held = self.lists.order.size
        if self.space is not None and size - held > max(_SORT_FROM, 2 * held):
            if self.columns.size == 1 or not self.space.is_sparse(size):
                self._sort(self.space, store)
                return
            self._rebuild(store, low, high)
        lists = self.lists
        if lists.chain.size < size:
            store.budget.take(store, 4 * (store.capacity - lists.chain.size))
            grown = np.empty(store.capacity, dtype=np.int32)
            grown[: lists.chain.size] = lists.chain
            lists.chain = grown
        fresh = np.arange(self.covered, size, dtype=np.int32)
        if self.space is not None:
            self.space.chain(data, fresh, self.columns, lists.heads, lists.chain)
        else:
            self.used = kernels.chain_hash(data, fresh, self.columns, lists.heads, lists.chain, self.used)
        self.covered = size

    def _outgrown(self, store: Store, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> bool:
        size = store.size
        if self.space is not None:
            return not (self.space.holds(low, high) and self.space.knows(store.data, self.covered, size, self.columns))
        return self.covered == 0 or self.used + size - self.covered > FULLEST * self.lists.heads.size

    def _rebuild(self, store: Store, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> None:
        size = store.size
        thrifty = self.columns.size > 1
        self.space = Space.around(low, high, size, thrifty=thrifty)
        if self.space is None:
            self.space = Space.numbered(store, self.columns.tolist(), thrifty=thrifty)
        if self.space is not None and not store.budget.fits(8 * self.space.cells + 4 * size + self.space.nbytes):
            self.space = None  # a hash table takes less
        cells = self.space.cells if self.space is not None else hash_size(size)
        store.budget.take(store, 4 * cells)
        self.lists = Lists(_NO_ROWS, _NO_ROWS, np.zeros(cells, dtype=np.int32), _NO_ROWS)
        self._carried.clear()
        self.covered = self.used = 0

    def _sort(self, space: Space, store: Store) -> None:
        data, size = store.data, store.size
        store.budget.take(store, 4 * (2 * space.cells + size))
        begin = np.empty(space.cells + 1, dtype=np.int32)
        order = np.empty(size, dtype=np.int32)
        keys, columns, base, extent = data, self.columns, space.base, space.extent
        if not space.is_plain:  # keys are their cells
            keys, columns, base, extent = space.cells_of(data, 0, size, columns), _ZERO, _ZERO, np.array([space.cells])
        kernels.sort_by_cell(keys, size, columns, base, extent, begin, order)
        self.lists = Lists(begin, order, np.zeros(space.cells, dtype=np.int32), _NO_ROWS)
        self._carried.clear()
        self.covered = size

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The index as kernels are given it (`IndexArrays`)."""
        return self.columns, *numbered_box_of(self.space), *self.lists

    def cells(self, keys: npt.NDArray[np.int64], data: Matrix) -> npt.NDArray[np.int64]:
        """The cell of each key, or -1 where no row has ever had it."""
        return find_cells(keys, self.covered, self.space, self.lists.heads, data, self.columns)

    def carried(self, column: int, data: Matrix, reads: int) -> Matrix:
        """A column in the order of the sorted rows, if they are sorted and about so many reads make that worth it."""
        found = self._carried.get(column)
        if found is None:
            order = self.lists.order
            if not order.size or reads * _CARRY < order.size:
                return data[:0, 0]
            found = self._carried[column] = data[order, column]
        return found

    def rows_of(self, cell: int) -> Iterator[int]:
        """All rows of a cell, alive or not."""
        if cell < 0:
            return
        begin, order, heads, chain = self.lists
        if begin.size:
            yield from order[begin[cell] : begin[cell + 1]].tolist()
        row = ~int(heads[cell])
        while row >= 0:
            yield row
            row = int(chain[row])

    @property
    def nbytes(self) -> int:
        begin, order, heads, chain = self.lists
        arrays = (begin, order, heads, chain[: self.covered], *self._carried.values())  # untouched room takes no memory
        return sum(int(array.nbytes) for array in arrays) + (0 if self.space is None else self.space.nbytes)


NOTHING: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
_ZERO: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)
_NO_ROWS: Rows = np.zeros(0, dtype=np.int32)
