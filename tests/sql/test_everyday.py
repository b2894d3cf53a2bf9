"""Sixty everyday recursive queries: the same rows as DuckDB's, and still after edits."""

from __future__ import annotations

import random

import pytest

import headwater as hw
from tests.sql.engines import Duck, bag
from tests.sql.everyday import DECLARATIONS, QUERIES, ROWS


def test_there_are_sixty() -> None:
    assert len(QUERIES) == 60


@pytest.mark.parametrize("part", range(3))
def test_agree_everyday_queries(part: int) -> None:
    duck = Duck(DECLARATIONS)
    for name, query in list(QUERIES.items())[part::3]:
        dice = random.Random(name)
        program = hw.compile(DECLARATIONS + query)
        db = hw.Database(program)
        used = {one.name for one in program.checked.relations}
        held = {table: list(rows) for table, rows in ROWS.items()}
        db.apply(insert={table: rows for table, rows in held.items() if table in used})
        duck.load(held)
        assert bag(db.table(program.outputs[-1])) == duck.run(query), name
        gone = {table: dice.sample(rows, 1) for table, rows in held.items()}
        for table, rows in gone.items():
            held[table].remove(rows[0])
        db.apply(delete={table: rows for table, rows in gone.items() if table in used})
        duck.load(held)
        assert bag(db.table(program.outputs[-1])) == duck.run(query), f"{name}\n{gone}"
