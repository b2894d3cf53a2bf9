"""Headwater on Spark beside what Spark offers: one local session, ratios; overheads apart.

    python benchmarks/spark.py [closure] [components] [maintain] [exchange] [restart] [shards]

All peers run in the same local session as ours, on the same cached edges: Spark's own recursive CTE (UNION ALL with a
distinct step and a bound on depth), and the loop that people write by hand (semi-naive: join, distinct, left anti join,
localCheckpoint; adaptive execution off, as many partitions as cores). GraphFrames is not among them: no jar of it was
to be had from Maven Central, under any of its names. Streams write their output as they do by default: a feed of
changes and a current table, as Parquet. An empty batch is one whose function does nothing. Batches count by the median
of their later half. The session has Spark's own way of writing its checkpoint files; lines that say so have that of
`local_session`, with which an empty batch, the unit here, takes less than half as long. Restarts are shown beside the
first batch of a query that does nothing in the same two stages, and without an output, too.

Without a part, all run, and the table goes to benchmarks/spark.md.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

import headwater as hw
from headwater import spark as hws
from headwater.spark.inputs.bundles import DDL, SCHEMA, ship
from headwater.spark.session.session import RENAMING_FILES, local_session

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


class Page:
    """The lines of the table, printed as they come and kept for `benchmarks/spark.md`."""

    def __init__(self) -> None:
        self.ratios: list[str] = []
        self.overheads: list[str] = []

    def ratio(self, work: str, ours: float, peer: str, theirs: float, bound: str, reached: bool) -> None:
        factor = f"{theirs / ours:.1f}x" if theirs >= ours else f"{ours / theirs:.1f}x as long"
        line = f"| {work} | {ours:.2f} s | {peer}: {theirs:.2f} s | {factor} | {bound}{'' if reached else ': missed'} |"
        self.ratios.append(line)
        print(line, flush=True)

    def overhead(self, what: str, seconds: float) -> None:
        line = f"| {what} | {seconds:.2f} s |"
        self.overheads.append(line)
        print(line, flush=True)

    def write(self, place: Path) -> None:
        text = ["# Headwater on Spark", "", __doc__.split("\n\n")[2].replace("\n", " "), ""]
        text += ["| work | Headwater | beside it | ratio | to reach |", "|---|---|---|---|---|", *self.ratios, ""]
        text += ["What is paid once, or in every batch whatever it brings:", "", "| | |", "|---|---|", *self.overheads]
        place.write_text("\n".join(text) + "\n")


PAGE = Page()


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
    PAGE.overhead("the first `evaluate` of a session, with the start of its workers", first)
    ours, rows = best(lambda: hws.evaluate(program, {"link": links})["reach"].count())
    looped, same = timed(lambda: loop_closure(links))
    assert rows == same
    work = f"closure, 1,000 nodes, 2,000 edges, {rows:,} rows"
    PAGE.ratio(work, ours, "DataFrame loop", looped, "5x", looped >= 5 * ours)
    links.createOrReplaceTempView("link")
    text = (
        "WITH RECURSIVE reach(x, y, depth) MAX RECURSION LEVEL 60 AS (SELECT x, y, 1 FROM link UNION ALL "
        "SELECT DISTINCT l.x, r.y, r.depth + 1 FROM link l JOIN reach r ON l.y = r.x WHERE r.depth < 30) "
        "SELECT count(DISTINCT x, y) FROM reach"
    )
    spark.conf.set("spark.sql.cteRecursionRowLimit", "-1")
    recursed, same = timed(lambda: spark.sql(text).collect()[0][0])
    assert rows == same
    PAGE.ratio(work, ours, "`WITH RECURSIVE`, 30 levels", recursed, "20x", recursed >= 20 * ours)


def components(spark: Any) -> None:
    links, program = frame(spark, graph(200_000, 1_000_000)), hw.compile(COMPONENTS)
    hws.evaluate(program, {"link": links.limit(10)}, shards=2)["low"].count()
    ours, rows = best(lambda: hws.evaluate(program, {"link": links}, shards=2)["low"].count(), 2)
    theirs, same = timed(lambda: loop_components(links))
    assert rows == same
    work = "components, 200,000 nodes, 1,000,000 edges"
    PAGE.ratio(work, ours, "DataFrame loop", theirs, "3x", theirs >= 3 * ours)


def maintained(spark: Any, text: str, edges: Edges, batches: int, **options: Any) -> tuple[list[float], Path]:
    """The times of batches of 100 changes, half of them deletes, after the load; and where the state is."""
    folder = Path(tempfile.mkdtemp())
    source = folder / "in"
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
    return run_all(spark, text, folder, folder, **options), folder


def run_all(spark: Any, text: str, folder: Path, home: Path, *, writes: bool = True, **options: Any) -> list[float]:
    """The seconds of every batch until all that is there has been taken in; state and output are kept in `home`."""
    reader = spark.readStream.schema("x long, y long, _change_type string").option("maxFilesPerTrigger", 1)
    links = reader.json(str(folder / "in"))
    when = {"availableNow": True}
    output = str(home / "out") if writes else None
    state = str(home / "state")
    query = hws.maintain(hw.compile(text), {"link": links}, checkpoint=state, output=output, trigger=when, **options)
    query.awaitTermination()
    assert query.exception() is None, query.exception()
    return [one["durationMs"]["triggerExecution"] / 1e3 for one in query.recentProgress if one["numInputRows"]]


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
    return median(times[len(times) // 2 :])


def with_files_of(spark: Any, manager: str, work: Callable[[], None]) -> None:
    """Run something with another way of writing Spark's checkpoint files."""
    setting = "spark.sql.streaming.checkpointFileManagerClass"
    spark.conf.set(setting, manager)
    try:
        work()
    finally:
        spark.conf.set(setting, PLAIN)


