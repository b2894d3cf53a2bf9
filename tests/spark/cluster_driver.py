"""The driver of `test_cluster`: computes, maintains while executors die within batches, prints what it found."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

import headwater as hw
from conftest import SECRET_SETTINGS
from headwater import spark as hws
from headwater.spark.session.session import local_session
from headwater.spark.shards import transaction_job

CLOSURE = "relation link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Z) :- link(X, Y), reach(Y, Z)."
COMPONENTS = (
    "relation link(x: int, y: int). low(X, min<X>) :- link(X, _). low(Y, min<Y>) :- link(_, Y)."
    "low(Y, min<L>) :- link(X, Y), low(X, L). low(X, min<L>) :- link(X, Y), low(Y, L)."
)
LINKS = [(at, at + 1) for at in range(11)]
BATCHES = [[(x, y, "insert") for x, y in LINKS], [(5, 6, "delete")]]


@hw.register("held", ("int",), "int")
def held(numbers: pa.Array) -> pa.Array:
    """Gives its numbers back, and kills the executor that it runs in if one is to die."""
    if len(numbers):
        die_if_doomed()
    return numbers


def die_if_doomed() -> None:
    """Kills this Python worker, or its executor, if one is to die."""
    daemon = os.getppid()
    executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
    for file, process in ((doomed_worker, os.getpid()), (doomed, executor)):
        if file.exists():
            file.unlink(missing_ok=True)
            os.kill(process, signal.SIGKILL)


def used(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows:
            die_if_doomed()
        yield batch


def rows(frame: Any) -> list[list[int]]:
    return sorted(list(row) for row in frame.collect())


def drop(number: int) -> None:
    source = folder / "in"
    source.mkdir(exist_ok=True)
    lines = [json.dumps({"x": x, "y": y, "_change_type": kind}) for x, y, kind in BATCHES[number]]
    (source / f"{number}.json").write_text("\n".join(lines))
    os.utime(source / f"{number}.json", (1_000_000 + number, 1_000_000 + number))


def maintain(text: str, name: str, exchange: str | None) -> None:
    stream = spark.readStream.schema("x long, y long, _change_type string").json(str(folder / "in"))
    query = hws.maintain(
        hw.compile(text), {"link": stream}, checkpoint=str(folder / name), output=str(folder / "out" / name), shards=2,
        exchange=exchange, trigger={"availableNow": True},
    )  # fmt: skip
    query.awaitTermination()
    if query.exception() is not None:
        raise query.exception()


master, folder = sys.argv[1], Path(sys.argv[2])
doomed, doomed_worker = folder / "doomed", folder / "doomed-worker"
settings = {
    **SECRET_SETTINGS,
    "spark.master": master,
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.ui.enabled": "false",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
}
spark = local_session("cluster test", settings)
spark.sparkContext.setLogLevel("OFF")
links = spark.createDataFrame(LINKS, "x int, y int")
held_low = COMPONENTS + " low(Z, min<L>) :- link(X, Y), low(X, L), Z = held(Y)."


def evaluate(text: str, exchange: str | None = None) -> dict[str, Any]:
    return hws.evaluate(hw.compile(text), {"link": links}, shards=2, exchange=exchange)


doomed.touch()
told: dict[str, Any] = {"in a round": rows(evaluate(held_low, "shuffle")["low"])}
assert not doomed.exists()
frames = {
    "gang": evaluate(COMPONENTS, "gang")["low"],  # it needs both executors, so that both are there again
    "shuffle": evaluate(COMPONENTS, "shuffle")["low"],
    **evaluate(CLOSURE + " back(Y, X) :- reach(X, Y)."),
    "alone": evaluate(CLOSURE)["reach"],
}
told["before"] = {name: rows(frame) for name, frame in frames.items()}
doomed_worker.touch()
doomed.touch()
every = reduce(
    DataFrame.unionAll, (frame.toDF("x", "y").withColumn("name", sf.lit(name)) for name, frame in frames.items())
)
meanwhile = sorted(list(row) for row in every.mapInArrow(used, every.schema).collect())
told["meanwhile"] = {name: [row[:2] for row in meanwhile if row[2] == name] for name in frames}
assert not doomed_worker.exists()
assert not doomed.exists()
told["afterwards"] = {name: rows(frame) for name, frame in frames.items()}
queries = {
    "decomposed": (CLOSURE + " kept(Z, Y) :- reach(X, Y), Z = held(X). query kept(X, Y).", "kept", None),
    "gang": (held_low, "low", "gang"),
    "shuffle": (held_low, "low", "shuffle"),
}
drop(0)
for name, (text, _, exchange) in queries.items():
    maintain(text, name, exchange)
drop(1)
for name, (text, view, exchange) in queries.items():
    doomed.touch()
    maintain(text, name, exchange)
    assert not doomed.exists()
    feed = spark.read.parquet(str(folder / "out" / name / view / "changes")).collect()
    told[name] = {
        "view": rows(hws.view(str(folder / name), view)),
        "feed": sorted([batch, kind, *row] for *row, kind, batch in feed),
        "exchange": hws.progress(str(folder / name))["exchange"],
    }
told["encrypted"] = [tls is not None for _, tls in transaction_job._servers]
print(json.dumps(told))
spark.stop()
