"""`maintain`: views kept right by a streaming query; its feed, its tables, what it sets aside, restarts."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

import headwater as hw
from headwater import spark as hws
from headwater.files.names import file_name
from headwater.serve.follow.checkpoint import work_of
from headwater.spark.shards import rounds
from headwater.spark.state.checkpoint import Checkpoint
from tests.spark.conftest import PATIENCE
from tests.spark.workers import python_workers

CLOSURE = "reach(X, Y) :- link(X, Y). reach(X, Z) :- link(X, Y), reach(Y, Z)."
NOW = {"availableNow": True}
SCHEMA = "x long, y long, _change_type string"


def drop(folder: Path, number: int, rows: list[dict[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    file = folder / f"{number:03d}.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(file, (1_000_000 + number, 1_000_000 + number))  # Spark takes files in the order of their times


def link(x: int, y: int, change: str = "insert") -> dict[str, Any]:
    return {"x": x, "y": y, "_change_type": change}


def stream(spark: Any, folder: Path, schema: str = SCHEMA, **options: Any) -> Any:
    return spark.readStream.schema(schema).options(maxFilesPerTrigger=1, **options).json(str(folder))


def closure(links: set[tuple[int, int]]) -> set[tuple[int, int]]:
    reached = set(links)
    while more := {(x, z) for x, y in links for w, z in reached if y == w} - reached:
        reached |= more
    return reached


def finish(query: Any) -> None:
    query.awaitTermination(PATIENCE)
    assert not query.isActive
    if query.exception() is not None:
        raise query.exception()


def rows(frame: Any) -> set[tuple[Any, ...]]:
    found = [tuple(row) for row in frame.collect()]
    assert len(found) == len(set(found))
    return set(found)


def replayed(spark: Any, output: Path, view: str) -> dict[int, set[tuple[Any, ...]]]:
    """The view after each batch, from its change feed alone."""
    held: set[tuple[Any, ...]] = set()
    after: dict[int, set[tuple[Any, ...]]] = {}
    changes = spark.read.parquet(str(output / view / "changes")).collect()
    for *row, change, batch in sorted(map(tuple, changes), key=lambda one: (one[-1], one[-2])):
        assert (tuple(row) in held) is (change == "delete")
        (held.remove if change == "delete" else held.add)(tuple(row))
        after[batch] = set(held)
    return after


@pytest.mark.parametrize("shards", [1, 3])
def test_views_follow_the_stream(spark: Any, tmp_path: Path, shards: int) -> None:
    source, output, checkpoint = tmp_path / "in", tmp_path / "out", str(tmp_path / "check")
    drop(source, 0, [link(1, 2), link(2, 3), link(3, 4), link(4, 2)])
    drop(source, 1, [link(2, 3, "delete"), link(5, 1), link(9, 9), link(9, 9, "delete")])
    drop(source, 2, [link(3, 4, "delete"), link(2, 3, "update_postimage"), link(7, 7, "delete")])
    seen: list[dict[str, Any]] = []
    program = hw.compile(CLOSURE)
    query = hws.maintain(
        program, {"link": stream(spark, source)}, checkpoint=checkpoint, output=str(output), shards=shards,
        on_batch=seen.append, trigger=NOW,
    )  # fmt: skip
    finish(query)
    states = [{(1, 2), (2, 3), (3, 4), (4, 2)}, {(1, 2), (3, 4), (4, 2), (5, 1)}, {(1, 2), (4, 2), (5, 1), (2, 3)}]
    assert rows(hws.view(checkpoint, "reach")) == closure(states[-1])
    assert rows(spark.read.parquet(str(output / "reach" / "current"))) == closure(states[-1])
    assert replayed(spark, output, "reach") == {batch: closure(links) for batch, links in enumerate(states)}
    assert [one["batch"] for one in seen] == [0, 1, 2]
    assert seen[0]["changed"] == {"reach": {"inserted": len(closure(states[0])), "deleted": 0}}
    assert hws.progress(checkpoint)["rows"] == {"reach": len(closure(states[-1]))}
    drop(source, 3, [link(1, 2, "delete")])
    finish(
        hws.maintain(program, {"link": stream(spark, source)}, checkpoint=checkpoint, output=str(output), trigger=NOW)
    )
    assert rows(hws.view(checkpoint, "reach")) == closure(states[-1] - {(1, 2)})
    assert replayed(spark, output, "reach")[3] == closure(states[-1] - {(1, 2)})


COMPONENTS = (
    "relation link(x: int, y: int). low(X, min<X>) :- link(X, _). low(Y, min<Y>) :- link(_, Y)."
    "low(Y, min<L>) :- link(X, Y), low(X, L). low(X, min<L>) :- link(X, Y), low(Y, L)."
)


def lowest(links: set[tuple[int, int]]) -> set[tuple[int, int]]:
    low = {end: end for pair in links for end in pair}
    while True:
        new = dict(low)
        for x, y in links:
            new[x] = new[y] = min(new[x], new[y])
        if new == low:
            return set(low.items())
        low = new


@pytest.mark.parametrize("exchange", ["gang", "shuffle"])
def test_shards_exchange_batch_after_batch_and_after_a_restart(spark: Any, tmp_path: Path, exchange: str) -> None:
    source, output, checkpoint = tmp_path / "in", tmp_path / "out", str(tmp_path / "check")
    batches = [
        [link(at, at + 1) for at in range(6)],
        [link(2, 3, "delete"), link(0, 9)],
        [link(0, 1, "delete"), link(8, 3), link(9, 8)],
        [link(9, 8, "delete"), link(4, 5, "delete"), link(2, 3)],
    ]

    def run() -> None:
        query = hws.maintain(
            hw.compile(COMPONENTS), {"link": stream(spark, source)}, checkpoint=checkpoint, output=str(output),
            shards=2, exchange=exchange, trigger=NOW,
        )  # fmt: skip
        finish(query)

    for number, batch in enumerate(batches):
        drop(source, number, batch)
        if number == 1:
            run()
    run()
    assert hws.progress(checkpoint)["exchange"] == exchange
    assert hws.progress(checkpoint)["rows_shipped"] > 0
    noted = [hws.progress(checkpoint, number) for number in (2, 3)]
    work = work_of(noted, checkpoint)
    assert (work.given, work.set_aside, work.late) == (6, 0, 0)
    assert work.shipped == noted[0]["bytes_shipped"] + noted[1]["bytes_shipped"] > 0
    links: set[tuple[int, int]] = set()
    after = {}
    for number, batch in enumerate(batches):
        links -= {(one["x"], one["y"]) for one in batch if one["_change_type"] == "delete"}
        links |= {(one["x"], one["y"]) for one in batch if one["_change_type"] == "insert"}
        after[number] = lowest(links)
    assert replayed(spark, output, "low") == after
    assert rows(hws.view(checkpoint, "low")) == after[3]


def test_several_streams_static_rows_and_a_callback(spark: Any, tmp_path: Path) -> None:
    links, stops, checkpoint = tmp_path / "links", tmp_path / "stops", str(tmp_path / "check")
    drop(links, 0, [link(1, 2), link(2, 3)])
    drop(stops, 0, [{"x": 2, "_change_type": "insert"}])
    program = hw.compile(
        "relation town(x: int, name: string). relation closed(x: int). relation link(x: int, y: int)."
        "reach(X, Y) :- link(X, Y), !closed(Y). reach(X, Z) :- reach(X, Y), link(Y, Z), !closed(Z)."
        "named(N) :- reach(1, Y), town(Y, N). query named(N). query reach(X, Y)."
    )
    towns = spark.createDataFrame([(1, "Ems"), (2, "Ulm"), (3, "Hof")], "x int, name string")
    told: dict[int, set[tuple[Any, ...]]] = {}

    def keep(changes: dict[str, Any], batch: int) -> None:
        told.setdefault(batch, set()).update(tuple(row) for row in changes["named"].collect())

    def run() -> None:
        inputs = {
            "town": towns,
            "link": stream(spark, links),
            "closed": stream(spark, stops, "x long, _change_type string"),
        }
        finish(hws.maintain(program, inputs, checkpoint=checkpoint, foreach_changes=keep, shards=2, trigger=NOW))

    run()
    assert rows(hws.view(checkpoint, "named")) == set()
    drop(stops, 1, [{"x": 2, "_change_type": "delete"}])
    run()
    assert rows(hws.view(checkpoint, "named")) == {("Ulm",), ("Hof",)}
    assert told[max(told)] == {("Ulm", "insert", max(told)), ("Hof", "insert", max(told))}


def test_poisoned_rows_are_set_aside(spark: Any, tmp_path: Path) -> None:
    source, checkpoint = tmp_path / "in", tmp_path / "check"
    source.mkdir()
    lines = ['{"x": 1, "y": 2}', '{"x": null, "y": 2}', '{"x": "one", "y": 2}', "{x", '{"x": 2, "y": 3}']
    (source / "0.json").write_text("\n".join(lines))
    links = stream(spark, source, "x long, y long, _corrupt_record string")
    finish(hws.maintain(hw.compile(CLOSURE), {"link": links}, checkpoint=str(checkpoint), trigger=NOW))
    assert rows(hws.view(str(checkpoint), "reach")) == {(1, 2), (2, 3), (1, 3)}
    assert hws.progress(str(checkpoint))["rejected"] == 3
    (file,) = (checkpoint / "headwater" / "rejected").iterdir()
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert {one["row"] for one in found} >= {"{x", '{"x": "one", "y": 2}'}
    assert any("null" in one["reason"] for one in found)


@pytest.mark.parametrize("exchange", ["gang", "shuffle"])
def test_rows_are_set_aside_once_and_nothing_else_stays(
    spark: Any, tmp_path: Path, exchange: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last round of a shuffle ends a transaction in one worker, and what it did is asked of any: here of others."""
    outcomes = rounds.outcomes

    def of_others(*given: Any) -> Any:
        for worker in python_workers():
            os.kill(worker, signal.SIGKILL)
        return outcomes(*given)

    monkeypatch.setattr(rounds, "outcomes", of_others)
    source, checkpoint, state = tmp_path / "in", str(tmp_path / "check"), tmp_path / "check" / "headwater"
    bad = [{"x": None, "y": at, "_change_type": "insert"} for at in range(4)]
    for batch in range(3):
        drop(source, batch, [link(batch, batch + 1), *bad[: batch + 2]])
    given = {"checkpoint": checkpoint, "shards": 2, "exchange": exchange, "trigger": NOW}
    finish(hws.maintain(hw.compile(COMPONENTS), {"link": stream(spark, source)}, **given))
    found = [json.loads(line)["row"] for one in (state / "rejected").iterdir() for line in one.read_text().splitlines()]
    assert len(found) == 2 + 3 + 4
    assert {one.name.partition("-")[0] for one in (state / "rejected").iterdir()} == {"0", "1", "2"}
    left = {one.name.rpartition("-")[2] for one in (state / "feed").iterdir()}
    assert left <= {"published", "0.parquet", "1.parquet"}, "changes and notes for readers, and no rows set aside"
    manifest = Checkpoint(checkpoint).manifest
    assert manifest is not None
    assert manifest.rejected == {"link": 9}


