"""Functions of the user's own, over Arrow arrays: what they may return, and what their mistakes look like."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import headwater as hw
from headwater.core.errors import EvaluationError
from headwater.core.functions.registry import unregister

TEXT = "relation r(x: int). v(X, Y) :- r(X), Y = mine(X)."


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    unregister("mine")


def result(kind: str, body: Callable[..., Any]) -> set[tuple[Any, ...]]:
    hw.register("mine", ("int",), kind)(body)
    db = hw.Database(hw.compile(TEXT))
    db.apply(insert={"r": [(1,), (2,)]})
    return db.rows("v")


@pytest.mark.parametrize(
    ("kind", "body", "first"),
    [
        ("int", lambda a: pc.add(a, 1), 2),
        ("int", lambda a: pa.chunked_array([pc.add(a, 1)]), 2),
        ("int", lambda a: [2] * len(a), 2),
        ("int", lambda a: np.full(len(a), 2), 2),
        ("int", lambda a: pl.Series([2] * len(a)), 2),
        ("int", lambda a: pa.array([2] * len(a), pa.uint8()), 2),
        ("int", lambda a: pa.array([2] * len(a)).dictionary_encode(), 2),
        ("float", lambda a: pc.divide(a.cast(pa.float64()), 2), 0.5),
        ("float", lambda a: a, 1.0),
        ("string", lambda a: pa.array(["é\0"] * len(a), pa.large_string()), "é\0"),
        ("address", lambda a: pa.array(["x"] * len(a)).dictionary_encode(), "x"),
        ("bool", lambda a: pc.equal(a, 1), True),
        ("list", lambda a: pa.array([["x", "y"]] * len(a)), ("x", "y")),
        ("list", lambda a: pa.array([[[1], []]] * len(a)), ((1,), ())),
        ("timestamp", lambda a: a.cast(pa.timestamp("s")), dt.datetime(1970, 1, 1, 0, 0, 1)),
        ("duration", lambda a: a.cast(pa.duration("s")), dt.timedelta(seconds=1)),
    ],
    ids=range(16),
)
def test_what_a_function_may_return(kind: str, body: Callable[..., Any], first: object) -> None:
    (found,) = [row[1] for row in result(kind, body) if row[0] == 1]
    assert (found, type(found)) == (first, type(first))


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("int", lambda a: pa.array(["1"] * len(a))),
        ("int", lambda a: pa.array([1.5] * len(a))),
        ("int", lambda a: pa.array([True] * len(a))),
        ("int", lambda a: pa.array([2**64 - 1] * len(a), pa.uint64())),
        ("int", lambda a: [object()] * len(a)),
        ("string", lambda a: a),
        ("string", lambda a: pa.array([b"\xff"] * len(a))),
        ("bool", lambda a: a),
        ("list", lambda a: a),
        ("list", lambda a: pa.array(["ab"] * len(a))),
        ("list", lambda a: pa.array([[1, None]] * len(a))),
        ("timestamp", lambda a: pa.array([2**61] * len(a), pa.timestamp("us"))),
    ],
    ids=range(12),
)
def test_values_of_another_type_are_an_error_that_names_the_function(kind: str, body: Callable[..., Any]) -> None:
    with pytest.raises(EvaluationError, match="the function `mine` did not return"):
        result(kind, body)


def test_null_means_no_value_here() -> None:
    assert result("int", lambda a: pa.array([None if x == 1 else x for x in a.to_pylist()], pa.int64())) == {(2, 2)}
    assert result("string", lambda a: pa.nulls(len(a))) == set()
    assert result("list", lambda a: pa.array([None, *[["x"]] * (len(a) - 1)])) == {(2, ("x",))}


def test_one_value_for_each_row() -> None:
    with pytest.raises(EvaluationError, match="the function `mine` returned 1 values for 2 rows"):
        result("int", lambda a: a[:-1])


def test_every_type_of_argument_arrives_as_its_arrow_type() -> None:
    kinds = ("int", "float", "string", "bool", "timestamp", "duration", "list")
    seen: list[str] = []

    def look(*arrays: pa.Array) -> pa.Array:
        seen[:] = [str(array.type) for array in arrays]
        return pa.array([True] * len(arrays[0]))

    hw.register("mine", kinds, "bool")(look)
    columns = ", ".join(f"c{at}: {kind}" for at, kind in enumerate(kinds))
    variables = ", ".join(f"C{at}" for at in range(len(kinds)))
    db = hw.Database(hw.compile(f"relation r({columns}). v(C0) :- r({variables}), mine({variables})."))
    db.apply(insert={"r": [(1, 0.5, "x", True, "2024-01-01", 5, ["a"])]})
    assert db.rows("v") == {(1,)}
    assert seen == ["int64", "double", "string", "bool", "timestamp[us]", "duration[us]", "list<item: string>"]
