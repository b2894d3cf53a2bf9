"""What a transaction has done to the stores, in order: enough to undo it and to tell its net effect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from headwater.engine.store.states import GHOST, GONE

if TYPE_CHECKING:
    from headwater.engine.store.sieve import Sieve
    from headwater.engine.store.store import Store

Rows = npt.NDArray[np.int32]
NO_ROWS: Rows = np.zeros(0, dtype=np.int32)
Outcome = tuple[Rows, Rows]  # rows that came, and rows that lost their place


@dataclass(frozen=True, slots=True)
class ClosedRounds:
    """What many rounds in one go did: rows that came, rows that lost their place, and rows that are yet to start."""

    came: Rows
    lost: Rows = field(default_factory=lambda: NO_ROWS)
    waiting: Rows = field(default_factory=lambda: NO_ROWS)


@dataclass(slots=True)
class Entry:
    """Rows of one store, and what their stamp (and, if it changed, their witness) was before."""

    rows: Rows
    stamps: Rows
    rules: npt.NDArray[np.int16] | None = None
    witnesses: npt.NDArray[np.int32] | None = None
    appended: bool = False  # the rows were not there before
    unlinked: bool = False  # the rows were taken out of their parents' lists; nothing else changed


@dataclass(slots=True)
class Journal:
    """What one transaction has done to the stores of a shard."""

    entries: dict[str, list[Entry]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)  # rows that a store had when it was first written to
    disturbed: set[str] = field(default_factory=set)  # stores of which rows changed that were there before
    marked: set[str] = field(default_factory=set)  # stores of which rows may have been marked
    sieves: dict[tuple[str, int], Sieve] = field(default_factory=dict)  # of base rows, by store and column of the value

    def note(self, store: Store, entry: Entry) -> None:
        if entry.rows.size:
            self.entries.setdefault(store.name, []).append(entry)
            if not entry.appended:
                self.disturbed.add(store.name)
                store.calm = None
            if store.standing is not None:
                store.standing.note(entry.rows)

    def all_alive(self, store: Store) -> bool:
        """Whether a store surely holds no row that is not alive."""
        return store.name not in self.disturbed and store.count == self.sizes.get(store.name, store.size)

    def begin(self, store: Store) -> None:
        """To be called before rows are appended to a store."""
        self.sizes.setdefault(store.name, store.size)

    def position(self, store: Store) -> int:
        """A point in a store's history that `since` can start from."""
        return len(self.entries.get(store.name, ()))

    def since(self, store: Store, position: int) -> tuple[Rows, Rows]:
        """Rows alive now but not at that point, and rows alive at that point but not now."""
        entries = [one for one in self.entries.get(store.name, [])[position:] if not one.unlinked]
        if not entries:
            return _NONE, _NONE
        rows = np.concatenate([entry.rows for entry in entries])
        stamps = np.concatenate([entry.stamps for entry in entries])
        return _turned(store, rows, stamps)

    def net(self, store: Store) -> tuple[Rows, Rows]:
        """Rows alive now but not at the start, and rows alive at the start but not now."""
        entries = self.entries.get(store.name)
        if not entries:
            return _NONE, _NONE
        size = self.sizes.get(store.name, store.size)
        if store.name in self.disturbed:
            appended = np.flatnonzero(store.stamp[size : store.size] > GONE).astype(np.int32) + np.int32(size)
        else:
            appended = np.arange(size, store.size, dtype=np.int32)
        older = [entry for entry in entries if not (entry.appended or entry.unlinked)]
        if not older:
            return appended, _NONE
        rows = np.concatenate([entry.rows for entry in older])
        stamps = np.concatenate([entry.stamps for entry in older])
        before = rows < size
        came, went = _turned(store, rows[before], stamps[before])
        return np.concatenate([came, appended]), went

    def fallen(self, store: Store) -> Rows:
        """Rows that were ghosts at the start and are gone now."""
        entries = [entry for entry in self.entries.get(store.name, ()) if not (entry.appended or entry.unlinked)]
        if not entries:
            return _NONE
        rows = np.concatenate([entry.rows for entry in entries])
        stamps = np.concatenate([entry.stamps for entry in entries])
        gone = (stamps == GHOST) & (store.stamp[rows] == GONE)
        if not gone.any():
            return _NONE
        touched, at = np.unique(rows, return_index=True)
        return touched[(stamps[at] == GHOST) & (store.stamp[touched] == GONE)]

    def undo(self, stores: dict[str, Store]) -> None:
        """Put every row back into the state it had; appended rows stay behind as gone."""
        for name, entries in self.entries.items():
            store = stores[name]
            for entry in reversed(entries):
                store.restore(entry)
        self.entries.clear()


def _turned(store: Store, rows: Rows, stamps: Rows) -> tuple[Rows, Rows]:
    """Of rows with the stamps they once had, oldest first: those alive now that were not, and the reverse."""
    if rows.size * _DENSE > store.size:
        first = np.full(store.size, -1, dtype=np.int64)
        first[rows[::-1]] = np.arange(rows.size - 1, -1, -1)
        touched = np.flatnonzero(first >= 0).astype(np.int32)
        was = stamps[first[touched]] > GONE
        alive = store.stamp[touched] > GONE
        return touched[alive & ~was], touched[was & ~alive]
    notes = store.notes()
    notes[rows[::-1]] = stamps[::-1] > GONE  # of several, the first that was noted stays
    was = notes[rows]
    alive = store.stamp[rows] > GONE
    return _distinct(rows[alive & ~was]), _distinct(rows[was & ~alive])


def _distinct(rows: Rows) -> Rows:
    """Rows in ascending order, each once."""
    rows = np.sort(rows)
    new = rows[1:] != rows[:-1]
    return rows if new.all() else rows[np.concatenate([[True], new])]


_DENSE = 16  # when one row in so many is touched, a table of all rows beats sorting
_NONE: Rows = np.zeros(0, dtype=np.int32)


class Writer:
    """Buffers for what a merging kernel reports, and the bookkeeping that follows: journal and lists of children."""

    __slots__ = ("_came", "_journal", "_store", "before", "room")

    def __init__(self, store: Store, journal: Journal, room: int) -> None:
        self._store = store
        self._journal = journal
        journal.begin(store)
        self._came: list[Rows] = []
        self.room = room
        self.before: tuple[npt.NDArray[Any], ...] = (
            np.empty(room, dtype=np.int32),
            np.empty(room, dtype=np.int32),
            np.empty(room, dtype=np.int16),
            np.empty((room, store.depth), dtype=np.int32),
        )

    def took(self, size: int, revived: int) -> None:
        store, (back, old_stamp, old_rule, old_witness) = self._store, self.before
        if size > store.size:
            rows = np.arange(store.size, size, dtype=np.int32)
            self._journal.note(store, Entry(rows, np.zeros(rows.size, dtype=np.int32), appended=True))
            self._came.append(rows)
            store.size = store.identified = size
        if revived:
            rows = back[:revived].copy()
            stamps = old_stamp[:revived].copy()
            self._journal.note(store, Entry(rows, stamps, old_rule[:revived].copy(), old_witness[:revived].copy()))
            store.relink(rows[stamps != GHOST])
            self._came.append(rows)

    def came(self) -> Rows:
        """The rows that came alive, each once."""
        if not self._came:
            return NO_ROWS
        return self._came[0] if len(self._came) == 1 else np.concatenate(self._came)
