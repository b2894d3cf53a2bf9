"""SQL's functions give what DuckDB's do; where Spark differs from it, what Spark documents."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import duckdb
import pytest

import headwater as hw
from headwater.core.functions.registry import FUNCTIONS

TEXTS = ("", "a", "Abc def", "  x ", "héllo", "a%b_c", "aXbc", " tab\t")
PATTERNS = ("%", "a%", "%b%", "_bc", "a\\%b%", "", "%c", "A%")
EPOCH = dt.datetime(1970, 1, 1)


def ours(name: str, *values: Any) -> Any:
    body = FUNCTIONS[name].scalar
    assert body is not None
    return body(*values)


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    found.execute("SET error_on_division_by_zero=false")
    return found


def theirs(duck: duckdb.DuckDBPyConnection, expression: str, *values: Any) -> Any:
    (row,) = duck.execute(f"SELECT {expression}", list(values)).fetchall()
    return row[0]


@pytest.mark.parametrize("name", ["upper", "lower", "trim", "ltrim", "rtrim", "length", "reverse"])
def test_agree_texts(duck: duckdb.DuckDBPyConnection, name: str) -> None:
    for text in TEXTS:
        assert ours(name, text) == theirs(duck, f"{name}(?::VARCHAR)", text)


@pytest.mark.parametrize("name", ["left", "right", "repeat"])
def test_agree_texts_by_number(duck: duckdb.DuckDBPyConnection, name: str) -> None:
    for text in TEXTS:
        for count in range(9):
            assert ours(name, text, count) == theirs(duck, f"{name}(?::VARCHAR, ?::BIGINT)", text, count)


def test_agree_parts_and_patterns(duck: duckdb.DuckDBPyConnection) -> None:
    for text in TEXTS:
        for start in range(1, 8):
            for count in (0, 1, 3, 9):
                found = theirs(duck, "substring(?::VARCHAR, ?::BIGINT, ?::BIGINT)", text, start, count)
                assert ours("substring", text, start, count) == found
        for size in range(8):
            assert ours("lpad", text, size, "xy") == theirs(duck, "lpad(?::VARCHAR, ?::INT, 'xy')", text, size)
            assert ours("rpad", text, size, "xy") == theirs(duck, "rpad(?::VARCHAR, ?::INT, 'xy')", text, size)
        for part in ("", "b", "x", "zz"):
            assert ours("position", text, part) == theirs(duck, "strpos(?::VARCHAR, ?::VARCHAR)", text, part)
        for pattern in PATTERNS:
            found = theirs(duck, "?::VARCHAR LIKE ?::VARCHAR ESCAPE '\\'", text, pattern)
            assert ours("like", text, pattern) == found


def test_agree_times(duck: duckdb.DuckDBPyConnection) -> None:
    dice = random.Random(1)
    for _ in range(30):
        moment = dt.datetime(1990, 1, 1) + dt.timedelta(seconds=dice.randrange(-(10**9), 2 * 10**9), microseconds=17)
        micros = (moment - EPOCH) // dt.timedelta(microseconds=1)
        for part in ("year", "quarter", "month", "day", "dayofyear", "hour", "minute", "second"):
            assert ours(part, micros) == theirs(duck, f"{part}(?::TIMESTAMP)", moment)
        assert ours("dayofweek", micros) == theirs(duck, "dayofweek(?::TIMESTAMP)", moment) + 1
        for unit in ("year", "quarter", "month", "week", "day", "hour", "minute", "second"):
            start = EPOCH + dt.timedelta(microseconds=ours("date_trunc", unit, micros))
            assert start == theirs(duck, f"date_trunc('{unit}', ?::TIMESTAMP)::TIMESTAMP", moment)


def test_agree_divisions(duck: duckdb.DuckDBPyConnection) -> None:
    for left in range(-9, 10):
        for right in range(-4, 5):
            assert ours("remainder", left, right) == theirs(duck, "?::BIGINT % ?::BIGINT", left, right)
            assert ours("quotient", left, right) == theirs(duck, "?::BIGINT // ?::BIGINT", left, right)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("substring", ("abc", 0, 2), "ab"),
        ("substring", ("abc", -2, 1), "b"),
        ("substring", ("abc", -5, 3), "a"),
        ("round_half_up", (2.675, 2), 2.68),
        ("round_half_up", (-0.5,), -1.0),
        ("round_half_up", (75, -1), 80),
        ("round_half_up", (1e300, 2), 1e300),
        ("round_half_up", (float("inf"), 2), None),
        ("round_half_up", (3, 500), 3),
        ("round_half_up", (3, -500), 0),
        ("initcap", ("it's a TEST",), "It's A Test"),
        ("concat_ws", ("-", "a", None, "b"), "a-b"),
        ("greatest", (1, None, 3), 3),
        ("least", (None, 2), 2),
    ],
)
def test_what_spark_documents(name: str, values: tuple[Any, ...], expected: Any) -> None:
    assert ours(name, *values) == expected


def test_large_ints_keep_their_digits() -> None:
    db = hw.Database(hw.compile("relation r(n: int). v(abs(N), mod(N, 10), floor(N), ceil(N)) :- r(N)."))
    db.apply(insert={"r": [(-9007199254740993,)]})
    assert db.rows("v") == {(9007199254740993, 7, -9007199254740993, -9007199254740993)}