TYPES = (
    "s string, i long, f double, b boolean, t timestamp, y date, d interval day to second, l array<long>, "
    "n array<string>"
)


@pytest.mark.parametrize("times", ["timestamp", "timestamp_ntz"])
def test_every_type_goes_out_in_three_ways(spark: Any, tmp_path: Path, times: str) -> None:
    schema = TYPES.replace("timestamp", times)
    moment, span = dt.datetime(1, 2, 3, 4, 5, 6, 789), dt.timedelta(days=-2, microseconds=1)
    given = [
        ("é\0", -(2**63), float("inf"), True, moment, dt.date(1, 1, 1), span, [1, 2], ["a", ""]),
        ("", 2**63 - 1, -1.5, False, dt.datetime(2026, 1, 2), dt.date(9999, 12, 31), dt.timedelta(0), [], []),
    ]
    spark.createDataFrame(given, schema).write.parquet(str(tmp_path / "in"))
    came = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    program = hw.compile("all(S, I, F, B, T, Y, D, L, N) :- in(S, I, F, B, T, Y, D, L, N).")
    output = str(tmp_path / "out")
    finish(
        hws.maintain(program, {"in": came}, checkpoint=str(tmp_path / "check"), output=output, shards=2, trigger=NOW)
    )
    ways = [
        hws.view(str(tmp_path / "check"), "all"),
        spark.read.parquet(f"{output}/all/current"),
        spark.read.parquet(f"{output}/all/changes").drop("_change_type", "_batch_id"),
    ]
    assert [one.schema.simpleString() for one in ways] == [came.schema.simpleString()] * 3
    for one in ways:
        assert sorted(map(repr, one.collect())) == sorted(map(repr, spark.read.parquet(str(tmp_path / "in")).collect()))


