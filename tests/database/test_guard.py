"""Recursions that never end are stopped with the rule, the cycle and samples; the database stays as it was."""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw
from headwater.core.errors import GuardError
from headwater.engine.guard import DEFAULT_GUARD, Guard

DIVERGING = {
    "a counter": ("relation s(x: int). n(X) :- s(X). Up: n(Y) :- n(X), Y = X + 1.", (1,), "Up", "`n`"),
    "a list that grows": ("relation s(x: list). n(X) :- s(X). Up: n(Y) :- n(X), Y = append(X, 1).", ([],), "Up", "`n`"),
    "a negative cycle": (
        "relation s(x: int, y: int, c: int). n(X, Y, min<C>) :- s(X, Y, C). "
        "Up: n(X, Z, min<C>) :- n(X, Y, A), s(Y, Z, B), C = A + B.",
        (1, 1, -1),
        "Up",
        "`n`",
    ),
    "two by turns": (
        "relation s(x: int). a(X) :- s(X). Up: a(Y) :- b(X), Y = X + 1. Over: b(Y) :- a(X), Y = X + 0.",
        (1,),
        "Up",
        "`a`, `b`",
    ),
    "a text that grows": (
        'relation s(x: string). n(X) :- s(X). Up: n(Y) :- n(X), Y = concat(X, "x").',
        ("",),
        "Up",
        "`n`",
    ),
}


@pytest.mark.parametrize("case", DIVERGING)
@pytest.mark.parametrize("guard", [40, Guard(rows=40, rounds=None), Guard(rows=None, rounds=40)], ids=repr)
def test_the_message_names_bound_rule_cycle_and_samples(case: str, guard: Any) -> None:
    text, row, label, cycle = DIVERGING[case]
    db = hw.Database(hw.compile(text), guard=guard)
    with pytest.raises(GuardError) as stopped:
        db.apply(insert={"s": [row]})
    message = str(stopped.value)
    assert message.startswith("error[HW901]: the recursion through " + cycle)
    assert "made more than 40 ro" in message
    assert f"  rule: {label}: " in message or "  rule: Over: " in message
    assert "  newest rows of `" in message
    assert len(message) < 1_500
    assert db.rows("s") == set()
    assert all(not db.rows(view) for view in db.program.outputs)


def test_facts_of_the_program_can_diverge_too() -> None:
    with pytest.raises(GuardError, match="made more than 30 rows"):
        hw.Database(hw.compile("n(1). n(Y) :- n(X), Y = X + 1."), guard=30)


ENDLESS_SUMS: dict[str, tuple[str, dict[str, list[tuple[Any, ...]]], str]] = {
    "a sum of itself": ("relation s(n: int). x(N) :- s(N). x(sum<N>) :- x(N).", {"s": [(1,)]}, "x(sum<N>) :- x(N)."),
    "a sum round a cycle": (
        "relation c(a: string, v: int). relation p(a: string, b: string). "
        "t(A, sum<V>) :- c(A, V). t(A, sum<V>) :- p(A, B), t(B, V).",
        {"p": [("a", "b"), ("b", "a")], "c": [("a", 1)]},
        "t(A, sum<V>) :- p(A, B), t(B, V).",
    ),
    "parts that hold themselves": (
        "relation c(a: string, v: int). relation p(a: string, b: string, q: int). "
        "t(A, sum<V>) :- c(A, V). t(A, sum<V>) :- p(A, B, Q), t(B, W), V = W * Q.",
        {"p": [("a", "b", 1), ("b", "a", 1)], "c": [("a", 1)]},
        "t(A, sum<V>) :- p(A, B, Q), t(B, W), V := W * Q.",
    ),
    "sums of the largest": (
        "relation s(k: int, n: int). x(K, msum<(K, N)>) :- s(K, N). x(K, msum<(J, N)>) :- x(K, M), s(J, _), N = M + 1.",
        {"s": [(1, 1), (2, 2)]},
        "x(K, msum<(J, N)>) :- x(K, M), s(J, _), N := M + 1.",
    ),
    "counts of counts": (
        "relation s(k: int, n: int). x(K, mcount<(K, N)>) :- s(K, N). x(K, mcount<(J, N)>) :- x(K, N), s(J, _).",
        {"s": [(1, 1), (2, 2)]},
        "x(K, mcount<(J, N)>) :- x(K, N), s(J, _).",
    ),
    "stages without an end": (
        "relation s(k: int, n: int). x(0, K, sum<N>) :- s(K, N). x(J1, K, sum<N>) :- x(J, K, N), J1 = J + 1.",
        {"s": [(1, 1), (2, 2)]},
        "x(J1, K, sum<N>) :- x(J, K, N), J1 := J + 1.",
    ),
    "averages without an end": (
        "relation s(k: int, n: int). x(0, K, avg<N>) :- s(K, N). x(J1, K, avg<N>) :- x(J, K, N), J1 = J + 1.",
        {"s": [(1, 1), (2, 2)]},
        "x(J1, K, avg<N>) :- x(J, K, N), J1 := J + 1.",
    ),
}


