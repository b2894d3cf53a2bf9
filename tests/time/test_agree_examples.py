"""The examples over streams that can be taken apart, on several shards: after every step the views of a database."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.core.types import Type
from headwater.exchange.cluster import Cluster
from headwater.exchange.sharding import choose
from tests.exchange.sharded import to_rows, to_table

EXAMPLES = Path(__file__).parents[2] / "examples"
START = dt.datetime(2026, 1, 1)
STEP = {  # how far time moves from step to step: a few steps fill the window of each
    "cheap_rides": dt.timedelta(minutes=17),
    "earliest_organiser": dt.timedelta(days=40),
    "employee_count": dt.timedelta(days=61),
    "streaming_closure": dt.timedelta(days=3),
    "sub_organisation": dt.timedelta(days=40),
}


def row(kinds: list[Type | None], dice: random.Random) -> tuple[Any, ...]:
    """Names and numbers rise from column to column, so that no recursion goes in circles."""
    number, values = dice.randrange(5), []
    for kind in kinds:
        values.append(float(dice.randrange(9)) if kind is Type.FLOAT else number if kind is Type.INT else f"n{number}")
        number += dice.randrange(1, 3)
    return tuple(values)


@pytest.mark.parametrize("shards", [2, 3])
@pytest.mark.parametrize("name", sorted(STEP))
def test_agree_examples_on_shards(name: str, shards: int) -> None:
    program = hw.compile_file(EXAMPLES / f"{name}.dl")
    db, dice = hw.Database(program), random.Random(name)
    cluster = Cluster(choose(program, {}, shards), shards)
    streams = {one.name: one.columns for one in program.checked.relations if not one.derived}
    now = START
    for step in range(9):
        now += dice.choice((0, 1, 2)) * STEP[name]
        insert: dict[str, list[Any]] = {}
        for stream, columns in streams.items():
            kinds = [column.type for column in columns[1:]]
            insert[stream] = [(now - dice.choice((0, 0, 1)) * STEP[name], *row(kinds, dice)) for _ in range(6)]
        gone = {stream: dice.sample(rows, 1) for stream, rows in insert.items() if step % 3 == 2}
        db.apply(insert=insert)
        cluster.apply(_tables(cluster, insert), {})
        db.apply(delete=gone)
        cluster.apply({}, _tables(cluster, gone))
        for view in program.outputs:
            found = [row for member in cluster.members for row in to_rows(member.rows(view))]
            assert sorted(found, key=repr) == sorted(db.rows(view), key=repr), f"{view} after step {step}"
    assert any(db.count(view) for view in program.outputs)


def _tables(cluster: Cluster, rows: dict[str, list[Any]]) -> dict[str, Any]:
    return {name: to_table(cluster.sharding.table(name), many) for name, many in rows.items()}
