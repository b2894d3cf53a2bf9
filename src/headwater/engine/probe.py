"""The two atoms of a fused strand: how kernels get from starting rows to the rows met, and from both to the head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.types import Type
from headwater.engine.index import Box, Matrix, Rows, box_of
from headwater.engine.states import GONE
from headwater.engine.store import Store
from headwater.engine.values import Symbols, encode
from headwater.plan.model import Join, Literal, Reads, Source, Strand, Var

LEFT, RIGHT, CONSTANT = 0, 1, 2
Places = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]  # sides, and columns or constants


@dataclass(frozen=True, slots=True)
class Arguments:
    """What kernels are told about a probe: how to find cells, their rows, how new, and all of it in their order."""

    box: Box
    lists: tuple[Rows, Rows, Rows, Rows]
    newest: int
    all: tuple[Any, ...]


class Probe:
    """The two atoms: rows of `left` start, rows of `right` are met by index, head columns are copied from both."""

    def __init__(self, strand: Strand, join: Join, stores: dict[str, Store], symbols: Symbols) -> None:
        assert strand.start is not None
        assert strand.atom is not None
        self.left = stores[strand.start.table]
        self.right = stores[join.pattern.table]
        self.reads = join.reads
        self.slot = strand.atom
        self.columns = tuple(column for column, _ in join.pattern.key)
        self.lefts = {name: column for column, name in strand.start.binds}
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

    def arguments(self, tick: int) -> Arguments:
        index = self.right.index(self.columns)
        newest = tick if self.reads is Reads.ALL else tick - 1
        box = box_of(index.space)
        everything = (
            self.left.data, self.key_from, self.constants, self.right.data, index.columns, *box, *index.lists,
            self.right.stamp, newest,
        )  # fmt: skip
        return Arguments(box, index.lists, newest, everything)

    def meets_nothing(self, starting: int, tick: int) -> bool:
        """Whether there surely is no row to meet; looked into where it costs less than finding out by joining."""
        right = self.right
        if starting < right.size:
            return right.size == 0
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


def as_places(pairs: list[tuple[int, int]]) -> Places:
    return (
        np.array([side for side, _ in pairs], dtype=np.int64),
        np.array([column for _, column in pairs], dtype=np.int64),
    )