@pytest.mark.parametrize("case", ENDLESS_SUMS)
@pytest.mark.parametrize("provenance", ["witness", "absorption", "none"])
def test_sums_that_rest_on_themselves_are_stopped(case: str, provenance: str) -> None:
    text, rows, rule = ENDLESS_SUMS[case]
    db = hw.Database(hw.compile(text), provenance, guard=60)
    with pytest.raises(GuardError) as stopped:
        db.apply(insert=rows)
    message = str(stopped.value)
    assert message.startswith("error[HW901]: the recursion through `")
    assert f"  rule: {rule}\n" in message
    assert "  newest rows of `" in message
    assert "a sum that rests on itself" in message
    assert all(not db.rows(name) for name in (*rows, *db.program.outputs))


def test_a_sum_of_the_programs_own_fact_is_stopped() -> None:
    with pytest.raises(
        GuardError, match=r"(?s)made more than 60 rounds .*rule: x\(sum<N>\) :- x\(N\)\..*newest rows of `x`"
    ):
        hw.Database(hw.compile("x(1). x(sum<N>) :- x(N)."), guard=60)


def test_a_delete_that_leaves_an_endless_sum_is_stopped_and_asked_about_the_same() -> None:
    text = "relation c(v: int). relation off(v: int). x(V) :- c(V). x(sum<N>) :- x(N), !off(0)."
    db = hw.Database(hw.compile(text), guard=60)
    db.apply(insert={"off": [(0,)], "c": [(1,)]})
    assert db.rows("x") == {(1,)}
    for ask in (lambda: db.without({"off": [(0,)]}), lambda: db.apply(delete={"off": [(0,)]})):
        with pytest.raises(GuardError):
            ask()
        assert (db.rows("x"), db.rows("off")) == ({(1,)}, {(0,)})
    db.apply(insert={"c": [(2,)]})
    assert db.rows("x") == {(3,)}


def test_sums_round_a_cycle_that_shrink_come_to_rest() -> None:
    text = """
    relation start(a: string, v: float). relation cites(a: string, b: string, share: float).
    rank(A, sum<V>) :- start(A, V). rank(A, sum<V>) :- cites(B, A, S), rank(B, W), V = W * S.
    """
    db = hw.Database(hw.compile(text))
    db.apply(insert={"start": [("a", 1.0)], "cites": [("a", "b", 0.5), ("b", "a", 0.5)]})
    rank = dict(db.rows("rank"))
    assert rank["a"] == pytest.approx(4 / 3)
    assert rank["b"] == pytest.approx(2 / 3)


def test_a_sum_beyond_64_bits_names_its_rule() -> None:
    db = hw.Database(hw.compile("relation r(x: int). Total: v(sum<X>) :- r(X)."))
    with pytest.raises(hw.HeadwaterError, match=r"does not fit into 64 bits; use floats\n  rule: Total: v"):
        db.apply(insert={"r": [(2**62,), (2**62 + 1,)]})