def test_views_of_any_name_are_written_into_the_output_folder(spark: Any, tmp_path: Path) -> None:
    drop(tmp_path / "in", 0, [link(1, 2)])
    views = ["../../../evil", str(tmp_path / "absolute"), "..", ".hidden", "_hidden", "a/b", "n" * 300]
    text = "".join(f"`{name}`(X, Y) :- link(X, Y).\n" for name in views)
    checkpoint, output = str(tmp_path / "check"), tmp_path / "one" / "out"
    links = {"link": stream(spark, tmp_path / "in")}
    given = {"checkpoint": checkpoint, "output": f"file://{output}", "shards": 1, "trigger": NOW}
    finish(hws.maintain(hw.compile(text), links, **given))
    assert {one.name for one in output.iterdir()} == {file_name(name) for name in views}
    assert {one.name for one in tmp_path.iterdir()} == {"in", "check", "one"}
    for name in views:
        for table in ("current", "changes"):
            held = spark.read.parquet(str(output / file_name(name) / table))
            assert [tuple(row)[:2] for row in held.collect()] == [(1, 2)], name
        assert rows(hws.view(checkpoint, name)) == {(1, 2)}


def test_a_keyed_row_replaced_and_taken_back_in_one_batch(spark: Any, tmp_path: Path) -> None:
    source, checkpoint = tmp_path / "in", str(tmp_path / "check")
    program = hw.compile("relation link(x: int, y: int) key(x). next(X, Y) :- link(X, Y).")
    drop(source, 0, [link(1, 2), link(2, 3)])
    drop(source, 1, [link(1, 5), link(1, 5, "delete"), link(2, 7)])
    query = hws.maintain(program, {"link": stream(spark, source)}, checkpoint=checkpoint, shards=2, trigger=NOW)
    finish(query)
    assert rows(hws.view(checkpoint, "next")) == {(2, 7)}


