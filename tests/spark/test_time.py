"""Time on Spark: what windows, ttl and late rows do in a database, they do across batches and restarts."""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater import spark as hws
from headwater.spark.inputs import clock
from tests.oracle.timed import Step, TimedCase, timed_text
from tests.oracle.timed_cases import timed_case
from tests.spark.conftest import PATIENCE
from tests.spark.test_maintain import NOW, drop, finish, replayed, rows

SPARK = {"int": "bigint", "float": "double", "string": "string", "bool": "boolean"}
RIDES = """
stream ride(ts: int, a: string, b: string, fare: int).
best(Ts, X, Y, mmin<F>) :- ride(Ts, X, Y, F).
best(Ts, X, Z, mmin<F>) :- ride(T1, X, Y, F1), best(T2, Y, Z, F2), F = F1 + F2, larger(Ts, T1, T2).
query best(_, X, Y, F), WINDOW(10, 5).
"""
COMPONENTS = """
stream near(ts: int, x: int, y: int) key(x, y) ttl 10.
low(T, X, mmin<X>) :- near(T, X, _).
low(T, Y, mmin<L>) :- low(T1, X, L), near(T2, X, Y), larger(T, T1, T2).
query low(_, X, L).
"""


def lines(step: Step, name: str) -> list[dict[str, Any]]:
    changes = [("delete", row) for row in step.delete.get(name, ())]
    changes += [("insert", row) for row in step.insert.get(name, ())]
    return [{"_change_type": kind, **{f"c{at}": value for at, value in enumerate(row)}} for kind, row in changes]


def followed(
    spark: Any, folder: Path, text: str, schemas: dict[str, str], steps: list[Step], *, restart: int, **options: Any
) -> None:
    """Run a script on Spark, stopped and started again after some steps, and beside it in a database: after every
    batch the feed tells what the database holds, and in the end the state does too."""
    program = hw.compile(text)
    db = hw.Database(program)
    held: dict[int, dict[str, set[tuple[Any, ...]]]] = {}
    checkpoint, output = str(folder / "check"), folder / "out"
    late = 0

    def run() -> None:
        streams = {
            name: spark.readStream.schema(f"{schema}, _change_type string")
            .option("maxFilesPerTrigger", 1)
            .json(str(folder / name))
            for name, schema in schemas.items()
        }
        query = hws.maintain(
            program, streams, checkpoint=checkpoint, output=str(output), current="never", trigger=NOW, **options
        )
        finish(query)

    for number, step in enumerate(steps):
        for name in schemas:
            drop(folder / name, number, lines(step, name))
        told = db.apply(
            insert={name: list(many) for name, many in step.insert.items()},
            delete={name: list(many) for name, many in step.delete.items()},
        )
        late += len(told.late)
        held[number] = {view: set(db.rows(view)) for view in program.outputs}
        if number == restart:
            run()
    run()
    for view in program.outputs:
        assert rows(hws.view(checkpoint, view, spark=spark)) == held[len(steps) - 1][view]
        before: set[tuple[Any, ...]] = set()
        path = output / view / "changes"
        after = replayed(spark, output, view) if path.exists() else {}
        for number in range(len(steps)):
            before = after.get(number, before)
            assert before == held[number][view], f"{view} after batch {number}"
    told_now = hws.progress(checkpoint)["now"]
    assert told_now == (db.now if not isinstance(db.now, dt.datetime) else str(db.now))
    count = sum(len(file.read_text().splitlines()) for file in (folder / "check/headwater").glob("rejected/*.jsonl"))
    assert count == late


def script(*steps: Any) -> list[Step]:
    return [one if isinstance(one, Step) else Step(one) for one in steps]


def test_agree_windows_that_slide(spark: Any, tmp_path: Path) -> None:
    """Two shards side by side; a restart while rows wait for the window to move."""
    steps = script(
        {"ride": ((1, "a", "b", 5), (2, "b", "c", 4), (3, "a", "c", 12))},
        {"ride": ((5, "x", "y", 1),)},
        {"ride": ((6, "b", "d", 1), (7, "a", "b", 5))},
        {"ride": ((11, "x", "y", 2), (4, "c", "d", 3))},
        Step({"ride": ((12, "a", "b", 5),)}, {"ride": ((0, "a", "b", 5), (0, "x", "y", 1))}),
        {"ride": ((15, "x", "z", 1),)},
        {"ride": ((31, "q", "r", 1),)},
    )
    schemas = {"ride": "c0 bigint, c1 string, c2 string, c3 bigint"}
    followed(spark, tmp_path, RIDES, schemas, steps, restart=2, shards=2)


