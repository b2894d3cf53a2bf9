"""Views as of the last committed batch, read from the checkpoint: by any session that can reach it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import functions as sf

from headwater.core.errors import StateError
from headwater.core.functions.function import Function
from headwater.core.functions.registry import USER_FUNCTIONS
from headwater.spark.inputs.contract import View, mark_of, view_called
from headwater.spark.output.combined_views import Wide
from headwater.spark.session.local_sockets import message_of, read_message
from headwater.spark.session.session import session_at_hand
from headwater.spark.session.worker import prepare
from headwater.spark.shards import handover
from headwater.spark.state import shard_cache
from headwater.spark.state.checkpoint import Assignment, Checkpoint
from headwater.spark.state.manifest import Manifest

_KEPT = 256
_latest: dict[tuple[str, int], dict[str, Any]] = {}


def view(checkpoint: str, name: str, *, spark: Any = None) -> Any:
    """A DataFrame of the rows of a view after the last committed batch.

    It reads the state of that batch when it is used. A running query removes old state after two more batches, so use
    it soon, or save its rows.
    """
    found = Checkpoint(str(checkpoint))
    session = spark or session_at_hand()
    if session is None:
        raise ValueError("there is no Spark session; give one, as in view(checkpoint, name, spark=session)")
    return view_of(session, found, name)


def progress(checkpoint: str, batch: int | None = None) -> dict[str, Any]:
    """The figures of the last committed batch, or of another: plain numbers, texts and dicts.

    For a StreamingQueryListener: `progress(checkpoint, event.progress.batchId)`. The process that runs the query knows
    its latest batches, any other those that the checkpoint still has. Older batches, and batches without rows, give an
    empty dict.
    """
    found = Checkpoint(str(checkpoint))
    if batch is None:
        return figures(last_of(found))
    remembered = _latest.get((found.folder.path, batch))
    return remembered or next((figures(manifest) for manifest in found.history if manifest.batch == batch), {})


def figures(manifest: Manifest) -> dict[str, Any]:
    """The figures of a batch that users see."""
    return {name: value for name, value in manifest.metrics.items() if name not in ("feed", "stale")}


def remember(checkpoint: Checkpoint, manifest: Manifest) -> dict[str, Any]:
    """Keep the figures of a batch for listeners that ask later."""
    found = _latest[checkpoint.folder.path, manifest.batch] = figures(manifest)
    while len(_latest) > _KEPT:
        del _latest[next(iter(_latest))]
    return found


def view_of(spark: Any, checkpoint: Checkpoint, name: str) -> Any:
    manifest = last_of(checkpoint)
    definition = manifest.definition
    chosen = view_called(name, noted_views(definition.notes["views"]))
    assignment = checkpoint.assignment(definition, definition.sharding(), manifest.batch)
    return _read(spark, assignment, chosen)


@dataclass(frozen=True, slots=True)
class ViewReading:
    """The rows that a shard has of a view: a call for the worker that is best placed."""

    changes: ClassVar[bool] = False
    functions: tuple[tuple[str, Function], ...]
    mark: str  # of the functions
    assignment: Assignment
    shard: int
    view: str

    def __call__(self, cancelled: Callable[[], bool]) -> bytes:
        prepare(self.functions)
        with shard_cache.SHARD_CACHE.reading(self.assignment, self.shard) as member:
            found = member.rows(self.view)
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, found.schema) as stream:
            stream.write_table(found)
        return out.getvalue().to_pybytes()

    @property
    def kind(self) -> str:
        return reading_kind(self.mark)

    def to_message(self) -> bytes:
        return message_of({"assignment": self.assignment.to_json(self.shard), "view": self.view})

    def understands(self, kind: str) -> bool:
        return kind == self.kind

    def like(self, kind: str, message: bytes) -> ViewReading:
        return ViewReading.from_message(self.functions, self.assignment, self.shard, message)

    @classmethod
    def from_message(
        cls, functions: tuple[tuple[str, Function], ...], assignment: Assignment, shard: int, message: bytes
    ) -> ViewReading:
        """The reading of a message, by a worker that has these functions and an assignment of the shard."""
        about, _ = read_message(message)
        return cls(functions, "", assignment.like(shard, about["assignment"]), shard, about["view"])


def reading_kind(mark: str) -> str:
    """The kind of calls that read views of a program with these functions."""
    return f"view {mark}"


def _read(spark: Any, assignment: Assignment, chosen: View) -> Any:
    functions = tuple(USER_FUNCTIONS.items())
    mark = mark_of(functions)
    wide = Wide((chosen,))

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        given = list(batches)  # all of it: Spark ends a worker that leaves some of its input unread
        shard = next(int(batch.column(0)[0].as_py()) for batch in given if batch.num_rows)
        found = handover.run(ViewReading(functions, mark, assignment, shard, chosen.name))
        yield from Wide((chosen,)).pack(0, pa.ipc.open_stream(found).read_all())

    numbers = spark.range(0, assignment.shards).select(sf.col("id").cast("int").alias("id"))
    frame = numbers.repartitionById(assignment.shards, sf.col("id")).mapInArrow(read, wide.schema)
    return wide.unpack(frame, 0)


def last_of(checkpoint: Checkpoint) -> Manifest:
    if checkpoint.manifest is None:
        raise StateError(f"nothing was committed in {checkpoint.path} yet; wait for the first batch")
    return checkpoint.manifest


def views_noted(views: Iterable[View]) -> dict[str, str]:
    """The views' columns as text that a manifest can hold."""
    return {view.name: base64.b64encode(view.schema.serialize()).decode("ascii") for view in views}


def noted_views(noted: Mapping[str, str]) -> tuple[View, ...]:
    return tuple(View(name, pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))) for name, text in noted.items())
