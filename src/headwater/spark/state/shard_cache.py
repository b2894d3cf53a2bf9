"""Shards in a Python worker: kept in memory between batches, else opened from the checkpoint.

    run = cache.transaction(assignment, shard, inserts, deletes)
    ... drive it, round by round, as any member's transaction ...
    done = its value: what changed, and the report for the driver; log or snapshot are on disk

It is only a cache. A warm shard remembers the files that its state is made of. If the assignment names these first, the
shard catches up by replaying the others. Otherwise (it is ahead, of another attempt, or of another query) it is
dropped, and opened from its snapshot and the logs since. So any worker may get any shard, and a batch may be tried any
number of times.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from headwater.core.errors import HeadwaterError, StateError
from headwater.engine.border.snapshot import Snapshot, pack
from headwater.engine.driver import drive, relay
from headwater.engine.guard import NO_GUARD
from headwater.exchange import Incoming, Member, Outcome, Outgoing, Parcel
from headwater.spark.folders import Folder
from headwater.spark.session.worker import memory_of_worker
from headwater.spark.state import log
from headwater.spark.state.checkpoint import Assignment
from headwater.spark.state.manifest import Part, Report, Saved
from headwater.spark.state.snapshot_policy import is_due

Tables = Mapping[str, pa.Table]
_KEPT_BYTES = 2 << 30


@dataclass(frozen=True, slots=True)
class Done:
    """A batch of one shard, on disk; it counts once the driver has committed the report."""

    outcome: Outcome
    report: Report


@dataclass(slots=True)
class _Warm:
    member: Member
    files: tuple[str, ...]  # what its state is made of


class ShardCache:
    """The shards that one process keeps, up to so many bytes; the least recently used ones go first.

    The last one stays, however large: the next batch would open it again.
    """

    def __init__(self, limit: int = _KEPT_BYTES) -> None:
        self.limit = limit
        self._warm: OrderedDict[tuple[str, int], _Warm] = OrderedDict()

    def transaction(
        self,
        assignment: Assignment,
        shard: int,
        inserts: Tables,
        deletes: Tables,
        *,
        now: int | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        shown: Callable[[Member, Outcome], Outcome] | None = None,
    ) -> Generator[Outgoing, Incoming, Done]:
        """One shard's part of a batch, with the base rows routed to it and the time; driven like `Member.transaction`.

        `shown` says what becomes of its outcome for users, by the state of the shard after it.

        When it returns, what it did is on disk. Closing it, or any error, leaves nothing behind that anyone would use.
        """
        begun = time.perf_counter()
        member = self._take(assignment, shard)
        opening = time.perf_counter() - begun
        begun, before = time.perf_counter(), _stored(member)
        entry = log.LogEntry(assignment.committed is None, inserts, deletes, now)
        run = member.transaction(inserts, deletes, now=now, first=entry.first, cancelled=cancelled)
        outcome = yield from relay(run, lambda outgoing: outgoing, partial(_record, entry))
        seconds = time.perf_counter() - begun
        changed = max(0, _stored(member) - before) + sum(went.num_rows for _, went in outcome.changes.values())
        part = _keep(assignment, member, entry, changed, seconds)
        outcome = outcome if shown is None else shown(member, outcome)
        if part.logs or not _is_exact(member):
            self._put(assignment, shard, _Warm(member, part.files))
        report = Report(
            shard,
            assignment.batch,
            part,
            outcome.rounds,
            outcome.rows_shipped,
            outcome.bytes_shipped,
            seconds,
            {view: (came.num_rows, went.num_rows) for view, (came, went) in outcome.changes.items()},
            opening,
            member.shard.clock.now,
        )
        return Done(outcome, report)

    @contextmanager
    def reading(self, assignment: Assignment, shard: int) -> Iterator[Member]:
        """One shard as of the last committed batch, to be read and not changed."""
        member = self._take(assignment, shard)
        yield member
        self._put(assignment, shard, _Warm(member, assignment.parts[shard].files))

    def is_ahead(self, assignment: Assignment, shard: int) -> bool:
        """Whether a shard is here in a state that the one asked for cannot be reached from."""
        warm, files = self._warm.get((assignment.folder.path, shard)), assignment.parts[shard].files
        return warm is not None and warm.files != files[: len(warm.files)]

    def has(self, assignment: Assignment, shard: int) -> bool:
        """Whether a shard is here in the state that the assignment starts from."""
        return self.is_at(assignment, shard, assignment.parts[shard].files)

    def is_at(self, assignment: Assignment, shard: int, files: tuple[str, ...]) -> bool:
        """Whether a shard is here in the state that is made of these files."""
        warm = self._warm.get((assignment.folder.path, shard))
        return warm is not None and warm.files == files and _is_of(warm.member, assignment)

    def keeps(self, assignment: Assignment, shard: int) -> bool:
        """Whether a shard is here, in whatever state."""
        return (assignment.folder.path, shard) in self._warm

    def drop(self, assignment: Assignment, shard: int) -> None:
        self._warm.pop((assignment.folder.path, shard), None)

    def clear(self) -> None:
        self._warm.clear()

    @property
    def nbytes(self) -> int:
        return sum(warm.member.shard.nbytes for warm in self._warm.values())

    def _take(self, assignment: Assignment, shard: int) -> Member:
        """The shard in the state that the assignment starts from. The caller puts it back if all went well."""
        part = assignment.parts[shard]
        warm = self._warm.pop((assignment.folder.path, shard), None)
        if warm is None or not _leads_to(warm.files, part) or not _is_of(warm.member, assignment):
            memory = memory_of_worker(assignment.shards)
            member = Member(assignment.sharding, shard, assignment.shards, assignment.guard, memory)
            warm = _Warm(member, ())
            if part.snapshot is not None:
                _open(assignment.folder, part.snapshot, member)
                warm.files = (part.snapshot.name,)
        for name in part.files[len(warm.files) :]:
            _replay(assignment.folder, name, warm.member)
        warm.member.shard.guard = assignment.guard
        return warm.member

    def _put(self, assignment: Assignment, shard: int, warm: _Warm) -> None:
        if not warm.member.shard.replayable:
            return
        key = assignment.folder.path, shard
        self._warm.pop(key, None)
        self._warm[key] = warm
        while len(self._warm) > 1 and self.nbytes > self.limit:
            self._warm.popitem(last=False)


SHARD_CACHE = ShardCache()
"""The cache of this process. Tasks name it as `shard_cache.SHARD_CACHE`: else it would be pickled along, empty."""

_EARLIER = ShardCache(_KEPT_BYTES // 4)


def reading(assignment: Assignment, shard: int) -> AbstractContextManager[Member]:
    """One shard, to be read, as the assignment has it; what this process holds of a later state is kept."""
    cache = _EARLIER if SHARD_CACHE.is_ahead(assignment, shard) else SHARD_CACHE
    return cache.reading(assignment, shard)


def _leads_to(files: tuple[str, ...], part: Part) -> bool:
    """Whether a state made of these files becomes that of a part by replaying logs alone: a snapshot is none."""
    return files == part.files[: len(files)] and (bool(files) or part.snapshot is None)


def _is_of(member: Member, assignment: Assignment) -> bool:
    return member.shards == assignment.shards and member.sharding.plan == assignment.sharding.plan


def _is_exact(member: Member) -> bool:
    """Whether other shards rely on this one's witnesses: then a replay must find the very same ones."""
    return bool(member.sharding.plan.shipments)


