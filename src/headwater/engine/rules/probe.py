"""The two rows of a compiled loop: how kernels get from starting rows to rows met, and from both to the head."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.types import Type
from headwater.engine.codes.symbols import NULL, Symbols, encode
from headwater.engine.rules.context import Context
from headwater.engine.store import kernels
from headwater.engine.store.index import Lists, Matrix, NumberedBox, Rows, numbered_box_of
from headwater.engine.store.states import GONE
from headwater.engine.store.store import Store
from headwater.plan import model
from headwater.plan.model import BestLoop, Copied, FlatRule, FrontierLoop, LoopValue, Reads, Side

LEFT, RIGHT, CONSTANT = 0, 1, 2
Pause = Callable[[int], None]  # of many rounds in one go: is told now and then how many rows have come
_SIDES = {Side.START: LEFT, Side.MET: RIGHT}
Terms = list[tuple[int, int]]  # sides, and columns or constants
Places = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]  # the same as arrays
NO_ROWS: Rows = np.zeros(0, dtype=np.int32)


def terms(values: Iterable[LoopValue], kinds: Iterable[Type], symbols: Symbols) -> Terms:
    """Where values of these types come from: a side and a column, or a constant."""
    return [
        (_SIDES[value.side], value.column)
        if isinstance(value, Copied)
        else (CONSTANT, encode(value.value, kind, symbols))
        for value, kind in zip(values, kinds, strict=True)
    ]


def column_of(values: Terms, side: int) -> int:
    """The first column that is taken from a side (-1: none)."""
    return next((column for each, column in values if each == side), -1)


def as_places(pairs: Terms) -> Places:
    return (
        np.array([side for side, _ in pairs], dtype=np.int64),
        np.array([column for _, column in pairs], dtype=np.int64),
    )


class PickLoop:
    """What the loops into tables of best rows share: what they meet, and the terms of a head's group and value."""

    def __init__(self, loop: BestLoop | FrontierLoop, start: str, rule: FlatRule, context: Context) -> None:
        self._probe = RowProbe(loop.probe, context.stores[start], context.stores, context.symbols)
        self._rule = rule.id
        self._head = context.stores[rule.table]
        (self._pick,) = self._head.table.picks
        types = self._head.table.types
        self._group = terms(loop.group, [types[at] for at in self._pick.group], context.symbols)
        self._value = terms(loop.value, [types[self._pick.value]] * len(loop.value), context.symbols)
        self._constant = sum(constant for side, constant in self._value if side == CONSTANT)
        self._least = NULL + context.holds_nulls  # where nulls can be, a sum must not look like one


class RowProbe:
    """Rows of `left` start and meet rows of `right` by index; or bindings start, and then `left` is not read."""

    def __init__(self, plan: model.Probe, left: Store, stores: Mapping[str, Store], symbols: Symbols) -> None:
        self.left = left
        self.right = stores[plan.table]
        self.reads = plan.reads
        self.slot = plan.atom
        self.columns = plan.columns
        kinds = [self.right.table.types[column] for column in plan.columns]
        self.key_from = np.array([-1 if isinstance(part, model.Literal) else part for part in plan.key], dtype=np.int64)
        self.constants = np.array(
            [
                encode(part.value, kind, symbols) if isinstance(part, model.Literal) else 0
                for part, kind in zip(plan.key, kinds, strict=True)
            ],
            dtype=np.int64,
        )

    def newest(self, tick: int) -> int:
        """The last round whose rows are met."""
        return tick if self.reads is Reads.ALL else tick - 1

    def reading(self, tick: int) -> Reading:
        """What a loop reads by, from here to its end."""
        index = self.right.index(self.columns)
        return Reading(self, numbered_box_of(index.space), index.columns, index.lists, self.newest(tick))

    def meets_nothing(self, starting: int, tick: int) -> bool:
        """Whether there surely is no row to meet; looked into where it costs less than finding out by joining."""
        right = self.right
        if starting < right.size:
            return False
        stamps = right.stamp[: right.size]
        return not ((stamps > GONE) & (stamps <= self.newest(tick))).any()

    def reach(self) -> tuple[Any, ...]:
        """What `bounds` depend on."""
        left, right = self.left.bounds, self.right.bounds
        return left, left.version, right, right.version

    def count(self, rows: Rows, left: Matrix | None, tick: int) -> int:
        """How many rows starting rows meet, those of `left` or, if that is None, of the probe's own table."""
        data = self.left.data[rows] if left is None else left
        keys = np.empty((data.shape[0], self.key_from.size), dtype=np.int64)
        for at, (column, constant) in enumerate(zip(self.key_from.tolist(), self.constants.tolist(), strict=True)):
            keys[:, at] = constant if column < 0 else data[:, column]
        index, right = self.right.index(self.columns), self.right
        return int(kernels.count_met(index.cells(keys, right.data), index.arrays, right.stamp, self.newest(tick)))

    def carried(self, column: int, reads: int) -> Matrix:
        """A column of `right` in the order in which its index has the rows; empty where there is none."""
        if column < 0 or not reads:
            return self.right.data[:0, 0]
        return self.right.index(self.columns).carried(column, self.right.data, reads)

    def bounds(self, places: Places, batch: npt.NDArray[np.int64] | None = None) -> Places:
        """Smallest and largest code of copied columns, from those of the columns they are copied from."""
        low = np.empty(places[0].size, dtype=np.int64)
        high = np.empty(places[0].size, dtype=np.int64)
        for at, (side, column) in enumerate(zip(places[0].tolist(), places[1].tolist(), strict=True)):
            if side == CONSTANT:
                low[at] = high[at] = column
            elif side == LEFT and batch is not None:
                low[at], high[at] = batch[:, column].min(), batch[:, column].max()
            else:
                seen = (self.left if side == LEFT else self.right).bounds
                low[at], high[at] = seen.low[column], seen.high[column]
        return low, high


@dataclass(frozen=True, slots=True)
class Reading:
    """How the rows met are found: one state of the index, for the whole of a loop that may stop and go on.

    Rows that the loop itself adds to a table do not count for it, and its cursor belongs to these lists: the index must
    not be asked for again before the end. The tables' own arrays move when they grow, so they are looked up per call.
    """

    probe: RowProbe
    box: NumberedBox
    columns: npt.NDArray[np.int64]
    lists: Lists
    newest: int

    @property
    def addressed(self) -> bool:
        """Whether a key leads to its cell without a hash table of rows."""
        direct, base, _, _ = self.box
        return direct or base.size > 0

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The index as kernels are given it (`IndexArrays`)."""
        return self.columns, *self.box, *self.lists
