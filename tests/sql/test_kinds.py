"""Kinds of values: a text beside a time is a time, a bare null is of any kind, what cannot go together is refused."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

import headwater as hw

TABLE = "CREATE TABLE t (k INT, s STRING, at TIMESTAMP, day DATE);"
ROWS = [(1, "x", dt.datetime(2024, 1, 31, 12), dt.date(2024, 3, 31)), (2, None, None, None)]


def answers(query: str) -> list[tuple[Any, ...]]:
    program = hw.compile(TABLE + query)
    db = hw.Database(program)
    db.apply(insert={"t": ROWS} if "FROM t" in query else {})
    return sorted(db.rows(program.outputs[-1]), key=repr)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT CASE WHEN k > 1 THEN 1 ELSE 'x' END FROM t",
        "SELECT if(k > 1, k, s) FROM t",
        "SELECT coalesce(k, s) FROM t",
        "SELECT greatest(k, s) FROM t",
        "SELECT coalesce(at, 0) FROM t",
        "SELECT coalesce(at, 'soon') FROM t",
        "SELECT nullif(k, '1') FROM t",
        "SELECT k FROM t WHERE k IN ('1', '2')",
        "SELECT k FROM t WHERE k IS DISTINCT FROM s",
        "SELECT k FROM t WHERE k BETWEEN '1' AND '2' OR k = 7",
        "SELECT k > '1' FROM t",
    ],
)
def test_what_does_not_go_together_is_refused(query: str) -> None:
    with pytest.raises(hw.ProgramError) as problem:
        hw.compile(TABLE + query)
    assert {one.code for one in problem.value.diagnostics} == {"HW404"}
    assert "^" in str(problem.value)


def test_what_does_not_go_together_is_refused_once_the_data_tell() -> None:
    db = hw.Database(hw.compile("SELECT coalesce(a, 'none') AS a FROM u"))
    with pytest.raises(hw.ProgramError, match="int and string cannot stand for each other"):
        db.apply(insert={"u": [(1,)]})
    assert not db.rows("result")
    db.apply(insert={"u": [("b",)]})
    assert db.rows("result") == {("b",)}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT k FROM t WHERE at > '2024-01-01' OR k = 7", [(1,)]),
        ("SELECT k FROM t WHERE NOT (at < '2024-01-01' AND k = 1)", [(1,), (2,)]),
        ("SELECT k FROM t WHERE day IN ('2024-03-31', '2024-04-01')", [(1,)]),
        ("SELECT k FROM t WHERE day IS NOT DISTINCT FROM '2024-03-31'", [(1,)]),
        ("SELECT CASE WHEN at > '2024-01-01' THEN k ELSE 0 END FROM t", [(0,), (1,)]),
        ("SELECT coalesce(day, '2020-01-01') FROM t WHERE k = 2", [(dt.date(2020, 1, 1),)]),
        ("SELECT coalesce(day, '2020-01-01 12:00') FROM t WHERE k = 2", [(dt.datetime(2020, 1, 1, 12),)]),
        ("SELECT CASE WHEN k = 2 THEN '2020-01-01' ELSE at END FROM t WHERE k = 2", [(dt.datetime(2020, 1, 1),)]),
    ],
)
def test_a_text_beside_a_time_is_a_time(query: str, expected: list[tuple[Any, ...]]) -> None:
    assert answers(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT TIMESTAMP '2024-01-01 00:00:00' + INTERVAL 2 DAYS", dt.datetime(2024, 1, 3)),
        ("SELECT TIMESTAMP '2024-01-02 00:00:00' - TIMESTAMP '2024-01-01 00:00:00'", dt.timedelta(days=1)),
        ("SELECT date_add(DATE '2024-02-28', 1)", dt.date(2024, 2, 29)),
        ("SELECT CASE WHEN true THEN DATE '2024-01-01' END", dt.date(2024, 1, 1)),
        ("SELECT greatest(DATE '2024-01-01', DATE '2024-01-02')", dt.date(2024, 1, 2)),
        ("SELECT CAST('soon' AS INT) + 1", None),
        ("SELECT DATE '2024-01-01' = '2024-01-01'", True),
        ("SELECT DATE '2024-01-01' + 1", dt.date(2024, 1, 2)),
        ("SELECT coalesce(1, 2.5)", 1.0),
    ],
)
def test_a_row_of_constants_keeps_its_types(query: str, expected: Any) -> None:
    assert answers(query) == [(expected,)]
    assert type(answers(query)[0][0]) is type(expected)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT at - INTERVAL 1 MONTH FROM t", dt.datetime(2023, 12, 31, 12)),
        ("SELECT at + INTERVAL 1 MONTH FROM t", dt.datetime(2024, 2, 29, 12)),
        ("SELECT INTERVAL '1' YEAR + at FROM t", dt.datetime(2025, 1, 31, 12)),
        ("SELECT CAST(CAST(at AS DATE) + INTERVAL 3 MONTHS AS STRING) FROM t", "2024-04-30"),
        ("SELECT CAST(CAST(at AS DATE) - 31 AS STRING) FROM t", "2023-12-31"),
        ("SELECT CAST(at AS DATE) + k FROM t", dt.date(2024, 2, 1)),
    ],
)
def test_months_and_days_by_the_calendar(query: str, expected: Any) -> None:
    assert answers(query) == sorted([(expected,), (None,)], key=repr)


def test_a_month_alone_has_no_length() -> None:
    with pytest.raises(hw.ProgramError, match="a month has no length of its own"):
        hw.compile(TABLE + "SELECT k FROM t WHERE at - day > INTERVAL 1 MONTH")


@pytest.mark.parametrize(
    "source",
    [
        "SELECT DATE '2024-01-01' AS d UNION SELECT NULL",
        "SELECT NULL AS d UNION ALL SELECT DATE '2024-01-01'",
        "SELECT d FROM (VALUES (DATE '2024-01-01'), (NULL)) AS v(d)",
        "SELECT d FROM (VALUES (NULL), (DATE '2024-01-01')) AS v(d)",
        "SELECT CASE WHEN x = 1 THEN DATE '2024-01-01' END AS d FROM (VALUES (1), (2)) AS v(x)",
        "SELECT if(x = 1, CAST(NULL AS DATE), DATE '2024-01-01') AS d FROM (VALUES (1), (2)) AS v(x)",
    ],
)
def test_a_date_beside_a_bare_null_is_written_as_a_date(source: str) -> None:
    assert answers(f"SELECT CAST(d AS STRING) AS w, 'on ' || d FROM ({source}) AS q") == [
        ("2024-01-01", "on 2024-01-01"),
        (None, None),
    ]


def test_a_time_beside_a_bare_null_is_written_as_a_time() -> None:
    query = "SELECT CAST(x AS STRING) FROM (SELECT at AS x FROM t WHERE k = 1 UNION ALL SELECT NULL) AS q"
    assert answers(query) == [("2024-01-31 12:00:00",), (None,)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CAST(a AS STRING)", "2024-01-31 12:00:00"),
        ("'at ' || a", "at 2024-01-31 12:00:00"),
        ("CAST(a AS BIGINT)", 1706702400),
        ("CAST(a AS TIMESTAMP)", dt.datetime(2024, 1, 31, 12)),
        ("CAST(CAST(a AS DATE) AS STRING)", "2024-01-31"),
    ],
)
def test_times_of_a_table_that_nobody_declared(expression: str, expected: Any) -> None:
    db = hw.Database(hw.compile(f"SELECT {expression} AS r FROM u"))
    db.apply(insert={"u": [(dt.datetime(2024, 1, 31, 12),)]})
    assert db.rows("result") == {(expected,)}


@pytest.mark.parametrize(
    "value", ["coalesce(NULL, NULL)", "CASE WHEN 1 < 2 THEN NULL ELSE NULL END", "greatest(NULL, NULL)"]
)
def test_nothing_but_nulls_is_a_null(value: str) -> None:
    database = hw.Database(hw.compile(f"SELECT {value} AS a UNION SELECT NULL"))
    (view,) = database.program.outputs
    assert database.rows(view) == {(None,)}
