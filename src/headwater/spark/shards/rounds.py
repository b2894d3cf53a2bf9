"""The exchange in shuffles: every round is a Spark job, and what shards send each other is shuffled to the next.

Works wherever Spark does: it needs neither free slots for all shards at once nor sockets between executors. A round's
parcels stay on the executors (local checkpoints); the driver learns only how much moved. Workers go on from where they
stand, or begin again with what all rounds brought (see `open_transactions`). If an executor dies, the parcels that it
kept are lost, and the rounds are run again from the first.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import Observation
from pyspark.sql import functions as sf

from headwater.core.errors import HeadwaterError
from headwater.engine.driver import Ended
from headwater.exchange.wire import Activity, Outgoing, Parcel, Run, read_outgoing, write_outgoing
from headwater.spark.inputs import bundles
from headwater.spark.session.failures import error_in, error_value
from headwater.spark.session.session import described, is_connect
from headwater.spark.session.worker import TURN
from headwater.spark.shards.open_transactions import Asked, answer

_SCHEMA = pa.schema([*bundles.SCHEMA, *(pa.field(name, pa.int32()) for name in ("round", "sender", "activity"))])
_DDL = f"{bundles.DDL}, round int, sender int, activity int"
# In place of an activity: something is wrong, and the payload says what; the worker could not go on; all is done.
_FAILED, _LOST, _DONE = -3, -2, -1
_NOBODY = -1  # the receiver of what only the driver reads
_LATEST = 4  # so many rounds are sent along for workers that stand a little behind


class Begin(Protocol):
    """Begins a shard's transaction with the bundles that were routed to it."""

    def __call__(self, shard: int, bundles: list[pa.RecordBatch]) -> Run: ...


@dataclass(frozen=True, slots=True)
class Finished:
    """A transaction that all shards have brought to its end, each in some worker."""

    transaction: str
    activities: tuple[Activity, ...]
    history: Any  # a DataFrame: everything that every shard got

    @property
    def rounds(self) -> int:
        return len(self.activities)


def exchange(routed: Any, begin: Begin, shards: int, about: str) -> Finished:
    """Run all rounds. `routed` is what every shard begins with, as bundles; `about` is what Spark calls the jobs.

    What a shard raised is raised here.
    """
    spark = routed.sparkSession
    transaction = secrets.token_hex(8)
    zero = [sf.lit(0).alias(name) for name in ("round", "sender", "activity")]
    with described(spark, f"{about}, rows to their shards"):
        start = routed.select("*", *zero).localCheckpoint()
    frames = [start]
    activities: list[Activity] = []
    while True:
        number = len(activities) + 1
        step = _Step(transaction, number, tuple(activities), max(0, number - _LATEST))
        with described(spark, f"{about}, round {number}"):
            sent, activity = _round(frames[step.since :], step, begin, shards)
            if activity == _LOST:
                sent, activity = _round(frames, replace(step, since=0), begin, shards)
        if activity == _DONE:
            return Finished(transaction, tuple(activities), _united(frames))
        frames.append(sent)
        activities.append(Activity(activity))


def outcomes(
    finished: Finished, begin: Begin, shards: int, give: Callable[[int, Any], Iterator[pa.RecordBatch]], schema: Any
) -> Any:
    """What `give` makes of the value of every shard's transaction, as a DataFrame."""
    step = _Step(finished.transaction, finished.rounds + 1, finished.activities, 0)

    def collect(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = list(batches)
        shard = bundles.shard_of(held, TaskContext.get().partitionId())
        found = _answer(held, step, shard, begin)
        assert isinstance(found, Ended), "a finished transaction has a value"
        yield from give(shard, found.value)

    return finished.history.repartitionById(shards, sf.col("shard")).mapInArrow(collect, schema)


def is_lost_round(problem: Exception) -> bool:
    """Whether what a round had brought is gone, with the executor that kept it."""
    return "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND" in str(problem)


@dataclass(frozen=True, slots=True)
class _Step:
    """A round that is asked for. What shards got `since` an earlier one comes along; 0: all, with their bundles."""

    transaction: str
    number: int
    activities: tuple[Activity, ...]
    since: int


def _round(frames: list[Any], step: _Step, begin: Begin, shards: int) -> tuple[Any, int]:
    """One round of all shards: what they send, and the most that moves (or that it cannot be done, or is done)."""

    def go(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        shard = TaskContext.get().partitionId()
        try:
            found = _answer(batches, step, shard, begin)
        except HeadwaterError as problem:
            yield _row(_NOBODY, shard, step.number, _FAILED, json.dumps(error_value(problem)).encode())
            return
        if found is None:
            yield _row(_NOBODY, shard, step.number, _LOST)
        elif isinstance(found, Ended):
            yield _row(_NOBODY, shard, step.number, _DONE)
        else:
            yield _row(_NOBODY, shard, step.number, int(found.busy))
            for receiver, parcels in found.parcels.items():
                payload = write_outgoing(Outgoing({receiver: parcels}, found.busy))
                yield _row(receiver, shard, step.number, int(found.busy), payload.to_pybytes())

    told = _united(frames).repartitionById(shards, sf.col("shard")).mapInArrow(go, _DDL)
    sent, least, most = _checkpointed(told)
    if least == _FAILED:
        wrong = sent.where(sf.col("activity") == _FAILED).select("payload").collect()
        raise error_in(json.loads(bytes(row["payload"])) for row in wrong) or AssertionError("somebody has failed")
    return sent.where(sf.col("shard") != _NOBODY), least if least in (_LOST, _DONE) else most


def _checkpointed(told: Any) -> tuple[Any, int, int]:
    """What shards told, once they have, with the least and the most of the stirs in it."""
    extremes = sf.min("activity").alias("least"), sf.max("activity").alias("most")
    if is_connect(told.sparkSession):  # there nobody is told what was observed in a checkpoint
        kept = told.localCheckpoint()
        found = kept.agg(*extremes).collect()[0].asDict()
    else:
        seen = Observation()
        kept = told.observe(seen, *extremes).localCheckpoint()
        found = seen.get
    return kept, int(found["least"]), int(found["most"])


def _united(frames: list[Any]) -> Any:
    return reduce(lambda one, other: one.unionAll(other), frames)


def _row(shard: int, sender: int, number: int, activity: int, payload: bytes | None = None) -> pa.RecordBatch:
    values = (shard, "", "", 0, payload, number, sender, activity)
    arrays = [pa.array([value], type=field.type) for value, field in zip(values, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def _answer(batches: Iterable[pa.RecordBatch], step: _Step, shard: int, begin: Begin) -> Outgoing | Ended[Any] | None:
    own: list[pa.RecordBatch] = []
    received: dict[int, list[tuple[int, Parcel]]] = {number: [] for number in range(max(1, step.since), step.number)}
    for batch in batches:
        own.append(batch.filter(pc.equal(batch["round"], 0)))
        parcels = batch.filter(pc.greater(batch["round"], 0))
        for number, sender, payload in zip(parcels["round"], parcels["sender"], parcels["payload"], strict=True):
            sent = read_outgoing(payload.as_buffer()).parcels[shard]
            received[number.as_py()] += [(sender.as_py(), parcel) for parcel in sent]
    for parts in received.values():
        parts.sort(key=lambda one: one[0])
    asked = Asked(step.transaction, shard, step.number, step.activities)
    with TURN:
        return answer(asked, lambda: None if step.since else begin(shard, own), received)
