"""The driver of `test_cluster`: computes, maintains, kills an executor in between, and prints what it found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import headwater as hw
from headwater import spark as hws
from headwater.spark.session import local_session

CLOSURE = "relation link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Z) :- link(X, Y), reach(Y, Z)."
COMPONENTS = (
    "relation link(x: int, y: int). low(X, min<X>) :- link(X, _). low(Y, min<Y>) :- link(_, Y)."
    "low(Y, min<L>) :- link(X, Y), low(X, L). low(X, min<L>) :- link(X, Y), low(Y, L)."
)
LINKS = [(at, at + 1) for at in range(11)]


def rows(frame: Any) -> list[list[int]]:
    return sorted(list(row) for row in frame.collect())


def kill_an_executor() -> None:
    found = subprocess.run(["pgrep", "-f", "CoarseGrainedExecutorBackend.*" + app], capture_output=True, text=True)
    os.kill(int(found.stdout.split()[0]), signal.SIGKILL)


def maintain(number: int, line: str) -> None:
    source = folder / "in"
    source.mkdir(exist_ok=True)
    (source / f"{number}.json").write_text(line)
    os.utime(source / f"{number}.json", (1_000_000 + number, 1_000_000 + number))
    stream = spark.readStream.schema("x long, y long, _change_type string").json(str(source))
    query = hws.maintain(
        hw.compile(CLOSURE),
        {"link": stream},
        checkpoint=str(folder / "state"),
        shards=2,
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    assert query.exception() is None, query.exception()


master, folder = sys.argv[1], Path(sys.argv[2])
settings = {
    "spark.master": master,
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.ui.enabled": "false",
}
spark = local_session("cluster test", settings)
app = spark.sparkContext.applicationId
links = spark.createDataFrame(LINKS, "x int, y int")
told = {
    "closure": rows(hws.evaluate(hw.compile(CLOSURE), {"link": links}, shards=2)["reach"]),
    "components": rows(hws.evaluate(hw.compile(COMPONENTS), {"link": links}, shards=2)["low"]),
}
maintain(0, "\n".join(json.dumps({"x": x, "y": y, "_change_type": "insert"}) for x, y in LINKS))
kill_an_executor()
maintain(1, json.dumps({"x": 5, "y": 6, "_change_type": "delete"}))
told["maintained"] = rows(hws.view(str(folder / "state"), "reach"))
print(json.dumps(told))
spark.stop()