def test_the_guard_reaches_the_driver_and_a_restart_goes_on(spark: Any, tmp_path: Path) -> None:
    source, checkpoint = tmp_path / "in", str(tmp_path / "check")
    program = hw.compile("relation start(n: int). up(N) :- start(N). up(M) :- up(N), M = N + 1, M < 5000.")
    drop(source, 0, [{"n": 4990}])
    drop(source, 1, [{"n": 0}])

    def start(guard: int) -> Any:
        numbers = {"start": stream(spark, source, "n long")}
        return hws.maintain(program, numbers, checkpoint=checkpoint, shards=1, guard=guard, trigger=NOW)

    with pytest.raises(Exception, match=r"HW901.*more than 100 r"):
        finish(start(100))
    assert len(rows(hws.view(checkpoint, "up"))) == 10
    finish(start(100_000))
    assert len(rows(hws.view(checkpoint, "up"))) == 5000


def test_a_changed_program_is_refused(spark: Any, tmp_path: Path) -> None:
    source, checkpoint = tmp_path / "in", str(tmp_path / "check")
    drop(source, 0, [link(1, 2)])
    finish(hws.maintain(hw.compile(CLOSURE), {"link": stream(spark, source)}, checkpoint=checkpoint, trigger=NOW))
    other = hw.compile(CLOSURE + " loop(X) :- reach(X, X).")
    with pytest.raises(hw.StateError, match="the program has changed"):
        hws.maintain(other, {"link": stream(spark, source)}, checkpoint=checkpoint, trigger=NOW)


