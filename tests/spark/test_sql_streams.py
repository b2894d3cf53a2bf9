"""SQL over streams: recursion, groups and equal rows while rows come and go, nulls and copies among them."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize(("shards", "declared"), [(1, ""), (2, DECLARED)])
def test_agree_streams_with_equal_rows_and_nulls(spark: Any, tmp_path: Path, shards: int, declared: str) -> None:
    source, output, checkpoint = tmp_path / "in", tmp_path / "out", str(tmp_path / "check")
    dice = random.Random(shards)
    held: Bag = Counter()
    duck = Duck(DECLARED)
    after: dict[int, dict[str, Bag]] = {}
    for restart in range(2):
        for batch in (2 * restart, 2 * restart + 1):
            feed = random_feed(dice, 14)
            drop(source, batch, feed)
            held = follow(held, feed)
            duck.load({"flight": list(held.elements())})
            after[batch] = {view: duck.run(query) for view, query in VIEWS.items()}
        inputs = {"flight": stream(spark, source, SCHEMA)}
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
