"""The exchange in shuffles: every round is a Spark job, and what shards send each other is shuffled to the next.

Works wherever Spark does: it needs neither free slots for all shards at once nor sockets between executors. A round's
parcels stay on the executors (local checkpoints); the driver learns only how much moved. If an executor dies, the
parcels that it held are lost, and the rounds are run again from the first.

Spark gives a shard to any free worker. A worker keeps its open transactions: asked for a later round than its own, it
catches up with what the shard received meanwhile; if it never had the shard, it begins anew. A transaction is
deterministic, so the answer is always the same. Open transactions are a cache: they may be lost at any time.
"""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import functions as sf

from headwater.core.errors import HeadwaterError
from headwater.engine import driver
from headwater.engine.driver import Ended
from headwater.exchange import Activity, Incoming, Outgoing, Parcel, Run, read_outgoing, write_outgoing
from headwater.spark.inputs import bundles
from headwater.spark.session.failures import error_in, error_value
from headwater.spark.session.session import described, observed
from headwater.spark.session.worker import TURN

_SCHEMA = pa.schema([*bundles.SCHEMA, *(pa.field(name, pa.int32()) for name in ("round", "sender", "activity"))])
_DDL = f"{bundles.DDL}, round int, sender int, activity int"
# In place of an activity: the payload holds an error; the worker could not go on; the transaction is done.
_FAILED, _LOST, _DONE = -3, -2, -1
_DRIVER = -1  # the receiver of rows that only the driver reads
_LATEST = 4  # so many rounds are shipped again for workers that are a little behind
_KEPT = 16  # open transactions of a worker


class Begin(Protocol):
    """Begins a shard's transaction with the bundles that were routed to it."""

    def __call__(self, shard: int, bundles: list[pa.RecordBatch]) -> Run: ...


@dataclass(frozen=True, slots=True)
class Finished:
    """A transaction that all shards have finished, each in some worker."""

    transaction: str
    activities: tuple[Activity, ...]
    history: Any  # a DataFrame: everything that every shard received


def exchange(routed: Any, begin: Begin, shards: int, about: str) -> Finished:
    """Run all rounds, from the bundles of every shard; `about` describes the jobs. Raises the error of a shard."""
    spark = routed.sparkSession
    transaction = secrets.token_hex(8)
    zero = [sf.lit(0).alias(name) for name in ("round", "sender", "activity")]
    with described(spark, f"{about}, rows to their shards"):
        start = routed.select("*", *zero).localCheckpoint()
    frames = [start]
    activities: list[Activity] = []
    while True:
        number = len(activities) + 1
        step = _RoundStep(transaction, number, tuple(activities), max(0, number - _LATEST))
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
    """The rows that `give` makes of the value of every shard's transaction, as a DataFrame."""
    step = _RoundStep(finished.transaction, len(finished.activities) + 1, finished.activities, 0)

    def collect(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = list(batches)
        shard = bundles.shard_of(held, TaskContext.get().partitionId())
        found = _answer(held, step, shard, begin)
        assert isinstance(found, Ended), "a finished transaction has a value"
        yield from give(shard, found.value)

    return finished.history.repartitionById(shards, sf.col("shard")).mapInArrow(collect, schema)


def is_lost_round(problem: Exception) -> bool:
    """Whether the parcels of a round are lost, with the executor that held them."""
    return "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND" in str(problem)


@dataclass(frozen=True, slots=True)
class _RoundStep:
    """A round to run. Parcels `since` an earlier round come along; 0: all of them, and the bundles."""

    transaction: str
    number: int
    activities: tuple[Activity, ...]  # of the rounds before
    since: int


@dataclass(slots=True)
class _Open:
    """A transaction that is open in this worker."""

    run: Run
    round: int  # the last round that was answered
    latest: Answer | None


Answer = Outgoing | Ended[Any]
_open: OrderedDict[tuple[str, int], _Open] = OrderedDict()  # by transaction and shard


def _round(frames: list[Any], step: _RoundStep, begin: Begin, shards: int) -> tuple[Any, int]:
    """One round of all shards: what they ship, and the greatest activity, or _LOST, or _DONE."""

    def go(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        shard = TaskContext.get().partitionId()
        try:
            found = _answer(batches, step, shard, begin)
        except HeadwaterError as problem:
            yield _row(_DRIVER, shard, step.number, _FAILED, json.dumps(error_value(problem)).encode())
            return
        if found is None:
            yield _row(_DRIVER, shard, step.number, _LOST)
        elif isinstance(found, Ended):
            yield _row(_DRIVER, shard, step.number, _DONE)
        else:
            yield _row(_DRIVER, shard, step.number, int(found.activity))
            for receiver, parcels in found.parcels.items():
                payload = write_outgoing(Outgoing({receiver: parcels}, found.activity))
                yield _row(receiver, shard, step.number, int(found.activity), payload.to_pybytes())

    rows = _united(frames).repartitionById(shards, sf.col("shard")).mapInArrow(go, _DDL)
    extremes = sf.min("activity").alias("least"), sf.max("activity").alias("most")
    sent, seen = observed(rows, lambda frame: frame.localCheckpoint(), *extremes)
    least, most = int(seen["least"]), int(seen["most"])
    if least == _FAILED:
        failed = sent.where(sf.col("activity") == _FAILED).select("payload").collect()
        raise error_in(json.loads(bytes(row["payload"])) for row in failed) or AssertionError("a shard has failed")
    return sent.where(sf.col("shard") != _DRIVER), least if least in (_LOST, _DONE) else most


def _united(frames: list[Any]) -> Any:
    return reduce(lambda left, right: left.unionAll(right), frames)


def _row(shard: int, sender: int, number: int, activity: int, payload: bytes | None = None) -> pa.RecordBatch:
    values = (shard, "", "", 0, payload, number, sender, activity)
    arrays = [pa.array([value], type=field.type) for value, field in zip(values, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def _answer(batches: Iterable[pa.RecordBatch], step: _RoundStep, shard: int, begin: Begin) -> Answer | None:
    """What a shard ships in a round, or that it is done; None: this worker lacks rounds to catch up with."""
    own: list[pa.RecordBatch] = []
    received: dict[int, list[tuple[int, Parcel]]] = {number: [] for number in range(max(1, step.since), step.number)}
    for batch in batches:
        own.append(batch.filter(pc.equal(batch["round"], 0)))
        parcels = batch.filter(pc.greater(batch["round"], 0))
        for number, sender, payload in zip(parcels["round"], parcels["sender"], parcels["payload"], strict=True):
            sent = read_outgoing(payload.as_buffer()).parcels[shard]
            received[number.as_py()] += [(sender.as_py(), parcel) for parcel in sent]
    for parts in received.values():
        parts.sort(key=lambda part: part[0])
    with TURN:
        return _caught_up(step, shard, lambda: None if step.since else begin(shard, own), received)


def _caught_up(
    step: _RoundStep, shard: int, begin: Callable[[], Run | None], received: Mapping[int, list[tuple[int, Parcel]]]
) -> Answer | None:
    key = step.transaction, shard
    held = _open.pop(key, None)
    if held is not None and held.round > step.number:
        held = None
    while held is None or held.round < step.number:
        if held is None or (held.round and held.round not in received):
            run = begin()
            if run is None:
                return None
            held = _Open(run, 0, None)
        at = held.round
        held.latest = driver.step(held.run, Incoming(received[at], step.activities[at - 1]) if at else None)
        held.round += 1
    _open[key] = held
    while len(_open) > _KEPT:
        _, oldest = _open.popitem(last=False)
        oldest.run.close()
    return held.latest
