"""A committed batch on its way out: to where its format puts it, and to a function.

The default, Parquet files, is exactly once: a file per view, batch and shard, put there whole, under a name that
depends on the batch alone. Other formats, and Parquet in a store that only Spark itself can reach, are written by
Spark: `destinations` tells how, and which of them may get a batch again after a driver has died in between. A function
may as well; `_batch_id` tells.

The current tables of the views follow where that is cheap (see `current`); `view` reads the state itself, and is always
right.
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
from headwater.spark.output.destinations import Console, Destination, Folders, Memory, Tables, Told, Topic, destination
from headwater.spark.output.ownership import claim, refuse_foreign
from headwater.spark.output.shard_output import feed_schema, keep_rejected
from headwater.spark.shards.state_view import view_of
from headwater.spark.state.checkpoint import Checkpoint
from headwater.spark.state.manifest import Manifest

Callback = Callable[[dict[str, Any], int], None]


@dataclass(slots=True)
class Sink:
    output: str | None
    format: str
    options: dict[str, str]
    current: str
    _told: int | None = None
    _as_files: bool | None = None  # the files of a batch are passed on as they are; None: not known yet
    _destination: Destination | None = field(init=False)  # None: only a function is told
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
        """Take the output for the query of this checkpoint; StateError if it is another's."""
        claim(self._destination, [view.name for view in contract.views], checkpoint)

    def is_pending(self, checkpoint: Checkpoint, manifest: Manifest) -> bool:
        """Whether a committed batch has not been told to the end: all its files are there, because none goes before."""
        if self._told == manifest.batch or not manifest.told:
            return False
        return not checkpoint.folder.missing(sorted(manifest.told))

    def give(
        self, spark: Any, checkpoint: Checkpoint, contract: Contract, manifest: Manifest,
        foreach_changes: Callback | None,
    ) -> None:  # fmt: skip
        """Bring a committed batch to where it is to go; then remove the files it came in.

        Nothing is written, and nothing removed, once another run has opened the checkpoint: that one brings the batch
        to where it is to go.
        """
        if self._as_files is None:  # what this process can reach counts, not a client of Spark Connect
            self._as_files = self.format == "parquet" and (self.output is None or _is_reachable(self.output))
        changed = {view.name: list(manifest.metrics["feed"].get(view.name, ())) for view in contract.views}
        keep_rejected(checkpoint.folder, manifest)
        asked = foreach_changes is not None or not self._as_files
        frames = (
            {view.name: _changes(spark, checkpoint, view, changed[view.name]) for view in contract.views}
            if asked
            else {}
        )
        for view, files in changed.items():
            checkpoint.hold()
            if self._as_files:
                self._pass_on(checkpoint, view, files, manifest.batch)
            elif files:
                self._add(frames[view], view, Told(_query(checkpoint), manifest.batch, again=self._told is None))
            if self._current is not None:
                self._current.follow(spark, checkpoint, view, manifest)
            if isinstance(self._destination, Memory):
                self._destination.put(view_of(spark, checkpoint, view), view)
        if foreach_changes is not None:
            foreach_changes(frames, manifest.batch)
        checkpoint.hold()
        checkpoint.forget_feed()
        self._told = manifest.batch

    def _pass_on(self, checkpoint: Checkpoint, view: str, files: list[str], batch: int) -> None:
        if not isinstance(self._destination, Folders) or not files:
            return
        place = open_folder(self._destination.changes(view))
        for number, name in enumerate(files):
            content, target = checkpoint.folder.read(name), f"batch-{batch:08d}-{number}.parquet"
            if not place.create(target, content) and place.read(target) != content:
                raise StateError(
                    f"{place.path} holds batch {batch} of another query, or of this one before it began anew; give "
                    "output= a folder of its own, or remove what is there"
                )

    def _add(self, changes: Any, view: str, told: Told) -> None:
        match self._destination:
            case None | Memory():
                pass
            case Folders() | Tables() | Topic() | Console() as there:
                there.add(changes, view, told)
            case unknown:
                assert_never(unknown)


def _query(checkpoint: Checkpoint) -> str:
    """What tells a query from one that had the same checkpoint folder before."""
    return checkpoint.query or checkpoint.path


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
