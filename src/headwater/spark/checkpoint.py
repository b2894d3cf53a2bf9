"""A query's checkpoint, as the driver sees it: which batch is committed, what it rests on, and what can be thrown away.

Below the query's checkpoint folder:

    headwater/manifest-<batch>                              commits a batch (see `manifest`)
    headwater/shard-<n>/snapshot-<batch>-<attempt>          a shard as of a batch
    headwater/shard-<n>/log-<batch>-<attempt>               what a shard was given in a batch
    headwater/rejected/<batch>-<attempt>.jsonl              rows of a batch that did not fit, with the reason

A batch goes through these steps: every shard writes its log (or a snapshot), the driver creates the manifest, then old
files are removed. Between any two of them everything may die: without the manifest, the batch never was, and Spark
brings it again; with it, the batch is not run again, and what was to be removed is removed when the checkpoint is next
opened. Every attempt writes files of its own names, so one that was given up can do no harm, however late it writes.

The files of Spark beside them (`metadata`, `offsets`, `commits`) say which rows a batch is made of; state and offsets
that do not belong together would lose rows or take them twice, and are refused.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from headwater.core.errors import StateError
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.exchange.scheme import Scheme
from headwater.spark.filesystem import Folder, folder
from headwater.spark.manifest import Manifest, Part, Report
from headwater.spark.recipe import Recipe

_MANIFEST = re.compile(r"manifest-(\d+)")
_REJECTED = "rejected"
_KEPT = 2  # manifests: who reads the last one may take as long as a batch takes
_SWEEP_EVERY = 64  # batches; in between only what is known to be old is removed
_METADATA = "metadata"  # Spark's own: {"id": ...}, written when a query starts with a new checkpoint
_RESTORE = "restore the whole checkpoint folder from one copy, or start with a new checkpoint and a new output"


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker needs to run shards of a batch, or to read them as of the last one. It is pickled to executors."""

    folder: Folder
    scheme: Scheme
    parts: tuple[Part, ...]  # the committed state to start from, by shard
    committed: int | None  # the batch that it is of; None: nothing is committed yet
    batch: int  # the batch to run
    guard: Guard = DEFAULT_GUARD
    attempt: str = field(default_factory=lambda: secrets.token_hex(4), compare=False)

    @property
    def shards(self) -> int:
        return len(self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Every task that unpickles it is an attempt of its own: what it writes collides with nobody's files."""
        return type(self), (self.folder, self.scheme, self.parts, self.committed, self.batch, self.guard)


class Checkpoint:
    """Opened once per run of a query, by its driver."""

    def __init__(self, path: str) -> None:
        """`path` is the checkpoint folder of the query; it need not exist yet."""
        self.path = path
        self.folder = folder(f"{str(path).rstrip('/')}/headwater")
        self._history = self._read_manifests()
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
        """What Spark calls the query of this checkpoint, across restarts; None: it has not named it yet."""
        if self._known_query is None:
            around = folder(str(self.path))
            if _METADATA in around.names():
                with suppress(ValueError, LookupError, TypeError):  # a damaged file, which Spark itself refuses
                    self._known_query = str(json.loads(around.read(_METADATA))["id"])
        return self._known_query

    def resume(self, recipe: Recipe) -> Manifest | None:
        """The state to go on from, for a query that runs this recipe; StateError if the checkpoint was made for
        another.

        Removes what an earlier run left behind.
        """
        if self.manifest is not None:
            self.manifest.recipe.refuse_other(recipe, f"the checkpoint {self.path}")
            if self.manifest.query not in (None, self.query):
                raise StateError(
                    f"Spark's own files in {self.path} ({_METADATA}, offsets, commits) are gone, or are those of "
                    f"another query than the state of batch {self.committed} there; {_RESTORE}"
                )
        self.sweep()
        return self.manifest

    def is_due(self, batch: int) -> bool:
        """Whether a batch is to be run: not if it is the one that was committed last. StateError if it does not go on
        from there."""
        last = self.committed
        if batch == (0 if last is None else last + 1):
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

    def assignment(self, recipe: Recipe, scheme: Scheme, batch: int, guard: Guard = DEFAULT_GUARD) -> Assignment:
        """What workers need for an attempt at a batch (or to read the views as of the last)."""
        parts = tuple(Part() for _ in range(recipe.shards)) if self.manifest is None else self.manifest.parts
        return Assignment(self.folder, scheme, parts, self.committed, batch, guard)

    def commit(
        self,
        recipe: Recipe,
        batch: int,
        reports: Sequence[Report],
        *,
        rejected: Mapping[str, int] | None = None,
        set_aside: Iterable[str] = (),
        metrics: Mapping[str, Any] | None = None,
    ) -> Manifest:
        """Commit a batch that all shards have reported; when this returns, the batch is done for good.

        `rejected` counts the rows of the batch that were set aside, by relation, in the files `set_aside`.
        """
        made = self.prepared(recipe, batch, reports, rejected=rejected, set_aside=set_aside, metrics=metrics)
        if not self.folder.create(f"manifest-{batch}", made.to_bytes()):
            raise StateError(
                f"batch {batch} of {self.path} was committed by another run of the same query; stop one of them"
            )
        old = self._history[: -_KEPT + 1]
        self._history = [*self._history[len(old) :], made]
        if batch % _SWEEP_EVERY == 0:
            self.sweep()
        else:
            named = self._named()
            self._remove(name for one in old for name in (*(one.files - named), f"manifest-{one.batch}"))
        return made

    def prepared(
        self,
        recipe: Recipe,
        batch: int,
        reports: Sequence[Report],
        *,
        rejected: Mapping[str, int] | None = None,
        set_aside: Iterable[str] = (),
        metrics: Mapping[str, Any] | None = None,
    ) -> Manifest:
        """The manifest that would commit a batch."""
        by_shard = {report.shard: report for report in reports if report.batch == batch}
        if sorted(by_shard) != list(range(recipe.shards)):
            raise StateError(
                f"batch {batch} was reported by shards {sorted(by_shard)} of {recipe.shards}; it is not committed"
            )
        before = self.manifest
        counts = dict(before.rejected) if before is not None else {}
        for name, count in (rejected or {}).items():
            counts[name] = counts.get(name, 0) + count
        parts = tuple(by_shard[shard].part for shard in range(recipe.shards))
        clocks = {report.clock for report in by_shard.values()}
        if len(clocks) > 1:
            raise StateError(f"the shards do not agree on the time after batch {batch}; it is not committed")
        figures = dict(metrics or {})
        return Manifest(batch, recipe, parts, counts, tuple(set_aside), figures, clocks.pop(), self.query)

    def sweep(self) -> None:
        """Remove every file that the last manifests do not name: old ones, and those of attempts that were given up."""
        named = self._named()
        shards = max((len(one.parts) for one in self._history), default=0)
        for number in range(shards):
            self._remove(name for name in self.folder.names(f"shard-{number}") if name not in named)
        manifests = {f"manifest-{one.batch}" for one in self._history}
        self._remove(
            name for name in self.folder.names() if name.lstrip(".").startswith("manifest-") and name not in manifests
        )
        last = self.manifest
        if last is not None:
            spoilt = {name for name in self.folder.names(_REJECTED) if batch_of(name) >= last.batch}
            self._remove(spoilt - set(last.set_aside))

    def _read_manifests(self) -> list[Manifest]:
        found = [int(match[1]) for name in self.folder.names() if (match := _MANIFEST.fullmatch(name))]
        read = []
        for batch in sorted(found)[-_KEPT:]:
            name = f"manifest-{batch}"
            read.append(Manifest.from_bytes(self.folder.read(name), f"{self.folder.path}/{name}"))
        return read

    def _named(self) -> frozenset[str]:
        return frozenset().union(*(one.files for one in self._history))

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(StateError):  # what cannot be removed now is in nobody's way, and is tried again later
                self.folder.remove(name)


def batch_of(name: str) -> int:
    """The batch in the name of a file of rejected rows; -1: none."""
    found = re.match(rf"{_REJECTED}/(\d+)-", name)
    return int(found[1]) if found else -1
