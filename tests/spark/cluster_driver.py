"""The driver of `test_cluster`: computes, maintains while executors die within batches, prints what it found."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

import headwater as hw
from headwater import spark as hws
from headwater.spark.session import local_session

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
    if len(numbers) and doomed.exists():
        doomed.unlink(missing_ok=True)
        daemon = os.getppid()
        executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(executor, signal.SIGKILL)
    return numbers


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
doomed = folder / "doomed"
settings = {
    "spark.master": master,
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.ui.enabled": "false",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
}
spark = local_session("cluster test", settings)
spark.sparkContext.setLogLevel("OFF")
links = spark.createDataFrame(LINKS, "x int, y int")
told: dict[str, Any] = {
    "closure": rows(hws.evaluate(hw.compile(CLOSURE), {"link": links}, shards=2)["reach"]),
    "components": rows(hws.evaluate(hw.compile(COMPONENTS), {"link": links}, shards=2)["low"]),
}
held_low = COMPONENTS + " low(Z, min<L>) :- link(X, Y), low(X, L), Z = held(Y)."
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
print(json.dumps(told))
spark.stop()