CHAIN = 31_000


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (
            "relation e(x: int, y: int). far(0, 0). far(Y, min<N>) :- far(X, M), e(X, Y), N = M + 1.",
            {"e": [(at, at + 1) for at in range(CHAIN)]},
        ),
        (
            f"relation e(x: int, y: int). far(X, Y) :- e(X, Y). far(X, N) :- far(X, M), M < {CHAIN}, N = M + 1.",
            {"e": [(0, 0)]},
        ),
    ],
    ids=["a long chain", "a long count"],
)
def test_a_long_recursion_is_no_endless_one(text: str, rows: dict[str, list[tuple[int, ...]]]) -> None:
    db = hw.Database(hw.compile(text))
    db.apply(insert=rows)
    assert db.count("far") == CHAIN + 1


def test_a_sum_may_make_a_round_for_each_row_that_it_adds_up() -> None:
    """The rows that it starts from count where a rule of the recursion reads them, and where only the sum does."""
    text = """
    relation start(a: int, v: float). relation cites(a: int, b: int, share: float).
    rank(A, sum<V>) :- start(A, V). rank(A, sum<V>) :- cites(B, A, S), rank(B, W), V = W * S.
    """
    db = hw.Database(hw.compile(text), guard=hw.Guard(rounds=2))
    db.apply(insert={"start": [(0, float(at)) for at in range(200)], "cites": [(0, 0, 0.5)]})
    ((_, rank),) = db.rows("rank")
    assert rank == pytest.approx(2 * sum(range(200)))


def test_the_guard_is_on_by_default() -> None:
    assert Guard(None, 30_000, 20_000_000, 0.5) == DEFAULT_GUARD
    assert hw.Database(hw.compile("v(X) :- r(X)."))._held.guard == DEFAULT_GUARD


def test_a_recursion_that_ends_below_the_bound_is_not_stopped() -> None:
    db = hw.Database(hw.compile("relation s(x: int). n(X) :- s(X). n(Y) :- n(X), X < 29, Y = X + 1."), guard=40)
    db.apply(insert={"s": [(0,)]})
    assert db.count("n") == 30


CLOSURE = "reach(X, Y) :- e(X, Y). reach(X, Z) :- e(X, Y), reach(Y, Z)."


def test_rounds_of_a_recursion_over_what_is_there_are_not_counted() -> None:
    db = hw.Database(hw.compile(CLOSURE), guard=Guard(rounds=5, computed=5))
    db.apply(insert={"e": [(at, at + 1) for at in range(30)]})
    assert db.count("reach") == 30 * 31 // 2


@pytest.mark.parametrize(
    "text",
    [CLOSURE, CLOSURE.replace("e(X, Y), reach(Y, Z)", "reach(X, Y), reach(Y, Z)"), "reach(X, Y) :- e(X, _), e(_, Y)."],
)
def test_rows_are_bounded_whatever_derives_them(text: str) -> None:
    db = hw.Database(hw.compile(text), guard=200)
    db.apply(insert={"e": [(at, at + 1) for at in range(10)]})
    before = db.rows("reach")
    with pytest.raises(
        GuardError, match=r"error\[HW901\]: the (recursion through|rules of) `reach` made more than 200 rows"
    ):
        db.apply(insert={"e": [(at, at + 1) for at in range(10, 30)]})
    assert (db.rows("reach"), db.count("e")) == (before, 10)


@pytest.mark.parametrize("bad", [0, -1, "many", 1.5])
def test_a_bound_that_is_none(bad: Any) -> None:
    with pytest.raises(ValueError, match="a guard is a number of rows and rounds from 1 on"):
        hw.Database(hw.compile("v(X) :- r(X)."), guard=bad)


def test_the_rows_of_a_recursion_that_computes_have_a_bound_of_their_own() -> None:
    text = "relation s(x: int). n(X) :- s(X). n(Y) :- n(X), Y = X + 1, X < {most}."
    guard = Guard(rows=None, rounds=None, computed=50, memory=None)
    db = hw.Database(hw.compile(text.format(most=50)), guard=guard)
    db.apply(insert={"s": [(1,)]})
    assert db.count("n") == 50
    db = hw.Database(hw.compile(text.format(most=51)), guard=guard)
    with pytest.raises(hw.GuardError, match="made more than 50 rows"):
        db.apply(insert={"s": [(1,)]})
    assert db.count("n") == db.count("s") == 0