def steady(spark: Any, work: str, bound: int | None, text: str, edges: Edges, batches: int, **options: Any) -> None:
    """A batch of 100 changes beside one that does nothing, both once the query has warmed up."""
    (load, *rest), folder = maintained(spark, text, edges, batches, **options)
    shutil.rmtree(folder)
    nothing = empty(spark, batches)
    ours = median(rest[len(rest) // 2 :])
    PAGE.overhead(f"{work}: the first batch, which brings {len(edges):,} rows", load)
    reached = bound is None or ours < bound * nothing
    target = "reported" if bound is None else f"under {bound} empty ones"
    PAGE.ratio(f"{work}: a batch of 100 changes", ours, "an empty batch", nothing, target, reached)


def maintain(spark: Any) -> None:
    work, edges = "closure of 1,000 / 3,000, decomposed", graph(1_000, 3_000)
    steady(spark, work, 3, CLOSURE, edges, 40, shards=2)
    with_files_of(spark, RENAMING_FILES, lambda: steady(spark, f"{work}{LOCAL}", None, CLOSURE, edges, 40, shards=2))


def exchange(spark: Any) -> None:
    edges = graph(200_000, 1_000_000)
    steady(spark, "components of 200,000 / 1,000,000, gang", 5, COMPONENTS, edges, 20, shards=2, exchange="gang")
    steady(
        spark, "components of 200,000 / 1,000,000, shuffle", None, COMPONENTS, edges, 6, shards=2, exchange="shuffle"
    )


def idle(spark: Any, folder: Path, state: Path) -> float:
    """The seconds of a query's first batch that goes through the stages of ours with functions that do nothing."""

    def send(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        columns = [pa.array([value] * 2) for value in ("", "", 0, b"")]
        for _ in batches:
            yield pa.RecordBatch.from_arrays([pa.array([0, 1], pa.int32()), *columns], schema=SCHEMA)

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        list(batches)
        yield pa.record_batch({"report": [""], "about": [""]})

    def batch(frame: Any, _: int) -> None:
        frame.sparkSession.conf.set("spark.sql.adaptive.enabled", "false")
        frame.mapInArrow(work, "report string, about string").collect()

    reader = spark.readStream.schema("x long, y long, _change_type string").option("pathGlobFilter", "late.json")
    sent = ship([reader.json(str(folder / "in")).mapInArrow(send, DDL)], 2)
    writer = sent.writeStream.foreachBatch(batch).option("checkpointLocation", str(state))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    assert query.exception() is None, query.exception()
    return float(query.recentProgress[0]["durationMs"]["triggerExecution"]) / 1e3


def first_batch(spark: Any, folder: Path, home: Path, *, writes: bool) -> tuple[float, float, dict[str, Any]]:
    """Seconds from the start of a query until its first batch is reported, those of the batch alone, its figures."""
    done: list[tuple[float, dict[str, Any]]] = []
    begun = time.perf_counter()

    def report(figures: dict[str, Any]) -> None:
        done.append((time.perf_counter() - begun, figures))

    (batch,) = run_all(spark, CLOSURE, folder, home, shards=2, on_batch=report, writes=writes)
    ((seconds, figures),) = done
    return seconds, batch, figures


def restart(spark: Any) -> None:
    """A query that goes on from its checkpoint, in workers that do not know it, beside one that starts from nothing."""
    _, folder = maintained(spark, CLOSURE, graph(2_000, 4_400), 0, shards=2)
    restarted(spark, folder, "", writes=True)
    with_files_of(spark, RENAMING_FILES, lambda: restarted(spark, folder, LOCAL, writes=True))
    restarted(spark, folder, ", no output", writes=False)
    with_files_of(spark, RENAMING_FILES, lambda: restarted(spark, folder, f", no output{LOCAL}", writes=False))
    shutil.rmtree(folder)


def restarted(spark: Any, folder: Path, how: str, *, writes: bool) -> None:
    """Three times each; medians."""
    loads = [first_batch(spark, folder, Path(tempfile.mkdtemp(dir=folder)), writes=writes) for _ in range(3)]
    late = folder / "in" / "late.json"
    late.write_text(json.dumps({"x": 1, "y": 2, "_change_type": "insert"}))
    again = []
    for _ in range(3):
        copy = Path(tempfile.mkdtemp(dir=folder))
        for kept in ("state", "out"):
            shutil.copytree(folder / kept, copy / kept)
        again.append(first_batch(spark, folder, copy, writes=writes))
    if not writes:
        least = median(idle(spark, folder, Path(tempfile.mkdtemp(dir=folder))) for _ in range(3))
        PAGE.overhead(f"the first batch of a query that does nothing in the stages of ours{how}", least)
    late.unlink()
    work = f"restart, {loads[0][2]['rows']['reach']:,} view rows{how}"
    for at, what in enumerate(("from the start of the query to its first batch done", "the whole first batch")):
        ours, theirs = (median(float(one[at]) for one in those) for those in (again, loads))
        bound, reached = ("3x", theirs >= 3 * ours) if writes else ("reported", True)
        PAGE.ratio(f"{work}: {what}", ours, "from nothing", theirs, bound, reached)
    if not writes:
        ours = median(one[2]["opening"] + one[2]["working"] for one in again)
        theirs = median(one[2]["working"] for one in loads)
        what = "the shards' own time, from the checkpoint to a batch done"
        PAGE.ratio(f"{work}: {what}", ours, "from nothing", theirs, "reported", reached=True)


def shards(spark: Any) -> None:
    links, program = frame(spark, graph(3_000, 12_000)), hw.compile(CLOSURE)
    times = {}
    for count in (1, 2):
        times[count], rows = best(lambda: hws.evaluate(program, {"link": links}, shards=count)["reach"].count(), 3)  # noqa: B023
    PAGE.ratio(f"closure, {rows:,} rows, 2 shards", times[2], "1 shard", times[1], "1.5x", times[1] >= 1.5 * times[2])


PARTS = {one.__name__: one for one in (closure, components, maintain, exchange, restart, shards)}
LOCAL = ", checkpoint files of `local_session`"
PLAIN = "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"

if __name__ == "__main__":
    settings = {
        "spark.driver.memory": "4g",
        "spark.log.level": "ERROR",
        "spark.sql.streaming.checkpointFileManagerClass": PLAIN,
    }
    started, session = timed(lambda: local_session("benchmark", settings))
    PAGE.overhead("the start of a session", started)
    for chosen in sys.argv[1:] or PARTS:
        PARTS[chosen](session)
    session.stop()
    if not sys.argv[1:]:
        PAGE.write(Path(__file__).with_suffix(".md"))
