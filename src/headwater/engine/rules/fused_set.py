"""Compiled loops into tables that keep all rows: a copy, a join of two atoms, the last join of a longer rule, and a
pull of marked rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.engine.codes.batch import Batch
from headwater.engine.rules.context import Context
from headwater.engine.rules.probe import CONSTANT, NO_ROWS, Pause, RowProbe, as_places, terms
from headwater.engine.store import kernels
from headwater.engine.store.index import Matrix, Rows
from headwater.engine.store.journal import ClosedRounds, Journal, Outcome, Writer
from headwater.engine.store.states import EVER, MARKED
from headwater.plan.model import CopyLoop, FlatRule, JoinLoop, Owned, PullLoop

_BUFFERED = 1 << 16
_FEW = 1 << 9  # in a round with so many starting rows, leaving compiled code costs more than they do
_ROUNDS = 1 << 8


class FusedCopy:
    """See `CopyLoop`."""

    def count(self, rows: Rows, tick: int) -> int | None:
        """How many head rows these starting rows give, equal ones too."""
        return int(rows.size)

    def __init__(self, loop: CopyLoop, start: str, owned: Owned | None, rule: FlatRule, context: Context) -> None:
        self._loop = loop
        self._left = context.stores[start]
        self._head = context.stores[rule.table]
        self._rule = rule.id
        self._places = terms(loop.head, self._head.table.types, context.symbols)
        self._owned = owned
        self._owns = context.owns

    def run(self, rows: Rows, tick: int, after: int, journal: Journal) -> Outcome:
        """As `FusedJoin.run`."""
        left, head = self._left, self._head
        if self._owned is not None:
            rows = rows[self._owns(left.data[rows, self._loop.owner], self._owned.type) == self._owned.mine]
        if rows.size == 0:
            return NO_ROWS, NO_ROWS
        candidates = np.empty((rows.size, head.width), dtype=np.int64)
        for at, (side, column) in enumerate(self._places):
            candidates[:, at] = column if side == CONSTANT else left.data[rows, column]
        head.admit_rows(candidates)
        if head.size == 0 and self._loop.distinct and (rows[1:] > rows[:-1]).all():  # each row once
            came = head.append(candidates, rows.reshape(-1, 1), self._rule, after, journal)
            if self._loop.same and left.size == left.ordered:
                head.note_order()
            return came, NO_ROWS
        return head.merge(candidates, rows.reshape(-1, 1), self._rule, after, journal), NO_ROWS


class _Merging:
    """The kernels that probe an index and merge the head rows found."""

    def __init__(self, loop: JoinLoop, start: str, rule: FlatRule, context: Context) -> None:
        self._probe = RowProbe(loop.probe, context.stores[start], context.stores, context.symbols)
        self._head = context.stores[rule.table]
        self._rule = rule.id
        places = terms(loop.head, self._head.table.types, context.symbols)
        self._places = as_places(places)
        self._short = loop.short
        self._ends = (*places[0], *places[-1])

    def count(self, rows: Rows, tick: int) -> int | None:
        """As `FusedCopy.count`."""
        return self._probe.count(rows, None, tick)

    def _merge(
        self, rows: Rows, left: Matrix | None, witnesses: Rows, slots: npt.NDArray[np.int64], tick: int, after: int,
        journal: Journal,
    ) -> Rows:  # fmt: skip
        """Head rows that starting rows give, those of `left` or, if that is None, of the probe's own table."""
        probe, head = self._probe, self._head
        right, reading = probe.right, probe.reading(tick)
        head.identify()
        clean = journal.all_alive(head)
        # Rows that may come back before the loop stops to write them down; large buffers cost more than they save.
        writer = Writer(head, journal, 1 if clean else min(_BUFFERED, 8 * rows.size + 256))
        witness = witnesses, slots, probe.slot
        at, place, linked = 0, -1, -1
        while at < rows.size:
            keys: Any
            places: Any
            numbers: tuple[Any, ...] = ()
            if self._short and head.space is not None and reading.addressed:
                join, keys, places = kernels.join_short, probe.key_from[0], self._ends
                words = reading.box[3], head.space.words
                numbers = (words if any(one.size for one in words) else None,)
            else:
                join, keys, places = kernels.join_merge, (probe.key_from, probe.constants), self._places
            at, place, linked, size, revived = join(
                rows, probe.left.data if left is None else left, keys, right.data, right.stamp, reading.newest,
                reading.arrays, places, witness, self._rule, after, head.arrays, head.identities, head.size,
                head.room(), clean, at, place, linked, writer.before, *numbers,
            )  # fmt: skip
            writer.took(size, revived)
            if at < rows.size:
                head.expand()
        return writer.came()