def _record(entry: log.LogEntry, incoming: Incoming) -> Incoming:
    """A round as the shard gets it, noted in the order in which a replay will give it."""
    entry.rounds.append(replace(incoming, parcels=sorted(incoming.parcels, key=_rank)))
    return entry.rounds[-1]


def _rank(parcel: tuple[int, Parcel]) -> tuple[int, str]:
    """A shard sends at most one parcel per shipment and round, so this is an order."""
    return parcel[0], parcel[1].shipment


def _stored(member: Member) -> int:
    return sum(store.size for store in member.shard.stores.values())


def _keep(assignment: Assignment, member: Member, entry: log.LogEntry, changed: int, seconds: float) -> Part:
    """Write the log of a transaction, or the whole shard if a snapshot is due."""
    attempt = f"{assignment.files_of}-{secrets.token_hex(4)}"
    name = f"shard-{member.number}/log-{attempt}"
    blocks = list(log.write(entry, log.fingerprint(member.shard, exact=_is_exact(member)), name))
    written = Saved(name, assignment.batch, sum(map(len, blocks)), changed, seconds)
    part = assignment.parts[member.number].with_log(written)
    if not is_due(part, member.shard.nbytes):
        assignment.folder.write(name, blocks)
        return part
    begun = time.perf_counter()
    name = f"shard-{member.number}/snapshot-{attempt}"
    length = assignment.folder.write(name, pack(member.shard, {"name": name}))
    return Part(Saved(name, assignment.batch, length, _stored(member), time.perf_counter() - begun))


def _open(folder: Folder, snapshot: Saved, member: Member) -> None:
    with folder.local(snapshot.name) as path:
        saved = Snapshot.map(path)
    if saved.about.get("name", snapshot.name) != snapshot.name:  # those of earlier versions do not say
        raise StateError(
            f"{folder.path}/{snapshot.name} is damaged (it is {saved.about['name']}); restore the checkpoint from a "
            "copy, or start with a new one"
        )
    for value in saved.symbols:
        member.shard.symbols.number(value)
    saved.fill(member.shard)


def _replay(folder: Folder, name: str, member: Member) -> None:
    where = f"{folder.path}/{name}"
    entry, expected = log.read(folder.read(name), name, folder.path)
    member.shard.guard = NO_GUARD  # it passed it when it was committed
    try:
        for incoming in entry.rounds:
            member.refuse_unsound(incoming)
        _run_again(member, entry, expected)
    except StateError as problem:
        raise StateError(f"{where} cannot be replayed: {problem}; {_ADVICE}") from problem
    except HeadwaterError:
        raise
    except Exception as problem:  # a forged log can lead to any error
        raise StateError(f"{where} is damaged ({problem!r}); {_ADVICE}") from problem


def _run_again(member: Member, entry: log.LogEntry, expected: Mapping[str, list[int]]) -> None:
    rounds = iter(entry.rounds)

    def replay(_: Outgoing) -> Incoming:
        incoming = next(rounds, None)
        if incoming is None:
            raise StateError("the log ends before its batch does")
        return incoming

    drive(member.transaction(entry.inserts, entry.deletes, now=entry.now, first=entry.first), replay)
    if next(rounds, None) is not None or log.fingerprint(member.shard, exact=_is_exact(member)) != expected:
        raise StateError("replaying it gives another state than its batch did")


_ADVICE = "go on with the versions of Headwater and of its libraries that wrote it, or start with a new checkpoint"
