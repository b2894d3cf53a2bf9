"""Recursive queries as users write them, one of each kind: what they give, held against DuckDB where it accepts them.

DuckDB joins only the rows of the last round with each other, knows neither mutual recursion nor aggregates in a head,
and takes the types of the first part; where a query needs more than that, the rows are written down here.
"""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw
from tests.sql.engines import Bag, Duck, Rows, ours

DECLARATIONS = """
CREATE TABLE e (src INT, dst INT);
CREATE TABLE n (a INT, b INT);
CREATE TABLE p (a INT, b DOUBLE);
"""
ROWS: Rows = {
    "e": [(1, 2), (2, 3), (3, 1), (3, 4), (3, 4), (4, 5)],  # a circle, a way out, an equal row
    "n": [(1, None), (None, 2), (2, 2), (2, 2), (None, None), (3, 1)],
    "p": [(1, 1.5), (2, 2.0)],
}

AS_DUCKDB = {
    "cycle": """WITH RECURSIVE r(a, b) AS (
        SELECT src, dst FROM e UNION SELECT r.a, e.dst FROM r JOIN e ON r.b = e.src) SELECT * FROM r""",
    "cycle of one row": "WITH RECURSIVE r(x) AS (SELECT 1 UNION SELECT x FROM r) SELECT * FROM r",
    "equal rows become one, and are counted as one": """WITH RECURSIVE r(x) AS (
        SELECT dst FROM e WHERE src = 3 UNION SELECT e.dst FROM r JOIN e ON r.x = e.src)
        SELECT count(*), sum(x) FROM r""",
    "equal rows count outside the recursion": """WITH RECURSIVE r(x) AS (
        SELECT 3 UNION SELECT e.dst FROM r JOIN e ON r.x = e.src) SELECT e.dst FROM r JOIN e ON r.x = e.src""",
    "union all of rows that cannot be equal": """WITH RECURSIVE r(x) AS (
        SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 10) SELECT sum(x), count(*), avg(x) FROM r""",
    "aggregate over the finished view": """WITH RECURSIVE r(x, d) AS (
        SELECT 1, 0 UNION SELECT e.dst, d + 1 FROM r JOIN e ON x = src WHERE d < 4)
        SELECT x, min(d) FROM r GROUP BY x HAVING count(*) > 1""",
    "WITH in the part that begins": """WITH RECURSIVE r(x) AS (
        SELECT x FROM (WITH q AS (SELECT 1 AS x) SELECT * FROM q) UNION SELECT e.dst FROM r JOIN e ON r.x = e.src)
        SELECT * FROM r""",
    "WITH in the part that goes on": """WITH RECURSIVE r(x) AS (
        SELECT 1 UNION SELECT d FROM (WITH q AS (SELECT dst AS d FROM e JOIN r ON r.x = e.src) SELECT d FROM q))
        SELECT * FROM r""",
    "one recursion reads another": """WITH RECURSIVE r(x) AS (SELECT 1 UNION SELECT x + 1 FROM r WHERE x < 3),
        q(y) AS (SELECT x * 10 FROM r UNION SELECT y + 1 FROM q WHERE y % 10 < 2) SELECT * FROM q""",
    "a recursion within, of the same name": """WITH RECURSIVE r(x) AS (
        SELECT 1 UNION (WITH RECURSIVE r(x) AS (SELECT 10 UNION SELECT x + 1 FROM r WHERE x < 12) SELECT x FROM r))
        SELECT * FROM r""",
    "a recursion of a table's name": """WITH RECURSIVE e(src, dst) AS (SELECT 7, 8 UNION SELECT dst, src FROM e)
        SELECT * FROM e""",
    "a view of a table's name, without RECURSIVE": "WITH e AS (SELECT dst AS src, src AS dst FROM e) SELECT * FROM e",
    "the names of the columns are those of the first part": """WITH RECURSIVE r AS (
        SELECT src AS a, dst AS b FROM e UNION SELECT r.a, e.dst FROM r JOIN e ON r.b = e.src)
        SELECT b FROM r WHERE a = 1""",
    "a column list over other names": """WITH RECURSIVE r(dst, src) AS (
        SELECT src, dst FROM e UNION SELECT r.dst, e.dst FROM r JOIN e ON r.src = e.src)
        SELECT src FROM r WHERE dst = 4""",
    "a column list around a VALUES": """WITH RECURSIVE r(x, y) AS (
        VALUES (1, 2), (2, 5) UNION SELECT x + 1, y FROM r WHERE x < 4) SELECT y, x FROM r""",
    "a wide part that begins": """WITH RECURSIVE r(x) AS (
        SELECT CAST(1 AS DOUBLE) UNION SELECT x + 1 FROM r WHERE x < 3) SELECT * FROM r""",
    "nothing to begin with": """WITH RECURSIVE r(x) AS (
        SELECT src FROM e WHERE src > 100 UNION SELECT e.dst FROM r JOIN e ON r.x = e.src) SELECT * FROM r""",
    "aggregates over nothing": """WITH RECURSIVE r(x) AS (
        SELECT src FROM e WHERE src > 100 UNION SELECT e.dst FROM r JOIN e ON r.x = e.src)
        SELECT count(*), max(x), sum(x) FROM r""",
    "a null joins with nothing": """WITH RECURSIVE r(a) AS (
        SELECT 1 UNION SELECT b FROM r JOIN n USING (a)) SELECT * FROM r""",
    "a null that is not distinct from a null": """WITH RECURSIVE r(a) AS (
        SELECT a FROM n UNION SELECT n.b FROM r JOIN n ON n.a IS NOT DISTINCT FROM r.a) SELECT * FROM r""",
    "a null in what NOT IN reads": """WITH RECURSIVE r(a) AS (
        SELECT 1 UNION SELECT b FROM r JOIN n USING (a)) SELECT src FROM e WHERE src NOT IN (SELECT a FROM r)""",
    "IN the recursion": """WITH RECURSIVE r(x) AS (
        SELECT 1 UNION SELECT dst FROM e WHERE src IN (SELECT x FROM r)) SELECT * FROM r""",
    "EXISTS in the recursion": """WITH RECURSIVE r(x) AS (
        SELECT 1 UNION SELECT dst FROM e WHERE EXISTS (SELECT 1 FROM r WHERE r.x = e.src)) SELECT * FROM r""",
    "NOT EXISTS over another table": """WITH RECURSIVE r(x) AS (SELECT 1 UNION SELECT e.dst FROM r JOIN e ON x = src
        WHERE NOT EXISTS (SELECT 1 FROM n WHERE n.a = e.dst AND n.b = 1)) SELECT * FROM r""",
    "the recursion on the kept side of an outer join": """WITH RECURSIVE r(x) AS (
        SELECT 1 UNION SELECT e.dst FROM r LEFT JOIN e ON r.x = e.src) SELECT * FROM r""",
    "CASE": """WITH RECURSIVE r(x, t) AS (SELECT 1, 'one' UNION
        SELECT e.dst, CASE WHEN e.dst = 3 THEN 'three' WHEN e.dst > 3 THEN t ELSE NULL END FROM r JOIN e ON r.x = e.src)
        SELECT * FROM r""",
    "EXCEPT in the part that goes on": """WITH RECURSIVE r(x) AS (
        SELECT 1 UNION (SELECT e.dst FROM r JOIN e ON x = src EXCEPT SELECT 4)) SELECT * FROM r""",
    "INTERSECT in the part that goes on": """WITH RECURSIVE r(x) AS (
        SELECT 1 UNION (SELECT e.dst FROM r JOIN e ON x = src INTERSECT SELECT src FROM e)) SELECT * FROM r""",
    "the first rows in an order": """WITH RECURSIVE r(x) AS (SELECT 1 UNION SELECT x + 1 FROM r WHERE x < 50)
        SELECT * FROM r ORDER BY x DESC LIMIT 3 OFFSET 2""",
    "no row at all": "WITH RECURSIVE r(x) AS (SELECT 1 UNION SELECT x + 1 FROM r WHERE x < 5) SELECT * FROM r LIMIT 0",
}

