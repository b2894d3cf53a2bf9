"""Headwater on Spark beside what Spark offers: one local session, ratios; overheads apart.

    python benchmarks/spark.py [closure] [recursive] [components] [maintain] [exchange] [restart] [shards]

Each part prints lines of a table. The peers run in the same session as ours, on the same cached edges: Spark's own
recursive CTE (UNION ALL with a distinct step and a bound on depth), and the loop that people write by hand (semi-naive:
join, distinct, left anti join, localCheckpoint; adaptive execution off, as many partitions as cores).
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
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
Edges = list[tuple[int, int]]


def graph(nodes: int, edges: int, seed: int = 1) -> Edges:
    dice = random.Random(seed)
    return sorted({(dice.randrange(nodes), dice.randrange(nodes)) for _ in range(edges)})


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def best(work: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    return min((timed(work) for _ in range(times)), key=lambda one: one[0])


def told(work: str, ours: float, peer: str = "", theirs: float | None = None) -> None:
    ratio = "" if theirs is None else f"{theirs / ours:.1f}x"
    other = "" if theirs is None else f"{peer} {theirs:.2f} s"
    print(f"| {work} | {ours:.3f} s | {other} | {ratio} |", flush=True)


def frame(spark: Any, edges: Edges) -> Any:
    made = spark.createDataFrame(edges, "x int, y int").repartition(2).cache()
    made.count()
    return made


def loop_closure(links: Any) -> int:
    found = links.distinct().localCheckpoint()
    fresh = found
    while True:
        step = links.join(fresh.withColumnRenamed("x", "m").withColumnRenamed("y", "z"), links.y == sf("m"))
        fresh = step.select("x", sf("z").alias("y")).distinct().join(found, ["x", "y"], "left_anti").localCheckpoint()
        if fresh.isEmpty():
            return int(found.count())
        found = found.unionAll(fresh).localCheckpoint()


def sf(name: str) -> Any:
    from pyspark.sql import functions

    return functions.col(name)


def loop_components(links: Any) -> int:
    from pyspark.sql import functions as fn

    both = links.unionAll(links.select(sf("y").alias("x"), sf("x").alias("y"))).distinct().localCheckpoint()
    low = both.select("x").distinct().select("x", sf("x").alias("low")).localCheckpoint()
    while True:
        offered = both.join(low, "x").groupBy(sf("y").alias("x")).agg(fn.min("low").alias("offer"))
        after = low.join(offered, "x", "left").select("x", fn.least("low", "offer").alias("low")).localCheckpoint()
        changed = after.withColumnRenamed("low", "new").join(low, "x").where("new < low").count()
        low = after
        if not changed:
            return int(low.count())


def closure(spark: Any) -> None:
    links, program = frame(spark, graph(1_000, 2_000)), hw.compile(CLOSURE)
    first, rows = timed(lambda: hws.evaluate(program, {"link": links})["reach"].count())
    ours, rows = best(lambda: hws.evaluate(program, {"link": links})["reach"].count())
    told(f"closure, {rows:,} rows: first run, with the start of workers", first)
    theirs, same = timed(lambda: loop_closure(links))
    assert rows == same
    told(f"closure, {rows:,} rows, evaluate", ours, "loop", theirs)


def recursive(spark: Any) -> None:
    """Spark's own recursion, on the same graph; give it time."""
    frame(spark, graph(1_000, 2_000)).createOrReplaceTempView("link")
    text = (
        "WITH RECURSIVE reach(x, y, depth) MAX RECURSION LEVEL 60 AS (SELECT x, y, 1 FROM link UNION ALL "
        "SELECT DISTINCT l.x, r.y, r.depth + 1 FROM link l JOIN reach r ON l.y = r.x WHERE r.depth < 30) "
        "SELECT count(DISTINCT x, y) FROM reach"
    )
    spark.conf.set("spark.sql.cteRecursionRowLimit", "-1")
    seconds, found = timed(lambda: spark.sql(text).collect()[0][0])
    print(f"| Spark's WITH RECURSIVE, {found:,} rows | {seconds:.2f} s | | |", flush=True)


def components(spark: Any) -> None:
    links, program = frame(spark, graph(200_000, 1_000_000)), hw.compile(COMPONENTS)
    hws.evaluate(program, {"link": links.limit(10)}, shards=2)["low"].count()
    for shards in (1, 2):
        ours, rows = timed(lambda: hws.evaluate(program, {"link": links}, shards=shards)["low"].count())  # noqa: B023
        told(f"components, 200k nodes, 1M edges, {shards} shard(s)", ours)
    theirs, same = timed(lambda: loop_components(links))
    assert rows == same
    told("components, evaluate", ours, "loop", theirs)