@pytest.mark.parametrize("exchange", ["gang", "shuffle"])
def test_agree_time_where_shards_exchange(spark: Any, tmp_path: Path, exchange: str) -> None:
    steps = script(
        {"near": tuple((at, at, at + 1) for at in range(5))},
        {"near": ((6, 2, 3), (6, 9, 8))},
        Step({"near": ((8, 5, 0),)}, {"near": ((0, 4, 5),)}),
        {"near": ((12, 3, 2),)},
        {"near": ((30, 7, 7),)},
    )
    schemas = {"near": "c0 bigint, c1 bigint, c2 bigint"}
    followed(spark, tmp_path, COMPONENTS, schemas, steps, restart=1, shards=2, exchange=exchange)


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (0, 6, 14, 15, 24, 39, 42, 53))]
)
def test_agree_random_programs_over_time(spark: Any, tmp_path: Path, seed: int) -> None:
    """Time that passes without rows is told by a stream that nobody reads."""
    case = timed_case(seed)
    text = timed_text(case) + "stream passing(c0: int).\n"
    schemas = {base.name: _columns(case, base.name) for base in case.program.bases} | {"passing": "c0 bigint"}
    followed(spark, tmp_path, text, schemas, [_passing(one) for one in case.script], restart=1, shards=2)


def _passing(step: Step) -> Step:
    told = {} if step.advance is None else {"passing": ((step.advance,),)}
    return Step({**step.insert, **told}, step.delete)


def _columns(case: TimedCase, name: str) -> str:
    base = next(one for one in case.program.bases if one.name == name)
    types = ("int", *base.types) if case.lives[name].kind == "stream" else base.types
    return ", ".join(f"c{at} {SPARK[kind]}" for at, kind in enumerate(types))


SEEN = """
stream seen(ts: timestamp, who: string) ttl 1 hour.
there(X) :- seen(_, X).
"""


def moment(minutes: int) -> str:
    return f"{(dt.datetime(2026, 1, 1) + dt.timedelta(minutes=minutes)).isoformat()}Z"


def test_late_rows_by_the_watermark_of_their_stream(spark: Any, tmp_path: Path) -> None:
    source, checkpoint = tmp_path / "in", str(tmp_path / "check")
    drop(source, 0, [{"ts": moment(30), "who": "ann"}])
    drop(source, 1, [{"ts": moment(19), "who": "bob"}, {"ts": moment(20), "who": "cid"}, {"ts": None, "who": "dan"}])
    drop(source, 2, [{"ts": moment(85), "who": "eve"}])
    told: list[dict[str, Any]] = []
    frame = spark.readStream.schema("ts timestamp, who string").option("maxFilesPerTrigger", 1).json(str(source))
    frame = frame.withWatermark("ts", "10 minutes")
    query = hws.maintain(hw.compile(SEEN), {"seen": frame}, checkpoint=checkpoint, on_batch=told.append, trigger=NOW)
    finish(query)
    assert [one["late"] for one in told] == [0, 1, 0]
    assert [one["rejected"] for one in told] == [0, 2, 0]
    assert [one["now"] for one in told] == ["2026-01-01 00:30:00", "2026-01-01 00:30:00", "2026-01-01 01:25:00"]
    assert [one["rows"] for one in told] == [{"there": 1}, {"there": 2}, {"there": 2}]
    assert rows(hws.view(checkpoint, "there")) == {("ann",), ("eve",)}
    (file,) = (tmp_path / "check" / "headwater" / "rejected").iterdir()
    reasons = {json.loads(one["row"])["who"]: one["reason"] for one in map(json.loads, file.read_text().splitlines())}
    assert "behind the clock" in reasons["bob"]
    assert "null" in reasons["dan"]
    other = frame.withWatermark("ts", "1 minute")
    with pytest.raises(hw.StateError, match="lateness 600000 ms"):
        hws.maintain(hw.compile(SEEN), {"seen": other}, checkpoint=checkpoint, trigger=NOW)