CLOSURE = [(x, y) for x in (1, 2, 3) for y in (1, 2, 3, 4, 5)] + [(4, 5)]
HOPS = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4)]
WRITTEN_DOWN: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "non-linear": (
        """WITH RECURSIVE r(a, b) AS (SELECT src, dst FROM e UNION
        SELECT x.a, y.b FROM r AS x JOIN r AS y ON x.b = y.a) SELECT * FROM r""",
        CLOSURE,
    ),
    "mutual": (
        """WITH RECURSIVE even(a) AS (SELECT 0 UNION SELECT a + 1 FROM odd WHERE a < 9),
        odd(a) AS (SELECT a + 1 FROM even WHERE a < 9) SELECT * FROM even""",
        [(0,), (2,), (4,), (6,), (8,)],
    ),
    "recursion in the first part": (
        "WITH RECURSIVE r(x) AS (SELECT x + 1 FROM r WHERE x < 4 UNION SELECT 1) SELECT * FROM r",
        [(1,), (2,), (3,), (4,)],
    ),
    "aggregate by GROUP BY": (
        """WITH RECURSIVE r(x, d) AS (SELECT 1, 0 UNION
        SELECT e.dst, min(d + 1) FROM r JOIN e ON x = src GROUP BY e.dst) SELECT x, d FROM r""",
        HOPS,
    ),
    "aggregate in the head": (
        """WITH RECURSIVE r(x, min() AS d) AS (SELECT src, 0 FROM e WHERE src = 1 UNION
        SELECT e.dst, d + 1 FROM r JOIN e ON x = src) SELECT x, d FROM r""",
        HOPS,
    ),
    "aggregate in the head, constants to begin with": (
        """WITH RECURSIVE r(x, min() AS d) AS (SELECT 1, 0 UNION
        SELECT e.dst, d + 1 FROM r JOIN e ON x = src) SELECT x, d FROM r""",
        HOPS,
    ),
    "whole numbers become fractions": (
        "WITH RECURSIVE r(x) AS (SELECT 1 UNION SELECT x + CAST(0.5 AS DOUBLE) FROM r WHERE x < 2) SELECT * FROM r",
        [(1.0,), (1.5,), (2.0,)],
    ),
    "whole numbers beside fractions of a table": (
        "WITH RECURSIVE r(x) AS (SELECT 1 UNION SELECT p.b FROM r JOIN p ON p.a = r.x) SELECT * FROM r",
        [(1.0,), (1.5,)],
    ),
    "a null to begin with has any type": (
        "WITH RECURSIVE r(x, y) AS (SELECT 4, NULL UNION SELECT e.dst, r.x FROM r JOIN e ON x = src) SELECT * FROM r",
        [(4, None), (5, 4)],
    ),
}


