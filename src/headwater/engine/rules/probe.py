"""The two atoms of a fused delta rule: how kernels get from starting rows to rows met, and from both to the head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.types import Type
from headwater.engine.codes.symbols import Symbols, encode
from headwater.engine.store.index import Box, Lists, Matrix, box_of
from headwater.engine.store.states import GONE
from headwater.engine.store.store import Store
from headwater.plan.model import DeltaRule, Join, Literal, Reads, Source, Var

LEFT, RIGHT, CONSTANT = 0, 1, 2
Places = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]  # sides, and columns or constants


class Probe:
    """The two atoms: rows of `left` start, rows of `right` are met by index, head columns are copied from both."""

    def __init__(self, delta_rule: DeltaRule, join: Join, stores: dict[str, Store], symbols: Symbols) -> None:
        assert delta_rule.start is not None
        assert delta_rule.atom is not None
        self.left = stores[delta_rule.start.table]
        self.right = stores[join.pattern.table]
        self.reads = join.reads
        self.slot = delta_rule.atom
        self.columns = tuple(column for column, _ in join.pattern.key)
        self.lefts = {name: column for column, name in delta_rule.start.binds}
        self.rights = {name: column for column, name in join.pattern.binds}
        self.key_from = np.empty(len(join.pattern.key), dtype=np.int64)
        self.constants = np.zeros(len(join.pattern.key), dtype=np.int64)
        for at, (column, source) in enumerate(join.pattern.key):
            if isinstance(source, Var):
                self.key_from[at] = self.lefts[source.name]
            else:
                self.key_from[at] = -1
                self.constants[at] = encode(source.value, self.right.table.types[column], symbols)

    def place(self, source: Source, kind: Type, symbols: Symbols) -> tuple[int, int]:
        """Where a head column comes from: a side and a column, or a constant."""
        if isinstance(source, Literal):
            return CONSTANT, encode(source.value, kind, symbols)
        if source.name in self.lefts:
            return LEFT, self.lefts[source.name]
        return RIGHT, self.rights[source.name]

    def reading(self, tick: int) -> Reading:
        """What a loop reads by, from here to its end."""
        index = self.right.index(self.columns)
        newest = tick if self.reads is Reads.ALL else tick - 1
        return Reading(self, box_of(index.space), index.columns, index.lists, newest)

    def meets_nothing(self, starting: int, tick: int) -> bool:
        """Whether there surely is no row to meet; looked into where it costs less than finding out by joining."""
        right = self.right
        if starting < right.size:
            return False
        stamps = right.stamp[: right.size]
        newest = tick if self.reads is Reads.ALL else tick - 1
        return not ((stamps > GONE) & (stamps <= newest)).any()

    def reach(self) -> tuple[Any, ...]:
        """What `bounds` depend on."""
        left, right = self.left.bounds, self.right.bounds
        return left, left.version, right, right.version

    def carried(self, column: int, reads: int) -> Matrix:
        """A column of `right` in the order in which its index has the rows; empty where there is none."""
        if column < 0 or not reads:
            return self.right.data[:0, 0]
        return self.right.index(self.columns).carried(column, self.right.data, reads)

    def bounds(self, places: Places) -> Places:
        """Smallest and largest code of copied columns, from those of the columns they are copied from."""
        low = np.empty(places[0].size, dtype=np.int64)
        high = np.empty(places[0].size, dtype=np.int64)
        for at, (side, column) in enumerate(zip(places[0].tolist(), places[1].tolist(), strict=True)):
            if side == CONSTANT:
                low[at] = high[at] = column
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

    probe: Probe
    box: Box
    columns: npt.NDArray[np.int64]
    lists: Lists
    newest: int

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What kernels are told, in their order."""
        probe = self.probe
        return (
            probe.left.data, probe.key_from, probe.constants, probe.right.data, self.columns, *self.box, *self.lists,
            probe.right.stamp, self.newest,
        )  # fmt: skip


def as_places(pairs: list[tuple[int, int]]) -> Places:
    return (
        np.array([side for side, _ in pairs], dtype=np.int64),
        np.array([column for _, column in pairs], dtype=np.int64),
    )
