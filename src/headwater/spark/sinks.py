"""Where changes go once their batch is committed: files, any Spark format, a function.

The default, Parquet files, is exactly once: a file per view, batch and shard, put there whole, under a name that
depends on the batch alone. Other file formats, and Parquet in a store that only Spark itself can reach, get a folder
per batch, overwritten if the batch is told again; Delta is told the batch, and skips what it has. Any other format,
and a function, may be given a batch again after a driver has died in between; `_batch_id` tells.

The current tables of the views follow where that is cheap (see `current`); `view` reads the state itself, and is always
right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import functions as sf
from pyspark.sql import types as st

from headwater.core.errors import DataError, StateError
from headwater.spark.checkpoint import Checkpoint
from headwater.spark.contract import Contract, View
from headwater.spark.current import IN_FILES, CurrentTables
from headwater.spark.feed import BATCH_ID, FOLDER, feed_schema
from headwater.spark.filesystem import folder
from headwater.spark.manifest import Manifest
from headwater.spark.state_view import view_of
from headwater.spark.types import spark_type

Callback = Callable[[dict[str, Any], int], None]


@dataclass(slots=True)
class Sink:
    output: str | None
    format: str
    options: dict[str, str]
    current: str
    _current: CurrentTables | None = field(init=False)
    _told: int | None = None
    _as_files: bool | None = None  # the files of a batch are passed on as they are; None: not known yet

    def __post_init__(self) -> None:
        if self.output is None and self.format not in ("parquet", "console", "memory", "kafka"):
            raise DataError(f"error[HW801]: the format {self.format} needs a place: give output=...")

        self._current = (
            None if self.output is None else CurrentTables(self.output, self.format, self.options, self.current)
        )

    def is_pending(self, checkpoint: Checkpoint, manifest: Manifest) -> bool:
        """Whether a committed batch has not been told to the end: all its files are there, because none goes before."""
        named = {name for files in manifest.metrics["feed"].values() for name in files}
        return self._told != manifest.batch and bool(named) and named <= set(checkpoint.folder.names(FOLDER))

    def give(
        self, spark: Any, checkpoint: Checkpoint, contract: Contract, manifest: Manifest,
        feed: Mapping[str, list[str]], foreach_changes: Callback | None,
    ) -> None:  # fmt: skip
        """Bring a committed batch to where it is to go; then remove the files it came in."""
        if self._as_files is None:  # what this process can reach counts, not a client of Spark Connect
            self._as_files = self.format == "parquet" and (self.output is None or _is_reachable(self.output))
        changed = {view.name: feed.get(view.name, []) for view in contract.views}
        asked = foreach_changes is not None or not self._as_files
        frames = (
            {view.name: _changes(spark, checkpoint, view, changed[view.name]) for view in contract.views}
            if asked
            else {}
        )
        for view in contract.views:
            self._give_view(spark, checkpoint, view, frames.get(view.name), changed[view.name], manifest)
        if foreach_changes is not None:
            foreach_changes(frames, manifest.batch)
        for files in changed.values():
            for name in files:
                checkpoint.folder.remove(name)
        for name in checkpoint.folder.names(FOLDER) if self._told is None else ():
            checkpoint.folder.remove(name)  # of attempts that were given up
        self._told = manifest.batch

    def _give_view(
        self, spark: Any, checkpoint: Checkpoint, view: View, frame: Any, files: list[str], manifest: Manifest
    ) -> None:
        batch, format_ = manifest.batch, self.format
        where = None if self.output is None else f"{self.output.rstrip('/')}/{view.name}"
        if format_ == "memory":
            view_of(spark, checkpoint, view.name).createOrReplaceGlobalTempView(view.name)
            return
        if not files:
            pass
        elif self._as_files:
            if where is not None:
                place = folder(f"{where}/changes")
                for number, name in enumerate(files):
                    place.create(f"batch-{batch:08d}-{number}.parquet", checkpoint.folder.read(name))
        elif format_ == "console":
            frame.write.format("console").options(**self.options).mode("append").save()
        elif format_ == "kafka":
            text = sf.to_json(sf.struct(sf.lit(view.name).alias("_view"), *frame.columns)).alias("value")
            frame.select(text).write.format("kafka").options(**self.options).save()
        elif format_ in IN_FILES:
            there = f"{where}/changes/{BATCH_ID}={batch}"
            frame.drop(BATCH_ID).write.format(format_).options(**self.options).mode("overwrite").save(there)
        else:
            marks = {"txnAppId": f"{checkpoint.path}/{view.name}", "txnVersion": str(batch)}
            options = self.options | (marks if format_ == "delta" else {})
            frame.write.format(format_).options(**options).mode("append").save(f"{where}/changes")
        if self._current is not None:
            self._current.follow(spark, checkpoint, view.name, manifest)


def _is_reachable(output: str) -> bool:
    try:
        folder(output)
    except StateError:
        return False
    return True


def _changes(spark: Any, checkpoint: Checkpoint, view: View, files: list[str]) -> Any:
    schema = st.StructType([st.StructField(one.name, spark_type(one.type)) for one in feed_schema(view)])
    if not files:
        return spark.createDataFrame([], schema)
    return spark.read.schema(schema).parquet(*(f"{checkpoint.folder.uri}/{name}" for name in files))
