"""A database that one thread owns: requests and followers hand it work and wait, first come, first served.

Promise: whatever is asked is asked between transactions, never inside one; whatever is applied is applied whole or
not at all, and all listeners are notified. A question that takes long makes those behind it wait, so questions run
under the budgets of the database.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from headwater.core.errors import DataError, UnknownRelation
from headwater.database import Changes, Database, RelationChange
from headwater.semistructured.documents import Documents
from headwater.serve.live.history import keys_of
from headwater.serve.live.journal import Entry, Journal
from headwater.serve.live.snapshots import Snapshots

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Work:
    """What a transaction took: `given` rows came in; `rounds` and bytes `shipped` between shards, where counted."""

    seconds: float
    given: int = 0
    reasons: Sequence[str] = ()  # why rows were set aside or came too late
    set_aside: int = 0
    late: int = 0
    rounds: int | None = None
    shipped: int | None = None


class Live:
    """A database, its journal and those who wait for changes. `writable` says whether requests may change it."""

    def __init__(
        self, db: Database | Documents, *, name: str, writable: bool = False, journal: Journal | None = None
    ) -> None:
        self.name = name
        self.writable = writable
        self.started = time.time()
        self.journal = Journal() if journal is None else journal
        self.totals = {"given": 0, "set_aside": 0, "late": 0, "seconds": 0.0}
        self.problem: str | None = None  # why a follower has stopped bringing changes
        self._held = db
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="headwater-database")
        self._listeners: list[Callable[[], None]] = []
        self.snapshots = Snapshots()

    @property
    def _db(self) -> Database:
        return self._held.database if isinstance(self._held, Documents) else self._held

    @property
    def program(self) -> Any:
        return self._db.program

    @property
    def documents(self) -> Documents | None:
        """The documents, where it is those that are served; only the owning thread reads them."""
        return self._held if isinstance(self._held, Documents) else None

    # Asking

    def ask(self, question: Callable[[Database], Answer]) -> Future[Answer]:
        """Ask the database in its own thread."""
        return self._thread.submit(lambda: question(self._db))

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every transaction, in the database's thread; gives what ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def close(self) -> None:
        """Take no more work; what runs is finished."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    # Changing

    def apply(
        self, title: str, changes: Callable[[Database], tuple[Mapping[str, Any], Mapping[str, Any]]],
        *, rejected: Sequence[str] = (), strict: bool = False,
    ) -> Future[Entry]:  # fmt: skip
        """One transaction: `changes` gives the rows to insert and to delete, by relation, in the database's thread."""

        def run() -> Entry:
            inserts, deletes = changes(self._db)
            began, rounds = time.perf_counter(), _Rounds()
            found = self._db.apply(insert=inserts, delete=deletes, strict=strict, cancelled=rounds)
            seconds = time.perf_counter() - began
            given = sum(size_of(rows) for side in (inserts, deletes) for rows in side.values())
            return self._note(title, seconds, given, found, rejected, rounds.count)

        return self._thread.submit(run)

    def change_documents(self, title: str, change: Callable[[Documents], Changes | None]) -> Future[Entry | None]:
        """One transaction of documents; None: nothing was to be done."""

        def run() -> Entry | None:
            assert isinstance(self._held, Documents)
            began = time.perf_counter()
            found = change(self._held)
            return None if found is None else self._note(title, time.perf_counter() - began, 1, found, ())

        return self._thread.submit(run)

    def tick(self, moment: Any) -> Future[bool]:
        """Move the clock on. If rows have ended by then, that is a transaction; gives whether any have."""

        def run() -> bool:
            if self._db.now is not None and moment <= self._db.now:
                return False
            began = time.perf_counter()
            found = self._db.advance(moment)
            if found.touched:
                self._note(f"clock moved to {self._db.now}", time.perf_counter() - began, 0, found, ())
            return found.touched > 0

        return self._thread.submit(run)

    def replace(self, title: str, db: Database, work: Work) -> Future[Entry]:
        """Go on with another database of the same program: what differs is one transaction, made by this `work`."""

        def run() -> Entry:
            before, self._held = self._db, db
            found = {name: difference(before.table(name), db.table(name)) for name in self.shown}
            touched = sum(change.inserted.num_rows + change.deleted.num_rows for change in found.values())
            return self._noted(title, work, found.__getitem__, touched)

        return self._thread.submit(run)

    def _note(
        self, title: str, seconds: float, given: int, found: Changes, rejected: Sequence[str], rounds: int | None = None
    ) -> Entry:
        reasons = [*rejected, *map(str, found.rejected), *(f"too late: {row}" for row in found.late)]
        late = len(found.late)
        work = Work(seconds, given, reasons, len(reasons) - late, late, rounds)
        return self._noted(title, work, found.__getitem__, found.touched)

    def _noted(self, title: str, work: Work, change_of: Callable[[str], RelationChange], touched: int) -> Entry:
        entry = Entry(
            self.journal.last + 1, time.time(), title, work.seconds, work.given, work.reasons, work.set_aside,
            work.late, self._db.nbytes, touched, work.rounds, work.shipped, change_of,
        )  # fmt: skip
        for name in self.totals:
            self.totals[name] += getattr(work, name)
        self.journal.add(entry)
        for listener in tuple(self._listeners):
            listener()
        return entry

    @property
    def shown(self) -> list[str]:
        """The relations whose rows can be looked at: base relations and views."""
        return [name for name, reason in self.relations.items() if reason is None]

    @property
    def relations(self) -> dict[str, str | None]:
        """Every relation that a user knows, and why its rows cannot be shown, if so."""
        found: dict[str, str | None] = {}
        for relation in self._db.program.checked.relations:
            if relation.part_of is None and relation.asks is None:
                try:
                    self._db.count(relation.name)
                    found[relation.name] = None
                except (UnknownRelation, DataError) as problem:
                    found[relation.name] = str(problem.args[0])
        return found


class _Rounds:
    """Counts how often a transaction asks whether it is cancelled: once a round."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> bool:
        self.count += 1
        return False


def size_of(rows: Any) -> int:
    """How many rows a user gave."""
    return int(rows.num_rows) if isinstance(rows, pa.Table) else len(rows)


def difference(old: pa.Table, new: pa.Table) -> RelationChange:
    """The rows that came and went between two states of a relation."""
    had, has = ({key: at for at, key in enumerate(keys_of(table))} for table in (old, new))
    came = [at for key, at in has.items() if key not in had]
    went = [at for key, at in had.items() if key not in has]
    return RelationChange(new.take(pa.array(came, pa.int64())), old.take(pa.array(went, pa.int64())))
