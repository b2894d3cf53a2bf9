"""Values and moments at the edges: what a goal excludes is not computed, and what cannot be is refused by name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.functions.registry import unregister


@pytest.mark.parametrize(
    "rule", ["v(Y) :- r(X), !s(X), Y = X * X.", "v(Y) :- r(X), Y = X * X, X < 1000.", "v(Y) :- r(X), Y = X * X, ok(X)."]
)
def test_what_a_goal_excludes_is_not_computed(rule: str) -> None:
    db = hw.Database(hw.compile(f"relation r(x: int). relation s(x: int). relation ok(x: int). {rule}"))
    db.apply(insert={"r": [(2**40,), (2,)], "s": [(2**40,)], "ok": [(2,)]})
    assert db.rows("v") == {(4,)}


def test_a_number_that_does_not_fit_names_the_rule() -> None:
    db = hw.Database(hw.compile("relation r(x: int). square: v(Y) :- r(X), Y = X * X."))
    with pytest.raises(hw.EvaluationError, match=r"does not fit into 64 bits.*\n  rule: square: v\(Y\)"):
        db.apply(insert={"r": [(2**40,)]})
    assert db.rows("r") == set()


def test_a_list_with_nan_is_one_row() -> None:
    db = hw.Database(hw.compile("relation p(l: list). q(L) :- p(L)."))
    db.apply(insert={"p": [([math.nan],)]})
    db.apply(insert={"p": [([math.nan],)]})
    assert db.count("p") == db.count("q") == 1
    db.apply(delete={"p": [([float("nan")],)]})
    assert db.count("q") == 0


def test_a_fact_of_the_program_keeps_its_key() -> None:
    db = hw.Database(hw.compile("relation k(s: string, n: int) key(s). k(z, 1). v(S, N) :- k(S, N)."))
    with pytest.raises(hw.DataError, match="a fact of the program has the key of a row of `k`"):
        db.apply(insert={"k": [("z", 2)]})
    db.apply(insert={"k": [("z", 1), ("y", 2)]})
    assert db.rows("v") == {("z", 1), ("y", 2)}


@pytest.fixture
def failing() -> Iterator[None]:
    @hw.register("inverse", ("float",), "float")
    def inverse(values: pa.Array) -> object:
        if 0.0 in values.to_pylist():
            raise ZeroDivisionError("by zero")
        return None

    yield
    unregister("inverse")


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize(("value", "said"), [(0.0, "raised ZeroDivisionError: by zero"), (1.0, "returned NoneType")])
def test_a_function_of_the_user_that_fails_is_named(value: float, said: str) -> None:
    db = hw.Database(hw.compile("relation r(x: float). v(Y) :- r(X), Y = inverse(X)."))
    with pytest.raises(hw.EvaluationError, match=f"`inverse` {said}"):
        db.apply(insert={"r": [(value,)]})
    assert db.rows("r") == set()


def test_a_relation_that_there_is_not() -> None:
    db = hw.Database(hw.compile("reach(X, Y) :- link(X, Y)."))
    with pytest.raises(hw.UnknownRelation) as caught:
        db.rows("raech")
    assert str(caught.value) == "there is no relation `raech`; did you mean `reach`?"
    assert isinstance(caught.value, hw.DataError)
    assert isinstance(caught.value, KeyError)


def test_a_cancellation_in_the_last_round_takes_the_transaction_back() -> None:
    db = hw.Database(hw.compile("reach(X, Y) :- link(X, Y)."))
    db.apply(insert={"link": [("a", "b")]})
    asked = 0

    def count() -> bool:
        nonlocal asked
        asked += 1
        return False

    db.apply(insert={"link": [("b", "c")]}, cancelled=count)
    for moment in range(asked):
        answers = iter([False] * moment + [True])
        with pytest.raises(KeyboardInterrupt):
            db.apply(insert={"link": [("x", "y")]}, cancelled=partial(next, answers))
        assert db.rows("reach") == {("a", "b"), ("b", "c")}


@pytest.mark.parametrize("order", [("whole", "part"), ("part", "whole")])
def test_an_average_pools_ints_and_floats(order: tuple[str, str]) -> None:
    text = "relation whole(k: int, n: int). relation part(k: int, n: float). "
    db = hw.Database(hw.compile(text + " ".join(f"mean(K, avg<N>) :- {name}(K, N)." for name in order)))
    db.apply(insert={"whole": [(1, 1), (1, 2), (2, 2)], "part": [(1, 0.5), (2, 7.0)]})
    assert db.rows("mean") == {(1, 3.5 / 3), (2, 4.5)}
    assert db.critical("mean", (2, 4.5)).facts == [("part", (2, 7.0)), ("whole", (2, 2))]


def test_large_ints_beside_floats_count_as_floats() -> None:
    """As in SQL: rows, constants of the program and nodes agree, also beyond 2**53."""
    text = """
        relation a(x: int). relation b(y: float).
        equal(X, Y) :- a(X), b(Y), X = Y.
        third(X / 3) :- a(X).
        folded("equal") :- 9007199254740993 = 9007199254740992.0.
        quotient(Z) :- Z = 9007199254740993 / 3.
    """
    database = hw.Database(hw.compile(text))
    database.apply(insert={"a": [(2**53 + 1,)], "b": [(2.0**53,)]})
    assert database.rows("equal") == {(2**53 + 1, 2.0**53)}
    assert database.rows("folded") == {("equal",)}
    assert database.rows("third") == database.rows("quotient") == {(3002399751580330.5,)}


@pytest.mark.parametrize(("more", "least"), [("", -(2**63)), ("relation n(x: int?). m(X) :- n(X).", 1 - 2**63)])
def test_the_least_sum_that_an_int_can_hold(more: str, least: int) -> None:
    """Where nulls can be, the least int of all stands for them; the next one is a number like others."""
    text = "relation e(a: int, b: int, c: int). d(X, Y, min<C>) :- e(X, Y, C). "
    db = hw.Database(hw.compile(f"{text} d(X, Z, min<C>) :- d(X, Y, A), e(Y, Z, B), C = A + B. {more}"))
    half = least // 2
    db.apply(insert={"e": [(1, 2, half), (2, 3, least - half)]})
    assert (1, 3, least) in db.rows("d")
    with pytest.raises(hw.EvaluationError, match="a sum in `d` "):
        db.apply(insert={"e": [(3, 4, -1)]})
