"""The changes of a view as a stream: first its rows as inserts, then the changes of each batch that is committed.

An offset is a batch of the query, with the query's id. The same two offsets always give the same rows: the changes
between them as the checkpoint keeps them or, from the beginning, the rows as of the second. So a stream that stops goes
on where it was, as long as the changes since are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from headwater.core.errors import DataError, StateError
from headwater.files.rows import BATCH_ID, CHANGE_TYPE
from headwater.spark.source.opening import Opened
from headwater.spark.source.past_rows import PastRows, changes_in
from headwater.spark.source.state_scan import manifest_of
from headwater.spark.state.checkpoint import Checkpoint
from headwater.spark.state.feed import files_of

_ROWS = 1 << 16
_BEGINNING = -1


class ShardChanges(InputPartition):
    """The changes of one shard in some batches."""

    def __init__(self, shard: int, batches: range) -> None:
        super().__init__((shard, batches))


class FirstRows(InputPartition):
    """The rows of one shard as of a batch."""

    def __init__(self, rows: PastRows) -> None:
        super().__init__(rows)


class ChangeFeed(DataSourceStreamReader):
    """Reads the change feed of a view."""

    def __init__(self, opened: Opened) -> None:
        if not opened.feed:
            raise DataError(
                "error[HW801]: a stream of the format headwater is the change feed of a view, with two columns more; "
                "Spark asks for the columns before it says that it wants a stream, so say it: "
                ".option('readChangeFeed', 'true')"
            )
        self.opened = opened

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return self._offset(_BEGINNING)

    def latestOffset(self) -> dict[str, Any]:  # noqa: N802
        return self._offset(Checkpoint(self.opened.path).as_of(None).batch)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        checkpoint = Checkpoint(self.opened.path)
        last = checkpoint.as_of(None)
        for offset in (start, end):
            if offset["query"] != (checkpoint.query or "") or offset["batch"] > last.batch:
                raise StateError(
                    f"error[HW939]: {checkpoint.path} is not the checkpoint that this stream began with: it was at "
                    f"batch {offset['batch']} there, and the query was started anew\n"
                    "  hint: start the stream with a new checkpoint of its own"
                )
        first, until = start["batch"], end["batch"]
        if first == until:
            return []
        if first == _BEGINNING:
            manifest = manifest_of(checkpoint, self.opened, until)
            shards = range(manifest.definition.shards)
            return [FirstRows(PastRows(self.opened, manifest, shard, until)) for shard in shards]
        batches = range(first + 1, until + 1)
        changed = {shard for batch in batches for shard, _ in files_of(checkpoint, self.opened.view.name, batch)}
        return [ShardChanges(shard, batches) for shard in sorted(changed)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        schema = self.opened.schema
        if isinstance(partition, FirstRows):
            rows = partition.value.read()
            rows = rows.append_column(CHANGE_TYPE, pa.repeat(pa.scalar("insert"), rows.num_rows))
            batch = pa.scalar(partition.value.batch, pa.int64())
            tables = iter([rows.append_column(BATCH_ID, pa.repeat(batch, rows.num_rows))])
        else:
            shard, batches = partition.value
            tables = changes_in(Checkpoint(self.opened.path), self.opened.view, shard, batches)
        for table in tables:
            yield from table.select(schema.names).cast(schema).to_batches(max_chunksize=_ROWS)

    def _offset(self, batch: int) -> dict[str, Any]:
        return {"batch": batch, "query": Checkpoint(self.opened.path).query or ""}
