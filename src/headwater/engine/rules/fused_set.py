"""Compiled loops into tables that keep all rows: a copy, a join of two atoms, the last join of a longer rule, and a
pull of marked rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.types import Type
from headwater.engine.codes.batch import Batch
from headwater.engine.codes.symbols import Symbols, encode
from headwater.engine.rules.probe import CONSTANT, LEFT, RIGHT, Places, Probe, as_places
from headwater.engine.store import kernels
from headwater.engine.store.index import Rows, box_of
from headwater.engine.store.journal import Entry, Journal, Outcome
from headwater.engine.store.states import EVER, MARKED
from headwater.engine.store.store import Store, Writer
from headwater.plan.model import DeltaRule, FlatRule, Join, Literal, Owned, Reads, Var

_ROOM = 1 << 16
Owns = Callable[[npt.NDArray[np.integer[Any]], Type], npt.NDArray[np.bool_]]  # of values, those that a shard owns


class FusedCopy:
    """One atom into a table that keeps all rows: columns moved about, nothing met."""

    def __init__(
        self,
        delta_rule: DeltaRule,
        rule: FlatRule,
        stores: dict[str, Store],
        symbols: Symbols,
        owned: Owned | None,
        owns: Owns,
    ) -> None:
        assert delta_rule.start is not None
        self._owned = owned
        self._owns = owns
        self._left = stores[delta_rule.start.table]
        self._head = stores[rule.table]
        self._rule = rule.id
        columns = {name: column for column, name in delta_rule.start.binds}
        self._places = [
            (CONSTANT, encode(source.value, kind, symbols))
            if isinstance(source, Literal)
            else (LEFT, columns[source.name])
            for source, kind in zip(rule.head, self._head.table.types, strict=True)
        ]
        if owned is not None:
            assert isinstance(owned.source, Var)
            self._owner = columns[owned.source.name]
        taken = [column for side, column in self._places if side == LEFT]
        self._distinct = set(taken) == set(range(self._left.width))  # different rows give different rows
        self._same = taken == list(range(self._left.width)) and len(taken) == len(self._places)

    def run(self, rows: Rows, tick: int, after: int, journal: Journal) -> Outcome:
        """As `FusedSet.run`."""
        if self._owned is not None:
            rows = rows[self._owns(self._left.data[rows, self._owner], self._owned.type) == self._owned.mine]
        if rows.size == 0:
            return _NO_ROWS, _NO_ROWS
        candidates = np.empty((rows.size, self._head.width), dtype=np.int64)
        for at, (side, column) in enumerate(self._places):
            candidates[:, at] = column if side == CONSTANT else self._left.data[rows, column]
        self._head.admit_rows(candidates)
        if self._head.size == 0 and self._distinct and (rows[1:] > rows[:-1]).all():  # each row once
            came = self._head.append(candidates, rows.reshape(-1, 1), self._rule, after, journal)
            in_order = self._same and self._left.size == self._left.ordered
            self._head.ordered = self._head.size if in_order else 0
            return came, _NO_ROWS
        return self._head.merge(candidates, rows.reshape(-1, 1), self._rule, after, journal), _NO_ROWS


class FusedSet:
    """Two atoms into a table that keeps all rows."""

    def __init__(self, probe: Probe, rule: FlatRule, head: Store, symbols: Symbols) -> None:
        self._probe = probe
        self._rule = rule
        self._head = head
        kinds = head.table.types
        places = [probe.place(one, kind, symbols) for one, kind in zip(rule.head, kinds, strict=True)]
        self._places = as_places(places)
        self._short = _is_short(places, probe.key_from)
        self._admitted: tuple[Any, ...] = ()  # the bounds for which the head has room
        self._ends = (*places[0], *places[-1])

    def run(self, rows: Rows, tick: int, after: int, journal: Journal) -> Outcome:
        """Head rows that these starting rows give, alive from round `after` on."""
        probe, head = self._probe, self._head
        if rows.size == 0 or probe.meets_nothing(rows.size, tick):
            return _NO_ROWS, _NO_ROWS
        reach = (*probe.reach(), head.bounds)
        if reach != self._admitted:
            head.admit_range(*probe.bounds(self._places))
            self._admitted = reach
        reading = probe.reading(tick)
        head.identify()
        clean = journal.all_alive(head)
        writer = Writer(head, journal, _room(rows.size, clean))
        proofs, slots = rows.reshape(-1, 1), np.array([probe.slot])
        at, place, linked = 0, np.int64(-1), np.int32(-1)
        while at < rows.size:
            if self._short and head.space is not None and reading.box[0]:
                at, place, linked, size, revived = kernels.join_short(
                    rows, probe.left.data, probe.key_from[0], probe.right.data, *reading.box[1:], *reading.lists,
                    probe.right.stamp, reading.newest, *self._ends, proofs, slots, 1 - probe.slot, self._rule.id,
                    after, head.data, head.stamp, head.rules, head.proof, head.heads, head.space.base,
                    head.space.extent, head.size, head.room(), clean, at, place, linked, *writer.buffers,
                )  # fmt: skip
            else:
                at, place, linked, size, revived = kernels.join_merge(
                    rows, *reading.arguments, *self._places, proofs, slots, 1 - probe.slot, self._rule.id, after,
                    head.data, head.stamp, head.rules, head.proof, head.heads, *box_of(head.space), head.size,
                    head.room(), clean, at, place, linked, *writer.buffers,
                )  # fmt: skip
            writer.took(size, revived)
            if at < rows.size:
                head.expand()
        return writer.came(), _NO_ROWS


class FusedTail:
    """The last join of a longer rule, from bindings of all other atoms into a table that keeps all rows."""

    def __init__(self, delta_rule: DeltaRule, rule: FlatRule, stores: dict[str, Store], symbols: Symbols) -> None:
        join = delta_rule.steps[-1]
        assert isinstance(join, Join)
        self._rule = rule.id
        self._head = stores[rule.table]
        self._right = stores[join.pattern.table]
        self._reads = join.reads
        self._columns = tuple(column for column, _ in join.pattern.key)
        self._slot = join.atom
        self._slots = np.array([at for at in range(len(rule.atoms)) if at != join.atom], dtype=np.int64)
        rights = {name: column for column, name in join.pattern.binds}
        keyed = [source.name for _, source in join.pattern.key if isinstance(source, Var)]
        copied = [source.name for source in rule.head if isinstance(source, Var) and source.name not in rights]
        self._names = list(dict.fromkeys((*keyed, *copied)))
        self._key_from = np.full(len(join.pattern.key), -1, dtype=np.int64)
        self._constants = np.zeros(len(join.pattern.key), dtype=np.int64)
        for at, (column, source) in enumerate(join.pattern.key):
            if isinstance(source, Var):
                self._key_from[at] = self._names.index(source.name)
            else:
                self._constants[at] = encode(source.value, self._right.table.types[column], symbols)
        places: list[tuple[int, int]] = []
        for source, kind in zip(rule.head, self._head.table.types, strict=True):
            if isinstance(source, Literal):
                places.append((CONSTANT, encode(source.value, kind, symbols)))
            elif source.name in rights:
                places.append((RIGHT, rights[source.name]))
            else:
                places.append((LEFT, self._names.index(source.name)))
        self._places = as_places(places)
        self._short = _is_short(places, self._key_from)
        self._ends = (*places[0], *places[-1])

    def run(self, batch: Batch, tick: int, after: int, journal: Journal) -> Rows:
        """Head rows that these bindings give, alive from round `after` on."""
        head, right = self._head, self._right
        if right.size == 0:
            return _NO_ROWS
        left = np.empty((batch.size, len(self._names)), dtype=np.int64)
        for at, name in enumerate(self._names):
            left[:, at] = batch.columns[name]
        proofs = np.stack([batch.rows[int(slot)] for slot in self._slots], axis=1)
        head.admit_range(*self._bounds(left))
        head.identify()
        index = right.index(self._columns)  # not asked for again before the end: a cursor belongs to it
        newest = tick if self._reads is Reads.ALL else tick - 1
        clean = journal.all_alive(head)
        writer = Writer(head, journal, _room(batch.size, clean))
        rows = np.arange(batch.size, dtype=np.int32)
        at, place, linked = 0, np.int64(-1), np.int32(-1)
        while at < rows.size:
            if self._short and head.space is not None and index.space is not None:
                at, place, linked, size, revived = kernels.join_short(
                    rows, left, self._key_from[0], right.data, index.space.base, index.space.extent, *index.lists,
                    right.stamp, newest, *self._ends, proofs, self._slots, self._slot, self._rule, after, head.data,
                    head.stamp, head.rules, head.proof, head.heads, head.space.base, head.space.extent, head.size,
                    head.room(), clean, at, place, linked, *writer.buffers,
                )  # fmt: skip
            else:
                at, place, linked, size, revived = kernels.join_merge(
                    rows, left, self._key_from, self._constants, right.data, index.columns, *box_of(index.space),
                    *index.lists, right.stamp, newest, *self._places, proofs, self._slots, self._slot, self._rule,
                    after, head.data, head.stamp, head.rules, head.proof, head.heads, *box_of(head.space), head.size,
                    head.room(), clean, at, place, linked, *writer.buffers,
                )  # fmt: skip
            writer.took(size, revived)
            if at < rows.size:
                head.expand()
        return writer.came()

    def _bounds(self, left: npt.NDArray[np.int64]) -> Places:
        low = np.empty(self._places[0].size, dtype=np.int64)
        high = np.empty(self._places[0].size, dtype=np.int64)
        for at, (side, column) in enumerate(zip(*(part.tolist() for part in self._places), strict=True)):
            if side == CONSTANT:
                low[at] = high[at] = column
            elif side == LEFT:
                low[at], high[at] = left[:, column].min(), left[:, column].max()
            else:
                low[at], high[at] = self._right.bounds.low[column], self._right.bounds.high[column]
        return low, high


class FusedPull:
    """Marked rows of a set table derived again by a rule of two atoms: the first by index, the second known whole."""

    def __init__(self, delta_rule: DeltaRule, rule: FlatRule, stores: dict[str, Store], symbols: Symbols) -> None:
        assert delta_rule.start is not None
        first, second = delta_rule.steps
        assert isinstance(first, Join)
        assert isinstance(second, Join)
        self._head = stores[rule.table]
        self._right = stores[first.pattern.table]
        self._last = stores[second.pattern.table]
        self._rule = rule.id
        self._slot = first.atom
        self._columns = tuple(column for column, _ in first.pattern.key)
        known = {name: column for column, name in delta_rule.start.binds}
        bound = {name: column for column, name in first.pattern.binds}
        self._key_from = np.full(len(self._columns), -1, dtype=np.int64)
        self._constants = np.zeros(len(self._columns), dtype=np.int64)
        for at, (column, source) in enumerate(first.pattern.key):
            if isinstance(source, Var):
                self._key_from[at] = known[source.name]
            else:
                self._constants[at] = encode(source.value, self._right.table.types[column], symbols)
        places: list[tuple[int, int]] = [(0, 0)] * self._last.width
        for column, source in second.pattern.key:
            if isinstance(source, Literal):
                places[column] = CONSTANT, encode(source.value, self._last.table.types[column], symbols)
            else:
                places[column] = (LEFT, known[source.name]) if source.name in known else (RIGHT, bound[source.name])
        self._places = as_places(places)
        self._short = bool(places) and _is_short(places, self._key_from)
        self._ends = (*places[0], *places[-1]) if places else ()

    def run(self, rows: Rows, tick: int, journal: Journal) -> Rows:
        """Of these marked rows those that were derived again, alive from round `tick` on."""
        head, right, last = self._head, self._right, self._last
        if right.size == 0 or last.size == 0:
            return _NO_ROWS
        index = right.index(self._columns)
        last.identify()
        found = np.empty(rows.size, dtype=np.int32)
        old_rule = np.empty(rows.size, dtype=np.int16)
        old_proof = np.empty((rows.size, head.depth), dtype=np.int32)
        written = head.stamp, head.rules, head.proof, found, old_rule, old_proof
        if self._short and index.space is not None and last.space is not None:
            count = kernels.pull_short(
                rows, MARKED, head.data, self._key_from[0], right.data, index.space.base, index.space.extent,
                *index.lists, right.stamp, right.all_older(EVER, rows.size), *self._ends, last.heads, last.space.base,
                last.space.extent, last.stamp, self._slot, self._rule, tick, *written,
            )  # fmt: skip
        else:
            count = kernels.pull_pairs(
                rows, MARKED, head.data, self._key_from, self._constants, right.data, index.columns,
                *box_of(index.space), *index.lists, right.stamp, *self._places, last.data, last.heads,
                *box_of(last.space), last.stamp, self._slot, self._rule, tick, *written,
            )  # fmt: skip
        came = found[:count].copy()
        if count:
            was = np.full(count, MARKED, dtype=np.int32)
            journal.note(head, Entry(came, was, old_rule[:count].copy(), old_proof[:count].copy()))
            head.relink(came)
        return came


def _room(starting: int, clean: bool) -> int:
    """Rows that may come back before the loop stops to write them down; large buffers cost more than they save."""
    return 1 if clean else min(_ROOM, 8 * starting + 256)


def _is_short(places: list[tuple[int, int]], key_from: npt.NDArray[np.int64]) -> bool:
    """Whether `join_short` can do it: one or two columns, copied, met by a key of one column."""
    return len(places) <= 2 and key_from.size == 1 and key_from[0] >= 0 and all(one != CONSTANT for one, _ in places)


_NO_ROWS: Rows = np.zeros(0, dtype=np.int32)
