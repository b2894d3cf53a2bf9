"""The driver of `test_connect`: a session of Spark Connect, with a local server; prints what it found, as JSON.

python connect_driver.py FOLDER
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import headwater as hw
from conftest import FAR
from headwater import spark as hws
from headwater.core.errors import StateError

CLOSURE = "relation link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Z) :- link(X, Y), reach(Y, Z)."
COMPONENTS = (
    "relation link(x: int, y: int). low(X, min<X>) :- link(X, _). low(Y, min<Y>) :- link(_, Y)."
    "low(Y, min<L>) :- link(X, Y), low(X, L). low(X, min<L>) :- link(X, Y), low(Y, L)."
)
BATCHES = [
    [(at, at + 1, "insert") for at in range(3)],
    [(1, 2, "delete"), (0, 9, "insert")],
    [(0, 9, "delete"), (9, 3, "insert")],
    [(5, 6, "insert")],  # for a query that is not to run
]
STATIC = [(20, 21)]
QUERIES = ((CLOSURE, "decomposed"), (COMPONENTS, "shuffle"), (CLOSURE, "far output", FAR))


def rows(frame: Any) -> list[list[int]]:
    return sorted(list(row) for row in frame.collect())


def drop(numbers: range) -> None:
    source = folder / "in"
    source.mkdir(exist_ok=True)
    for number in numbers:
        lines = [json.dumps({"x": x, "y": y, "_change_type": kind}) for x, y, kind in BATCHES[number]]
        (source / f"{number}.json").write_text("\n".join(lines))
        os.utime(source / f"{number}.json", (1_000_000 + number, 1_000_000 + number))


def started(text: str, name: str, store: str) -> Any:
    stream = spark.readStream.schema("x long, y long, _change_type string").option("maxFilesPerTrigger", 1)
    return hws.maintain(
        hw.compile(text),
        {"link": [spark.createDataFrame(STATIC, "x long, y long"), stream.json(str(folder / "in"))]},
        checkpoint=str(folder / name),
        output=f"{store}{folder}/out/{name}",
        shards=2,
        trigger={"availableNow": True},
    )


def maintain(text: str, name: str, store: str = "") -> None:
    for tries in range(5):  # the server gives its own Python ten seconds to start, however busy the machine is
        try:
            query = started(text, name, store)
            break
        except Exception as problem:
            if "connect back" not in str(problem) or tries == 4:
                raise
    query.awaitTermination()
    if query.exception() is not None:
        raise query.exception()


def seen(name: str, view: str, store: str = "") -> dict[str, Any]:
    output = f"{store}{folder}/out/{name}/{view}"
    changes = spark.read.parquet(f"{output}/changes")
    return {
        "view": rows(hws.view(str(folder / name), view)),
        "current": rows(spark.read.parquet(f"{output}/current")),
        "feed": sorted([batch, kind, *row] for *row, kind, batch in changes.collect()),
        "exchange": hws.progress(str(folder / name))["exchange"],
    }


folder = Path(sys.argv[1])
spark = SparkSession.builder.remote(sys.argv[2]).getOrCreate()
links = spark.createDataFrame([(x, y) for x, y, _ in BATCHES[0]], "x long, y long")
told: dict[str, Any] = {
    "session": type(spark).__module__,
    "closure": rows(hws.evaluate(hw.compile(CLOSURE), {"link": links}, shards=2)["reach"]),
    "components": rows(hws.evaluate(hw.compile(COMPONENTS), {"link": links}, shards=2)["low"]),
}
try:
    hws.evaluate(hw.compile(COMPONENTS), {"link": links}, shards=2, exchange="gang")
except ValueError as refused:
    told["gang"] = str(refused)
drop(range(2))
for query in QUERIES:
    maintain(*query)
drop(range(2, 3))
for query in QUERIES:
    maintain(*query)
told["decomposed"] = seen("decomposed", "reach")
told["shuffle"] = seen("shuffle", "low")
told["far output"] = seen("far output", "reach", FAR)
drop(range(3, 4))
try:
    maintain(CLOSURE + " loop(X) :- reach(X, X).", "decomposed")
except Exception as refused:
    told["changed"] = str(refused)
try:
    stream = spark.readStream.schema("x long, y long").json(str(folder / "in"))
    hws.maintain(hw.compile(CLOSURE), {"link": stream}, checkpoint=f"{FAR}/state")
except StateError as refused:
    told["far"] = str(refused)
print(json.dumps(told))
spark.stop()
