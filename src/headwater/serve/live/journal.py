"""The last transactions: what each changed, and what it cost. Bounded in transactions and in rows.

Rows are decoded when they are read, so that a journal that is never read costs nothing. An entry
with too many rows keeps its counts alone: it is not `whole`, and no view can be shown as it was before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from headwater.database import RelationChange

KEPT = 500
"""Transactions that are kept."""
KEPT_ROWS = 200_000
"""Changed rows that are kept, in all transactions together."""
_REASONS = 100


@dataclass(slots=True)
class Entry:
    """One transaction. `change_of` gives the rows of a relation that came and went; only the owning thread asks it."""

    number: int
    at: float
    title: str
    seconds: float
    given: int  # rows that came in
    rejected: Sequence[str] = ()  # why rows were set aside, the first hundred
    set_aside: int = 0
    late: int = 0
    nbytes: int = 0
    touched: int = 0  # changed rows of all tables
    rounds: int | None = None  # None: not counted
    shipped: int | None = None  # bytes between shards; None: there are no shards
    change_of: Callable[[str], RelationChange] | None = None

    @property
    def whole(self) -> bool:
        return self.change_of is not None

    def change(self, relation: str) -> RelationChange | None:
        return None if self.change_of is None else self.change_of(relation)


class Journal:
    """The entries that are kept, oldest first. Numbers count from 1 and never come twice."""

    def __init__(self, kept: int = KEPT, rows: int = KEPT_ROWS) -> None:
        self._entries: deque[Entry] = deque(maxlen=kept)
        self._rows = rows
        self._held = 0
        self.last = 0

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def first(self) -> int:
        """The number of the oldest entry that is kept."""
        return self.last + 1 - len(self._entries)

    @property
    def reach(self) -> int:
        """The earliest transaction after which the views are still known: all later entries are whole."""
        number = self.last
        for entry in reversed(self._entries):
            if not entry.whole:
                break
            number = entry.number - 1
        return number

    def since(self, number: int) -> list[Entry]:
        """The kept entries behind a transaction."""
        behind = min(max(self.last - number, 0), len(self._entries))
        return [] if not behind else list(self._entries)[-behind:]

    def add(self, entry: Entry) -> None:
        """Keep an entry, and forget the rows of the oldest ones where they are too many in all."""
        self.last = entry.number
        entry.rejected = entry.rejected[:_REASONS]
        if len(self._entries) == self._entries.maxlen and self._entries[0].whole:
            self._held -= self._entries[0].touched
        self._entries.append(entry)
        self._held += entry.touched
        for oldest in self._entries:
            if self._held <= self._rows:
                break
            if oldest.whole:
                self._held -= oldest.touched
                oldest.change_of = None
