"""A transaction that fails leaves no trace: the database goes on exactly like a twin that never saw it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.errors import DataError, EvaluationError, GuardError
from headwater.core.functions.registry import unregister
from headwater.engine.store import budget
from tests.database.test_without import WAYS

TEXT = f"""{WAYS}
relation label(node: int, name: string) key(node).
relation poison(x: int).
apart(X, Y) :- label(X, _), label(Y, _), !reach(X, Y).
named(N, M) :- reach(X, Y), label(X, N), label(Y, M).
two(X, top<2, C>) :- near(X, _, C).
checked(X, Y) :- label(X, _), Y = checked_double(X).
late(X) :- poison(X), near(X, _, _).
grows(X) :- poison(X), X >= 0, X < 5.
grows(Y) :- grows(X), Y = X + 1.
huge(Y) :- poison(X), X > 1000, Y = X * X.
"""
VIEWS = ("reach", "near", "out", "apart", "named", "two", "checked", "late", "grows", "huge")
BASES = ("edge", "label", "poison")


class Broken(Exception):
    pass


@pytest.fixture(autouse=True)
def _function() -> Any:
    @hw.register("checked_double", ("int",), "int")
    def checked_double(numbers: pa.Array) -> pa.Array:
        if 77 in numbers.to_pylist():
            raise Broken
        if 78 in numbers.to_pylist():
            return numbers[:-1]
        if 79 in numbers.to_pylist():
            return pa.array(["text"] * len(numbers))
        return pa.array([None if number == 5 else 2 * number for number in numbers.to_pylist()], pa.int64())

    yield
    unregister("checked_double")


def state(db: hw.Database) -> dict[str, set[tuple[Any, ...]]]:
    return {name: db.rows(name) for name in (*VIEWS, *BASES)}


def edit(dice: random.Random) -> dict[str, dict[str, list[tuple[Any, ...]]]]:
    def edges(count: int) -> list[tuple[Any, ...]]:
        return [(dice.randrange(8), dice.randrange(8), dice.randint(1, 4)) for _ in range(count)]

    return {
        "insert": {"edge": edges(dice.randrange(6)), "label": [(dice.randrange(8), dice.choice("abc"))]},
        "delete": {"edge": edges(dice.randrange(40)), "label": [(dice.randrange(8), dice.choice("abc"))]},
    }


def with_rows(transaction: dict[str, Any], way: str, relation: str, row: tuple[Any, ...]) -> dict[str, Any]:
    rows = {**transaction[way], relation: [*transaction[way].get(relation, []), row]}
    return {**transaction, way: rows}


FAILURES: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], type[BaseException]]] = {
    "bad row": (lambda t: with_rows(t, "insert", "edge", (1, "x", 2)), DataError),
    "bad delete": (lambda t: with_rows(t, "delete", "edge", (1, None, 2)), DataError),
    "guard": (lambda t: with_rows(t, "insert", "poison", (1,)), GuardError),
    "negative cycle": (lambda t: with_rows(t, "insert", "edge", (1, 1, -1)), GuardError),
    "overflow": (lambda t: with_rows(t, "insert", "poison", (2**40,)), EvaluationError),
    "sum overflow": (lambda t: with_rows(t, "insert", "edge", (3, 3, 2**63 - 1)), EvaluationError),
    "function raises": (lambda t: with_rows(t, "insert", "label", (77, "a")), Exception),
    "function too short": (lambda t: with_rows(t, "insert", "label", (78, "a")), EvaluationError),
    "function of another type": (lambda t: with_rows(t, "insert", "label", (79, "a")), EvaluationError),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("seed", range(4))
def test_a_failed_transaction_leaves_the_database_like_its_twin(failure: str, seed: int) -> None:
    dice = random.Random(f"{failure} {seed}")
    spoil, error = FAILURES[failure]
    program = hw.compile(TEXT)
    db, twin = hw.Database(program, guard=500), hw.Database(program, guard=500)
    for _ in range(6):
        good = edit(dice)
        for one in (db, twin):
            one.apply(**good)
        before = state(db)
        assert before == state(twin)
        proofs = {name: [(row, str(db.why(name, row))) for row in sorted(before[name])[:3]] for name in VIEWS}
        with pytest.raises(error):
            db.apply(**spoil(edit(dice)))
        assert state(db) == before
        for name, rows in proofs.items():
            assert [(row, str(db.why(name, row))) for row, _ in rows] == rows
    last = edit(dice)
    changes, expected = db.apply(**last), twin.apply(**last)
    for name in (*VIEWS, *BASES):
        for way in ("inserted", "deleted"):
            ours, theirs = getattr(changes[name], way), getattr(expected[name], way)
            assert sorted(map(str, ours.to_pylist())) == sorted(map(str, theirs.to_pylist()))
    assert state(db) == state(twin)


@pytest.mark.parametrize("seed", range(10))
def test_a_cancelled_transaction_leaves_the_database_like_its_twin(seed: int) -> None:
    dice = random.Random(seed)
    program = hw.compile(TEXT)
    db, twin = hw.Database(program), hw.Database(program)
    for _ in range(8):
        patience = dice.randrange(12)

        def impatient() -> bool:
            nonlocal patience
            patience -= 1
            return patience < 0

        good, cut = edit(dice), edit(dice)
        for one in (db, twin):
            one.apply(**good)
        try:
            db.apply(**cut, cancelled=impatient)
            twin.apply(**cut)
        except KeyboardInterrupt:
            pass
        assert state(db) == state(twin)


@pytest.mark.parametrize("seed", range(6))
def test_memory_that_runs_out_anywhere_leaves_the_database_like_its_twin(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every place that asks the budget is refused once, in the middle of what it does."""
    dice = random.Random(seed)
    program = hw.compile(TEXT)
    guard = hw.Guard(memory=1 << 40)
    db, twin = hw.Database(program, guard=guard), hw.Database(program, guard=guard)
    monkeypatch.setattr(budget, "_SMALL", 0)
    asked, patience, held = 0, 1 << 30, budget.Budget.held.fget
    assert held is not None

    def scarce(self: budget.Budget) -> int:
        nonlocal asked
        asked += 1
        return 1 << 50 if 0 <= asked - patience < 2 else held(self)  # asked again once room is given back

    monkeypatch.setattr(budget.Budget, "held", property(scarce))
    refused = 0
    for _ in range(40):
        step = edit(dice)
        asked, patience = 0, dice.randrange(1, 60)
        try:
            db.apply(**step)
        except GuardError as problem:
            refused += "HW906" in str(problem)
        else:
            patience = 1 << 30
            twin.apply(**step)
        patience = 1 << 30
        assert state(db) == state(twin)
    assert refused
    last = edit(dice)
    for one in (db, twin):
        one.apply(**last)
    assert state(db) == state(twin)


def test_a_question_that_fails_changes_nothing() -> None:
    db = hw.Database(hw.compile("relation r(x: int). relation s(x: int). v(sum<X>) :- r(X), !s(X)."))
    db.apply(insert={"r": [(2**62,), (2**62 + 1,)], "s": [(2**62,)]})
    with pytest.raises(EvaluationError, match="64 bits"):
        db.without({"s": [(2**62,)]})
    assert (db.rows("v"), db.rows("s")) == ({(2**62 + 1,)}, {(2**62,)})
    db.apply(insert={"r": [(3,)]})
    assert db.rows("v") == {(2**62 + 4,)}


def test_a_division_by_zero_is_no_row_and_no_error() -> None:
    db = hw.Database(hw.compile("relation r(x: int). v(X, Y) :- r(X), Y = 10 / X. w(X, Y) :- r(X), Y = 7 % X."))
    db.apply(insert={"r": [(0,), (2,)]})
    assert (db.rows("v"), db.rows("w")) == ({(2, 5.0)}, {(2, 1)})
