"""A program over streams: its views maintained, batch by batch, as one Structured Streaming query.

All input streams feed one query. Each micro-batch is one transaction: its rows are routed to shards, every shard brings
its part of the views up to date, writes what it received to the checkpoint, and reports to the driver, which commits
the batch with one file. A batch is applied whole and once, whatever fails in between: a committed batch is skipped when
Spark brings it again, and one that was not committed leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from headwater.core.errors import StateError
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.pipeline import CompiledProgram
from headwater.spark.batches import Batches, QueryPlan
from headwater.spark.folders import open_folder, refuse_hadoop
from headwater.spark.inputs.bundles import route, ship
from headwater.spark.inputs.clock import heartbeat, lives_by_wall, watermarks, with_watermarks
from headwater.spark.inputs.contract import Contract, agree, program_of, refuse_others
from headwater.spark.inputs.questions import with_questions
from headwater.spark.output.current_table import CURRENT
from headwater.spark.output.sinks import Sink
from headwater.spark.session.failures import note_run
from headwater.spark.session.preflight import require_ready
from headwater.spark.session.session import is_connect, session_of
from headwater.spark.shards.run_plan import choose_run_plan
from headwater.spark.shards.state_view import views_noted
from headwater.spark.state.checkpoint import Checkpoint
from headwater.spark.state.query_definition import QueryDefinition

KEPT_CHANGES = 100
_SPARKS_LOG = ("offsets", "commits")
_NOWHERE = "/nowhere-that-is-a-path"
_SHOWN_HERE = frozenset({"console", "memory"})  # no sources of Spark
Callback = Callable[[dict[str, Any], int], None]


def maintain(
    program: CompiledProgram | str,
    inputs: Mapping[str, Any],
    *,
    checkpoint: str,
    output: str | None = None,
    questions: Mapping[str, Any] | None = None,
    optional: Iterable[str] = (),
    format: str = "parquet",  # noqa: A002
    options: Mapping[str, str] | None = None,
    foreach_changes: Callback | None = None,
    on_batch: Callable[[dict[str, Any]], None] | None = None,
    current: str = "auto",
    keep_changes: int = KEPT_CHANGES,
    shards: int | None = None,
    exchange: str | None = None,
    guard: Guard | int | None = DEFAULT_GUARD,
    clock: str | None = None,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Any:
    """Start a StreamingQuery that keeps the views of a program up to date; its `stop` ends it.

    The program is compiled, or a text; the tables of an SQL text have the columns of their streams. `inputs` are
    streaming DataFrames by relation, or lists of them, and static ones, whose rows come first. Every base relation that
    the views rest on is among them, or declared optional in the program, or named in `optional`. Rows have a column
    `_change_type` (insert, delete, update_preimage, update_postimage, as in Delta's change feed) or are all inserts.
    Rows that do not fit are set aside under the checkpoint, with the reason. `output` gets a folder per view:
    `changes`, with `_change_type` and `_batch_id`, and `current`; for iceberg it is the namespace of a catalog, for
    kafka a topic. `foreach_changes(changes, batch)` gets a DataFrame of changes per view, `on_batch(metrics)` figures.
    `trigger` is what `DataStreamWriter.trigger` takes, as in {"availableNow": True}. The checkpoint keeps the changes
    of the last `keep_changes` batches for streams that read them from there, as the format "headwater".

    `questions` are streaming or static DataFrames by view, with a column for each parameter of its query, as in `query
    fastest($From, To, Ms)`; the view has the rows that are asked for. A deleted question takes its rows along.

    `clock` says what moves time on: "event", the times of the rows, or "wall", the wall clock too. By default only
    programs without streams, whose rows have a ttl, follow the wall clock. Rows of a stream that come later than its
    `lateness` or the watermark of its DataFrame allows are set aside, too.
    """
    refuse_options(checkpoint, output, trigger, current, keep_changes)
    frames = [(relation, frame) for relation, given in inputs.items() for frame in listed(given)]
    refuse_others([*frames, *(questions or {}).items()], streams=True)
    program, asked = with_questions(program_of(program, frames), questions)
    frames += asked.items()
    streams = [frame for _, frame in frames if frame.isStreaming]
    if not streams:
        raise ValueError("maintain needs a streaming DataFrame; for static ones alone take evaluate")
    spark = session_of(streams)
    contract = _agreed(program, frames, optional)
    plan = planned(spark, contract, str(checkpoint), shards, exchange, Guard.of(guard), clock)
    sharding, count = plan.run_plan.sharding, plan.run_plan.shards
    routed = [route(frame, given, sharding, count) for (_, frame), given in zip(frames, contract.inputs, strict=True)]
    sink = Sink(output, format, dict(options or {}), current, keep=keep_changes)
    return start(spark, plan, routed, sink, foreach_changes, on_batch, trigger, name)


def start(
    spark: Any,
    plan: QueryPlan,
    routed: list[Any],
    sink: Sink,
    foreach_changes: Callback | None,
    on_batch: Callable[[dict[str, Any]], None] | None,
    trigger: Mapping[str, Any] | None,
    name: str | None,
) -> Any:
    """The streaming query of a plan over its inputs, which are `routed` to shards in bundles."""
    if is_connect(spark):
        refuse_hadoop(plan.checkpoint)
    if sink.output is not None:
        _refuse_unknown(spark, sink.format)
    require_ready(spark, plan.checkpoint)
    static = _portable(spark, [frame for frame in routed if not frame.isStreaming])
    batches = Batches(plan, sink, static, foreach_changes, on_batch)
    if not is_connect(spark):
        batches.refuse()  # a checkpoint of another program is refused here, not in the first batch
    flows = [frame for frame in routed if frame.isStreaming]
    if plan.by_wall:
        flows.append(heartbeat(spark))
    return _started(spark, ship(flows, plan.run_plan.shards), batches, plan.checkpoint, trigger, name)


def _agreed(program: CompiledProgram, frames: list[tuple[str, Any]], optional: Iterable[str]) -> Contract:
    """The contract with these frames, whose watermarks say how late rows may come where the program does not."""
    schemas = [(relation, frame.schema) for relation, frame in frames]
    contract = agree(program, schemas, optional=optional, changes=True)
    late = with_watermarks(program, watermarks(contract.inputs, [schema for _, schema in schemas]))
    return contract if late is program else agree(late, schemas, optional=optional, changes=True)


def planned(
    spark: Any,
    contract: Contract,
    checkpoint: str,
    shards: int | None,
    exchange: str | None,
    guard: Guard,
    clock: str | None,
    notes: Mapping[str, Any] | None = None,
) -> QueryPlan:
    """What the query runs; the number of shards is the user's, or the checkpoint's, or what seems best."""
    by_wall = lives_by_wall(contract.program, clock)
    if shards is None and not is_connect(spark):
        manifest = Checkpoint(checkpoint).manifest
        shards = None if manifest is None else manifest.definition.shards
    run_plan = choose_run_plan(spark, contract, shards, exchange)
    definition = QueryDefinition.of(
        contract.program,
        run_plan.sharding,
        run_plan.shards,
        known=contract.known,
        columns={given.relation: given.names for given in contract.inputs},
        notes={"views": views_noted(contract.views), "zoned": contract.zoned, **(notes or {})},
    )
    return QueryPlan(contract, run_plan, definition, checkpoint, guard, by_wall)


def _started(
    spark: Any, bundles: Any, batches: Batches, checkpoint: str, trigger: Mapping[str, Any] | None, name: str | None
) -> Any:
    """The query, started and with the checkpoint opened; one that Spark refuses takes nothing from any other."""
    writer = bundles.writeStream.foreachBatch(batches).option("checkpointLocation", checkpoint)
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    if not is_connect(spark):
        _clear_unfinished(checkpoint)
    try:
        query = writer.start()
    except Py4JJavaError as problem:
        reason, *_ = str(problem.java_exception.toString()).splitlines()
        raise StateError(f"Spark cannot start a query with the checkpoint {checkpoint}: {reason}") from problem
    note_run(query, batches.problems)
    if not is_connect(spark):
        try:
            batches.open()
        except BaseException:
            query.stop()
            raise
    return query


def _clear_unfinished(checkpoint: str) -> None:
    """Remove what is left of Spark's log if the first driver was killed while it wrote the first batch there.

    Those are temporary files. Spark passes over them later, but from 4.1 on it refuses a checkpoint that has no batch
    yet and has files of any name. If a file of another name is there, Spark's refusal is right and stays.
    """
    around = open_folder(checkpoint)
    left = [name for folder in _SPARKS_LOG for name in around.names(folder)]
    if all(name.rpartition("/")[2].startswith(".") for name in left):
        for name in left:
            around.remove(name)


def refuse_options(checkpoint: Any, output: Any, trigger: Any, current: str, keep_changes: int) -> None:
    """Raise ValueError for options that no query can have."""
    if current not in CURRENT:
        raise ValueError(f"current is one of {', '.join(CURRENT)}, not {current!r}")
    if not checkpoint:
        raise ValueError("checkpoint is the folder that the query keeps its state in; give one")
    if type(keep_changes) is not int or keep_changes < 0:
        raise ValueError(f"keep_changes is a number of batches, 0 or more, not {keep_changes!r}")
    if output == "":
        raise ValueError("output is a folder, or None where a function or hws.view is enough; it cannot be empty")
    if trigger is not None and not isinstance(trigger, Mapping):
        raise ValueError(
            f"trigger is what DataStreamWriter.trigger takes, as in {{'availableNow': True}}; not {trigger!r}"
        )


def _refuse_unknown(spark: Any, format: str) -> None:  # noqa: A002
    """A format that Spark has no source for is found here, not in the first batch; a path that is none is no matter."""
    if format in _SHOWN_HERE:
        return
    try:
        spark.read.format(format).load(_NOWHERE)
    except (PySparkException, Py4JJavaError) as problem:
        if "DATA_SOURCE_NOT_FOUND" in str(problem):
            raise ValueError(
                f"Spark knows no format {format!r}; write parquet, orc, json, csv, delta, iceberg or kafka, and add "
                "its package to `spark.jars.packages` where Spark does not bring it"
            ) from problem


def listed(given: Any) -> list[Any]:
    """One DataFrame, or several."""
    return list(given) if isinstance(given, list | tuple) else [given]


def _portable(spark: Any, static: list[Any]) -> list[Any]:
    """Static rows for the first batch: DataFrames or, where the batches run in another process, the rows themselves."""
    return [frame.toArrow() for frame in static] if is_connect(spark) else static
