"""The doctor's verdicts; `tests/spark/test_sql.py` holds them against Spark itself."""

from __future__ import annotations

import pytest

from headwater.core.source import Source
from headwater.language.sql.doctor import Verdict, diagnose

STEP = "SELECT r.a, e.b FROM r JOIN e ON r.b = e.a"
CASES = {
    "a linear recursion": (f"SELECT a, b FROM e UNION ALL {STEP}", Verdict.LIMITED, None),
    "UNION": (f"SELECT a, b FROM e UNION {STEP}", Verdict.REJECTED, "UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE"),
    "reads itself twice": (
        "SELECT a, b FROM e UNION ALL SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a",
        Verdict.INCOMPLETE,
        None,
    ),
    "a bounded count": ("SELECT 1, 1 UNION ALL SELECT a + 1, b FROM r WHERE a < 5", Verdict.FINE, None),
    "under GROUP BY": (
        "SELECT a, b FROM e UNION ALL SELECT r.a, min(e.b) FROM r JOIN e ON r.b = e.a GROUP BY r.a",
        Verdict.REJECTED,
        "INVALID_RECURSIVE_REFERENCE.PLACE",
    ),
    "no beginning": (STEP, Verdict.REJECTED, "INVALID_RECURSIVE_CTE"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_spark_would_do(name: str) -> None:
    query, verdict, error = CASES[name]
    (finding,) = diagnose(Source("query.sql", f"WITH RECURSIVE r(a, b) AS ({query}) SELECT * FROM r"))
    assert (finding.verdict, finding.error) == (verdict, error)


def test_mutual_recursion_is_told_for_each_view() -> None:
    text = (
        "WITH RECURSIVE x(n) AS (SELECT 0 UNION ALL SELECT n FROM y), y(n) AS (SELECT 1 UNION ALL SELECT n FROM x) "
        "SELECT * FROM x"
    )
    assert [finding.verdict for finding in diagnose(Source("query.sql", text))] == [Verdict.REJECTED] * 2


def test_a_recursion_in_brackets_is_found() -> None:
    text = "SELECT a FROM t WHERE a IN (WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n FROM r) SELECT n FROM r)"
    assert [finding.verdict for finding in diagnose(Source("query.sql", text))] == [Verdict.REJECTED]


def test_without_recursion_there_is_nothing_to_tell() -> None:
    assert diagnose(Source("query.sql", "WITH q AS (SELECT a FROM t) SELECT * FROM q")) == []
