"""A committed batch on its way out: to the destination of its format, and to the user's function.

The default, Parquet files, is exactly once: a file per view, batch and shard, created whole, under a name that depends
on the batch alone. Other formats, and Parquet in a store that only Spark can reach, are written by Spark (see
`destinations`). Some of them, and the function, may get a batch again after a driver has failed; `_batch_id` shows it.

The current tables of the views follow where that is cheap (see `current_table`); `view` reads the state itself, and is
always up to date.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, assert_never

from headwater.core.errors import StateError
from headwater.spark.folders import open_folder
from headwater.spark.inputs.column_types import spark_schema
from headwater.spark.inputs.contract import Contract, View
from headwater.spark.output.current_table import CurrentTables
from headwater.spark.output.destinations import (
    BatchId,
    Console,
    Destination,
    Folders,
    Memory,
    Tables,
    Topic,
    destination,
)
from headwater.spark.output.document_schema import JSON, with_schema
from headwater.spark.output.ownership import claim, refuse_foreign
from headwater.spark.output.shard_output import feed_schema, keep_rejected
from headwater.spark.shards.state_view import view_of
from headwater.spark.state import feed
from headwater.spark.state.checkpoint import Checkpoint
from headwater.spark.state.manifest import Manifest

Callback = Callable[[dict[str, Any], int], None]


@dataclass(slots=True)
class Sink:
    """Publishes the committed batches of one query."""

    output: str | None
    format: str
    options: dict[str, str]
    current: str
    schema: str | None = None  # of documents, where the views show documents
    keep: int = 0  # batches whose changes stay in the checkpoint for readers of its feed
    _published: int | None = None  # the last batch
    _as_files: bool | None = None  # the files of a batch are copied as they are; None: not known yet
    _destination: Destination | None = field(init=False)  # None: only the function gets changes
    _current: CurrentTables | None = field(init=False)

    def __post_init__(self) -> None:
        nowhere = self.output is None and self.format == "parquet"
        there = None if nowhere else destination(self.output, self.format, self.options)
        self._destination = there
        self._current = CurrentTables(there, self.current) if isinstance(there, Folders | Tables) else None

    def refuse_foreign(self, checkpoint: Checkpoint, contract: Contract) -> None:
        """Raise StateError if the output is another query's."""
        refuse_foreign(self._destination, [view.name for view in contract.views], checkpoint)

    def claim(self, checkpoint: Checkpoint, contract: Contract) -> None:
        """Note that the output is of the query of this checkpoint; StateError if it is another's."""
        claim(self._destination, [view.name for view in contract.views], checkpoint)

    def is_pending(self, checkpoint: Checkpoint, manifest: Manifest) -> bool:
        """Whether a committed batch is not published to the end: then all its files are there."""
        if self._published == manifest.batch or not manifest.outgoing:
            return False
        if feed.is_published(checkpoint.folder, manifest.batch):
            return False
        return not checkpoint.folder.missing(sorted(manifest.outgoing))

    def give(
        self, spark: Any, checkpoint: Checkpoint, contract: Contract, manifest: Manifest,
        foreach_changes: Callback | None,
    ) -> None:  # fmt: skip
        """Publish a committed batch; then remove the files that its shards wrote for it, unless readers may want them.

        Once another run has opened the checkpoint, nothing is written or removed: that run publishes the batch.
        """
        if self._as_files is None:  # this process must reach the output, not a client of Spark Connect
            self._as_files = self.format == "parquet" and (self.output is None or _is_reachable(self.output))
            self._as_files = self._as_files and self.schema in (None, JSON)  # as the shards wrote them
        changed = {view.name: list(manifest.metrics["feed"].get(view.name, ())) for view in contract.views}
        keep_rejected(checkpoint.folder, manifest)
        frames = {}
        if foreach_changes is not None or not self._as_files:
            frames = {
                view.name: with_schema(_changes(spark, checkpoint, view, changed[view.name]), self.schema)
                for view in contract.views
            }
        batch = BatchId(checkpoint.query or checkpoint.path, manifest.batch, again=self._published is None)
        for view, files in changed.items():
            checkpoint.hold()
            if self._as_files:
                self._copy(checkpoint, view, files, manifest.batch)
            elif files:
                self._add(frames[view], view, batch)
            if self._current is not None:
                self._current.follow(spark, checkpoint, view, manifest)
            if isinstance(self._destination, Memory):
                self._destination.put(view_of(spark, checkpoint, view), view)
        if foreach_changes is not None:
            foreach_changes(frames, manifest.batch)
        checkpoint.hold()
        feed.publish(checkpoint, manifest, self.keep)
        self._published = manifest.batch

    def _copy(self, checkpoint: Checkpoint, view: str, files: list[str], batch: int) -> None:
        if not isinstance(self._destination, Folders) or not files:
            return
        place = open_folder(self._destination.changes(view))
        for number, name in enumerate(files):
            content, target = checkpoint.folder.read(name), f"batch-{batch:08d}-{number}.parquet"
            if not place.create(target, content) and place.read(target) != content:
                raise StateError(
                    f"{place.path} holds batch {batch} of another query, or of an earlier start of this one; give "
                    "output= a folder of its own, or remove what is there"
                )

    def _add(self, changes: Any, view: str, batch: BatchId) -> None:
        match self._destination:
            case None | Memory():
                pass
            case Folders() | Tables() | Topic() | Console() as there:
                there.add(changes, view, batch)
            case unknown:
                assert_never(unknown)


def _is_reachable(output: str) -> bool:
    try:
        open_folder(output)
    except StateError:
        return False
    return True


def _changes(spark: Any, checkpoint: Checkpoint, view: View, files: list[str]) -> Any:
    schema = spark_schema(feed_schema(view))
    if not files:
        return spark.createDataFrame([], schema)
    return spark.read.schema(schema).parquet(*(f"{checkpoint.folder.uri}/{name}" for name in files))