def test_every_base_relation_of_a_stream_is_given_or_optional(spark: Any, tmp_path: Path) -> None:
    text = "relation closed(x: int). open(X, Y) :- link(X, Y), !closed(X)."
    source, checkpoint = tmp_path / "in", str(tmp_path / "check")
    drop(source, 0, [link(1, 2)])
    links = {"link": stream(spark, source)}
    with pytest.raises(hw.DataError, match=r"HW806.*`closed`"):
        hws.maintain(text, links, checkpoint=checkpoint, trigger=NOW)
    with pytest.raises(hw.UnknownRelation, match=r"HW807.*`closd`; did you mean `closed`"):
        hws.maintain(text, {**links, "closd": links["link"]}, checkpoint=checkpoint, trigger=NOW)
    finish(hws.maintain(text, links, checkpoint=checkpoint, optional=["closed"], trigger=NOW))
    drop(source, 1, [link(2, 3)])
    said = text.replace("closed(x: int)", "closed(x: int) optional")
    finish(hws.maintain(said, links, checkpoint=checkpoint, trigger=NOW))
    assert rows(hws.view(checkpoint, "open", spark=spark)) == {(1, 2), (2, 3)}


def test_state_and_offsets_belong_together(spark: Any, tmp_path: Path) -> None:
    """Without the one, rows would be lost; without the other, they would be taken twice."""
    source = tmp_path / "in"
    drop(source, 0, [link(1, 2)])

    def start(checkpoint: Path) -> Any:
        links = {"link": stream(spark, source)}
        return hws.maintain(hw.compile(CLOSURE), links, checkpoint=str(checkpoint), shards=1, trigger=NOW)

    finish(start(tmp_path / "whole"))
    drop(source, 1, [link(2, 3)])
    shutil.copytree(tmp_path / "whole", tmp_path / "stateless", ignore=lambda *_: ["headwater"])
    with pytest.raises(Exception, match=r"goes on with batch 1, but there is no state in .*stateless/headwater"):
        finish(start(tmp_path / "stateless"))
    shutil.copytree(tmp_path / "whole" / "headwater", tmp_path / "alone" / "headwater")
    with pytest.raises(hw.StateError, match=r"Spark's own files in .*alone .* are gone"):
        start(tmp_path / "alone")
    shutil.copytree(tmp_path / "whole", tmp_path / "moved")
    finish(start(tmp_path / "moved"))
    with ThreadPoolExecutor() as other:  # a thread that has no session of its own, as those of listeners
        held = other.submit(hws.view, str(tmp_path / "moved"), "reach").result()
    assert rows(held) == closure({(1, 2), (2, 3)})


def test_a_driver_killed_before_its_first_batch_is_started_again(spark: Any, tmp_path: Path) -> None:
    """It leaves the temporary file that Spark was writing, which Spark alone would refuse to start beside."""
    source, checkpoint = tmp_path / "in", tmp_path / "check"
    drop(source, 0, [link(1, 2)])
    (checkpoint / "offsets").mkdir(parents=True)
    left = checkpoint / "offsets" / ".0.0c0ffee0-0000-0000-0000-000000000000.tmp"
    left.write_text("v1")

    def start() -> Any:
        links = {"link": stream(spark, source)}
        return hws.maintain(hw.compile(CLOSURE), links, checkpoint=str(checkpoint), shards=1, trigger=NOW)

    finish(start())
    assert rows(hws.view(str(checkpoint), "reach", spark=spark)) == {(1, 2)}
    assert not left.exists()
    left.write_text("v1")  # beside a batch Spark passes over it, and it may be another run's
    drop(source, 1, [link(2, 3)])
    finish(start())
    assert left.exists()
    assert rows(hws.view(str(checkpoint), "reach", spark=spark)) == closure({(1, 2), (2, 3)})