def wait(what: Callable[[], bool], query: Any) -> None:
    for _ in range(10 * PATIENCE):
        if what():
            return
        assert query.isActive, query.exception()
        time.sleep(0.1)
    raise AssertionError("it never came")


def test_rows_with_a_ttl_go_when_nothing_comes(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Soft state by the wall clock: batches go on without rows, and the feed tells what has ended."""
    source, output, checkpoint = tmp_path / "in", tmp_path / "out", str(tmp_path / "check")
    drop(source, 0, [{"a": "x", "b": "y"}, {"a": "y", "b": "z"}])
    past = clock.wall()
    offset = [0]
    monkeypatch.setattr(clock, "wall", lambda: past + offset[0])
    program = hw.compile(
        "relation link(a: string, b: string) ttl 30 seconds.up(X, Y) :- link(X, Y). up(X, Z) :- link(X, Y), up(Y, Z)."
    )
    frame = spark.readStream.schema("a string, b string").json(str(source))
    told: list[dict[str, Any]] = []
    query = hws.maintain(
        program, {"link": frame}, checkpoint=checkpoint, output=str(output), on_batch=told.append, shards=2
    )
    try:
        wait(lambda: any(one["rows"]["up"] == 3 for one in told), query)
        offset[0] = 20_000_000
        drop(source, 1, [{"a": "x", "b": "y"}])  # renewed
        wait(lambda: sum(one["rows_in"] for one in told) == 3, query)
        offset[0] = 31_000_000
        wait(lambda: told[-1]["rows"]["up"] == 1, query)
        offset[0] = 51_000_000
        wait(lambda: told[-1]["rows"]["up"] == 0, query)
    finally:
        query.stop()
    changed = [state for _, state in sorted(replayed(spark, output, "up").items())]
    assert changed == [{("x", "y"), ("y", "z"), ("x", "z")}, {("x", "y")}, set()]


SOFT = "relation l(a: int) ttl 5 seconds. p(X) :- l(X)."


@pytest.mark.parametrize(
    ("text", "wanted", "by_wall"),
    [
        (SOFT, None, True),
        (SOFT, "event", False),
        (SEEN, None, False),
        (SEEN, "wall", True),
        (SEEN + SOFT, None, False),
        ("p(X) :- q(X).", None, False),
    ],
)
def test_what_moves_time_on(text: str, wanted: str | None, by_wall: bool) -> None:
    assert clock.lives_by_wall(hw.compile(text), wanted) is by_wall


@pytest.mark.parametrize(
    ("text", "wanted", "kind", "message"),
    [
        ("p(X) :- q(X).", "wall", hw.DataError, "has no time"),
        ("relation l(a: int) ttl 5. p(X) :- l(X).", None, hw.DataError, "this program counts time in numbers"),
        (SOFT, "sundial", ValueError, "there is no clock 'sundial'; take one of event, wall"),
    ],
)
def test_clocks_that_cannot_be(text: str, wanted: str | None, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        clock.lives_by_wall(hw.compile(text), wanted)


def test_views_of_rows_that_are_there(spark: Any) -> None:
    rides = spark.createDataFrame(
        [(1, "a", "b", 5), (2, "b", "c", 4), (3, "a", "c", 12)], "ts long, a string, b string, fare long"
    )
    program = hw.compile(RIDES.replace("WINDOW(10, 5)", "WINDOW(10)"))
    best = {("a", "b", 5), ("b", "c", 4), ("a", "c", 9)}
    for shards in (1, 2):
        assert rows(hws.evaluate(program, {"ride": rides}, shards=shards)["best"].drop("ts")) == best
        later = hws.evaluate(program, {"ride": rides}, shards=shards, now=12)["best"]
        assert later.columns == ["Ts", "X", "Y", "F"]
        assert rows(later) == {(None, "a", "c", 12)}
    far = spark.createDataFrame([(2**62, "a", "b", 1)], rides.schema)
    with pytest.raises(Exception, match=r"time goes up to 2\*\*62 - 1"):
        hws.evaluate(program, {"ride": far})["best"].collect()
    with pytest.raises(hw.DataError, match="is not a valid time"):
        hws.evaluate(program, {"ride": rides}, now="soon")
