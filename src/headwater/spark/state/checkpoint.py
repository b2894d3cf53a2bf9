"""A query's checkpoint, as the driver sees it: which batch is committed, what it rests on, and what can be removed.

Below the query's checkpoint folder:

    headwater/epoch-<number>                                who may commit (see `epochs`)
    headwater/manifest-<batch>                              commits a batch (see `manifest`)
    headwater/shard-<n>/snapshot-<batch>-e<epoch>-<attempt> a shard as of a batch
    headwater/shard-<n>/log-<batch>-e<epoch>-<attempt>      what a shard was given in a batch
    headwater/feed/<batch>-e<epoch>-<attempt>-...           what a batch publishes, and some time after (see `feed`)
    headwater/rejected/<batch>-<shard>.jsonl                rows of a batch that did not fit, with the reason

A batch goes through these steps: every shard writes its log (or a snapshot), the driver creates the manifest, then old
files are removed. The process may fail between any two of them. Without the manifest, the batch did not happen, and
Spark brings it again; with it, the batch is not run again, and old files are removed when the checkpoint is next
opened. Every attempt writes files with names of its own, so one that was given up does no harm, however late it writes.

Two runs may have the checkpoint open at once: a cluster restarts a driver while the first one still runs. The later run
has the later epoch, and the earlier one stops at its next commit. No run removes a file that another one may still
commit: only files of committed batches, which no manifest names, and of no later epoch. If the earlier run commits its
batch after the later one has opened the checkpoint, the later one finds that commit, drops its own attempt, and goes on
from there.

Spark's own files beside these (`metadata`, `offsets`, `commits`) say which rows a batch is made of. State and offsets
that do not belong together would lose rows or apply them twice, and are refused.
"""

from __future__ import annotations

import json
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from headwater.core.errors import StateError
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.exchange import Sharding
from headwater.spark.folders import Folder, open_folder
from headwater.spark.state import epochs
from headwater.spark.state.epochs import Epoch
from headwater.spark.state.manifest import Manifest, Part, Report
from headwater.spark.state.query_definition import QueryDefinition

_MANIFEST = re.compile(r"manifest-(\d+)")
_OF_BATCH = re.compile(r"(?:.*/)?\.?(?:manifest-|snapshot-|log-|feed/)(\d+)(?:-e(\d+))?(?![0-9])")
FEED = "feed"
_KEPT = 2  # manifests: a reader of the last one may take as long as a batch takes
_SWEEP_EVERY = 64  # batches; in between only files known to be old are removed
_SECRET = secrets.token_bytes(32)  # of this process: only the driver's tasks know it
_METADATA = "metadata"  # Spark's own: {"id": ...}, written when a query starts with a new checkpoint
_RESTORE = "restore the whole checkpoint folder from one copy, or start with a new checkpoint and a new output"


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker needs to run shards of a batch, or to read them as of the last one. It is pickled to executors."""

    folder: Folder
    sharding: Sharding
    parts: tuple[Part, ...]  # the committed state to start from, by shard
    committed: int | None  # the batch that it is of; None: nothing is committed yet
    batch: int  # the batch to run
    guard: Guard = DEFAULT_GUARD
    epoch: int = 0  # of the run that commits it; 0: it is only read
    secret: bytes = field(default=_SECRET, repr=False)  # of the driver and its tasks
    attempt: str = field(default_factory=lambda: secrets.token_hex(4), compare=False)

    @property
    def shards(self) -> int:
        return len(self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Every task that unpickles it is an attempt of its own, with file names of its own."""
        return type(self), (
            self.folder, self.sharding, self.parts, self.committed, self.batch, self.guard, self.epoch, self.secret
        )  # fmt: skip

    def to_json(self, shard: int) -> dict[str, Any]:
        """What differs from batch to batch, for one shard."""
        return {
            "part": asdict(self.parts[shard]),
            "committed": self.committed,
            "batch": self.batch,
            "guard": asdict(self.guard),
            "epoch": self.epoch,
        }

    def like(self, shard: int, given: Mapping[str, Any]) -> Assignment:
        """An attempt at another batch of the shard, from `to_json`; everything else is as here."""
        parts = list(self.parts)
        parts[shard] = Part.from_json(given["part"])
        return Assignment(
            self.folder, self.sharding, tuple(parts), given["committed"], given["batch"], Guard(**given["guard"]),
            given["epoch"], self.secret,
        )  # fmt: skip

    @property
    def files_of(self) -> str:
        """What the names of this attempt's files have behind their kind."""
        return f"{self.batch}-e{self.epoch}-{self.attempt}"


