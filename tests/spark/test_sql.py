"""SQL over a session's tables; and the doctor's verdicts, held against Spark's own WITH RECURSIVE."""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw
from headwater import spark as hws
from headwater.core.source import Source
from headwater.language.sql.doctor import Verdict, diagnose

CHAIN = [(at, at + 1) for at in range(8)]
DOUBLING = "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM chain UNION ALL SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a)"
STEP = "SELECT r.a, chain.b FROM r JOIN chain ON r.b = chain.a"
REJECTED = {
    "union": f"WITH RECURSIVE r(a, b) AS (SELECT a, b FROM chain UNION {STEP}) SELECT * FROM r",
    "under GROUP BY": (
        "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM chain UNION ALL SELECT r.a, min(chain.b) FROM r "
        "JOIN chain ON r.b = chain.a GROUP BY r.a) SELECT * FROM r"
    ),
    "an outer join": (
        "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM chain UNION ALL SELECT chain.a, r.b FROM chain "
        "LEFT JOIN r ON r.b = chain.a) SELECT * FROM r"
    ),
    "no beginning": f"WITH RECURSIVE r(a, b) AS ({STEP}) SELECT * FROM r",
    "two parts that go on": (
        f"WITH RECURSIVE r(a, b) AS (SELECT a, b FROM chain UNION ALL {STEP} UNION ALL SELECT b, a FROM r) "
        "SELECT * FROM r"
    ),
    "mutual": (
        "WITH RECURSIVE e(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM o WHERE n < 5), "
        "o(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM e WHERE n < 5) SELECT * FROM o"
    ),
    "stream": "CREATE STREAM s (ts TIMESTAMP, a INT)",
    "aggregate in the head": (
        f"WITH RECURSIVE r(a, min() AS b) AS (SELECT a, b FROM chain UNION ALL {STEP}) SELECT * FROM r"
    ),
}


@pytest.fixture(scope="module")
def tables(spark: Any) -> Any:
    spark.createDataFrame(CHAIN, "a int, b int").createOrReplaceTempView("chain")
    spark.createDataFrame([(0, 1), (1, 2), (2, 0)], "a int, b int").createOrReplaceTempView("ring")
    return spark


def test_a_recursion_that_spark_answers_incompletely_is_complete(tables: Any) -> None:
    text = f"{DOUBLING} SELECT a, b FROM r"
    ours = {tuple(row) for row in hws.sql(tables, text).collect()}
    theirs = {tuple(row) for row in tables.sql(text).collect()}
    assert ours == {(x, y) for x in range(9) for y in range(x + 1, 9)}
    assert theirs < ours
    assert [one.verdict for one in diagnose(Source("q", text))] == [Verdict.INCOMPLETE]


def test_a_cycle_ends_and_order_and_limit_hold(tables: Any) -> None:
    text = (
        "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM ring UNION SELECT r.a, ring.b FROM r JOIN ring ON r.b = ring.a) "
        "SELECT * FROM r ORDER BY a DESC, b LIMIT 4"
    )
    assert [tuple(row) for row in hws.sql(tables, text).collect()] == [(2, 0), (2, 1), (2, 2), (1, 0)]


@pytest.mark.parametrize("name", REJECTED)
def test_spark_rejects_what_the_doctor_says(tables: Any, name: str) -> None:
    finding = diagnose(Source("q", REJECTED[name]))[0]
    assert finding.verdict is Verdict.REJECTED
    with pytest.raises(Exception, match=finding.error):
        tables.sql(REJECTED[name])


def test_without_recursion_spark_itself_runs(tables: Any) -> None:
    assert hws.sql(tables, "SELECT max(b) FROM chain").collect()[0][0] == 8
    assert "runs in Spark" in hws.explain(tables, "SELECT 1")


def test_a_table_that_is_not_there(tables: Any) -> None:
    text = "WITH RECURSIVE r(a) AS (SELECT a FROM nowhere UNION SELECT a FROM r) SELECT * FROM r"
    with pytest.raises(hw.DataError, match="no table `nowhere`"):
        hws.sql(tables, text)