def maintained(spark: Any, text: str, edges: Edges, batches: int, **options: Any) -> tuple[list[float], str]:
    """The times of batches of 100 changes, half of them deletes, after the load; and where the state is."""
    folder = tempfile.mkdtemp()
    source = Path(folder, "in")
    source.mkdir()
    dice = random.Random(5)
    held = list(edges)
    files = [[{"x": x, "y": y, "_change_type": "insert"} for x, y in edges]]
    nodes = max(max(edge) for edge in edges)
    for _ in range(batches):
        gone = [held.pop(dice.randrange(len(held))) for _ in range(50)]
        came = [(dice.randrange(nodes), dice.randrange(nodes)) for _ in range(50)]
        held += came
        files.append(
            [{"x": x, "y": y, "_change_type": "delete"} for x, y in gone]
            + [{"x": x, "y": y, "_change_type": "insert"} for x, y in came]
        )
    for number, rows in enumerate(files):
        (source / f"{number:03d}.json").write_text("\n".join(map(json.dumps, rows)))
    reader = spark.readStream.schema("x long, y long, _change_type string").option("maxFilesPerTrigger", 1)
    query = hws.maintain(
        hw.compile(text), {"link": reader.json(str(source))}, checkpoint=f"{folder}/state",
        trigger={"availableNow": True}, **options,
    )  # fmt: skip
    query.awaitTermination()
    assert query.exception() is None, query.exception()
    return [one["durationMs"]["triggerExecution"] / 1e3 for one in query.recentProgress if one["numInputRows"]], folder


def empty(spark: Any, batches: int) -> float:
    """What a micro-batch costs that does nothing."""
    folder = tempfile.mkdtemp()
    Path(folder, "in").mkdir()
    for number in range(batches):
        Path(folder, "in", f"{number:03d}.json").write_text('{"x": 1}\n')
    reader = spark.readStream.schema("x long").option("maxFilesPerTrigger", 1).json(f"{folder}/in")
    writer = reader.writeStream.foreachBatch(lambda frame, batch: None).option("checkpointLocation", f"{folder}/state")
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    times = [one["durationMs"]["triggerExecution"] / 1e3 for one in query.recentProgress]
    shutil.rmtree(folder)
    return sorted(times)[len(times) // 2]


def steady(spark: Any, name: str, text: str, edges: Edges, batches: int, **options: Any) -> str:
    times, folder = maintained(spark, text, edges, batches, **options)
    nothing = empty(spark, 8)
    load, *rest = times
    middle = sorted(rest)[len(rest) // 2]
    print(f"| {name}: load {load:.2f} s; batch of 100 changes | {middle:.3f} s | empty {nothing:.3f} s | "
          f"{middle / nothing:.1f}x an empty one |", flush=True)  # fmt: skip
    return folder


def maintain(spark: Any) -> None:
    steady(spark, "maintain the closure of 1,000 / 3,000, decomposed", CLOSURE, graph(1_000, 3_000), 12, shards=2)


def exchange(spark: Any) -> None:
    for kind in ("gang", "shuffle"):
        edges = graph(200_000, 1_000_000)
        steady(spark, f"maintain components, {kind}", COMPONENTS, edges, 6, shards=2, exchange=kind)


def restart(spark: Any) -> None:
    edges = graph(2_000, 4_400)
    begun = time.perf_counter()
    _, folder = maintained(spark, CLOSURE, edges, 1, shards=2)
    load = time.perf_counter() - begun
    links = frame(spark, edges)
    anew, rows = timed(lambda: hws.evaluate(hw.compile(CLOSURE), {"link": links}, shards=2)["reach"].count())
    again, _ = timed(lambda: hws.view(f"{folder}/state", "reach").where("x < 0").count())
    print(f"| state of {rows:,} rows opened | {again:.2f} s | anew {anew:.2f} s, load {load:.2f} s | |", flush=True)


def shards(spark: Any) -> None:
    links, program = frame(spark, graph(2_000, 6_000)), hw.compile(CLOSURE)
    times = {}
    for count in (1, 2):
        times[count], rows = best(lambda: hws.evaluate(program, {"link": links}, shards=count)["reach"].count(), 2)  # noqa: B023
    told(f"closure, {rows:,} rows, 2 shards", times[2], "1 shard", times[1])


PARTS = {one.__name__: one for one in (closure, recursive, components, maintain, exchange, restart, shards)}

if __name__ == "__main__":
    begun = time.perf_counter()
    session = local_session("benchmark", {"spark.driver.memory": "4g", "spark.log.level": "ERROR"})
    print(f"| session start | {time.perf_counter() - begun:.1f} s | | |", flush=True)
    for chosen in sys.argv[1:] or PARTS:
        PARTS[chosen](session)
    session.stop()
