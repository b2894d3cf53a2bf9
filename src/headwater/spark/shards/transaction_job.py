"""A transaction of all shards as Spark jobs, by the exchange that was chosen; tried again where executors are lost.

- none: no shard needs rows of another, and each runs in any task;
- gang: all shards run in one barrier stage and send each other rows directly;
- shuffle: every round is a job (see `rounds`).

A HeadwaterError of a shard is a result like any other: Spark would only run the task again and bury the error in a
trace. The shards of a gang learn each other's addresses from a small server in the driver. A token, which only the
tasks of the job get, proves that they belong to it, and their connections are encrypted where Spark's are (see
`encryption`).
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
from pyspark import BarrierTaskContext, TaskContext

from headwater.core.errors import ExchangeError, HeadwaterError
from headwater.engine.driver import drive
from headwater.exchange import Certificate, Gang, Rendezvous, meet
from headwater.spark.inputs.bundles import shard_of
from headwater.spark.session import worker
from headwater.spark.session.encryption import tls_for
from headwater.spark.shards import rounds
from headwater.spark.shards.rounds import Begin
from headwater.spark.shards.run_plan import RunPlan

TRIES = 3
Result = TypeVar("Result")
_servers: dict[tuple[str, Certificate | None], Rendezvous] = {}  # of this driver, for as long as it runs
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class ShardWork:
    """What every shard does in a transaction, and the rows that its result becomes."""

    begin: Begin
    alone: Callable[[int, list[pa.RecordBatch]], Any]  # the result of a shard that needs no other
    give: Callable[[int, Any], Iterator[pa.RecordBatch]]  # the rows of a result, or of a HeadwaterError
    schema: Any  # of these rows


def run_shards(bundles: Any, work: ShardWork, plan: RunPlan, about: str, collect: Callable[[Any], Result]) -> Result:
    """What `collect` makes of the DataFrame of all results; `about` describes the jobs of a shuffle.

    If a worker or an executor is lost on the way, everything starts again. Any other failure is final.
    """
    job = {None: _alone, "gang": _as_gang, "shuffle": _in_shuffles}[plan.exchange]
    for _ in range(TRIES - 1):
        try:
            return collect(job(bundles, work, plan.shards, about))
        except Exception as problem:
            if not (isinstance(problem, ExchangeError) or _is_broken_barrier(problem) or rounds.is_lost_round(problem)):
                raise
    return collect(job(bundles, work, plan.shards, about))


def _alone(bundles: Any, work: ShardWork, shards: int, about: str) -> Any:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        own = list(batches)
        shard = shard_of(own, TaskContext.get().partitionId())
        try:
            result = work.alone(shard, own)
        except HeadwaterError as problem:
            result = problem
        yield from work.give(shard, result)

    return bundles.mapInArrow(run, work.schema)


def _in_shuffles(bundles: Any, work: ShardWork, shards: int, about: str) -> Any:
    finished = rounds.exchange(bundles, work.begin, shards, about)
    return rounds.outcomes(finished, work.begin, shards, work.give, work.schema)


def _as_gang(bundles: Any, work: ShardWork, shards: int, about: str) -> Any:
    tls = tls_for(bundles.sparkSession.sparkContext)
    server = _server(str(bundles.sparkSession.conf.get("spark.driver.host", "127.0.0.1")), tls)
    place, token, name = server.address, server.token, secrets.token_hex(8)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = BarrierTaskContext.get()
        shard = context.partitionId()
        host = context.getTaskInfos()[shard].address.rpartition(":")[0]
        own = list(batches)
        try:
            with Gang(shard, shards, token, host, tls=tls) as gang:
                turn = context.taskAttemptId()
                gang.join(meet(place, token, name, shard, shards, gang.address, tls=tls, turn=turn))
                with worker.TURN:
                    result = drive(work.begin(shard, own), gang.swap)
        except HeadwaterError as problem:
            result = problem
        yield from work.give(shard, result)

    return bundles.mapInArrow(run, work.schema, barrier=True)


def _is_broken_barrier(problem: Exception) -> bool:
    """Whether Spark gave up a gang that lost a task; where another task has ended by then, Spark itself retries."""
    text = str(problem)
    return "barrier ResultStage" in text or "because barrier task" in text


def _server(host: str, tls: Certificate | None) -> Rendezvous:
    with _lock:
        if (host, tls) not in _servers:
            _servers[host, tls] = Rendezvous(host, tls=tls)
        return _servers[host, tls]
