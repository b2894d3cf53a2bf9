"""The budget of one shard: how much memory its tables may take, asked for before any of it is allocated.

Tables ask when they grow, which is rarely, and say how much room they need and how much they would like. They get what
they would like while there is plenty, else what is left, and are refused what they cannot do without (HW906). Where
little is left, tables give back room that they were granted and have not used: it takes no memory until it is written.
So what is counted is what tables may write to, whatever they have allocated.

Nothing is asked for small tables. Buffers of one round, and rows on their way in or out, are not counted: a budget
must leave some of the memory for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headwater.core.errors import GuardError

if TYPE_CHECKING:
    from headwater.engine.codes.symbols import Symbols
    from headwater.engine.store.store import Store

_SMALL = 1 << 20  # bytes below which no table asks
_NOTED = 12  # bytes per row that the journal of the transaction that adds it needs
_MORE_SYMBOLS = 1 << 16
_RESERVE = 0.75  # on top of the budget: deleting takes lists and indexes that loading does without


class RowsSpent(GuardError):
    """A table would get more rows than its transaction may add; the caller, which knows the rule, reports it."""


class Budget:
    """The memory that the tables and symbols of one shard may use."""

    __slots__ = ("_looked", "_shard", "_stores", "_symbols", "limit")

    def __init__(self, limit: int | None = None, shard: int | None = None) -> None:
        self.limit = limit
        self._shard = shard
        self._stores: tuple[Store, ...] = ()
        self._symbols: Symbols | None = None
        self._looked = 0  # symbols that there may be before their memory is looked at again

    def covers(self, stores: Iterable[Store], symbols: Symbols) -> None:
        """What is paid for by this budget."""
        self._stores = tuple(stores)
        self._symbols = symbols

    @property
    def held(self) -> int:
        """Bytes that the tables may write to, and those of symbols."""
        symbols = 0 if self._symbols is None else self._symbols.nbytes
        return symbols + sum(store.granted for store in self._stores)

    def rows(self, store: Store, needed: int, wanted: int) -> int:
        """How many rows a table may hold: as many as it would like, or fewer, but no fewer than it needs."""
        if self.limit is None or wanted * store.row_bytes < _SMALL:
            return wanted
        each = store.row_bytes + _NOTED
        copied = store.size * store.widest  # arrays are copied one after the other
        for give_back in (False, True):
            if give_back:
                self._give_back()
            free = self.limit - self.held + store.capacity * store.row_bytes - copied
            most = (free + store.size * _NOTED) // each
            if most >= wanted:
                return wanted
        if most < needed:
            raise self._spent(store, needed, (needed - store.size) * each + copied)
        return most

    def fits(self, more: int) -> bool:
        """Whether there is room for so many bytes more, which a table can do without."""
        return self.limit is None or more < _SMALL or self._is_free(more, self.limit)

    def take(self, store: Store, more: int) -> None:
        """Ask for so many bytes that a table needs beside its rows; they may be from the reserve."""
        if self.limit is None or more < _SMALL or self._is_free(more, int(self.limit * (1 + _RESERVE))):
            return
        raise self._spent(store, store.size, more)

    def _is_free(self, more: int, limit: int) -> bool:
        if self.held + more <= limit:
            return True
        self._give_back()
        return self.held + more <= limit

    def look(self) -> None:
        """See what symbols take, now and then: they grow without a table asking."""
        if self._symbols is None or self.limit is None or len(self._symbols) <= self._looked:
            return
        self._looked = len(self._symbols) + _MORE_SYMBOLS
        if self.held > self.limit:
            self._give_back()
            if self.held > self.limit:
                raise GuardError(
                    self._explained(
                        f"{len(self._symbols):,} strings and lists take {shown_bytes(self._symbols.nbytes)}"
                    )
                )

    def failed(self) -> GuardError:
        """The system itself had no memory left."""
        largest = max(self._stores, key=lambda store: store.granted, default=None)
        about = "" if largest is None else f"; the largest table is `{largest.name}` with {largest.size:,} rows"
        return GuardError(self._explained(f"the system gave no more memory{about}"))

    def _give_back(self) -> None:
        for store in self._stores:
            store.give_back()

    def _spent(self, store: Store, rows: int, more: int) -> GuardError:
        relation = store.name.partition("'")[0]
        return GuardError(self._explained(f"`{relation}` with {rows:,} rows needs {shown_bytes(more)} more"))

    def _explained(self, what: str) -> str:
        where = "" if self._shard is None else f" on shard {self._shard}"
        of = "" if self.limit is None else f" of {shown_bytes(self.limit)}"
        return (
            f"error[HW906]: not enough memory{where}: {what}, and {shown_bytes(self.held)}{of} are in use\n"
            "  note: the transaction was rolled back; the database is as it was before it\n"
            "  hint: derive less (a query with constants, a tighter rule), raise the bound with `Guard(memory=...)` or "
            "`--memory` if the machine has more, or spread the rows over more shards"
        )


def shown_bytes(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KB", "MB"):
        if abs(size) < 1000:
            return f"{size:.3g} {unit}" if unit != "bytes" else f"{count} bytes"
        size /= 1000
    return f"{size:,.1f} GB"


UNBOUNDED = Budget()