class FusedJoin(_Merging):
    """See `JoinLoop`: from rows."""

    def __init__(self, loop: JoinLoop, start: str, rule: FlatRule, context: Context) -> None:
        super().__init__(loop, start, rule, context)
        self._slots = np.array([1 - loop.probe.atom])
        self._admitted: tuple[Any, ...] = ()  # the bounds that the head has been made wide enough for

    def run(self, rows: Rows, tick: int, after: int, journal: Journal) -> Outcome:
        """Head rows that these starting rows give, alive from round `after` on."""
        probe, head = self._probe, self._head
        if rows.size == 0 or probe.meets_nothing(rows.size, tick):
            return NO_ROWS, NO_ROWS
        reach = (*probe.reach(), head.bounds)
        if reach != self._admitted:
            head.admit_range(*probe.bounds(self._places))
            self._admitted = reach
        return self._merge(rows, None, rows.reshape(-1, 1), self._slots, tick, after, journal), NO_ROWS

    def close(self, rows: Rows, tick: int, after: int, journal: Journal, pause: Pause) -> ClosedRounds | None:
        """As `run`, and on from the rows that come, while no round has many.

        None where there are many to begin with. No row met may be newer than the round before. `pause` is told now
        and then how many have come since.
        """
        probe, head = self._probe, self._head
        if not 0 < rows.size <= _FEW:
            return None
        head.admit_range(*probe.bounds(self._places))
        right, reading = probe.right, probe.reading(tick)
        head.identify()
        clean = journal.all_alive(head)
        writer = Writer(head, journal, 1 if clean else 8 * _FEW)
        place, linked, most = -1, -1, _FEW
        while True:
            rows, place, linked, size, revived, full = kernels.close_merge(
                rows, (probe.key_from, probe.constants), right.data, right.stamp, reading.newest, reading.arrays,
                self._places, self._slots, probe.slot, self._rule, after, head.arrays, head.identities, head.size,
                head.room(), clean, place, linked, writer.before, most, _ROUNDS,
            )  # fmt: skip
            came = size - head.size + revived
            writer.took(size, revived)
            pause(came)
            most = _FEW
            if full:  # the first of these rows are of this round: all of them start before it ends
                head.expand()
                most = max(_FEW, rows.size)
            elif not 0 < rows.size <= _FEW:
                return ClosedRounds(writer.came(), waiting=rows)


class FusedTail(_Merging):
    """See `JoinLoop`: from bindings of all other atoms."""

    def __init__(self, loop: JoinLoop, start: str, rule: FlatRule, context: Context) -> None:
        assert loop.carries is not None
        super().__init__(loop, start, rule, context)
        self._names = loop.carries
        self._slots = np.array([at for at in range(len(rule.atoms)) if at != loop.probe.atom], dtype=np.int64)

    def run(self, batch: Batch, tick: int, after: int, journal: Journal) -> Rows:
        """Head rows that these bindings give, alive from round `after` on."""
        if self._probe.right.size == 0:
            return NO_ROWS
        left = self._left(batch)
        witnesses = np.stack([batch.rows[int(slot)] for slot in self._slots], axis=1)
        self._head.admit_range(*self._probe.bounds(self._places, left))
        return self._merge(np.arange(batch.size, dtype=np.int32), left, witnesses, self._slots, tick, after, journal)

    def count_from(self, batch: Batch, tick: int) -> int:
        """How many head rows these bindings give, equal ones too."""
        return self._probe.count(NO_ROWS, self._left(batch), tick)

    def _left(self, batch: Batch) -> npt.NDArray[np.int64]:
        left = np.empty((batch.size, len(self._names)), dtype=np.int64)
        for at, name in enumerate(self._names):
            left[:, at] = batch.columns[name]
        return left


class FusedPull:
    """See `PullLoop`."""

    def __init__(self, loop: PullLoop, rule: FlatRule, context: Context) -> None:
        self._head = context.stores[rule.table]
        self._probe = RowProbe(loop.probe, self._head, context.stores, context.symbols)
        self._last = context.stores[loop.table]
        self._rule = rule.id
        places = terms(loop.row, self._last.table.types, context.symbols)
        self._places = as_places(places)
        self._short = loop.short
        self._ends = (*places[0], *places[-1]) if places else ()

    def run(self, rows: Rows, tick: int, journal: Journal) -> Rows:
        """Of these marked rows those that were derived again, alive from round `tick` on."""
        probe, head, right, last = self._probe, self._head, self._probe.right, self._last
        if right.size == 0 or last.size == 0:
            return NO_ROWS
        index = right.index(probe.columns)
        last.identify()
        writer = Writer(head, journal, rows.size)
        written = probe.slot, self._rule, tick, head.arrays, writer.before
        plain = all(space is not None and space.is_plain for space in (index.space, last.space))
        if self._short and plain:
            count = kernels.pull_short(
                rows, MARKED, probe.key_from[0], right.data, right.stamp, right.all_older(EVER, rows.size),
                index.arrays, self._ends, last.stamp, last.identities, *written,
            )  # fmt: skip
        else:
            count = kernels.pull_pairs(
                rows, MARKED, (probe.key_from, probe.constants), right.data, right.stamp, index.arrays, self._places,
                last.data, last.stamp, last.identities, *written,
            )  # fmt: skip
        writer.took(head.size, count)
        return writer.came()
