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


def test_the_guard_is_on_by_default() -> None:
    assert Guard(20_000_000, 30_000) == DEFAULT_GUARD
    assert hw.Database(hw.compile("v(X) :- r(X)."))._guard == DEFAULT_GUARD


def test_a_recursion_that_ends_below_the_bound_is_not_stopped() -> None:
    db = hw.Database(hw.compile("relation s(x: int). n(X) :- s(X). n(Y) :- n(X), X < 29, Y = X + 1."), guard=40)
    db.apply(insert={"s": [(0,)]})
    assert db.count("n") == 30


def test_a_recursion_over_what_is_there_is_never_stopped() -> None:
    db = hw.Database(hw.compile("reach(X, Y) :- e(X, Y). reach(X, Z) :- e(X, Y), reach(Y, Z)."), guard=5)
    db.apply(insert={"e": [(at, at + 1) for at in range(30)]})
    assert db.count("reach") == 30 * 31 // 2


@pytest.mark.parametrize("bad", [0, -1, "many", 1.5])
def test_a_bound_that_is_none(bad: Any) -> None:
    with pytest.raises(ValueError, match="a guard is a number of rows and rounds from 1 on"):
        hw.Database(hw.compile("v(X) :- r(X)."), guard=bad)
