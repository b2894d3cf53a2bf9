"""GROUPING SETS, ROLLUP and CUBE, held against DuckDB, also after edits."""

from __future__ import annotations

from random import Random

import pytest

import headwater as hw
from tests.sql.engines import Duck, bag

TABLE = "CREATE TABLE t (a INT, b INT, s STRING);"
QUERIES = {
    "rollup": "SELECT a, b, sum(b), count(*) FROM t GROUP BY ROLLUP (a, b)",
    "rollup of a pair": "SELECT a, b, s, count(*) AS n FROM t GROUP BY ROLLUP ((a, b), s)",
    "cube": "SELECT a, s, max(b) AS most FROM t GROUP BY CUBE (a, s)",
    "sets": "SELECT a, s, count(*) FROM t GROUP BY GROUPING SETS ((a, s), (s), ())",
    "sets with a rollup among them": "SELECT a, s, count(*) FROM t GROUP BY GROUPING SETS (s, ROLLUP (a))",
    "beside a column": "SELECT a, s, count(*) FROM t GROUP BY s, ROLLUP (a)",
    "grouping": "SELECT grouping(a), grouping_id(a, s), a, count(s) FROM t GROUP BY CUBE (a, s)",
    "having": "SELECT a, sum(b) FROM t GROUP BY ROLLUP (a) HAVING a IS NULL OR sum(b) > 3",
    "of an expression": "SELECT a + b AS c, count(*) FROM t GROUP BY ROLLUP (a + b)",
    "inside an aggregate the column stays": "SELECT a, sum(a) FROM t GROUP BY ROLLUP (a)",
    "no aggregate": "SELECT a, b FROM t GROUP BY ROLLUP (a, b)",
    "no aggregate, and a condition": "SELECT a FROM t GROUP BY CUBE (a) HAVING a = 1 OR a IS NULL",
    "by number": "SELECT a, b + 1, count(*) + 1 FROM t GROUP BY ROLLUP (1, 2)",
    "names spelt otherwise": "SELECT t.a, B, count(*) FROM t GROUP BY CUBE (A, t.b)",
    "distinct": "SELECT DISTINCT s FROM t GROUP BY ROLLUP (a, s)",
    "in a subquery": "SELECT n, count(*) FROM (SELECT a, count(*) AS n FROM t GROUP BY CUBE (a, b)) AS q GROUP BY n",
    "in a union": "SELECT a FROM t UNION SELECT b FROM t GROUP BY ROLLUP (b)",
    "in a view": "WITH v AS (SELECT a, sum(b) AS b FROM t GROUP BY ROLLUP (a)) SELECT * FROM v WHERE b > 2",
    "over a recursion": """WITH RECURSIVE r(a, b) AS (
        SELECT a, b FROM t UNION SELECT r.a, t.b FROM r JOIN t ON r.b = t.a)
        SELECT a, count(*) FROM r GROUP BY CUBE (a)""",
}


@pytest.mark.parametrize("name", QUERIES)
def test_oracle_duckdb_grouping_sets(name: str) -> None:
    random = Random(name)
    values = [None, 1, 2, 3]
    rows = [(random.choice(values), random.choice(values), random.choice(["x", "y", None])) for _ in range(12)]
    db = hw.Database(hw.compile(TABLE + QUERIES[name]))
    duck = Duck(TABLE)
    db.apply(insert={"t": rows})
    for gone, now in ((0, 0), (0, 4), (4, 11), (11, 12)):
        db.apply(delete={"t": rows[gone:now]})
        duck.load({"t": rows[now:]})
        assert bag(db.table(db.program.outputs[-1])) == duck.run(QUERIES[name])


def test_a_name_that_may_mean_two_things_is_refused() -> None:
    with pytest.raises(hw.ProgramError, match="`ROLLUP"):
        hw.compile(f"{TABLE} SELECT a + b AS s, count(*) FROM t GROUP BY ROLLUP (s)")


def test_with_rollup_and_cube_behind_the_columns() -> None:
    for words, same in (("a, s WITH ROLLUP", "ROLLUP (a, s)"), ("a, s WITH CUBE", "CUBE (a, s)")):
        rows = [(1, 2, "x"), (1, 3, "y"), (None, 1, "x")]
        found = []
        for group in (words, same):
            db = hw.Database(hw.compile(f"{TABLE} SELECT a, s, sum(b) FROM t GROUP BY {group}"))
            db.apply(insert={"t": rows})
            found.append(bag(db.table("result")))
        assert found[0] == found[1]
