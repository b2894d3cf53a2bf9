"""SQL over a session's tables; and the doctor's verdicts, held against Spark's own WITH RECURSIVE."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import headwater as hw
from headwater import spark as hws
from headwater.core.source import Source
from headwater.language.sql.doctor import Verdict, diagnose

CHAIN = [(at, at + 1) for at in range(8)]
DOUBLING = "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM chain UNION ALL SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a)"
FIVE_LEVELS = "WITH RECURSIVE r(n) MAX RECURSION LEVEL 5 AS (SELECT 1 UNION ALL SELECT n + 1 FROM r"
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
    rows = "SELECT * FROM VALUES (0, 1), (0, 2), (0, 2), (2, 3) AS v(a, b)"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW fork AS {rows}")
    spark.sql("CREATE OR REPLACE GLOBAL TEMP VIEW fork AS SELECT * FROM VALUES (7, 8) AS v(a, b)")
    spark.sql("CREATE OR REPLACE TEMP VIEW gaps AS SELECT * FROM VALUES (1, 2), (2, NULL), (NULL, 1) AS v(a, b)")
    moment = "TIMESTAMP_NTZ '2024-02-29 12:00:00'"
    spark.sql(f"CREATE OR REPLACE TEMP VIEW days AS SELECT DATE '2024-02-29' AS day, 1.5 AS price, {moment} AS at")
    return spark


def test_a_recursion_that_spark_answers_incompletely_is_complete(tables: Any) -> None:
    text = f"{DOUBLING} SELECT a, b FROM r"
    ours = {tuple(row) for row in hws.sql(tables, text).collect()}
    theirs = {tuple(row) for row in tables.sql(text).collect()}
    assert ours == {(x, y) for x in range(9) for y in range(x + 1, 9)}
    assert theirs < ours
    assert (len(theirs), len(ours)) == (21, 36)
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
    with pytest.raises(hw.ProgramError, match="no table `nowhere`") as caught:
        hws.sql(tables, text)
    assert caught.value.diagnostics[0].column == text.index("nowhere") + 1


# What the doctor says of limits, on Spark itself

LOOP = "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM ring UNION ALL SELECT r.a, ring.b FROM r JOIN ring ON r.b = ring.a)"
WIDE = (
    "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM ring UNION ALL "
    "SELECT r.a, r.b FROM r JOIN (SELECT explode(sequence(1, 20)) AS n) AS many ON n > 0) SELECT count(*) FROM r"
)
FINE = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 6) SELECT n FROM r"


@pytest.fixture
def limited(tables: Any) -> Iterator[Any]:
    """Spark with lower limits: a level is a job, and a hundred of them take their time."""
    limits = {"spark.sql.cteRecursionLevelLimit": "8", "spark.sql.cteRecursionRowLimit": "5000"}
    before = {name: tables.conf.get(name) for name in limits}
    for name, value in limits.items():
        tables.conf.set(name, value)
    yield tables
    for name, value in before.items():
        tables.conf.set(name, value)


def test_on_a_cycle_spark_stops_at_its_limit_of_levels(limited: Any) -> None:
    text = f"{LOOP} SELECT DISTINCT a, b FROM r"
    (finding,) = diagnose(Source("q", text))
    assert finding.verdict is Verdict.LIMITED
    assert "RECURSION_LEVEL_LIMIT_EXCEEDED" in finding.why
    with pytest.raises(Exception, match="RECURSION_LEVEL_LIMIT_EXCEEDED"):
        limited.sql(text).collect()
    assert {tuple(row) for row in hws.sql(limited, text).collect()} == {(x, y) for x in range(3) for y in range(3)}


def test_copies_of_rows_run_spark_into_its_limit_of_rows(limited: Any) -> None:
    (finding,) = diagnose(Source("q", WIDE))
    assert finding.verdict is Verdict.LIMITED
    assert "RECURSION_ROW_LIMIT_EXCEEDED" in finding.why
    with pytest.raises(Exception, match="RECURSION_ROW_LIMIT_EXCEEDED"):
        limited.sql(WIDE).collect()
    assert hws.sql(limited, WIDE).collect()[0][0] == 3


def test_what_is_fine_in_spark_is_the_same_here(tables: Any) -> None:
    (finding,) = diagnose(Source("q", FINE))
    assert finding.verdict is Verdict.FINE
    assert sorted(hws.sql(tables, FINE).collect()) == sorted(tables.sql(FINE).collect())


# Only the recursion is ours: around it stands all of Spark's SQL

REACH = "reach(a, b) AS (SELECT a, b FROM ring UNION SELECT reach.a, ring.b FROM reach JOIN ring ON reach.b = ring.a)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"WITH RECURSIVE {REACH} SELECT a, b, row_number() OVER (PARTITION BY a ORDER BY b DESC) AS place "
            "FROM reach QUALIFY place = 1",
            {(0, 2, 1), (1, 2, 1), (2, 2, 1)},
        ),
        (
            f"WITH RECURSIVE {REACH}, few AS (SELECT * FROM reach ORDER BY a, b LIMIT 2) "
            "SELECT few.a, few.b, q.n FROM few, LATERAL (SELECT few.b + 10 AS n) AS q",
            {(0, 0, 10), (0, 1, 11)},
        ),
        (f"WITH RECURSIVE {REACH} (SELECT a FROM reach) EXCEPT ALL (SELECT a FROM ring)", {(0,), (1,), (2,)}),
        (
            "WITH RECURSIVE best AS (SELECT a, b, rank() OVER (PARTITION BY a ORDER BY b DESC) AS k FROM fork), "
            "r(a, b) AS (SELECT a, b FROM best WHERE k = 1 UNION SELECT r.a, best.b FROM r JOIN best ON r.b = best.a "
            "WHERE best.k = 1) SELECT a, b FROM r",
            {(0, 2), (2, 3), (0, 3)},
        ),
        (
            "WITH RECURSIVE r(a, b) AS (SELECT a, max(b) FROM fork GROUP BY a UNION SELECT r.a, x.b FROM r "
            "JOIN (SELECT a, b, lag(b) OVER (ORDER BY a, b) AS p FROM fork) AS x ON r.b = x.a) SELECT * FROM r",
            {(0, 2), (2, 3), (0, 3)},
        ),
        (
            "SELECT a FROM fork WHERE b IN (WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n "
            "WHERE i < 9) SELECT i FROM n)",
            {(0,), (2,)},
        ),
        (
            "WITH seed AS (SELECT 1 AS a), q AS (WITH RECURSIVE r AS (WITH z AS (SELECT a, first_value(a) OVER () AS k "
            "FROM seed) (SELECT a FROM z UNION SELECT r.a + 1 FROM r, z WHERE r.a < z.k + 3)) SELECT * FROM r) "
            "SELECT q.a, seed.a FROM q, seed",
            {(1, 1), (2, 1), (3, 1), (4, 1)},
        ),
        (
            "CREATE RECURSIVE VIEW v(a) AS SELECT 1 UNION SELECT a + 1 FROM v WHERE a < 3;"
            "CREATE VIEW w AS SELECT max(a) AS m, '{x}' AS brace FROM v; SELECT * FROM w",
            {(3, "{x}")},
        ),
        (
            "WITH RECURSIVE r(a) AS (SELECT a FROM global_temp.fork UNION SELECT fork.b FROM global_temp.fork "
            "JOIN r ON fork.a = r.a) SELECT * FROM r",
            {(7,), (8,)},
        ),
        ("WITH RECURSIVE r(x) AS (SELECT at FROM days UNION SELECT at FROM r JOIN days ON at = x) "
         "SELECT count(*), min(CAST(x AS STRING)) FROM r", {(1, "2024-02-29 12:00:00")}),
    ],
    ids=["window", "limit and lateral", "EXCEPT ALL", "view before", "parts inside", "in a condition", "nested",
         "created views", "another database", "unused columns of other types"],
)  # fmt: skip
def test_around_the_recursion_stands_spark(tables: Any, text: str, expected: set[tuple[Any, ...]]) -> None:
    assert {tuple(row) for row in hws.sql(tables, text, shards=2).collect()} == expected


def test_outside_recursion_equal_rows_count(tables: Any) -> None:
    text = f"WITH RECURSIVE {REACH} SELECT fork.a, count(*) FROM fork JOIN reach USING (a) GROUP BY fork.a"
    assert {tuple(row) for row in hws.sql(tables, text).collect()} == {(0, 9), (2, 3)}


def test_nulls_go_through_a_recursion(tables: Any) -> None:
    text = (
        "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM gaps UNION SELECT r.a, gaps.b FROM r JOIN gaps ON r.b = gaps.a) "
        "SELECT a, b FROM r"
    )
    found = {tuple(row) for row in hws.sql(tables, text).collect()}
    assert found == {(1, 2), (2, None), (1, None), (None, 1), (None, 2), (None, None)}


def test_what_only_spark_can_read_is_left_to_it(tables: Any) -> None:
    assert hws.sql(tables, "SHOW TABLES").count() >= 2


def test_a_type_that_no_column_holds_is_told_with_the_cast_that_helps(tables: Any) -> None:
    text = "WITH RECURSIVE r(x) AS (SELECT make_interval(1) UNION SELECT x FROM r) SELECT * FROM r"
    with pytest.raises(hw.DataError, match=r"(?s)HW801.*is of type interval, .*cast it to a type that does"):
        hws.sql(tables, text)


def test_union_all_counts_the_ways_and_a_cycle_is_told(tables: Any) -> None:
    step = STEP.replace("chain", "fork")
    text = f"WITH RECURSIVE r(a, b) AS (SELECT a, b FROM fork UNION ALL {step}) SELECT * FROM r"
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert Counter(hws.sql(tables, text).collect()) == Counter(tables.sql(text).collect())
        assert hws.sql(tables, text, union_all="set").count() == 4
        assert not [each for each in found if each.category is hw.UnionAllWarning]
        assert hws.sql(tables, f"{LOOP} SELECT * FROM r").count() == 9
    (one,) = [each for each in found if each.category is hw.UnionAllWarning]
    assert one.filename == __file__
    assert "the data has a cycle, and UNION ALL in the recursion of `r`" in str(one.message)
    with pytest.raises(hw.DataError, match="HW826"):
        hws.sql(tables, f"{LOOP} SELECT * FROM r", union_all="refuse")


def test_a_union_without_copies_before_a_union_all_leaves_out_its_own_alone(tables: Any) -> None:
    text = f"WITH RECURSIVE r(a, b) AS (SELECT a, b FROM fork UNION SELECT a, b FROM fork UNION ALL {STEP}) "
    text = text.replace("chain", "fork") + "SELECT * FROM r"
    assert Counter(hws.sql(tables, text).collect()) == Counter({(0, 1): 1, (0, 2): 1, (2, 3): 1, (0, 3): 1})


@pytest.mark.parametrize("clause", ["OFFSET 1", "LIMIT 1", "SORT BY 1"])
def test_a_clause_of_a_recursive_union_is_refused(tables: Any, clause: str) -> None:
    for union in (
        f"SELECT a FROM chain UNION SELECT b FROM r JOIN chain USING (a) {clause}",
        f"SELECT b FROM r JOIN chain USING (a) UNION SELECT a FROM chain {clause}",
    ):
        with pytest.raises(hw.SyntaxProblem, match="HW1"):
            hws.sql(tables, f"WITH RECURSIVE r(a) AS ({union}) SELECT * FROM r")


@pytest.mark.parametrize(
    "text",
    [
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r LIMIT 5",
        f"{FIVE_LEVELS} WHERE n < 5) SELECT * FROM r",
        f"{FIVE_LEVELS}) SELECT * FROM r LIMIT 5",
        "WITH RECURSIVE r AS (VALUES (1, 2), (3, 4) AS t(a, b) UNION ALL SELECT a + 1, b FROM r WHERE a < 4) "
        "SELECT * FROM r",
        f"WITH RECURSIVE r(a, b) AS (SELECT a, a FROM chain UNION ALL {STEP}) SELECT * FROM r",
    ],
)
def test_oracle_spark_recursions_that_spark_accepts(tables: Any, text: str) -> None:
    assert Counter(map(tuple, hws.sql(tables, text).collect())) == Counter(map(tuple, tables.sql(text).collect()))


def test_oracle_spark_a_row_beyond_the_last_level(tables: Any) -> None:
    text = f"{FIVE_LEVELS} WHERE n < 6) SELECT * FROM r"
    with pytest.raises(Exception, match="RECURSION_LEVEL_LIMIT_EXCEEDED"):
        tables.sql(text).collect()
    with pytest.raises(hw.DataError, match="HW833"):
        hws.sql(tables, text).collect()


def test_a_recursion_without_tables_runs_in_the_session_that_is_given(spark: Any) -> None:
    other = spark.newSession()
    text = "WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 4) SELECT x FROM n WHERE x > 1"
    found = hws.sql(other, text)
    assert found.sparkSession is other
    assert sorted(row.x for row in found.collect()) == [2, 3, 4]
