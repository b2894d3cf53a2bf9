"""Functions and casts of SQL, as Spark gives them, for a value and for null."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

import headwater as hw

NOON = dt.datetime(2024, 2, 29, 12, 0, 0, 500_000)
TABLE = "CREATE TABLE t (s STRING, n INT, f DOUBLE, b BOOLEAN, at TIMESTAMP, before TIMESTAMP);"
ROW = (" 12", 4, 1.5e10, True, NOON, dt.datetime(2024, 2, 28, 23))


def results(expression: str, row: tuple[Any, ...]) -> set[tuple[Any, ...]]:
    db = hw.Database(hw.compile(f"{TABLE} CREATE VIEW v AS SELECT {expression} AS r FROM t;"))
    db.apply(insert={"t": [row]})
    return db.rows("v")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("trim(s)", "12"),
        ("ltrim(s)", "12"),
        ("rtrim(s)", " 12"),
        ("lpad(s, 5, '0')", "00 12"),
        ("rpad(s, 5)", " 12  "),
        ("datediff(at, before)", 1),
        ("date_add(at, 1)", dt.date(2024, 3, 1)),
        ("date_sub(at, 29)", dt.date(2024, 1, 31)),
        ("date_trunc('month', at)", dt.datetime(2024, 2, 1)),
        ("trunc(at, 'MM')", dt.date(2024, 2, 1)),
        ("cast(s AS INT)", 12),
        ("cast(s AS DOUBLE)", 12.0),
        ("cast(n AS STRING)", "4"),
        ("cast(f AS STRING)", "1.5E10"),
        ("cast(b AS STRING)", "true"),
        ("cast(b AS INT)", 1),
        ("cast(at AS STRING)", "2024-02-29 12:00:00.5"),
        ("cast(at AS BIGINT)", 1709208000),
        ("cast(n AS BOOLEAN)", True),
        ("cast(cast(before AS STRING) AS TIMESTAMP)", dt.datetime(2024, 2, 28, 23)),
        ("cast(n AS TIMESTAMP)", dt.datetime(1970, 1, 1, 0, 0, 4)),
    ],
)
def test_functions_and_casts(expression: str, expected: Any) -> None:
    assert results(expression, ROW) == {(expected,)}
    assert results(expression, (None,) * len(ROW)) == {(None,)}


@pytest.mark.parametrize("expression", ["cast(s AS INT)", "cast(s AS TIMESTAMP)", "cast(s AS BOOLEAN)"])
def test_what_cannot_be_cast_is_null(expression: str) -> None:
    assert results(expression, ("soon", None, None, None, None, None)) == {(None,)}
