"""SQL over streams: recursion, groups and equal rows while rows come and go, nulls and copies among them."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater import spark as hws
from tests.spark.test_maintain import NOW, drop, finish, stream
from tests.sql.engines import Bag, Duck

DECLARED = "CREATE TABLE flight (src INT, dst INT);\n"
VIEWS = {
    "reach": "WITH RECURSIVE reach(a, b) AS (SELECT src, dst FROM flight UNION "
    "SELECT reach.a, flight.dst FROM reach JOIN flight ON reach.b = flight.src) SELECT * FROM reach",
    "planes": "SELECT src, count(*) AS planes, count(dst) AS known FROM flight GROUP BY src",
    "ends": "SELECT dst FROM flight WHERE src > 0 OR dst IS NULL",
}
TEXT = (
    "CREATE MATERIALIZED VIEW planes AS " + VIEWS["planes"] + ";\n"
    "CREATE MATERIALIZED VIEW ends AS " + VIEWS["ends"] + ";\n" + VIEWS["reach"] + ";\n"
)
SCHEMA = "src int, dst int, _change_type string"


def random_feed(dice: random.Random, size: int) -> list[dict[str, Any]]:
    """Inserts and deletes of few rows, so that they meet: also deletes of what is not there."""
    return [
        {
            "src": dice.choice([0, 1, 2, 3, None]),
            "dst": dice.choice([0, 1, 2, 3, None]),
            "_change_type": "insert" if dice.random() < 0.6 else "delete",
        }
        for _ in range(size)
    ]


def follow(held: Bag, feed: list[dict[str, Any]]) -> Bag:
    for row in feed:
        one = Counter([(row["src"], row["dst"])])
        held = held + one if row["_change_type"] == "insert" else held - one
    return held


def counted(frame: Any) -> Bag:
    return Counter(map(tuple, frame.collect()))


@pytest.mark.parametrize(
    ("shards", "declared", "version"), [(1, "", ""), (2, DECLARED, "_commit_version"), (2, "", "_batch_id")]
)
def test_agree_streams_with_equal_rows_and_nulls(
    spark: Any, tmp_path: Path, shards: int, declared: str, version: str
) -> None:
    """`version`: the column with the numbers of commits, which is no column of the table."""
    source, output, checkpoint = tmp_path / "in", tmp_path / "out", str(tmp_path / "check")
    dice = random.Random(shards)
    held: Bag = Counter()
    duck = Duck(DECLARED)
    after: dict[int, dict[str, Bag]] = {}
    for restart in range(2):
        for batch in (2 * restart, 2 * restart + 1):
            feed = random_feed(dice, 14)
            numbered = [{**row, version: 100 * batch + at} for at, row in enumerate(feed)] if version else feed
            drop(source, batch, numbered)
            held = follow(held, feed)
            duck.load({"flight": list(held.elements())})
            after[batch] = {view: duck.run(query) for view, query in VIEWS.items()}
        inputs = {"flight": stream(spark, source, f"{SCHEMA}, {version} long" if version else SCHEMA)}
        query = hws.maintain(
            declared + TEXT, inputs, checkpoint=checkpoint, output=str(output), shards=shards, trigger=NOW
        )
        finish(query)
        for view, expected in after[2 * restart + 1].items():
            assert counted(hws.view(checkpoint, view)) == expected, view
            assert counted(spark.read.parquet(str(output / view / "current"))) == expected, view
    assert hws.progress(checkpoint)["rejected"] == 0
    for view in VIEWS:
        seen: Bag = Counter()
        changes = [tuple(row) for row in spark.read.parquet(str(output / view / "changes")).collect()]
        for batch, states in after.items():
            for change, sign in (("insert", 1), ("delete", -1)):
                for *row, kind, at in changes:
                    if (kind, at) == (change, batch):
                        seen[tuple(row)] += sign
            assert min(seen.values(), default=0) >= 0
            assert +seen == states[view], (view, batch)


RIDES = """
CREATE STREAM ride (ts TIMESTAMP NOT NULL, pickup STRING NOT NULL, target STRING NOT NULL, fare INT NOT NULL);
CREATE TABLE zone (place STRING NOT NULL, name STRING);
CREATE RECURSIVE VIEW best (ts, pickup, target, min() AS fare) AS
  SELECT ts, pickup, target, fare FROM ride
  UNION SELECT greatest(ride.ts, best.ts), ride.pickup, best.target, ride.fare + best.fare
        FROM ride JOIN best ON ride.target = best.pickup;
