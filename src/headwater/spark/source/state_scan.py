"""A view of a query as a table: its rows as of one committed batch, read shard by shard.

The option `where` leaves out the shards that cannot have such rows, and other rows before they leave the worker. The
filters of a query are left to Spark: its own way of pushing filters down to sources in Python (4.3) keeps one set of
them for all scans of a DataFrame or view, so that a union of two selections gives the rows of one of them, twice.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, InputPartition

from headwater.core.errors import DataError, StateError
from headwater.exchange import hash_values, owners
from headwater.spark.source.opening import Opened, Where
from headwater.spark.source.past_rows import PastRows
from headwater.spark.state.checkpoint import Checkpoint
from headwater.spark.state.manifest import Manifest

_ROWS = 1 << 16


class ShardRows(InputPartition):
    """One shard of a view."""

    def __init__(self, rows: PastRows) -> None:
        super().__init__(rows)


class StateScan(DataSourceReader):
    """Reads the rows of a view as of a batch."""

    def __init__(self, opened: Opened) -> None:
        if opened.feed:
            raise DataError(
                "error[HW801]: the change feed of a view is read as a stream, with spark.readStream; for a table, "
                "leave out the option `readChangeFeed`"
            )
        self.opened = opened

    def partitions(self) -> list[InputPartition]:
        opened = self.opened
        checkpoint = Checkpoint(opened.path)
        last = checkpoint.as_of(None)
        batch = last.batch if opened.batch is None else opened.batch
        manifest = manifest_of(checkpoint, opened, batch)
        shards = shards_for(opened, manifest.definition.shards)
        return [ShardRows(PastRows(opened, manifest, shard, batch)) for shard in shards]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        rows = chosen(partition.value.read(), self.opened.where)
        yield from rows.to_batches(max_chunksize=_ROWS)


def shards_for(opened: Opened, shards: int) -> list[int]:
    """The shards that can have rows as they are asked for."""
    home = opened.sharding.homes.get(opened.view.name)
    table = next((table for table in opened.sharding.plan.tables if table.name == opened.view.name), None)
    at = getattr(home, "column", None)
    if opened.documents is not None or table is None or at is None or shards == 1:
        return list(range(shards))
    named = {column.at: field.name for column, field in zip(table.written, opened.view.schema, strict=True)}
    values = opened.where.get(named.get(at, ""))
    if values is None:
        return list(range(shards))
    return sorted({int(owner) for owner in owners(hash_values(values), shards)})


def chosen(rows: pa.Table, where: Where) -> pa.Table:
    for column, values in where.items():
        kind = rows.schema.field(column).type
        rows = rows.filter(pc.is_in(rows.column(column), value_set=pa.array(sorted(values), type=kind)))
    return rows


def manifest_of(checkpoint: Checkpoint, opened: Opened, batch: int) -> Manifest:
    """Of the batch or, if that is gone and the changes since are kept, of the first one that is there."""
    try:
        return checkpoint.as_of(batch)
    except StateError:
        first = checkpoint.history[0]
        if opened.view.name not in first.definition.notes["views"] or not 0 <= batch < first.batch:
            raise
        return first