@pytest.fixture(scope="module")
def duck() -> Duck:
    found = Duck(DECLARATIONS)
    found.load(ROWS)
    return found


@pytest.mark.parametrize("name", AS_DUCKDB)
def test_agree_with_duckdb(name: str, duck: Duck) -> None:
    query = AS_DUCKDB[name]
    assert ours(query, ROWS, DECLARATIONS) == duck.run(query)


@pytest.mark.parametrize("name", WRITTEN_DOWN)
def test_it_gives_these_rows(name: str) -> None:
    query, expected = WRITTEN_DOWN[name]
    found = ours(query, ROWS, DECLARATIONS)
    assert found == Bag(expected)
    assert {tuple(map(type, row)) for row in found} == {tuple(map(type, row)) for row in expected}


def test_a_limit_holds_for_what_is_read_and_not_for_what_changes() -> None:
    program = hw.compile(
        DECLARATIONS
        + """WITH RECURSIVE r(x) AS (SELECT 3 UNION SELECT e.dst FROM r JOIN e ON r.x = e.src)
        SELECT * FROM r ORDER BY x LIMIT 2"""
    )
    (view,) = program.outputs
    db = hw.Database(program)
    changes = db.apply(insert={"e": ROWS["e"]})
    assert db.table(view)["x"].to_pylist() == [1, 2]
    assert changes[view].inserted.num_rows > 2
    db.apply(delete={"e": [(3, 1)]})
    assert db.table(view)["x"].to_pylist() == [3, 4]


def test_the_widest_way_is_the_greatest_of_the_least() -> None:
    program = hw.compile("""
        CREATE TABLE pipe (src STRING NOT NULL, dst STRING NOT NULL, width INT NOT NULL);
        WITH RECURSIVE way(src, dst, max() AS width) AS (
          SELECT src, dst, width FROM pipe
          UNION
          SELECT way.src, pipe.dst, least(way.width, pipe.width) FROM way JOIN pipe ON way.dst = pipe.src
        )
        SELECT dst, width FROM way WHERE src = 'a'
    """)
    db = hw.Database(program)
    db.apply(insert={"pipe": [("a", "b", 3), ("b", "c", 2), ("a", "c", 1), ("c", "a", 5)]})
    assert db.rows("result") == {("a", 2), ("b", 3), ("c", 2)}
    db.apply(delete={"pipe": [("b", "c", 2)]})
    assert db.rows("result") == {("a", 1), ("b", 3), ("c", 1)}
