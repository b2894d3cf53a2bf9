"""How far a recursion goes: MAX RECURSION LEVEL, and a LIMIT over one that has no end."""

from __future__ import annotations

from collections import Counter

import pytest

import headwater as hw
from tests.sql.engines import Duck, Rows, bag, ours

EDGES = "CREATE TABLE e (a INT, b INT);"
NO_ROWS: Rows = {}


def counting(clause: str, end: int) -> str:
    return f"WITH RECURSIVE r(n) {clause} AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {end}) SELECT * FROM r"


def test_the_levels_that_are_allowed_are_there() -> None:
    assert ours(counting("MAX RECURSION LEVEL 5", 5), NO_ROWS) == Counter((n,) for n in range(1, 6))


@pytest.mark.parametrize("end", [6, 7, 1000])
def test_a_row_beyond_the_last_level_is_an_error(end: int) -> None:
    with pytest.raises(
        hw.DataError, match=r"error\[HW833\]: the recursion of `r` has rows beyond MAX RECURSION LEVEL 5"
    ):
        ours(counting("MAX RECURSION LEVEL 5", end), NO_ROWS)


def closure(union: str, level: int) -> str:
    step = "SELECT r.a, e.b FROM r JOIN e ON r.b = e.a"
    return f"WITH RECURSIVE r(a, b) MAX RECURSION LEVEL {level} AS (SELECT a, b FROM e {union} {step}) SELECT * FROM r"


def test_a_set_that_is_complete_has_no_rows_beyond() -> None:
    ring: Rows = {"e": [(0, 1), (1, 2), (2, 0)]}
    assert ours(closure("UNION", 3), ring, EDGES) == Counter((a, b) for a in range(3) for b in range(3))
    with pytest.raises(hw.DataError, match="HW833"):
        ours(closure("UNION", 2), ring, EDGES)
    with pytest.raises(hw.DataError, match="HW833"):
        ours(closure("UNION ALL", 50), ring, EDGES)


def test_a_recursion_of_both_halves_goes_by_the_longer_one() -> None:
    chain: Rows = {"e": [(at, at + 1) for at in range(8)]}
    step = "SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a"
    text = "WITH RECURSIVE r(a, b) MAX RECURSION LEVEL {} AS (SELECT a, b FROM e UNION {}) SELECT * FROM r"
    assert len(ours(text.format(4, step), chain, EDGES)) == 36
    with pytest.raises(hw.DataError, match="HW833"):
        ours(text.format(3, step), chain, EDGES)


def test_levels_are_those_of_the_rows_there_are_now() -> None:
    db = hw.Database(hw.compile(EDGES + closure("UNION ALL", 3)))
    db.apply(insert={"e": [(0, 1), (1, 2), (2, 3)]})
    with pytest.raises(hw.DataError, match="HW833"):
        db.apply(insert={"e": [(3, 4)]})
    assert len(db.rows("r")) == 6
    db.apply(insert={"e": [(3, 4)]}, delete={"e": [(0, 1)]})
    assert db.rows("r") == {(a, b) for a in range(1, 5) for b in range(a + 1, 5)}


ENDLESS = {
    "numbers": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r LIMIT 5",
    "numbers, some left out": (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r) SELECT n * 2 FROM r LIMIT 3 OFFSET 4"
    ),
    "fibonacci": "WITH RECURSIVE f(a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM f) SELECT a FROM f LIMIT 10",
    "texts": "WITH RECURSIVE r(t) AS (SELECT 'a' UNION ALL SELECT t || 'b' FROM r) SELECT t FROM r LIMIT 4",
    "none": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r LIMIT 0",
    "one that ends": (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r LIMIT 9"
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_oracle_duckdb_a_limit_ends_what_has_no_end(name: str) -> None:
    assert ours(ENDLESS[name], NO_ROWS) == Duck().run(ENDLESS[name])


def test_a_limit_over_ways_round_a_table() -> None:
    db = hw.Database(
        hw.compile(
            "CREATE TABLE t (a INT); "
            "WITH RECURSIVE r(n, a) AS (SELECT 0, a FROM t UNION ALL SELECT n + 1, a FROM r) SELECT a FROM r LIMIT 3"
        )
    )
    db.apply(insert={"t": [(7,), (8,)]})
    assert sum(bag(db.table("result")).values()) == 3
    db.apply(delete={"t": [(7,)]})
    assert bag(db.table("result")) == {(8,): 3}
    db.apply(delete={"t": [(8,)]})
    assert not db.rows("result")


def test_where_rows_are_chosen_from_an_endless_recursion_the_guard_stops_it() -> None:
    with pytest.raises(hw.GuardError):
        ours(
            "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r WHERE n < 0 LIMIT 1",
            NO_ROWS,
        )


def test_a_limit_over_rows_without_levels_leaves_the_recursion_as_it_is() -> None:
    text = """WITH RECURSIVE r(a, b) AS (
        SELECT a, b FROM e UNION ALL
        SELECT r.a, abs(e.b) FROM r JOIN e ON r.b = e.a WHERE EXISTS (SELECT 1 FROM e AS x WHERE x.a < r.a + 7))
        SELECT a, b FROM r LIMIT 9"""
    with pytest.warns(hw.UnionAllWarning):
        assert ours(text, {"e": [(0, 1), (1, 0)]}, EDGES) == Counter((a, b) for a in (0, 1) for b in (0, 1))


def test_values_with_names_begin_a_recursion() -> None:
    begin = "VALUES (1, 2), (3, 4) AS t(a, b)"
    text = f"""WITH RECURSIVE r AS ({begin} UNION SELECT a + 1, b FROM r WHERE a < 4)
        SELECT b, max(a) FROM r GROUP BY b"""
    assert ours(text, NO_ROWS) == {(2, 4): 1, (4, 4): 1}
