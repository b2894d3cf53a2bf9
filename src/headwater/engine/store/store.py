"""A store: the rows of one table as flat arrays, with a witness for each.

Arrays, one entry per row: `data` (the columns), `stamp` (the state, see `states`), `rules` and `witness` (the
rule that derived the row and the rows it used, one per positive atom of the rule), and the lists of
children: `first[row, use]` is the first row whose witness names this row at that use (a position in a rule),
`following` and `before` lead through the list. Children are linked lazily: rows from `linked` on are in no list yet,
and `Store.link` is called before anyone walks one.

A row keeps its number while its store is not compacted: one that went and comes back is the same row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.types import Type
from headwater.engine.store import kernels
from headwater.engine.store.budget import UNBOUNDED, Budget, RowsSpent
from headwater.engine.store.expiry import Expiries
from headwater.engine.store.frontier import Frontiers
from headwater.engine.store.index import (
    FULLEST,
    CodeRange,
    Index,
    Matrix,
    Rows,
    Space,
    find_cells,
    hash_size,
    numbered_box_of,
    within,
)
from headwater.engine.store.journal import NO_ROWS, Entry, Journal, Writer
from headwater.engine.store.standing import Standing
from headwater.engine.store.states import GHOST, GONE, MARKED
from headwater.plan.model import Table

_NARROW = np.iinfo(np.int32)
_WIDE_TYPES = frozenset({Type.FLOAT, Type.TIMESTAMP, Type.DATE, Type.DURATION})
_FLOOR = 16
_CHUNK = 1 << 16
_FEW = 1024  # searching for so few rows costs less than identifying all
_LOOK = 64  # stamps looked at in the time that a row takes to be met
_EVER_WORTH = 1 << 40
_GROWTH = 4  # room that is not used yet costs nothing, moving rows does
MOST_ROWS = int(_NARROW.max)  # rows are numbered in 32 bits


class Use:
    """One position of one rule where rows of a parent store are used: a list of children per parent row.

    With `lasting`, a child may go on resting on a parent that a version with a later lease has replaced.
    """

    __slots__ = ("child", "column", "lasting", "parent", "position", "rule")

    def __init__(self, rule: int, position: int, parent: Store, child: Store, *, lasting: bool = False) -> None:
        self.rule = rule
        self.lasting = lasting
        self.position = position
        self.parent = parent
        self.child = child
        self.column = len(parent.uses)
        parent.uses.append(self)
        child.used.append(self)


class Store:
    """The rows of one table, their witnesses and their indexes."""

    def __init__(self, table: Table, budget: Budget = UNBOUNDED) -> None:
        self.table = table
        self.budget = budget
        self.name = table.name
        self.width = len(table.types)
        self.depth = table.depth
        self.uses: list[Use] = []  # where this store's rows stand in witnesses
        self.used: list[Use] = []  # the positions that witnesses of this store's rows name
        self.indexes: dict[tuple[int, ...], Index] = {}
        self.standing: Standing | Frontiers | None = None
        self._notes: npt.NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
        self.heights: Rows = NO_ROWS  # how many sums lie below each row, if heights are kept
        wide = any(kind in _WIDE_TYPES for kind in table.types)
        self.most = MOST_ROWS  # rows that the present transaction may bring it to
        self._allocate(np.int64 if wide else np.int32, _FLOOR)
        self._forget_rows()

    def _allocate(self, kind: Any, capacity: int) -> None:
        self.data: Matrix = np.empty((capacity, self.width), dtype=kind)
        self.stamp: Rows = np.zeros(capacity, dtype=np.int32)
        self.rules: npt.NDArray[np.int16] = np.full(capacity, -1, dtype=np.int16)
        self.witness: npt.NDArray[np.int32] = np.empty((capacity, self.depth), dtype=np.int32)
        self.following: npt.NDArray[np.int32] = np.empty((0, self.depth), dtype=np.int32)
        self.before: npt.NDArray[np.int32] = np.empty((0, self.depth), dtype=np.int32)
        self.first: npt.NDArray[np.int32] = np.empty((0, 0), dtype=np.int32)
        self._granted = MOST_ROWS

    def _forget_rows(self) -> None:
        self.size = 0
        self.count = 0  # rows alive, as of the last committed transaction
        self.linked = 0
        self.bounds = CodeRange(self.width)
        self.space: Space | None = None
        self.identified = 0  # rows that the table of identities knows; the others are in it when it is needed
        self.ordered = 0  # rows at the front that were loaded in bulk, in ascending order
        self.buried = False  # whether there may be rows that are gone or marked, and could come back
        self.heads: Rows = np.zeros(2 * _FLOOR, dtype=np.int32)
        self.indexes.clear()
        self._notes = self._notes[:0].copy()
        self.waited = 0 if self.standing is None else _EVER_WORTH  # rows that did without lists of what stands
        self.standing = None
        self.expiries: Expiries | None = None  # made when time moves, if rows have leases
        self.calm: tuple[int, int] | None = None  # rows that are known to be all alive, and the newest of their stamps

    @property
    def capacity(self) -> int:
        """Rows that there is room for, that the budget has granted, and that this transaction may bring it to."""
        return min(int(self.stamp.size), self._granted, self.most)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row in the arrays that are never without it."""
        return self.data.itemsize * self.width + self.witness.itemsize * self.depth + 6

    @property
    def widest(self) -> int:
        """Bytes of a row in the widest of its arrays."""
        return max(self.data.itemsize * self.width, self.witness.itemsize * self.depth, 4)

    @property
    def granted(self) -> int:
        """Bytes that may be written to: of all rows that there is room for, and of what is kept beside them."""
        beside = (self.following, self.before, self.first, self._notes, self.heights)
        held = self.capacity * self.row_bytes + sum(int(array[: self.capacity].nbytes) for array in beside)
        held += 4 * (self.capacity - self.size) * len(self.indexes)  # rows that come are chained in each
        return held + self._tables_bytes

    def give_back(self) -> None:
        """Have no more room than rows; before there are more, the budget is asked again."""
        self._granted = max(self.size, _FLOOR)

    @property
    def nbytes(self) -> int:
        rows = (self.data, self.stamp, self.rules, self.witness, self.following, self.before, self.first, self._notes)
        held = sum(int(array[: self.size].nbytes) for array in rows)  # the system gives no memory for room not yet used
        return held + int(self.heights[: self.size].nbytes) + self._tables_bytes

    @property
    def _tables_bytes(self) -> int:
        """Bytes of what leads to rows."""
        kept = (self.standing, self.expiries, self.space, *self.indexes.values())
        return int(self.heads.nbytes) + sum(one.nbytes for one in kept if one is not None)

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """The rows, as kernels are given them (`TableArrays`)."""
        return self.data, self.stamp, self.rules, self.witness

    @property
    def identities(self) -> tuple[Any, ...]:
        """The table of identities, as kernels are given it (`Identities`)."""
        return self.heads, *numbered_box_of(self.space)

    def alive(self) -> Rows:
        """Numbers of the rows that are alive, oldest first."""
        return np.flatnonzero(self.stamp[: self.size] > GONE).astype(np.int32)

    # Room

    def _grow(self, needed: int, wanted: int, held: int) -> None:
        """Have room for as many rows as are wanted, if the budget grants them, or fewer, but for those needed."""
        if needed > self.most:
            raise RowsSpent(f"error[HW901]: `{self.name}` would have more than {self.most:,} rows")
        capacity = self._granted = self.budget.rows(self, needed, max(needed, min(wanted, self.most)))
        if capacity <= self.stamp.size:
            return
        self.data = resized(self.data, capacity, held)
        self.rules = resized(self.rules, capacity, held)
        self.witness = resized(self.witness, capacity, held)
        self.stamp = resized(self.stamp, capacity, held)  # last, as its size is the capacity: memory may run out

    def admit(self, columns: Sequence[npt.NDArray[np.integer[Any]]]) -> None:
        """Make sure that codes of these columns can be stored and addressed."""
        if not columns or not columns[0].size:
            return
        low = np.array([column.min() for column in columns], dtype=np.int64)
        high = np.array([column.max() for column in columns], dtype=np.int64)
        self.admit_range(low, high)

    def admit_rows(self, rows: npt.NDArray[np.int64]) -> None:
        """As `admit`, for rows."""
        if rows.size:
            low, high = np.empty((2, self.width), dtype=np.int64)
            kernels.extremes_of(rows, low, high)
            self.admit_range(low, high)

    def admit_range(self, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> None:
        if within(low, high, self.bounds.low, self.bounds.high):
            return
        self.bounds.widen(low, high)
        if self.data.dtype == np.int32 and (
            self.bounds.low.min(initial=0) < _NARROW.min or self.bounds.high.max(initial=0) > _NARROW.max
        ):
            self.widen()
        outgrown = self.space is not None and not self.space.holds(self.bounds.low, self.bounds.high)
        if outgrown and self.table.lease is not None:
            self.forget_identities()  # leases always grow, and few ask for a row of a certain lease
        elif outgrown or (self.size == 0 and self.space is None):
            self.rehash()

    def widen(self) -> None:
        """Codes no longer fit into 32 bits."""
        self.budget.take(self, 8 * self.width * self.capacity)
        self.data = self.data.astype(np.int64)

    def make_room(self, more: int) -> None:
        """Room for more rows."""
        if self.size + more > self.capacity:
            self._grow(self.size + more, _GROWTH * self.capacity, self.size)

    def rehash(self, more: int = 1, *, growing: bool = False) -> None:
        """Build the table of identities anew, with room for more rows than there are."""
        total = self.size + more
        self.space = None
        if self.bounds.seen:
            self.space = Space.around(self.bounds.low, self.bounds.high, total, growing=growing)
            if self.space is None and self.table.lease is None:
                self.space = Space.numbered(self, range(self.width), more, growing=growing)
        self.heads = NO_ROWS
        if self.space is not None and not self.budget.fits(4 * self.space.cells + self.space.nbytes):
            self.space = None  # a hash table takes less
        cells = self.space.cells if self.space is not None else hash_size(max(_FLOOR, total))
        self.budget.take(self, 4 * cells)
        self.heads = np.zeros(cells, dtype=np.int32)
        self._enter(np.arange(self.size, dtype=np.int32))

    def reserve(self, more: int) -> None:
        """Make room at once for rows that are all expected to be new."""
        if self.size + more > self.capacity:
            self._grow(self.size, max(self.size + more, _GROWTH * self.capacity if self.size else 0), self.size)
        if self.space is None and self.size + more > FULLEST * self.heads.size:
            self.rehash(more)

    def identify(self) -> None:
        """Make the table of identities know all rows; it learns of those that `append` added when it is needed."""
        if self.identified == self.size:
            return
        full = self.space is None and self.size > FULLEST * self.heads.size
        if self.identified == 0 or full or not self._enter(np.arange(self.identified, self.size, dtype=np.int32)):
            self.rehash()

    def _enter(self, rows: Rows) -> bool:
        """Put rows into the table of identities; False if it has no cells for their values."""
        columns = np.arange(self.width, dtype=np.int64)
        scratch = np.empty(self.size, dtype=np.int32)
        if self.space is None:
            kernels.chain_hash(self.data, rows, columns, self.heads, scratch, 0)
        elif not self.space.chain(self.data, rows, columns, self.heads, scratch):
            return False
        self.identified = self.size
        return True

    def append_ordered(self, rows: npt.NDArray[np.int64], rule: int, tick: int, journal: Journal) -> None:
        """As `append`, for a store that is empty and distinct rows in ascending order."""
        assert self.size == 0
        self.append(rows, np.empty((rows.shape[0], 0), dtype=np.int32), rule, tick, journal)
        self.ordered = self.size

    def append(
        self, rows: npt.NDArray[np.int64], witnesses: npt.NDArray[np.int32], rule: int, tick: int, journal: Journal
    ) -> Rows:
        """Add rows that surely are not there, without identifying them yet; `admit` has been called for them."""
        journal.begin(self)
        start, size = self.size, self.size + rows.shape[0]
        if size > self.capacity:
            self._grow(size, _GROWTH * self.capacity if start else 0, start)
        self.size = size
        self.data[start : self.size] = rows
        self.stamp[start : self.size] = tick
        self.rules[start : self.size] = rule
        self.witness[start : self.size, : witnesses.shape[1]] = witnesses
        added = np.arange(start, self.size, dtype=np.int32)
        journal.note(self, Entry(added, np.zeros(added.size, dtype=np.int32), appended=True))
        return added

    def appended(self, size: int, journal: Journal) -> None:
        """Rows have been written behind those that there were; `admit_written` must follow."""
        if size > self.size:
            rows = np.arange(self.size, size, dtype=np.int32)
            self.size = size
            journal.note(self, Entry(rows, np.zeros(rows.size, dtype=np.int32), appended=True))

    def admit_written(self, start: int) -> None:
        """As `admit`, for rows from `start` on that have been written already."""
        if start < self.size:
            self.admit([self.data[start : self.size, column] for column in range(self.width)])

    def room(self) -> int:
        """How many rows may be stored before `expand` must be called."""
        if self.space is not None:
            return self.capacity
        return min(self.capacity, int(FULLEST * self.heads.size))

    def expand(self) -> None:
        if self.size >= self.capacity:
            self._grow(self.size + 1, _GROWTH * max(_FLOOR, self.capacity), self.size)
        full = self.size >= int(FULLEST * self.heads.size) if self.space is None else self.space.is_full
        if full:
            self.rehash(growing=True)

    def stop_growing(self) -> None:
        """Give up a table of identities that was made for more rows than have come; it is made anew when needed."""
        if self.space is not None and self.space.is_wide(self.size):
            self.forget_identities()

    def forget_lists(self) -> None:
        """Make indexes and lists anew when they are next asked for: memory may have run out while they were made."""
        self.forget_identities()
        self.indexes.clear()
        self.standing = None
        self._notes = self._notes[:0].copy()

    def forget_identities(self) -> None:
        """Make the table of identities anew when it is next needed."""
        self.space = None
        self.heads = np.zeros(2 * _FLOOR, dtype=np.int32)
        self.identified = 0

    # Reading

    def index(self, columns: tuple[int, ...]) -> Index:
        found = self.indexes.get(columns)
        if found is None:
            found = self.indexes[columns] = Index(columns)
        found.cover(self)
        return found

    def find(self, keys: npt.NDArray[np.int64]) -> Rows:
        """The row with exactly these columns, alive or not, or -1."""
        if self.identified < self.size == self.ordered and keys.shape[0] * _FEW < self.size:
            rows: Rows = np.empty(keys.shape[0], dtype=np.int32)
            kernels.search_ordered(keys, self.data, self.size, rows)
            return rows
        self.identify()
        cells = find_cells(keys, self.size, self.space, self.heads, self.data)
        return np.where(cells >= 0, ~self.heads[cells], np.int32(-1))

    def all_older(self, newest: int, reads: int) -> bool:
        """Whether all rows are alive and came no later than round `newest`; False if that costs too much to find out.

        It is worth a look over all stamps where about so many rows are about to be read.
        """
        if self.calm is None or self.calm[0] != self.size:
            if reads * _LOOK < self.size:
                return False
            stamps = self.stamp[: self.size]
            if self.size == 0 or int(stamps.min()) <= GONE:
                return False
            self.calm = self.size, int(stamps.max())
        return self.calm[1] <= newest

    def notes(self) -> npt.NDArray[np.bool_]:
        """Room for a yes or no about each row, to be written before it is read."""
        if self._notes.size < self.size:
            self._notes = np.empty(self._rows_beside(1), dtype=np.bool_)
        return self._notes

    # Writing

    def begin(self, more: int | None) -> None:
        """A transaction begins that may add so many rows (None: as many as can be numbered)."""
        self.most = MOST_ROWS if more is None else min(MOST_ROWS, self.size + more)

    def committed(self, came: int, went: int) -> None:
        """A transaction is kept in which so many rows came alive, and so many are no longer."""
        self.count += came - went

    def stand(self, standing: Standing | Frontiers | None) -> None:
        """Keep a table of what stands in each group up to date from here on; None: its table is out of date."""
        self.standing = standing

    def note_order(self) -> None:
        """The rows lie in ascending order, all that there are."""
        self.ordered = self.size

    def expiring(self) -> Expiries:
        """The rows in the order in which their leases end."""
        if self.expiries is None:
            self.expiries = Expiries(self)
        return self.expiries

    def lost(self, rows: Rows, stamps: Rows, journal: Journal) -> None:
        """A kernel has written that these rows are gone; `stamps` are what they had."""
        self.buried = True
        self.release(rows, journal)
        journal.note(self, Entry(rows, stamps))

    def restamp(self, rows: Rows, tick: int) -> None:
        """Rows alive count as new in round `tick`."""
        self.stamp[rows] = tick
        self.calm = None

    def restamp_all(self, tick: int) -> None:
        """Rows alive that came later count as having come in round `tick`."""
        stamps = self.stamp[: self.size]
        np.minimum(stamps, tick, out=stamps)
        self.calm = None

    def merge(
        self,
        candidates: npt.NDArray[np.int64],
        witnesses: npt.NDArray[np.int32],
        rule: int,
        tick: int,
        journal: Journal,
    ) -> Rows:
        """Insert-or-find rows; the ones that came alive, each once. `admit` has been called for their columns."""
        self.identify()
        writer = Writer(self, journal, min(candidates.shape[0], _CHUNK))
        at = 0
        while at < candidates.shape[0]:
            chunk = candidates[at : at + writer.room]
            start, size, revived = kernels.merge_rows(
                chunk, witnesses[at : at + writer.room], rule, tick, self.arrays, self.identities, self.size,
                self.room(), writer.before,
            )  # fmt: skip
            at += start
            writer.took(size, revived)
            if start < chunk.shape[0]:
                self.expand()
        return writer.came()

    def set_state(self, rows: Rows, state: int, journal: Journal) -> None:
        journal.note(self, Entry(rows, self.stamp[rows]))
        self.stamp[rows] = state
        self.buried = self.buried or state != GHOST
        if state == MARKED:
            journal.marked.add(self.name)

    def restore(self, entry: Entry) -> None:
        """Take back one journal entry."""
        if entry.unlinked:
            self.relink(entry.rows)
            return
        self.buried = True
        self.calm = None
        if self.standing is not None:
            self.standing.note(entry.rows)
        self.unlink(entry.rows[(self.stamp[entry.rows] > GONE) & (entry.stamps <= GONE)])
        if entry.rules is not None and entry.witnesses is not None:
            self.rules[entry.rows] = entry.rules
            self.witness[entry.rows] = entry.witnesses
        self.stamp[entry.rows] = entry.stamps
        if entry.rules is not None:
            self.relink(entry.rows[entry.stamps == GHOST])

    def keep_only(self, keep: Rows, more: int) -> None:
        """Forget all rows but these, with room for more; every index and list is made anew when next asked for."""
        room = min(self.capacity, keep.size + more)
        data, stamp, rules, witness = (
            _taken(array, keep, room) for array in (self.data, self.stamp, self.rules, self.witness)
        )
        heights = self.heights[keep] if self.heights.size else self.heights
        self.load(data, stamp, rules, witness, size=keep.size, count=int(np.count_nonzero(stamp[: keep.size] > GONE)))
        self.bounds.include(data[: keep.size])
        self.heights = heights

    def load(
        self,
        data: Matrix,
        stamp: Rows,
        rules: npt.NDArray[np.int16],
        witness: npt.NDArray[np.int32],
        *,
        size: int,
        count: int,
    ) -> None:
        """Hold the `size` rows at the front of these arrays, `count` of them alive. `bounds` are left to be set."""
        self._allocate(data.dtype, 0)
        self._forget_rows()
        self.data, self.stamp, self.rules, self.witness = data, stamp, rules, witness
        self.size = size
        self.count = count
        self.buried = count < self.size
        if self.capacity < _FLOOR:
            self._grow(_FLOOR, _FLOOR, self.size)

    # Sums that rest on sums

    def keep_heights(self) -> None:
        if self.heights.size < self.capacity:
            known = self.heights
            self.heights = np.zeros(self._rows_beside(4), dtype=np.int32)
            self.heights[: known.size] = known

    def note_heights(self, rows: Rows, heights: Rows) -> None:
        self.keep_heights()
        self.heights[rows] = heights

    def heights_below(self, rows: Rows) -> Rows:
        """How many sums lie below what these rows rest on, with the highest of it, as far as that is known."""
        found = np.zeros(rows.size, dtype=np.int32)
        for use in self.used:
            if use.parent.heights.size:
                own = np.flatnonzero(self.rules[rows] == use.rule)
                below = use.parent.heights[self.witness[rows[own], use.position]] + 1
                found[own] = np.maximum(found[own], below)
        return found

    # Children

    def relist(self) -> None:
        """Make the lists that this store's rows are in anew, from their witnesses."""
        for use in self.used:
            if use.parent.first.shape[0]:
                use.parent.first[:, use.column] = -1
        self.linked = 0
        self.following = self.following[:0]
        self.before = self.before[:0]

    def link(self) -> None:
        """Enter all rows that are in no list yet into the lists of the rows they rest on."""
        if self.linked == self.size:
            return
        self._room_for_lists()
        rows = np.arange(self.linked, self.size, dtype=np.int32)
        for use in self.used:  # room for all first: rows must not be entered into some lists and not into others
            use.parent.room_for_children()
        for use in self.used:
            kernels.link_rows(
                rows, use.position, use.rule, self.rules, self.stamp, self.witness,
                use.parent.first, use.column, self.following, self.before,
            )  # fmt: skip
        self.linked = self.size

    def relink(self, rows: Rows) -> None:
        rows = rows[rows < self.linked]
        if not rows.size:
            return
        for use in self.used:
            use.parent.room_for_children()
            kernels.link_rows(
                rows, use.position, use.rule, self.rules, self.stamp, self.witness,
                use.parent.first, use.column, self.following, self.before,
            )  # fmt: skip

    def release(self, rows: Rows, journal: Journal) -> None:
        """Take rows that lost their witness out of the lists of the rows they rested on."""
        self.unlink(rows)
        journal.note(self, Entry(rows, self.stamp[rows], unlinked=True))

    def unlink(self, rows: Rows) -> None:
        rows = rows[rows < self.linked]
        if not rows.size:
            return
        for use in self.used:
            kernels.unlink_rows(
                rows, use.position, use.rule, self.rules, self.witness,
                use.parent.first, use.column, self.following, self.before,
            )  # fmt: skip

    def _room_for_lists(self) -> None:
        if self.following.shape[0] < self.size:
            room = self._rows_beside(2 * self.witness.itemsize * self.depth)
            self.following, self.before = (resized(one, room, self.linked) for one in (self.following, self.before))

    def room_for_children(self) -> None:
        if self.first.shape[0] < self.size:
            grown = np.full((self._rows_beside(4 * len(self.uses)), len(self.uses)), -1, dtype=np.int32)
            if self.first.size:
                grown[: self.first.shape[0]] = self.first
            self.first = grown

    def _rows_beside(self, each: int) -> int:
        """How many rows something that takes so many bytes of each may be made for: all that there is room for, or just
        those that there are."""
        if self.budget.fits(each * self.capacity):
            return self.capacity
        self.budget.take(self, each * self.size)
        return max(self.size, _FLOOR)


def resized(array: npt.NDArray[Any], capacity: int, used: int) -> npt.NDArray[Any]:
    grown = np.empty((capacity, *array.shape[1:]), dtype=array.dtype)
    grown[:used] = array[:used]
    return grown


def _taken(array: npt.NDArray[Any], rows: Rows, capacity: int) -> npt.NDArray[Any]:
    """These rows of an array, in an array with room for more."""
    found = np.empty((max(capacity, rows.size), *array.shape[1:]), dtype=array.dtype)
    np.take(array, rows, axis=0, out=found[: rows.size], mode="clip")  # the other modes copy once more
    return found
