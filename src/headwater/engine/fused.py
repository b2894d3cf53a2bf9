"""Fused strands: a rule of two atoms and nothing else runs as one compiled loop from starting rows to head rows.

Most of the time of a closure goes here. What it does is what `Runner` and `Store.merge` do in steps; whether a
strand qualifies is decided once, when it is prepared.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headwater.engine import kernels
from headwater.engine.index import box_of
from headwater.engine.journal import Journal
from headwater.engine.store import Rows, Store, Writer
from headwater.engine.values import Symbols, encode
from headwater.plan.model import FlatRule, Join, Literal, Reads, Strand, Var

_ROOM = 1 << 16


class Fused:
    """One strand of two atoms: the starting one (left) and the one it meets (right)."""

    def __init__(self, strand: Strand, rule: FlatRule, stores: dict[str, Store], symbols: Symbols) -> None:
        (join,) = strand.steps
        assert strand.start is not None
        assert strand.atom is not None
        assert isinstance(join, Join)
        self.rule = rule
        self._left = stores[strand.start.table]
        self._right = stores[join.pattern.table]
        self._head = stores[rule.table]
        self._reads = join.reads
        self._slot = strand.atom
        self._columns = tuple(column for column, _ in join.pattern.key)
        lefts = {name: column for column, name in strand.start.binds}
        rights = {name: column for column, name in join.pattern.binds}
        self._key_from = np.empty(len(join.pattern.key), dtype=np.int64)
        self._constants = np.zeros(len(join.pattern.key), dtype=np.int64)
        for at, (column, source) in enumerate(join.pattern.key):
            if isinstance(source, Var):
                self._key_from[at] = lefts[source.name]
            else:
                self._key_from[at] = -1
                self._constants[at] = encode(source.value, self._right.table.types[column], symbols)
        self._side = np.empty(len(rule.head), dtype=np.int64)
        self._from = np.empty(len(rule.head), dtype=np.int64)
        for at, source in enumerate(rule.head):
            if isinstance(source, Literal):
                self._side[at], self._from[at] = 2, encode(source.value, self._head.table.types[at], symbols)
            elif source.name in lefts:
                self._side[at], self._from[at] = 0, lefts[source.name]
            else:
                self._side[at], self._from[at] = 1, rights[source.name]

    def run(self, rows: Rows, tick: int, after: int, journal: Journal) -> Rows:
        """Head rows that these starting rows give, alive from round `after` on; the ones that came."""
        left, right, head = self._left, self._right, self._head
        low, high = self._range()
        if rows.size == 0 or right.size == 0:
            return np.zeros(0, dtype=np.int32)
        head.admit_range(low, high)
        index = right.index(self._columns)
        newest = tick if self._reads is Reads.ALL else tick - 1
        writer = Writer(head, journal, _ROOM)
        at, place, linked = 0, np.int64(-1), np.int32(-1)
        while at < rows.size:
            at, place, linked, size, fresh, revived = kernels.join_merge(
                rows, left.data, self._key_from, self._constants, right.data, index.columns, *box_of(index.space),
                *index.lists, right.stamp, newest, self._side, self._from, self._slot, self.rule.id, after, head.data,
                head.stamp, head.rules, head.proof, head.heads, *box_of(head.space), head.size, head.room(), at, place,
                linked, *writer.buffers,
            )  # fmt: skip
            writer.took(size, fresh, revived)
            if at < rows.size:
                head.expand()
        return writer.came()

    def _range(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Bounds of the head's columns, from those of the columns they are copied from."""
        low = np.empty(self._side.size, dtype=np.int64)
        high = np.empty(self._side.size, dtype=np.int64)
        for at, (side, column) in enumerate(zip(self._side.tolist(), self._from.tolist(), strict=True)):
            if side == 2:
                low[at] = high[at] = column
            else:
                bounds = (self._left if side == 0 else self._right).bounds
                low[at], high[at] = bounds.low[column], bounds.high[column]
        return low, high


def fusible(strand: Strand, rule: FlatRule, stores: dict[str, Store]) -> bool:
    """Whether a strand is two atoms and nothing else, into a table without picks and without widening."""
    if len(strand.steps) != 1 or strand.atom is None or strand.start is None or len(rule.atoms) != 2:
        return False
    (join,) = strand.steps
    head = stores[rule.table]
    if not isinstance(join, Join) or join.any or join.pattern.equal or head.table.picks or not rule.head:
        return False
    if len(join.pattern.key) == stores[join.pattern.table].width:
        return False
    return all(
        isinstance(source, Literal) or rule.types[source.name] is kind
        for source, kind in zip(rule.head, head.table.types, strict=True)
    )