@dataclass(frozen=True, slots=True)
class BatchNotes:
    """What a manifest says of its batch beside the state."""

    rejected: Mapping[str, int] = field(default_factory=dict)  # rows set aside, by relation
    set_aside: Sequence[str] = ()  # the files with these rows
    metrics: Mapping[str, Any] = field(default_factory=dict)


class Checkpoint:
    """Opened once per run of a query, by its driver."""

    def __init__(self, path: str) -> None:
        """`path` is the checkpoint folder of the query; it need not exist yet."""
        self.path = path
        self.folder = open_folder(f"{str(path).rstrip('/')}/headwater")
        self._history = self._read_manifests()
        self._epoch: Epoch | None = None  # None: it is only read
        self._checked = False  # that the files are there which the last manifest names
        self._known_query: str | None = None

    @property
    def manifest(self) -> Manifest | None:
        """Of the last committed batch."""
        return self._history[-1] if self._history else None

    @property
    def history(self) -> tuple[Manifest, ...]:
        """The manifests that are kept, the last committed batch last."""
        return tuple(self._history)

    @property
    def committed(self) -> int | None:
        return None if self.manifest is None else self.manifest.batch

    @property
    def query(self) -> str | None:
        """Spark's id of the query of this checkpoint, across restarts; None: there is none yet."""
        if self._known_query is None:
            around = open_folder(str(self.path))
            if _METADATA in around.names():
                with suppress(ValueError, LookupError, TypeError):  # a damaged file, which Spark itself refuses
                    self._known_query = str(json.loads(around.read(_METADATA))["id"])
        return self._known_query

    def refuse_other(self, definition: QueryDefinition) -> None:
        """Raise StateError if the checkpoint is of another definition, or Spark's files there of another query."""
        if self.manifest is None:
            return
        self.manifest.definition.refuse_other(definition, f"the checkpoint {self.path}")
        if self.manifest.query not in (None, self.query):
            raise StateError(
                f"Spark's own files in {self.path} ({_METADATA}, offsets, commits) are gone, or are those of "
                f"another query than the state of batch {self.committed} there; {_RESTORE}"
            )

    def resume(self, definition: QueryDefinition) -> Manifest | None:
        """The state that a query with this definition goes on from; StateError if the checkpoint is of another.

        From now on no earlier run can commit. Removes what an earlier run left behind.
        """
        self.refuse_other(definition)
        self._take()
        self.refuse_other(definition)
        self.sweep()
        return self.manifest

    def _take(self) -> Epoch:
        self._epoch = epochs.take(self.folder, max((manifest.epoch for manifest in self._history), default=0))
        self._history = self._read_manifests()  # another run may have committed until now
        return self._epoch

    def hold(self) -> Epoch:
        """The epoch of this run; StateError if another run has opened the checkpoint since."""
        if self._epoch is None:
            return self._take()
        lost = epochs.lost(self.folder, self._epoch, f"the checkpoint {self.path}")
        if lost is not None:
            raise lost
        return self._epoch

    def check(self) -> None:
        """Raise StateError if this run commits here, and another run has opened the checkpoint since."""
        if self._epoch is not None:
            self.hold()

    @property
    def epoch(self) -> int | None:
        """The number of this run's epoch; None: it only reads."""
        return None if self._epoch is None else self._epoch.number

    def lost(self) -> StateError | None:
        """Why this run may not go on, if another run has opened the checkpoint; None also if that cannot be read."""
        with suppress(StateError):
            if self._epoch is not None:
                return epochs.lost(self.folder, self._epoch, f"the checkpoint {self.path}")
        return None

    def is_due(self, batch: int) -> bool:
        """Whether to run a batch: not if it was committed last. StateError if it does not follow the last one."""
        if batch not in (self.committed, self._next):  # another run may have committed since this was opened
            self._history = self._read_manifests()
        last = self.committed
        if batch == self._next:
            return True
        if batch == last:
            return False
        if last is None:
            raise StateError(
                f"the stream goes on with batch {batch}, but there is no state in {self.path}/headwater: its files are "
                f"gone; {_RESTORE}"
            )
        if batch < last:
            raise StateError(
                f"the stream goes back to batch {batch}, but the state in {self.path} is of batch {last}: Spark's own "
                f"files there are older; {_RESTORE}"
            )
        raise StateError(
            f"the stream goes on with batch {batch}, but the state in {self.path} is of batch {last}: what came "
            f"between is missing; {_RESTORE}"
        )

    @property
    def _next(self) -> int:
        return 0 if self.committed is None else self.committed + 1

    def assignment(
        self, definition: QueryDefinition, sharding: Sharding, batch: int, guard: Guard = DEFAULT_GUARD
    ) -> Assignment:
        """What workers need for an attempt at a batch (or to read the views as of the last)."""
        parts = tuple(Part() for _ in range(definition.shards)) if self.manifest is None else self.manifest.parts
        return Assignment(self.folder, sharding, parts, self.committed, batch, guard, self.epoch or 0)

    def as_of(self, batch: int | None) -> Manifest:
        """The manifest of a batch that is still kept, by default of the last; StateError names those that are."""
        if self.manifest is None:
            if self.folder.names() or self.query is not None:
                raise StateError(f"nothing was committed in {self.path} yet; wait for the first batch")
            raise StateError(
                f"error[HW940]: {self.path} is not the checkpoint of a query: it has no folder `headwater` with "
                "committed batches; name the folder that maintain got as `checkpoint`"
            )
        if batch is None:
            return self.manifest
        for manifest in self._history:
            if manifest.batch == batch:
                return manifest
        kept = " and ".join(str(manifest.batch) for manifest in self._history)
        raise StateError(f"error[HW936]: the state of batch {batch} is not kept in {self.path}; it has batch {kept}")

    def reading(self, manifest: Manifest, sharding: Sharding) -> Assignment:
        """What workers need to read the state of a batch."""
        return Assignment(self.folder, sharding, manifest.parts, manifest.batch, manifest.batch)

    def commit(
        self, definition: QueryDefinition, batch: int, reports: Sequence[Report], notes: BatchNotes | None = None
    ) -> Manifest:
        """Commit a batch that all shards have reported; when this returns, the batch is durable."""
        epoch = self.hold()
        made = self.prepared(definition, batch, reports, notes)
        self._refuse_missing(made)
        if not self.folder.create(f"manifest-{batch}", made.to_bytes()):
            return self._found_committed(batch)
        first = self.manifest is None or self.manifest.epoch != epoch.number
        old = self._history[: -_KEPT + 1]
        self._history = [*self._history[len(old) :], made]
        if first or batch % _SWEEP_EVERY == 0:
            self.sweep()
        else:
            named = self._named()
            self._remove(name for manifest in old for name in (*(manifest.files - named), f"manifest-{manifest.batch}"))
        return made

    def _refuse_missing(self, made: Manifest) -> None:
        """Raise StateError if a file is gone that a manifest to be committed names.

        Those of the manifest before were checked with it, and nothing removes them: they are checked once per run.
        """
        known = self.manifest.files if self.manifest is not None and self._checked else frozenset()
        gone = self.folder.missing(sorted({*(made.files - known), *made.outgoing}))
        if gone:
            raise StateError(
                f"batch {made.batch} is not committed: {self.folder.path} lacks {', '.join(gone[:3])}"
                f"{f' and {len(gone) - 3} more' if len(gone) > 3 else ''}, which the shards have written; they "
                "were removed; start the query again"
            )
        self._checked = True

    def _found_committed(self, batch: int) -> Manifest:
        """The manifest of a batch that a run with an earlier epoch has committed meanwhile."""
        epoch = self.hold()
        self._history = self._read_manifests()
        found = self.manifest
        if found is None or found.batch != batch or found.epoch >= epoch.number:
            raise StateError(
                f"batch {batch} of {self.path} was committed by another run of the same query; stop one of them"
            )
        return found

    def prepared(
        self, definition: QueryDefinition, batch: int, reports: Sequence[Report], notes: BatchNotes | None = None
    ) -> Manifest:
        """The manifest that would commit a batch."""
        notes = notes or BatchNotes()
        by_shard = {report.shard: report for report in reports if report.batch == batch}
        if sorted(by_shard) != list(range(definition.shards)):
            raise StateError(
                f"batch {batch} was reported by shards {sorted(by_shard)} of {definition.shards}; it is not committed"
            )
        rejected = Counter({} if self.manifest is None else self.manifest.rejected)
        rejected.update(notes.rejected)
        parts = tuple(by_shard[shard].part for shard in range(definition.shards))
        clocks = {report.clock for report in by_shard.values()}
        if len(clocks) > 1:
            raise StateError(f"the shards do not agree on the time after batch {batch}; it is not committed")
        return Manifest(
            batch, definition, parts, dict(rejected), tuple(notes.set_aside), dict(notes.metrics), clocks.pop(),
            self.query, self.epoch or 0,
        )  # fmt: skip

    def sweep(self) -> None:
        """Remove files of committed batches that the last manifests do not name: old ones, and those of other attempts.

        Files of a batch to come stay: another run may still commit it.
        """
        if self.committed is None or self._epoch is None:
            return
        kept = self._named() | {f"manifest-{manifest.batch}" for manifest in self._history}
        shards = max(len(manifest.parts) for manifest in self._history)
        for below in ("", *(f"shard-{number}" for number in range(shards))):
            self._remove(name for name in self.folder.names(below) if name not in kept and self._is_past(name))
        self._remove(epochs.older(self.folder, self._epoch))

    def forget_feed(self, keep: int = 0, stays: Set[str] = frozenset()) -> None:
        """Remove the files of committed batches, which are all published.

        Of the last batch only the files stay that are named, of the other ones of the last `keep` all.
        """
        last = self.committed or 0
        for name in self.folder.names(FEED):
            recent = (found := _OF_BATCH.match(name)) is not None and last - keep < int(found[1]) < last
            if self._is_past(name) and name not in stays and not recent:
                self._remove([name])

    def _is_past(self, name: str) -> bool:
        """Whether a file is of a batch that is committed, and of no later epoch than this run's."""
        found = _OF_BATCH.match(name)
        if found is None or self.committed is None or self._epoch is None:
            return False
        return int(found[1]) <= self.committed and int(found[2] or 0) <= self._epoch.number

    def _read_manifests(self) -> list[Manifest]:
        found = self._batches()
        while True:
            try:
                return [self._read_manifest(batch) for batch in found]
            except StateError:
                now = self._batches()
                if now == found:
                    raise
                found = now  # a running query has committed a batch meanwhile, and removed an old manifest

    def _batches(self) -> list[int]:
        """The last ones that have a manifest."""
        found = [int(match[1]) for name in self.folder.names() if (match := _MANIFEST.fullmatch(name))]
        return sorted(found)[-_KEPT:]

    def _read_manifest(self, batch: int) -> Manifest:
        where = f"{self.folder.path}/manifest-{batch}"
        read = Manifest.from_bytes(self.folder.read(f"manifest-{batch}"), where)
        if read.batch != batch:
            raise StateError(f"{where} is damaged: it is the manifest of batch {read.batch}; {_RESTORE}")
        return read

    def _named(self) -> frozenset[str]:
        return frozenset().union(*(manifest.files for manifest in self._history))

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(StateError):  # what cannot be removed now does no harm, and is tried again later
                self.folder.remove(name)