CREATE VIEW cheapest AS SELECT best.ts, zone.name, target, fare FROM best JOIN zone ON best.pickup = zone.place;
SELECT name, target, fare FROM WINDOW(cheapest, 60 minutes, 5 minutes)
"""


def ride(minute: int, pickup: str, target: str, fare: int, kind: str = "insert") -> dict[str, Any]:
    at = dt.datetime(2026, 1, 1) + dt.timedelta(minutes=minute)
    return {"ts": f"{at.isoformat()}Z", "pickup": pickup, "target": target, "fare": fare, "_change_type": kind}


@pytest.mark.parametrize("shards", [1, 2])
def test_agree_windows_in_sql_over_a_stream_and_a_table(spark: Any, tmp_path: Path, shards: int) -> None:
    """A window that slides, rows that go without a word, a late row, a delete, a null name, a restart halfway."""
    feeds = [
        [ride(1, "a", "b", 5), ride(2, "b", "c", 4), ride(3, "a", "c", 12)],
        [ride(30, "a", "b", 9)],
        [ride(62, "c", "a", 1)],
        [ride(66, "b", "c", 1), ride(51, "b", "d", 2)],  # the second is late
        [ride(93, "q", "r", 1), ride(62, "c", "a", 1, "delete")],
    ]
    zones = [("a", "airport"), ("b", None)]
    source, output, checkpoint = tmp_path / "in", tmp_path / "out", str(tmp_path / "check")
    db = hw.Database(hw.compile(RIDES))
    db.apply(insert={"zone": zones})
    table = spark.createDataFrame(zones, "place string, name string")
    schema = "ts timestamp, pickup string, target string, fare int, _change_type string"
    held: list[Bag] = []
    told: list[dict[str, Any]] = []
    for number, feed in enumerate(feeds):
        drop(source, number, feed)
        rows: dict[str, list[Any]] = {"insert": [], "delete": []}
        for one in feed:
            if one["pickup"] != "b" or one["target"] != "d":
                rows[one["_change_type"]].append({name: one[name] for name in ("ts", "pickup", "target", "fare")})
        db.apply(insert={"ride": rows["insert"]}, delete={"ride": rows["delete"]})
        held.append(Counter(map(tuple, (row.values() for row in db.table("result").to_pylist()))))
        if number in (1, len(feeds) - 1):
            frame = stream(spark, source, schema).withWatermark("ts", "10 minutes")
            query = hws.maintain(
                RIDES, {"ride": frame, "zone": table}, checkpoint=checkpoint, output=str(output), shards=shards,
                on_batch=told.append, trigger=NOW,
            )  # fmt: skip
            finish(query)
            assert counted(hws.view(checkpoint, "result")) == held[-1]
    assert [one["late"] for one in told] == [0, 0, 0, 1, 0]
    cheap = {("airport", "b", 5), ("airport", "c", 9), (None, "c", 4)}
    assert list(map(set, held)) == [set(), cheap, cheap, {("airport", "b", 9)}, {(None, "c", 1)}]
    other = stream(spark, source, schema).withWatermark("ts", "1 minute")
    with pytest.raises(hw.StateError, match="the watermark of `ride` was 600000 ms and is 60000 ms"):
        hws.maintain(RIDES, {"ride": other, "zone": table}, checkpoint=checkpoint, shards=shards, trigger=NOW)
