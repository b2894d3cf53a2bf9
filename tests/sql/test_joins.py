"""Joins within joins, commas between them, and columns that USING shows once: the same bags of rows as DuckDB's.

DuckDB shows a column of USING where the left side has it, Spark and the standard show it first, and so do we: where
that makes a difference, DuckDB is asked for the columns by name.
"""

from __future__ import annotations

import pytest

import headwater as hw
from tests.sql.engines import Duck, Rows, ours

DECLARATIONS = """
CREATE TABLE t (a INT, b INT);
CREATE TABLE u (c INT, a INT);
CREATE TABLE v (b INT, a INT, d INT);
"""
ROWS: Rows = {
    "t": [(1, 1), (1, 1), (2, None), (None, 2), (4, 1)],
    "u": [(1, 1), (2, 3), (None, 2), (1, None), (5, 5)],
    "v": [(1, 1, 7), (1, 3, 8), (None, None, 9), (2, 5, 1)],
}


@pytest.fixture(scope="module")
def duck() -> Duck:
    duck = Duck(DECLARATIONS)
    duck.load(ROWS)
    return duck


@pytest.mark.parametrize(
    "source",
    [
        "t JOIN (u RIGHT JOIN v ON u.c = v.b) ON t.b = v.d OR t.a = v.a",
        "t LEFT JOIN (u LEFT JOIN v ON u.c = v.b) ON t.a = u.a",
        "t LEFT JOIN (u FULL JOIN v ON u.c = v.b) ON t.a = u.a",
        "t RIGHT JOIN (u LEFT JOIN v ON u.c = v.b) ON t.a = u.a",
        "t FULL JOIN (u JOIN v ON u.c = v.b OR u.a = v.a) ON t.a = u.a",
        "t CROSS JOIN (u FULL JOIN v ON u.c = v.b)",
        "t, u RIGHT JOIN v ON u.c = v.b",
        "t, u FULL JOIN v ON u.c = v.b",
        "(t LEFT JOIN u ON t.a = u.a) FULL JOIN v ON v.b = t.b",
    ],
)
def test_what_stands_in_brackets_or_between_commas_is_joined_first(source: str, duck: Duck) -> None:
    query = f"SELECT * FROM {source}"
    assert ours(query, ROWS, DECLARATIONS) == duck.run(query)


@pytest.mark.parametrize(
    ("source", "columns"),
    [
        ("t JOIN u USING (a)", "a, b, c"),
        ("t LEFT JOIN u USING (a)", "a, b, c"),
        ("t RIGHT JOIN u USING (a)", "a, b, c"),
        ("t FULL JOIN u USING (a)", "a, b, c"),
        ("u JOIN v USING (a)", "a, c, b, d"),
        ("t FULL JOIN v USING (b, a)", "b, a, d"),
        ("t NATURAL FULL JOIN v", "a, b, d"),
        ("t FULL JOIN u USING (a) FULL JOIN v USING (a)", "a, t.b, c, v.b, d"),
        ("t LEFT JOIN u USING (a) RIGHT JOIN v USING (a)", "a, t.b, c, v.b, d"),
        ("t JOIN v USING (b) LEFT JOIN u ON u.a = t.a", "b, t.a, v.a, d, c, u.a"),
        ("u LEFT JOIN (t JOIN v USING (a)) ON u.c = t.b", "c, u.a, t.a, t.b, v.b, d"),
        ("u ANTI JOIN t USING (a)", "a, c"),
    ],
)
def test_using_shows_a_column_once_and_first(source: str, columns: str, duck: Duck) -> None:
    assert ours(f"SELECT * FROM {source}", ROWS, DECLARATIONS) == duck.run(f"SELECT {columns} FROM {source}")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, t.a, u.a FROM t FULL JOIN u USING (a)",
        "SELECT a, count(*) FROM t FULL JOIN u USING (a) GROUP BY a",
        "SELECT a FROM t RIGHT JOIN u USING (a) WHERE a > 1 OR t.b IS NULL",
        "SELECT t.*, u.c FROM t JOIN u USING (a)",
        "SELECT a FROM t FULL JOIN u USING (a) WHERE EXISTS (SELECT 1 FROM v WHERE v.a = t.a OR v.d > u.c)",
        "SELECT * FROM (SELECT t.a, u.a FROM t JOIN u ON t.b = u.c) AS q",
        "SELECT q.*, u.c FROM (SELECT a, b AS a FROM t) AS q CROSS JOIN u",
        "WITH q AS (SELECT * FROM t AS x LEFT JOIN t AS y ON x.a = y.b) SELECT * FROM q WHERE true",
    ],
)
def test_columns_of_one_name_are_those_that_duckdb_shows(query: str, duck: Duck) -> None:
    assert ours(query, ROWS, DECLARATIONS) == duck.run(query)


def test_using_finds_columns_of_tables_that_nobody_declared() -> None:
    db = hw.Database(hw.compile("SELECT x.n, y.m, k FROM x FULL JOIN y USING (k)"))
    db.apply(insert={"x": [{"k": 1, "n": 2}], "y": [{"k": 3, "m": 4}]})
    assert db.rows("result") == {(2, None, 1), (None, 4, 3)}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT b FROM t JOIN u USING (z)", "USING (z) finds no such column on the left"),
        ("SELECT c FROM t JOIN v ON t.a = v.a JOIN u USING (a)", "USING (a) finds it in `t` and `v`"),
        ("SELECT a FROM t JOIN u USING (a), v", "column `a` is ambiguous: `t` and `v` have it"),
        ("SELECT a FROM (SELECT a, b AS a FROM t) AS q", "column `a` is ambiguous: `q` has it twice"),
        ("SELECT t.a FROM t, t", "`t` stands twice in this FROM"),
    ],
)
def test_what_a_name_cannot_find_is_told(query: str, message: str) -> None:
    with pytest.raises(hw.ProgramError) as problem:
        hw.compile(DECLARATIONS + query)
    assert message in str(problem.value)
    assert "^" in str(problem.value)
