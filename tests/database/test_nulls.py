"""Nulls as values: in and out by every door, in joins, comparisons, arithmetic, aggregates and explanations."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import headwater as hw
from headwater.core.functions.registry import unregister

LEAST = -(2**63)


def views(text: str, **rows: Any) -> hw.Database:
    db = hw.Database(hw.compile(text))
    db.apply(insert=rows)
    return db


def one(text: str, **rows: Any) -> set[tuple[Any, ...]]:
    """The rows of the last view of a program."""
    db = views(text, **rows)
    return db.rows(db.program.outputs[-1])


R = "relation r(n: int?, s: string?). "
ROWS = [(1, "a"), (None, "b"), (None, None), (2, None)]


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        [{"n": n, "s": s} for n, s in ROWS],
        pa.table({"n": [1, None, None, 2], "s": ["a", "b", None, None]}),
        pa.table({"n": [1, None, None, 2], "s": pa.array(["a", "b", None, None]).dictionary_encode()}),
        pl.DataFrame({"n": [1, None, None, 2], "s": ["a", "b", None, None]}),
        pd.DataFrame({"n": pd.array([1, None, None, 2], dtype="Int64"), "s": ["a", "b", None, None]}),
        [(1, "a"), (pd.NA, "b"), (pd.NA, pd.NA), (2, pd.NA)],
    ],
    ids=["tuples", "dicts", "arrow", "dictionary", "polars", "pandas", "NA"],
)
def test_nulls_come_in_and_go_out(rows: Any) -> None:
    db = views(R + "v(N, S) :- r(N, S).", r=rows)
    assert db.rows("v") == set(ROWS)
    assert db.table("v").column("n").null_count == 2
    assert db.apply(delete={"r": [(None, None)]})["v"].deleted.to_pylist() == [{"n": None, "s": None}]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 7),
        ("float", -1.5),
        ("string", "x"),
        ("address", "x"),
        ("bool", False),
        ("bool", True),
        ("timestamp", dt.datetime(2026, 1, 31)),
        ("duration", dt.timedelta(seconds=3)),
        ("list", (1, 2)),
    ],
)
def test_every_type_has_a_null_of_its_own(kind: str, value: Any, tmp_path: Path) -> None:
    db = views(f"relation r(x: {kind}?). v(X) :- r(X). none(X) :- r(X), is_null(X). n(count<X>) :- r(X).", r=[(value,)])
    db.apply(insert={"r": [(None,)]})
    assert db.rows("v") == {(value,), (None,)}
    assert (db.rows("none"), db.rows("n")) == ({(None,)}, {(1,)})
    db.save(tmp_path / "views")
    opened = hw.Database.open(tmp_path / "views")
    assert opened.rows("v") == {(value,), (None,)}
    assert opened.apply(delete={"r": [(None,)]})["v"].deleted.num_rows == 1


def test_not_a_time_is_null() -> None:
    moments = [(np.datetime64("NaT"),), (pd.NaT,), (dt.datetime(2026, 1, 31),)]
    assert one("relation r(t: timestamp?). v(T) :- r(T).", r=moments) == {(None,), (dt.datetime(2026, 1, 31),)}


def test_a_nan_is_a_float() -> None:
    (row,) = one("relation r(x: float?). v(X) :- r(X).", r=[(float("nan"),)])
    assert row[0] != row[0]


def test_a_null_does_not_fit_elsewhere() -> None:
    with pytest.raises(hw.DataError, match="column `n`: a null does not fit"):
        views("relation r(n: int, s: string?). v(N) :- r(N, _).", r=[(None, None)])
    with pytest.raises(hw.DataError, match="a null does not fit"):
        views("v(N) :- r(N, _).", r=[(1, "a"), (None, "b")])


def test_the_number_whose_place_is_taken() -> None:
    assert one("relation r(n: int). v(N) :- r(N).", r=[(LEAST,)]) == {(LEAST,)}
    text = "relation r(n: int). relation s(n: int?). v(N) :- r(N). v(N) :- s(N). w(M) :- r(N), M = N - 1."
    with pytest.raises(hw.DataError, match="Headwater uses it for null"):
        views(text, r=[(LEAST,)])
    with pytest.raises(hw.DataError, match="Headwater uses it for null"):
        views(text, r=pa.table({"n": [LEAST]}))
    with pytest.raises(hw.EvaluationError, match="does not fit into 64 bits"):
        views(text, r=[(LEAST + 1,)])
    with pytest.raises(hw.EvaluationError, match="does not fit into 64 bits"):
        views("relation r(k: int, n: int?). v(sum<N>) :- r(K, N).", r=[(1, LEAST + 1), (2, -1)])


def test_identity_joins_nulls_and_order_never_holds() -> None:
    assert one(R + "v(S, T) :- r(N, S), r(N, T), N = null.", r=ROWS) == {
        (one, other) for one in ("b", None) for other in ("b", None)
    }
    assert one(R + "v(S) :- r(null, S).", r=ROWS) == {("b",), (None,)}
    assert one(R + "v(N) :- r(N, _), N != 1.", r=ROWS) == {(None,), (2,)}
    assert one(R + "v(N) :- r(N, _), N <= 5.", r=ROWS) == {(1,), (2,)}
    assert one(R + "v(N) :- r(N, _), N >= N.", r=ROWS) == {(1,), (2,)}
    assert one(R + "v(S) :- r(_, S), S > a.", r=ROWS) == {("b",)}
    assert one(R + "v(S) :- r(_, S), S != b.", r=ROWS) == {("a",), (None,)}
    assert one("relation r(n: int?, f: float?). v(N, F) :- r(N, F), N = F.", r=[(1, 1.0), (None, None), (2, None)]) == {
        (1, 1.0),
        (None, None),
    }
    assert one("relation r(n: int?, f: float?). v(N, F) :- r(N, F), N != F.", r=[(1, 1.0), (None, 1.0), (2, None)]) == {
        (None, 1.0),
        (2, None),
    }


def test_negation_sees_nulls() -> None:
    text = R + "relation s(n: int?). v(N) :- r(N, _), !s(N)."
    db = views(text, r=ROWS, s=[(1,)])
    assert db.rows("v") == {(None,), (2,)}
    db.apply(insert={"s": [(None,)]})
    assert db.rows("v") == {(2,)}
    db.apply(delete={"s": [(None,)]})
    assert db.rows("v") == {(None,), (2,)}


def test_null_spreads_through_terms() -> None:
    assert one(R + "v(N, M) :- r(N, _), M = (N + 1) * 2.", r=ROWS) == {(1, 4), (None, None), (2, 6)}
    assert one(R + "v(M) :- r(N, _), M = N / 0.", r=ROWS) == {(None,)}
    assert one(R + "v(S, U) :- r(_, S), U = upper(S).", r=ROWS) == {("a", "A"), ("b", "B"), (None, None)}
    assert one(R + "v(P) :- r(N, S), P = [N, S].", r=ROWS) == {((1, "a"),), (None,)}
    assert one(R + "v(M) :- r(N, _), M = null + N.", r=ROWS) == {(None,)}
    assert one(R + "v(N, X) :- r(N, _), X = null, N < 2.", r=ROWS) == {(1, None)}
    assert one(R + "v(L) :- r(_, S), starts_with(S, a), L = S.", r=ROWS) == {("a",)}
    assert one(R + "v(L) :- r(_, S), !starts_with(S, a), L = S.", r=ROWS) == {("b",)}


def test_a_null_of_no_type_takes_that_of_its_column() -> None:
    text = "relation r(n: int). a(N, null) :- r(N). v(N, M) :- a(N, M). v(N, N) :- r(N). w(M) :- v(N, M), M = null."
    db = views(text, r=[(1,)])
    assert db.rows("v") == {(1, None), (1, 1)}
    assert db.rows("w") == {(None,)}
    assert one("p(1, null). p(2, a). v(X) :- p(_, X).") == {(None,), ("a",)}


def test_the_users_functions_do_not_see_nulls() -> None:
    seen: list[int] = []

    @hw.register("doubled", ("int",), "int")
    def doubled(numbers: pa.Array) -> pa.Array:
        seen.append(numbers.null_count)
        return pc.multiply(numbers, 2)

    try:
        assert one(R + "v(M) :- r(N, _), M = doubled(N).", r=ROWS) == {(2,), (4,), (None,)}
        assert one(R + "v(M) :- r(N, _), M = doubled(N).", r=[(None, "b")]) == {(None,)}
    finally:
        unregister("doubled")
    assert set(seen) == {0}


G = "relation g(k: string?, id: int, n: int?, f: float?, b: bool?). "
GROUPS = [
    ("a", 1, 3, None, True),
    ("a", 2, None, 0.5, None),
    (None, 3, None, None, None),
    (None, 4, None, None, None),
    ("b", 5, 7, 1.5, False),
]


def test_aggregates_leave_nulls_out() -> None:
    assert one(G + "v(K, count<N>, count<1>) :- g(K, I, N, _, _).", g=GROUPS) == {
        ("a", 1, 2),
        (None, 0, 2),
        ("b", 1, 1),
    }
    assert one(G + "v(K, sum<N>, avg<N>, sum<F>) :- g(K, I, N, F, _).", g=GROUPS) == {
        ("a", 3, 3.0, 0.5),
        (None, None, None, None),
        ("b", 7, 7.0, 1.5),
    }
    for best in ("min", "max"):
        assert one(G + f"v(K, {best}<N>) :- g(K, I, N, _, _).", g=GROUPS) == {("a", 3), (None, None), ("b", 7)}
        assert one(G + f"v(K, {best}<B>) :- g(K, I, _, _, B).", g=GROUPS) == {("a", True), (None, None), ("b", False)}
        assert one(G + f"v({best}<K>) :- g(K, I, _, _, _).", g=GROUPS) == {("a" if best == "min" else "b",)}
        assert one(G + f"v({best}<K>, {best}<F>) :- g(K, I, _, F, _).", g=GROUPS) == {
            ("a", 0.5) if best == "min" else ("b", 1.5)
        }
    assert one(G + "v(K, top<2, N>) :- g(K, I, N, _, _).", g=GROUPS) == {("a", 3), ("b", 7)}
    assert one(G + "v(K, msum<(I, N)>) :- g(K, I, N, _, _).", g=GROUPS) == {("a", 3), (None, None), ("b", 7)}


def test_a_group_gains_and_loses_its_values() -> None:
    db = views(
        G + "v(K, min<N>) :- g(K, I, N, _, _). w(K, sum<N>) :- g(K, I, N, _, _).", g=[(None, 1, None, None, None)]
    )
    assert (db.rows("v"), db.rows("w")) == ({(None, None)}, {(None, None)})
    db.apply(insert={"g": [(None, 2, 5, None, None)]})
    assert (db.rows("v"), db.rows("w")) == ({(None, 5)}, {(None, 5)})
    db.apply(delete={"g": [(None, 2, 5, None, None)]})
    assert (db.rows("v"), db.rows("w")) == ({(None, None)}, {(None, None)})
    db.apply(delete={"g": [(None, 1, None, None, None)]})
    assert (db.rows("v"), db.rows("w")) == (set(), set())


def test_large_groups_of_nulls() -> None:
    rows = [("a", number, None if number % 3 else number, None, None) for number in range(300)]
    db = views(G + "v(K, sum<N>, count<N>) :- g(K, I, N, _, _).", g=rows)
    assert db.rows("v") == {("a", sum(range(0, 300, 3)), 100)}
    db.apply(delete={"g": rows[:10]})
    assert db.rows("v") == {("a", sum(range(12, 300, 3)), 96)}


def test_shortest_paths_with_unknown_costs() -> None:
    text = """
    relation link(src: string, dst: string, cost: int?).
    d(X, Y, min<C>) :- link(X, Y, C).
    d(X, Z, min<C>) :- d(X, Y, A), link(Y, Z, B), C = A + B.
    """
    db = views(text, link=[("a", "b", 1), ("b", "c", None), ("b", "c", 5), ("c", "d", None), ("x", "a", None)])
    assert db.rows("d") == {
        ("a", "b", 1),
        ("b", "c", 5),
        ("c", "d", None),
        ("x", "a", None),
        ("a", "c", 6),
        ("b", "d", None),
        ("a", "d", None),
        ("x", "b", None),
        ("x", "c", None),
        ("x", "d", None),
    }
    db.apply(delete={"link": [("b", "c", 5)]})
    assert ("a", "c", None) in db.rows("d")


def test_keys_may_be_null() -> None:
    db = views("relation r(k: string?, n: int) key(k). v(K, N) :- r(K, N).", r=[(None, 1), ("a", 2)])
    db.apply(insert={"r": [(None, 3)]})
    assert db.rows("v") == {(None, 3), ("a", 2)}


def test_explanations_say_null() -> None:
    db = views(R + "v(N, S) :- r(N, S). w(S) :- r(N, S), N < 3.", r=ROWS)
    assert str(db.why("v", (None, None))).splitlines()[1] == "└─ r(null, null)"
    assert db.why("v", (None, "b")).facts == [("r", (None, "b"))]
    told = str(db.why_not("w", ("b",)))
    assert "N = null" in told
    assert "v(null, z) is not there" in str(db.why_not("v", (None, "z")))
    assert db.without({"r": [(None, None)]})["v"].deleted.to_pylist() == [{"n": None, "s": None}]


def test_queries_for_nulls() -> None:
    assert one(R + "v(N, S) :- r(N, S). query v(null, S).", r=ROWS) == {(None, "b"), (None, None)}
    assert one(R + "v(N, S) :- r(N, S). query v(N, null).", r=ROWS) == {(None, None), (2, None)}
    assert one("relation r(b: bool?). v(B) :- r(B). query v(true).", r=[(True,), (False,), (None,)]) == {(True,)}


def test_aggregates_of_the_literal() -> None:
    text = "relation r(f: float). v(F, avg<F>) :- r(F). v(F, avg<null>) :- r(F), F < 0.0."
    assert one(text, r=[(1.0,), (-1.0,)]) == {(1.0, 1.0), (-1.0, -1.0)}
    assert one("relation r(f: float). v(F, top<2, null>) :- r(F).", r=[(1.0,)]) == set()
    assert one("relation r(f: float). v(count<null>) :- r(F).", r=[(1.0,)]) == {(0,)}


def test_a_null_that_a_rewrite_moves_to_where_none_can_be() -> None:
    text = "relation r(n: int). relation s(n: int?). v(N) :- r(N), N = null. w(N) :- s(N), !r(M), M = null."
    assert one(text, r=[(1,)], s=[(None,)]) == {(None,)}
    text = "relation r(n: int). a(null). a(3). v(N) :- a(N), r(N). query v(N)."
    assert one(text, r=[(1,), (3,)]) == {(3,)}


def test_no_number_is_taken_for_the_literal() -> None:
    with pytest.raises(hw.DataError, match="Headwater uses it for null"):
        views("relation r(n: int). v(N) :- r(N), N = null.", r=[(LEAST,)])


def test_a_column_of_nothing_but_nulls_is_of_the_type_it_is_joined_with() -> None:
    text = "relation r(n: int?). a(null) :- r(_). b(X) :- a(X). v(X) :- b(X), r(X). w(X) :- r(X), !b(X)."
    db = views(text, r=[(None,), (1,)])
    assert (db.rows("v"), db.rows("w")) == ({(None,)}, {(1,)})
    with pytest.raises(hw.ProgramError, match="HW402"):
        views("relation r(n: int?, s: string?). a(null) :- r(_, _). v(X) :- a(X), r(X, _). w(X) :- a(X), r(_, X).")


def test_a_choice_and_a_quotient_that_is_not_there() -> None:
    text = "relation r(x: int?, y: int). v(X, Y, Q) :- r(X, Y), Q = if(is_equal(Y, 0), null, X / Y)."
    assert one(text, r=[(6, 2), (6, 0), (None, 2)]) == {(6, 2, 3.0), (6, 0, None), (None, 2, None)}
    text = "relation r(s: string?, l: list?). v(S, T) :- r(S, L), T = coalesce(S, first(L))."
    assert one(text, r=[("a", ()), (None, ("b",)), (None, None), (None, ())]) == {("a", "a"), (None, "b"), (None, None)}


def test_a_text_of_a_value_that_there_is_not_is_not_there() -> None:
    text = "relation r(s: string). v(S, N) :- r(S), N = length(to_string(to_int(S)))."
    assert one(text, r=[("12",), ("abc",), ("a-b",)]) == {("12", 2)}