def test_other_formats(spark: Any, tmp_path: Path) -> None:
    source = tmp_path / "in"
    drop(source, 0, [link(1, 2), link(2, 3)])
    for form in ("json", "csv", "orc", "xml", "memory", "console"):
        query = hws.maintain(
            hw.compile(CLOSURE), {"link": stream(spark, source)}, checkpoint=str(tmp_path / form),
            output=str(tmp_path / f"out-{form}"), format=form, shards=1, trigger=NOW,
            options={"rowTag": "row"} if form == "xml" else None,
        )  # fmt: skip
        finish(query)
    for form in ("json", "csv", "orc", "xml"):
        read = spark.read.schema(f"{SCHEMA}, _batch_id long").option("rowTag", "row").format(form)
        feed = rows(read.load(str(tmp_path / f"out-{form}" / "reach" / "changes")))
        assert feed == {(1, 2, "insert", 0), (2, 3, "insert", 0), (1, 3, "insert", 0)}, form
        current = read.schema("x long, y long").load(str(tmp_path / f"out-{form}" / "reach" / "current"))
        assert rows(current) == {(1, 2), (2, 3), (1, 3)}, form
    assert spark.table("global_temp.reach").count() == 3
    with pytest.raises(ValueError, match="the format console keeps no current tables"):
        hws.refresh(str(tmp_path / "console"), "", format="console", spark=spark)


def test_the_feed_of_a_query_is_the_stream_of_another(spark: Any, tmp_path: Path) -> None:
    source, output, checkpoint = tmp_path / "in", tmp_path / "out", str(tmp_path / "check")
    links = [[link(1, 2), link(2, 3)], [link(2, 3, "delete")], [link(2, 3), link(3, 1)], [link(1, 2, "delete")]]
    for number, batch in enumerate(links):
        drop(source, number, batch)
    first = {"link": stream(spark, source)}
    finish(hws.maintain(hw.compile(CLOSURE), first, checkpoint=checkpoint, output=str(output), shards=1, trigger=NOW))
    schema = f"{SCHEMA}, _batch_id long"
    feed = {"reach": spark.readStream.schema(schema).parquet(str(output / "reach" / "changes"))}  # all in one batch
    program = hw.compile("back(Y, X) :- reach(X, Y).")
    finish(hws.maintain(program, feed, checkpoint=str(tmp_path / "second"), shards=2, trigger=NOW))
    assert hws.progress(str(tmp_path / "second"))["batch"] == 0
    assert rows(hws.view(str(tmp_path / "second"), "back")) == {(y, x) for x, y in closure({(2, 3), (3, 1)})}
    with pytest.raises(hw.DataError, match=r"`_batch_id`.*cast it to long"):
        hws.maintain(
            program,
            {"reach": feed["reach"].selectExpr("x", "y", "_change_type", "string(_batch_id) AS _batch_id")},
            checkpoint=str(tmp_path / "third"),
        )


def test_an_output_of_another_query_is_not_taken_for_ones_own(spark: Any, tmp_path: Path) -> None:
    output = tmp_path / "out"
    for number, place in enumerate(("one", "other")):
        drop(tmp_path / place, 0, [link(number, 2)])

    def start(place: str, checkpoint: str, output: Path) -> None:
        links = {"link": stream(spark, tmp_path / place)}
        given = {"checkpoint": str(tmp_path / checkpoint), "output": str(output), "shards": 1, "trigger": NOW}
        finish(hws.maintain(hw.compile(CLOSURE), links, **given))

    start("one", "check", output)
    for place in ("other", "one"):  # whatever the first batch is
        with pytest.raises(
            hw.StateError, match=r"reach holds the output of another query, or of an earlier start of this one"
        ):
            start(place, "second", output)
        assert not (tmp_path / "second").exists(), "nothing was begun"
    shutil.rmtree(tmp_path / "check")
    with pytest.raises(
        hw.StateError, match=r"reach holds the output of another query, or of an earlier start of this one"
    ):
        start("one", "check", output)
    (output / "reach" / "_headwater").unlink()  # as earlier versions left it
    with pytest.raises(
        hw.StateError, match=r"reach holds the output of another query, or of an earlier start of this one"
    ):
        start("one", "check", output)
    start("other", "second", tmp_path / "elsewhere")
    assert replayed(spark, output, "reach") == {0: {(0, 2)}}
    assert replayed(spark, tmp_path / "elsewhere", "reach") == {0: {(1, 2)}}


