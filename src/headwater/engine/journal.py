"""What a transaction has done to the stores, in order: enough to undo it and to tell its net effect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from headwater.engine.states import GONE

if TYPE_CHECKING:
    from headwater.engine.store import Store

Rows = npt.NDArray[np.int32]


@dataclass(slots=True)
class Entry:
    """Rows of one store, and what their stamp (and, if it changed, their proof) was before."""

    rows: Rows
    stamps: Rows
    rules: npt.NDArray[np.int16] | None = None
    proofs: npt.NDArray[np.int32] | None = None
    appended: bool = False  # the rows were not there before
    unlinked: bool = False  # the rows were taken out of their parents' lists; nothing else changed


@dataclass(slots=True)
class Journal:
    entries: dict[str, list[Entry]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)  # rows that a store had when it was first written to

    def note(self, store: Store, entry: Entry) -> None:
        if entry.rows.size:
            self.entries.setdefault(store.name, []).append(entry)

    def begin(self, store: Store) -> None:
        """To be called before rows are appended to a store."""
        self.sizes.setdefault(store.name, store.size)

    def net(self, store: Store) -> tuple[Rows, Rows]:
        """Rows alive now but not at the start, and rows alive at the start but not now."""
        entries = self.entries.get(store.name)
        if not entries:
            return _NONE, _NONE
        size = self.sizes.get(store.name, store.size)
        appended = np.flatnonzero(store.stamp[size : store.size] > GONE).astype(np.int32) + np.int32(size)
        older = [entry for entry in entries if not entry.appended]
        if not older:
            return appended, _NONE
        rows = np.concatenate([entry.rows for entry in older])
        stamps = np.concatenate([entry.stamps for entry in older])
        before = rows < size
        touched, first = np.unique(rows[before], return_index=True)
        was = stamps[before][first] > GONE
        alive = store.stamp[touched] > GONE
        return np.concatenate([touched[alive & ~was], appended]), touched[was & ~alive]

    def undo(self, stores: dict[str, Store]) -> None:
        """Put every row back into the state it had; appended rows stay behind as gone."""
        for name, entries in self.entries.items():
            store = stores[name]
            for entry in reversed(entries):
                store.restore(entry)
        self.entries.clear()


_NONE: Rows = np.zeros(0, dtype=np.int32)
