"""Views as of the last committed batch, read from the checkpoint: by any session that can reach it."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as sf

from headwater.core.errors import StateError
from headwater.core.functions.registry import USER_FUNCTIONS
from headwater.engine.profile import Profile, RuleWork
from headwater.exchange import Sharding
from headwater.semistructured.sharded import DocumentViews
from headwater.spark.inputs.column_types import arrow_type
from headwater.spark.inputs.contract import View, mark_of, view_called
from headwater.spark.output.combined_views import Wide
from headwater.spark.output.document_schema import with_schema
from headwater.spark.session.session import session_at_hand
from headwater.spark.shards import handover
from headwater.spark.shards.readings import ViewReading
from headwater.spark.state.checkpoint import Assignment, Checkpoint
from headwater.spark.state.manifest import Manifest
from headwater.spark.state.query_definition import QueryDefinition

_KEPT = 256
_latest: dict[tuple[str, int], dict[str, Any]] = {}


def view(checkpoint: str, name: str, *, batch: int | None = None, schema: Any = None, spark: Any = None) -> Any:
    """A DataFrame of the rows of a view, or of a base relation, after the last committed batch or an earlier `batch`.

    The documents of a view over documents have the type that the query gives them, or that of `schema`: "json",
    "variant", "infer", or a schema of Spark. It reads the state of that batch when it is used. A running query removes
    old state after two more batches, so use it soon, or save its rows.
    """
    found = Checkpoint(str(checkpoint))
    session = spark or session_at_hand()
    if session is None:
        raise ValueError("there is no Spark session; give one, as in view(checkpoint, name, spark=session)")
    return view_of(session, found, name, schema, batch)


def progress(checkpoint: str, batch: int | None = None) -> dict[str, Any]:
    """The figures of the last committed batch, or of another: plain numbers, texts and dicts.

    For a StreamingQueryListener: `progress(checkpoint, event.progress.batchId)`. The process that runs the query knows
    its latest batches, any other those that the checkpoint still has. Older batches, and batches without rows, give an
    empty dict.
    """
    found = Checkpoint(str(checkpoint))
    if batch is None:
        return figures(found.as_of(None))
    remembered = _latest.get((found.folder.path, batch))
    return remembered or next((figures(manifest) for manifest in found.history if manifest.batch == batch), {})


def profile(checkpoint: str, batch: int | None = None) -> Profile:
    """What the rules did in the last committed batch, or in an earlier one that the checkpoint still has.

    It is summed over the shards, the slowest way through a rule first, and prints as a table.
    """
    found = Checkpoint(str(checkpoint)).as_of(batch)
    try:
        works = tuple(RuleWork(**work) for work in found.metrics.get("work", []))
    except TypeError as problem:
        raise StateError(f"the manifest of batch {found.batch} is damaged: {problem}") from problem
    return Profile(1, works, ())


def figures(manifest: Manifest) -> dict[str, Any]:
    """The figures of a batch that users see."""
    return {name: value for name, value in manifest.metrics.items() if name not in ("feed", "stale", "work")}


def remember(checkpoint: Checkpoint, manifest: Manifest) -> dict[str, Any]:
    """Keep the figures of a batch for listeners that ask later."""
    found = _latest[checkpoint.folder.path, manifest.batch] = figures(manifest)
    while len(_latest) > _KEPT:
        del _latest[next(iter(_latest))]
    return found


def view_of(spark: Any, checkpoint: Checkpoint, name: str, schema: Any = None, batch: int | None = None) -> Any:
    manifest = checkpoint.as_of(batch)
    definition = manifest.definition
    sharding = definition.sharding()
    assignment = checkpoint.reading(manifest, sharding)
    noted = definition.notes.get("documents")
    if noted is None:
        return _read(spark, assignment, view_called(name, readable(definition, sharding)), None)
    chosen = view_called(name, noted_views(definition.notes["views"]))
    shown = _read(spark, assignment, chosen, DocumentViews.from_json(noted["views"]))
    return with_schema(shown, noted["schema"] if schema is None else schema)


def readable(definition: QueryDefinition, sharding: Sharding) -> list[View]:
    """The views of a query, then its base relations."""
    views = {view.name: view for view in noted_views(definition.notes["views"])}
    zoned = definition.notes.get("zoned", True)
    for table in sharding.plan.tables:
        if table.base and not table.bag and table.name not in views and table.name in definition.types:
            fields = [pa.field(column.name, arrow_type(column.type, zoned=zoned)) for column in table.written]
            views[table.name] = View(table.name, pa.schema(fields))
    return list(views.values())


def _read(spark: Any, assignment: Assignment, chosen: View, documents: DocumentViews | None) -> Any:
    functions = tuple(USER_FUNCTIONS.items())
    mark = mark_of(functions)
    wide = Wide((chosen,))

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        given = list(batches)  # all of it: Spark ends a worker that leaves some of its input unread
        shard = next(int(batch.column(0)[0].as_py()) for batch in given if batch.num_rows)
        found = handover.run(ViewReading(functions, mark, assignment, shard, chosen.name.encode(), documents))
        yield from Wide((chosen,)).pack(0, pa.ipc.open_stream(found).read_all())

    numbers = spark.range(0, assignment.shards).select(sf.col("id").cast("int").alias("id"))
    frame = numbers.repartitionById(assignment.shards, sf.col("id")).mapInArrow(read, wide.schema)
    return wide.unpack(frame, 0)


def views_noted(views: Iterable[View]) -> dict[str, str]:
    """The views' columns as text that a manifest can hold."""
    return {view.name: base64.b64encode(view.schema.serialize()).decode("ascii") for view in views}


def noted_views(noted: Mapping[str, str]) -> tuple[View, ...]:
    return tuple(View(name, pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))) for name, text in noted.items())
