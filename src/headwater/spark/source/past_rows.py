"""The rows that one shard has of a view as of a batch, whether or not the state of that batch is still there.

A checkpoint keeps the state of its last two batches. Rows of an earlier batch are those of a later one without the
changes between the two: a row that was first inserted was not there, a row that was first deleted was. So a task can
read rows as of its batch while the query goes on, and a stream that starts again reads the same rows again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from headwater.core.errors import StateError
from headwater.files.rows import CHANGE_TYPE
from headwater.spark.inputs.column_types import written
from headwater.spark.inputs.contract import View, mark_of
from headwater.spark.shards import handover
from headwater.spark.shards.readings import ViewReading
from headwater.spark.source.opening import Opened
from headwater.spark.state.checkpoint import Checkpoint
from headwater.spark.state.feed import files_of
from headwater.spark.state.manifest import Manifest


@dataclass(frozen=True, slots=True)
class PastRows:
    """One shard of a view as of a batch."""

    opened: Opened
    manifest: Manifest  # of that batch or, if its state is gone, of a later one
    shard: int
    batch: int

    def read(self) -> pa.Table:
        try:
            return self._read(self.manifest)
        except StateError:
            last = Checkpoint(self.opened.path).as_of(None)
            if last.batch == self.manifest.batch:
                raise
        return self._read(last)  # the query went on meanwhile, and removed what this task was to read

    def _read(self, manifest: Manifest) -> pa.Table:
        opened, checkpoint = self.opened, Checkpoint(self.opened.path)
        assignment = checkpoint.reading(manifest, opened.sharding)
        mark = mark_of(opened.functions)
        asked = opened.view.name.encode()
        call = ViewReading(opened.functions, mark, assignment, self.shard, asked, opened.documents)
        rows = _in_schema(pa.ipc.open_stream(handover.run(call)).read_all(), opened.view)
        between = range(self.batch + 1, manifest.batch + 1)
        return undone(rows, list(changes_in(checkpoint, opened.view, self.shard, between))) if between else rows


def changes_in(checkpoint: Checkpoint, view: View, shard: int, batches: range) -> Iterator[pa.Table]:
    """The changes of a shard's rows in some batches, in their order."""
    for batch in batches:
        for number, name in files_of(checkpoint, view.name, batch):
            if number == shard:
                yield pq.read_table(pa.BufferReader(checkpoint.folder.read(name)))


def undone(rows: pa.Table, changes: list[pa.Table]) -> pa.Table:
    """The rows that there were before some changes; the first change of a row decides."""
    first: dict[str, bool] = {}
    gone: list[pa.Table] = []
    for table in changes:
        plain = table.select(rows.schema.names).cast(rows.schema)
        kinds = table.column(CHANGE_TYPE).to_pylist()
        fresh = []
        for key, kind in zip(_keys(plain), kinds, strict=True):
            there = kind == "delete"
            fresh.append(there and key not in first)
            first.setdefault(key, there)
        gone.append(plain.filter(pa.array(fresh, type=pa.bool_())))
    if not first:
        return rows
    untouched = rows.filter(pa.array([key not in first for key in _keys(rows)], type=pa.bool_()))
    return pa.concat_tables([untouched, *gone])


def _keys(rows: pa.Table) -> list[str]:
    """Equal for equal rows; NaN is equal to itself here."""
    return [repr(values) for values in zip(*(column.to_pylist() for column in rows.columns), strict=True)]


def _in_schema(rows: pa.Table, view: View) -> pa.Table:
    columns = [written(rows.column(at), field.type) for at, field in enumerate(view.schema)]
    return pa.Table.from_arrays(columns, schema=view.schema)