def test_misuse_is_told(spark: Any, tmp_path: Path) -> None:
    links = spark.createDataFrame([(1, 2)], "x int, y int")
    with pytest.raises(ValueError, match="take evaluate"):
        hws.maintain(hw.compile(CLOSURE), {"link": links}, checkpoint=str(tmp_path))
    with pytest.raises(hw.StateError, match="is not the checkpoint of a query"):
        hws.view(str(tmp_path / "none"), "reach")
    with pytest.raises(hw.DataError, match="a list is given for `link`, where a DataFrame of Spark should be"):
        hws.maintain(hw.compile(CLOSURE), {"link": [[(1, 2)]]}, checkpoint=str(tmp_path))
    arriving = stream(spark, tmp_path)
    for wrong, words in (
        ({"checkpoint": None}, "checkpoint is the folder"),
        ({"checkpoint": "c", "output": ""}, "cannot be empty"),
        ({"checkpoint": "c", "trigger": "1 second"}, "as in {'availableNow': True}; not '1 second'"),
    ):
        with pytest.raises(ValueError, match=words):
            hws.maintain(hw.compile(CLOSURE), {"link": arriving}, **wrong)
    with pytest.raises(hw.StateError, match=r"Spark cannot start a query with the checkpoint /proc/no/it: .*Exception"):
        hws.maintain(hw.compile(CLOSURE), {"link": arriving}, checkpoint="/proc/no/it")


def test_reading_a_view_leaves_the_workers_alive_with_what_they_keep(spark: Any, tmp_path: Path) -> None:
    drop(tmp_path / "in", 0, [link(1, 2), link(2, 3)])
    checkpoint = str(tmp_path / "check")
    finish(
        hws.maintain(hw.compile(CLOSURE), {"link": stream(spark, tmp_path / "in")}, checkpoint=checkpoint, trigger=NOW)
    )
    before = set(python_workers())
    for _ in range(3):
        assert rows(hws.view(checkpoint, "reach")) == closure({(1, 2), (2, 3)})
    assert before <= set(python_workers())


def test_a_failed_query_has_its_error(spark: Any, tmp_path: Path) -> None:
    source = tmp_path / "in"
    drop(source, 0, [link(1, 2)])
    program = hw.compile("up(X, Y) :- link(X, Y). up(X, Z) :- up(X, Y), Z = Y + 1.")
    query = hws.maintain(
        program, {"link": stream(spark, source)}, checkpoint=str(tmp_path / "check"), shards=1, guard=50, trigger=NOW
    )
    with pytest.raises(StreamingQueryException):
        finish(query)
    problem = hws.failure(query)
    assert isinstance(problem, hw.GuardError)
    assert str(problem).startswith("error[HW901]: the recursion through `up`")
    assert isinstance(problem.__cause__, StreamingQueryException)


def test_an_unknown_format_is_refused_at_the_start(spark: Any, tmp_path: Path) -> None:
    source = tmp_path / "in"
    drop(source, 0, [link(1, 2)])
    with pytest.raises(ValueError, match="Spark knows no format 'parket'"):
        hws.maintain(
            hw.compile(CLOSURE), {"link": stream(spark, source)}, checkpoint=str(tmp_path / "check"),
            output=str(tmp_path / "out"), format="parket",
        )  # fmt: skip
    assert not (tmp_path / "check").exists()


def test_rows_set_aside_are_told_on_the_log(spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = tmp_path / "in"
    drop(source, 0, [link(1, 2), link(2, 3, "upsert"), {"x": 3, "_change_type": "insert"}])
    query = hws.maintain(
        hw.compile(CLOSURE), {"link": stream(spark, source)}, checkpoint=str(tmp_path / "check"), shards=1, trigger=NOW
    )
    finish(query)
    (line,) = [one.getMessage() for one in caplog.records if one.name == "headwater"]
    assert line.startswith("batch 0 set rows aside: 2 of `link` (")
    assert "`_change_type` is 'upsert', not one of insert, delete, update_preimage, update_postimage" in line
    assert "a null does not fit" in line
    assert hws.failure(query) is None
