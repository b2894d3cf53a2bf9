"""USING KEY, SEARCH and CYCLE behind recursive views: what they stand for, written out for DuckDB."""

from __future__ import annotations

import random

import pytest

import headwater as hw
from tests.sql.engines import Duck, bag

TABLES = "CREATE TABLE e (s INT, d INT, c INT);"
STEP = "SELECT 1 UNION ALL SELECT e.d FROM r JOIN e ON r.n = e.s"
WALK = "SELECT 1, 0 UNION ALL SELECT e.d, e.c FROM r JOIN e ON r.n = e.s"
PAIRS = {
    "USING KEY": (
        "WITH RECURSIVE r(n, cost) USING KEY (n, min(cost)) AS (SELECT 1, 0 UNION SELECT e.d, r.cost + e.c "
        "FROM r JOIN e ON r.n = e.s) SELECT n, cost FROM r",
        None,
    ),
    "CYCLE": (
        f"WITH RECURSIVE r(n) AS ({STEP}) CYCLE n SET again USING way SELECT n, again, way FROM r",
        "WITH RECURSIVE r(n, again, way) AS (SELECT 1, false, [1] UNION ALL SELECT e.d, list_contains(r.way, e.d), "
        "list_append(r.way, e.d) FROM r JOIN e ON r.n = e.s WHERE NOT r.again) SELECT n, again, way FROM r",
    ),
    "CYCLE of two columns, with marks": (
        f"WITH RECURSIVE r(n, k) AS ({WALK}) CYCLE n, k SET again TO 'Y' DEFAULT 'N' USING way "
        "SELECT n, k, again, way FROM r",
        "WITH RECURSIVE r(n, k, again, way) AS (SELECT 1, 0, 'N', [[1, 0]] UNION ALL SELECT e.d, e.c, "
        "CASE WHEN list_contains(r.way, [e.d, e.c]) THEN 'Y' ELSE 'N' END, list_append(r.way, [e.d, e.c]) "
        "FROM r JOIN e ON r.n = e.s WHERE r.again = 'N') SELECT n, k, again, way FROM r",
    ),
    "SEARCH DEPTH": (
        f"WITH RECURSIVE r(n) AS ({STEP} WHERE e.d > r.n) SEARCH DEPTH FIRST BY n SET place SELECT * FROM r",
        "WITH RECURSIVE r(n, place) AS (SELECT 1, [1] UNION ALL SELECT e.d, list_append(r.place, e.d) "
        "FROM r JOIN e ON r.n = e.s WHERE e.d > r.n) SELECT n, place FROM r",
    ),
    "SEARCH BREADTH": (
        f"WITH RECURSIVE r AS ({STEP.replace('1', '1 AS n', 1)} WHERE e.d > r.n) "
        "SEARCH BREADTH FIRST BY n SET place SELECT * FROM r",
        "WITH RECURSIVE r(n, place) AS (SELECT 1, [0, 1] UNION ALL SELECT e.d, [r.place[1] + 1, e.d] "
        "FROM r JOIN e ON r.n = e.s WHERE e.d > r.n) SELECT n, place FROM r",
    ),
}  # fmt: skip


def as_tuples(found: list[tuple[object, ...]]) -> list[str]:
    return sorted(map(repr, found))


@pytest.mark.parametrize("clause", PAIRS)
def test_agree_clauses_while_rows_come_and_go(clause: str) -> None:
    query, spelt_out = PAIRS[clause]
    duck = Duck(TABLES)
    dice = random.Random(clause)
    db = hw.Database(hw.compile(TABLES + query))
    held: list[tuple[object, ...]] = []
    for _ in range(6):
        gone = dice.sample(held, len(held) // 3)
        came = list({(dice.randint(1, 4), dice.randint(1, 4), dice.randint(1, 2)) for _ in range(3)} - set(held))
        held = [row for row in held if row not in gone] + came
        db.apply(insert={"e": came}, delete={"e": gone})
        duck.load({"e": held})
        table = db.table(db.program.outputs[-1])
        found = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        assert as_tuples(found) == as_tuples(duck.rows(spelt_out or query)), held


def test_rows_are_shown_in_the_order_of_a_search() -> None:
    rows = [(1, 2, 1), (2, 4, 1), (1, 3, 1)]
    for order, expected in (("DEPTH", [1, 2, 4, 3]), ("BREADTH", [1, 2, 3, 4])):
        query = f"WITH RECURSIVE r(n) AS ({STEP}) SEARCH {order} FIRST BY n SET place SELECT n FROM r ORDER BY place"
        db = hw.Database(hw.compile(TABLES + query))
        db.apply(insert={"e": rows})
        assert db.table("result")["n"].to_pylist() == expected


def test_search_and_cycle_stand_together() -> None:
    query = (
        f"WITH RECURSIVE r(n) AS ({STEP}) SEARCH DEPTH FIRST BY n SET place CYCLE n SET again USING way "
        "SELECT n, again FROM r ORDER BY place"
    )
    db = hw.Database(hw.compile(TABLES + query))
    db.apply(insert={"e": [(1, 2, 1), (2, 1, 1), (1, 3, 1)]})
    assert list(bag(db.table("result"))) == [(1, False), (2, False), (1, True), (3, False)]


def test_a_finished_key_may_be_read_as_duckdb_spells_it() -> None:
    query = (
        "WITH RECURSIVE r(n, cost) USING KEY (n, min(cost)) AS (SELECT 1, 0 UNION SELECT e.d, r.cost + e.c "
        "FROM recurring.r JOIN e ON r.n = e.s) SELECT n, cost FROM r"
    )
    db = hw.Database(hw.compile(TABLES + query))
    db.apply(insert={"e": [(1, 2, 5), (1, 3, 1), (3, 2, 1), (2, 1, 1)]})
    assert db.rows(db.program.outputs[-1]) == {(1, 0), (2, 2), (3, 1)}
