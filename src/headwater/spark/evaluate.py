"""A program over DataFrames, once: every view as a DataFrame.

The tasks that read the inputs send each row to the shards that hold it, every shard computes its part of all views, and
these come out as rows of one frame. Where shards must exchange rows meanwhile, they do so in one barrier stage (a gang)
or in shuffles, a job per round.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import Observation
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from headwater.core.errors import DataError, HeadwaterError
from headwater.engine.codes.moments import moment_of
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.exchange.member import Member, Outcome
from headwater.exchange.sharding import Sharding
from headwater.exchange.wire import Run
from headwater.pipeline import CompiledProgram
from headwater.program.time.program_clock import clock_type
from headwater.spark.inputs import time_source as clocks
from headwater.spark.inputs.bundles import Arrived, arrive, shard_of
from headwater.spark.inputs.combined_views import Wide
from headwater.spark.inputs.contract import Contract, agree, refuse_others
from headwater.spark.inputs.frame_cache import kept
from headwater.spark.inputs.program_text import program_of
from headwater.spark.inputs.routes import gathered, routed
from headwater.spark.session import worker
from headwater.spark.session.failures import failure, found_in, raised
from headwater.spark.session.job_names import described, title
from headwater.spark.session.session import is_connect, session_of
from headwater.spark.session.worker import alone, prepare
from headwater.spark.shards import rounds
from headwater.spark.shards.gang_job import Give, ganged
from headwater.spark.shards.retry import tried
from headwater.spark.shards.run_plan import RunPlan, choose_run_plan

_WRONG = "_wrong"  # a column beside those of the views: what went wrong at a shard


def evaluate(
    program: CompiledProgram | str,
    inputs: Mapping[str, Any],
    *,
    optional: Iterable[str] = (),
    shards: int | None = None,
    exchange: str | None = None,
    guard: Guard | int | None = DEFAULT_GUARD,
    now: Any = None,
) -> dict[str, Any]:
    """Every queried view of a program, compiled or as text, over these DataFrames, by name.

    Every base relation that the views rest on is given, an empty DataFrame if need be, or declared optional in the
    program, or named in `optional`; then it is empty. Anything else is a DataError, and so is an input that the program
    does not read.

    `shards` is the number of parts to compute in, by default one per task slot. `exchange` says how shards that need
    each other's rows get them: "gang" or "shuffle", by default a gang where Spark can run one. The views are computed
    at once, and held by the executors. Rows that do not fit (a null, say) are a DataError.

    The views of a program over streams are those at the latest time among the rows, or at `now` if that is later; where
    rows live by a ttl alone, they came at `now`, by default this very moment.
    """
    refuse_others(inputs.items())
    program = program_of(program, inputs.items())
    contract = agree(program, [(name, frame.schema) for name, frame in inputs.items()], optional=optional)
    spark = session_of(inputs.values())
    run_plan = choose_run_plan(spark, contract, shards, exchange)
    bound = Guard.of(guard)
    moment = None if now is None else moment_of(now, clock_type(program.checked))
    if moment is None and clocks.lives_by_wall(program, None):
        moment = clocks.wall()
    with described(spark, f"{title(program)} ({run_plan.sharding.kind})"):
        frames = [routed(inputs[one.relation], one, run_plan.sharding, run_plan.shards) for one in contract.inputs]
        try:
            frame = _computed(spark, frames, contract, run_plan, bound, moment)
        except PySparkException as problem:
            ours = found_in(problem)
            if ours is None:
                raise
            raise ours from problem
    wide = Wide(contract.views)
    return {view.name: wide.unpack(frame, at) for at, view in enumerate(contract.views)}


def _computed(
    spark: Any, frames: list[Any], contract: Contract, run_plan: RunPlan, guard: Guard, moment: int | None
) -> Any:
    wide = Wide(contract.views)
    begin = _beginning(contract, run_plan.sharding, run_plan.shards, guard, moment)
    give = _giving(contract)
    sent = gathered(spark, frames, run_plan.shards)
    if run_plan.exchange == "shuffle":
        return tried(lambda: _shuffled(sent, begin, run_plan.shards, give, wide.schema, title(contract.program)))
    if run_plan.exchange == "gang":
        return tried(lambda: _ganged(sent, begin, run_plan.shards, give, wide))

    give_or_tell, wider = _telling(give, wide)

    def compute(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bundles = list(batches)
        shard = shard_of(bundles, TaskContext.get().partitionId())
        with worker.TURN:
            try:
                told = alone(begin(shard, bundles))
            except HeadwaterError as problem:
                told = problem
        yield from give_or_tell(shard, told)

    return _settled(sent.mapInArrow(compute, wider))


def _ganged(sent: Any, begin: rounds.Begin, shards: int, give: Give, wide: Wide) -> Any:
    give_or_tell, wider = _telling(give, wide)
    return _settled(ganged(sent, begin, shards, give_or_tell, wider, lambda problem: problem).repartition(shards))


def _telling(give: Give, wide: Wide) -> tuple[Give, Any]:
    """What a shard gives, with a column beside it for an error of ours: Spark would run a stage that fails by one
    again, and bury it in a trace."""

    def give_or_tell(shard: int, told: Any) -> Iterator[pa.RecordBatch]:
        if not isinstance(told, HeadwaterError):
            for batch in give(shard, told):
                yield batch.append_column(_WRONG, pa.nulls(batch.num_rows, pa.string()))
            return
        nothing = pa.RecordBatch.from_arrays([pa.nulls(1, one.type) for one in wide.arrow], schema=wide.arrow)
        yield nothing.append_column(_WRONG, pa.array([json.dumps(failure(told))]))

    return give_or_tell, st.StructType([*wide.schema, st.StructField(_WRONG, st.StringType())])


def _settled(told: Any) -> Any:
    """The rows that all shards gave, computed and held; or the error that one of them told."""
    if is_connect(told.sparkSession):  # which tells nothing of what is observed while a copy is made
        found = kept(told)
        said = [row[_WRONG] for row in found.where(sf.col(_WRONG).isNotNull()).select(_WRONG).collect()]
    else:
        seen = Observation()
        found = kept(told.observe(seen, sf.collect_set(_WRONG).alias("wrong")))
        said = seen.get["wrong"]
    wrong = raised(map(json.loads, said))
    if wrong is not None:
        raise wrong
    return found


def _shuffled(sent: Any, begin: rounds.Begin, shards: int, give: Give, schema: Any, about: str) -> Any:
    return kept(rounds.outcomes(rounds.exchange(sent, begin, shards, about), begin, shards, give, schema))


def _beginning(
    contract: Contract, sharding: Sharding, shards: int, guard: Guard, moment: int | None
) -> Callable[..., Run]:
    def begin(shard: int, bundles: list[pa.RecordBatch]) -> Run:
        prepare(contract.functions)
        arrived = arrive(bundles, sharding)
        _refuse_rejected(arrived)
        now = max((one for one in (arrived.latest, moment) if one is not None), default=None)
        member = Member(sharding, shard, shards, guard, worker.memory_of_worker(shards))
        return member.transaction(arrived.inserts, {}, now=now, first=True)

    return begin


def _giving(contract: Contract) -> Give:
    def give(_: int, outcome: Outcome) -> Iterator[pa.RecordBatch]:
        wide = Wide(contract.views)
        for at, view in enumerate(contract.views):
            yield from wide.pack(at, outcome.changes[view.name][0])

    return give


def _refuse_rejected(arrived: Arrived) -> None:
    if arrived.rejected:
        first = arrived.rejected[0]
        raise DataError(
            f"error[HW801]: {len(arrived.rejected)} row(s) do not fit; nothing was computed\n"
            f"  {first.relation}: {first.reason}: {first.row}\n"
            "  hint: mend the rows, or leave them out with where(...)"
        )
