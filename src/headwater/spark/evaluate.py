"""A program over DataFrames, once: every view as a DataFrame.

The tasks that read the inputs route each row to its shards, every shard computes its part of all views, and these come
out as rows of one DataFrame.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from headwater.core.alarm import Alarm
from headwater.core.errors import DataError, HeadwaterError
from headwater.core.python_warnings import warn_of_alarms
from headwater.engine.codes.moments import moment_of
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.exchange import Member, Outcome, Run, Sharding
from headwater.pipeline import CompiledProgram
from headwater.program.time.program_clock import clock_type
from headwater.spark.inputs.bundles import Rejection, route, shard_numbers, ship
from headwater.spark.inputs.clock import lives_by_wall, wall
from headwater.spark.inputs.contract import Contract, agree, program_of, refuse_others
from headwater.spark.inputs.questions import with_questions
from headwater.spark.output.combined_views import Wide
from headwater.spark.session import worker
from headwater.spark.session.failures import error_in, error_value, found_in
from headwater.spark.session.session import described, kept, observed, session_of, title
from headwater.spark.shards.rounds import Begin
from headwater.spark.shards.run_plan import RunPlan, choose_run_plan
from headwater.spark.shards.taking import take_anew
from headwater.spark.shards.transaction_job import ShardWork, run_shards

_ERROR = "_error"  # a column beside those of the views: the error of a shard, or an alarm


def evaluate(
    program: CompiledProgram | str,
    inputs: Mapping[str, Any],
    *,
    questions: Mapping[str, Any] | None = None,
    optional: Iterable[str] = (),
    shards: int | None = None,
    exchange: str | None = None,
    guard: Guard | int | None = DEFAULT_GUARD,
    now: Any = None,
) -> dict[str, Any]:
    """Every queried view of a program, compiled or as text, over these DataFrames, by name.

    Every base relation that the views rest on is given, possibly as an empty DataFrame, or declared optional in the
    program, or named in `optional`. A missing one is a DataError, and so is an input that the program does not read,
    or a row that does not fit.

    `questions` are DataFrames by view, with a column for each parameter of its query (`query fastest($From, To, Ms)`);
    the view has the rows that are asked for.

    `shards` is the number of shards, by default one per task slot. `exchange` says how shards ship each other rows:
    "gang" or "shuffle", by default a gang where Spark can run one. The views are computed at once, and held by the
    executors. Those of a program over streams are as of the latest time among the rows, or of `now` if that is later;
    rows that have only a ttl came at `now`, by default the present moment.
    """
    refuse_others([*inputs.items(), *(questions or {}).items()])
    compiled, asked = with_questions(program_of(program, inputs.items()), questions)
    return evaluate_in(None, compiled, {**inputs, **asked}, optional, shards, exchange, Guard.of(guard), now)


def evaluate_in(
    spark: Any,
    program: CompiledProgram,
    inputs: Mapping[str, Any],
    optional: Iterable[str] = (),
    shards: int | None = None,
    exchange: str | None = None,
    guard: Guard = DEFAULT_GUARD,
    now: Any = None,
) -> dict[str, Any]:
    """The same in a given Spark session; None: that of the inputs, or the active one where there are none."""
    contract = agree(program, [(name, frame.schema) for name, frame in inputs.items()], optional=optional)
    spark = session_of(inputs.values()) if spark is None else spark
    moment = None if now is None else moment_of(now, clock_type(program.checked))
    if moment is None and lives_by_wall(program, None):
        moment = wall()

    def routed(plan: RunPlan) -> list[Any]:
        return [route(inputs[given.relation], given, plan.sharding, plan.shards) for given in contract.inputs]

    run_plan = choose_run_plan(spark, contract, shards, exchange)
    return compute(spark, contract, run_plan, routed, guard, moment)


def compute(
    spark: Any,
    contract: Contract,
    run_plan: RunPlan,
    routed: Callable[[RunPlan], list[Any]],
    guard: Guard,
    moment: int | None = None,
) -> dict[str, Any]:
    """The views of a contract, over what its inputs are `routed` to, each a DataFrame of bundles."""
    with described(spark, f"{title(contract.program)} ({run_plan.sharding.kind})"):
        try:
            frame, alarms = _computed(spark, routed(run_plan), contract, run_plan, guard, moment)
        except PySparkException as problem:
            ours = found_in(problem)
            if ours is None:
                raise
            raise ours from problem
    warn_of_alarms(alarms)
    wide = Wide(contract.views)
    return {view.name: wide.unpack(frame, at) for at, view in enumerate(contract.views)}


def _computed(
    spark: Any, frames: list[Any], contract: Contract, plan: RunPlan, guard: Guard, moment: int | None
) -> tuple[Any, list[Alarm]]:
    """The rows of all views, computed and held by the executors, and the alarms that ring."""
    begin = _beginning(contract, plan.sharding, plan.shards, guard, moment)
    wide = Wide(contract.views)
    schema = st.StructType([*wide.schema, st.StructField(_ERROR, st.StringType())])

    def alone(shard: int, bundles: list[pa.RecordBatch]) -> Any:
        with worker.TURN:
            return worker.alone(begin(shard, bundles))

    def collect(rows: Any) -> Any:
        # A barrier stage cannot be cut short or joined with others, so its rows are shuffled first.
        return _held(rows.repartition(plan.shards) if plan.exchange == "gang" else rows)

    work = ShardWork(begin, alone, _giving(contract), schema)
    bundles = ship([shard_numbers(spark, plan.shards), *frames], plan.shards)
    return run_shards(bundles, work, plan, title(contract.program), collect)


def _held(rows: Any) -> tuple[Any, list[Alarm]]:
    """The rows, computed and held by the executors, and alarms; raises the error of a shard, if there is one."""
    found, seen = observed(rows, kept, sf.collect_set(_ERROR).alias("errors"))
    said = [json.loads(text) for text in seen["errors"]]
    problem = error_in(said)
    if problem is not None:
        raise problem
    return found, [Alarm(alarm["code"], alarm["text"], False) for alarm in said]


def _beginning(contract: Contract, sharding: Sharding, shards: int, guard: Guard, moment: int | None) -> Begin:
    def begin(shard: int, bundles: list[pa.RecordBatch]) -> Run:
        worker.prepare(contract.functions)
        member = Member(sharding, shard, shards, guard, worker.memory_of_worker(shards))
        taken = take_anew(contract, member, bundles)
        _refuse_rejected(taken.rejected)
        now = max((time for time in (taken.latest, moment) if time is not None), default=None)
        outcome = yield from member.transaction(taken.inserts, {}, now=now, first=True)
        return outcome if taken.shown is None else taken.shown(member, outcome)

    return begin


def _giving(contract: Contract) -> Callable[[int, Outcome | HeadwaterError], Iterator[pa.RecordBatch]]:
    def give(_: int, result: Outcome | HeadwaterError) -> Iterator[pa.RecordBatch]:
        wide = Wide(contract.views)
        nothing = pa.RecordBatch.from_arrays([pa.nulls(1, field.type) for field in wide.arrow], schema=wide.arrow)
        if isinstance(result, HeadwaterError):
            yield nothing.append_column(_ERROR, pa.array([json.dumps(error_value(result))]))
            return
        for alarm in result.alarms:
            yield nothing.append_column(_ERROR, pa.array([json.dumps({"code": alarm.code, "text": alarm.text})]))
        for at, view in enumerate(contract.views):
            for batch in wide.pack(at, result.changes[view.name][0]):
                yield batch.append_column(_ERROR, pa.nulls(batch.num_rows, pa.string()))

    return give


def _refuse_rejected(rejected: list[Rejection]) -> None:
    if rejected:
        first = rejected[0]
        raise DataError(
            f"error[HW801]: {len(rejected)} row(s) do not fit; nothing was computed\n"
            f"  {first.relation}: {first.reason}: {first.row}\n"
            "  hint: correct the rows, or leave them out with where(...)"
        )
