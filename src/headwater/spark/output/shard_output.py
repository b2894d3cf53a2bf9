"""What a shard writes beside its state in a batch: the changes of its part of the views, and the rows set aside.

Both go under the checkpoint, in files named by batch and attempt; they count once the batch is committed. Then the
driver publishes them, and removes these files and those of all other attempts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headwater.engine.border.codec import arrow_table
from headwater.exchange import Member, Outcome
from headwater.files.feed import is_cleared
from headwater.files.rows import BATCH_ID, CHANGE_TYPE
from headwater.spark.folders import Folder
from headwater.spark.inputs.bundles import Rejection
from headwater.spark.inputs.column_types import spark_schema, written
from headwater.spark.inputs.contract import View
from headwater.spark.state.checkpoint import Assignment
from headwater.spark.state.manifest import Manifest

FOLDER = "feed"
# Where Spark looks for the types of a Parquet file's columns: the file's own types know no intervals.
_SPARKS_SCHEMA = "org.apache.spark.sql.parquet.row.metadata"


def feed_schema(view: View) -> pa.Schema:
    """The columns of a view's changes."""
    return view.schema.append(pa.field(CHANGE_TYPE, pa.string())).append(pa.field(BATCH_ID, pa.int64()))


def write_changes(assignment: Assignment, shard: int, views: Iterable[View], outcome: Outcome) -> dict[str, str]:
    """One file per view that changed; their names by view. Deletes stand before inserts."""
    files: dict[str, str] = {}
    for number, view in enumerate(views):
        came, went = outcome.changes[view.name]
        if not came.num_rows and not went.num_rows:
            continue
        table = pa.concat_tables([_marked(view, went, "delete", assignment), _marked(view, came, "insert", assignment)])
        name = f"{FOLDER}/{assignment.files_of}-{number}-{shard}.parquet"
        out = pa.BufferOutputStream()
        pq.write_table(table, out)
        assignment.folder.write(name, [memoryview(out.getvalue())])
        files[view.name] = name
    return files


def _marked(view: View, rows: pa.Table, kind: str, assignment: Assignment) -> pa.Table:
    columns = [written(rows.column(at), field.type) for at, field in enumerate(view.schema)]
    columns.append(pa.chunked_array([pa.repeat(pa.scalar(kind), rows.num_rows)]))
    columns.append(pa.chunked_array([pa.repeat(pa.scalar(assignment.batch, pa.int64()), rows.num_rows)]))
    schema = feed_schema(view)
    return pa.Table.from_arrays(columns, schema=schema.with_metadata({_SPARKS_SCHEMA: spark_schema(schema).json()}))


def write_rejected(assignment: Assignment, shard: int, rejected: list[Rejection]) -> list[str]:
    """The rows that were set aside, a JSON object a line; the name of the file, if there is any."""
    if not rejected:
        return []
    lines = [json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rejected]
    name = f"{FOLDER}/{assignment.files_of}-rejected-{shard}.jsonl"
    assignment.folder.write(name, ["".join(lines).encode("utf-8", "backslashreplace")])
    return [name]


def keep_rejected(folder: Folder, manifest: Manifest) -> None:
    """Keep the rows that a committed batch has set aside, under names that depend on the batch alone."""
    for number, name in enumerate(manifest.set_aside):
        folder.create(f"rejected/{manifest.batch}-{number}.jsonl", folder.read(name))


def late_rows(late: Mapping[str, pa.Table]) -> list[Rejection]:
    """Rows that came too late, with the reason."""
    reason = "it is late: further behind the clock than the stream's lateness allows"
    return [
        Rejection(relation, reason, json.dumps(row, default=str, ensure_ascii=False))
        for relation, rows in late.items()
        for row in rows.to_pylist()
    ]


def rows_with_keys(member: Member, cleared: Mapping[str, Mapping[tuple[Any, ...], Any]]) -> dict[str, pa.Table]:
    """The rows of a shard that have these keys, by relation: they must go, whatever they are (see `Net`)."""
    out: dict[str, pa.Table] = {}
    for relation, keys in cleared.items():
        store = member.shard.stores[relation]
        table = arrow_table(store.table, store.table.names, store.data[store.alive()], member.shard.symbols)
        key, time = member.sharding.keys[relation], store.table.time
        values = zip(*(table.column(at).to_pylist() for at in key), strict=True)
        times = [None] * table.num_rows if time is None else table.column(time).to_pylist()
        goes = [value in keys and is_cleared(keys[value], at) for value, at in zip(values, times, strict=True)]
        out[relation] = table.filter(pa.array(goes, type=pa.bool_()))
    return out
