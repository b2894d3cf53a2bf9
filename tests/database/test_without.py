"""What if these rows were not there: the changes that deleting them would make, and not a trace afterwards."""

from __future__ import annotations

import random
from typing import Any

import pytest

import headwater as hw
from headwater.core.errors import DataError, EvaluationError

WAYS = """
relation edge(src: int, dst: int, cost: int).
reach(X, Y) :- edge(X, Y, _).
reach(X, Z) :- edge(X, Y, _), reach(Y, Z).
near(X, Y, min<C>) :- edge(X, Y, C).
near(X, Z, min<C>) :- near(X, Y, A), edge(Y, Z, B), C = A + B.
out(X, count<Y>, sum<C>) :- edge(X, Y, C).
"""
TEXT = f"""{WAYS}
relation node(n: int).
apart(X, Y) :- node(X), node(Y), !reach(X, Y).
"""
NAMES = ("edge", "node", "reach", "near", "out", "apart")


def plain(changes: Any) -> dict[str, tuple[list[str], list[str]]]:
    return {
        name: tuple(sorted(map(str, table.to_pylist())) for table in (changes[name].inserted, changes[name].deleted))
        for name in NAMES
    }


@pytest.mark.parametrize("seed", range(12))
def test_without_equals_deleting_from_a_copy_and_leaves_no_trace(seed: int) -> None:
    dice = random.Random(seed)
    program = hw.compile(TEXT)
    db, copy = hw.Database(program), hw.Database(program)
    edges = [(dice.randrange(7), dice.randrange(7), dice.randint(0, 3)) for _ in range(25)]
    for one in (db, copy):
        one.apply(insert={"edge": edges, "node": [(at,) for at in range(7)]})
    rows = {name: db.rows(name) for name in NAMES}
    proofs = {(name, row): str(db.why(name, row)) for name in NAMES for row in rows[name]}
    for _ in range(5):
        lost = {"edge": [*dice.sample(edges, 3), (99, 99, 99)], "node": [(dice.randrange(9),)]}
        answer = plain(db.without(lost))
        assert answer == plain(db.without(lost))
        assert {name: db.rows(name) for name in NAMES} == rows
        assert {(name, row): str(db.why(name, row)) for name, row in proofs} == proofs
        assert answer == plain(copy.apply(delete=lost))
        copy.apply(insert={"edge": edges, "node": [(at,) for at in range(7)]})
    assert plain(db.apply(delete={"edge": edges[:5]})) == plain(copy.apply(delete={"edge": edges[:5]}))


def test_asking_again_and_again_takes_no_more_room() -> None:
    db = hw.Database(hw.compile(TEXT))
    db.apply(insert={"edge": [(at, at + 1, 1) for at in range(60)], "node": [(1,), (50,)]})
    db.without({"edge": [(30, 31, 1)]})
    before = db.nbytes
    for at in range(50):
        db.without({"edge": [(at, at + 1, 1)]})
    assert db.nbytes < 2 * before


def test_without_refuses_what_apply_refuses() -> None:
    db = hw.Database(hw.compile(TEXT))
    with pytest.raises(DataError, match="is derived by rules"):
        db.without({"reach": [(1, 2)]})
    with pytest.raises(DataError, match="did you mean `edge`"):
        db.without({"edgy": [(1, 2)]})
    with pytest.raises(DataError, match="'x' is not a valid int"):
        db.without({"edge": [("x", 2, 3)]})
    assert not any(db.without({"edge": [(1, 2, 3)]})[name] for name in NAMES)


def test_a_large_group_is_as_it_was_after_asking() -> None:
    """The totals of a large group are kept, and moved by what comes and goes."""
    db = hw.Database(hw.compile("relation e(x: int, y: int). out(X, sum<Y>, count<Y>) :- e(X, Y)."))
    rows = [(0, y) for y in range(100)]
    db.apply(insert={"e": rows})
    assert db.without({"e": rows[:1] + rows[90:]})["out"].inserted.to_pylist() == [
        {"x": 0, "sum": sum(range(1, 90)), "count": 89}
    ]
    db.apply(insert={"e": [(0, 1000)]})
    assert db.rows("out") == {(0, sum(range(100)) + 1000, 101)}
    assert not db.without({"e": [*rows, (0, 1000)]})["out"].inserted.num_rows
    db.apply(delete={"e": [(0, 1000)]})
    assert db.rows("out") == {(0, sum(range(100)), 100)}


def test_a_group_that_a_failed_transaction_made_large_is_small_again() -> None:
    db = hw.Database(
        hw.compile("relation e(x: int, y: int). out(X, sum<Y>, count<Y>) :- e(X, Y). all(sum<S>) :- out(X, S, _).")
    )
    too_much = [(1, 2**62), (2, 2**62)]
    db.apply(insert={"e": [(0, y) for y in range(60)]})
    with pytest.raises(EvaluationError, match="`all` does not fit into 64 bits"):
        db.apply(insert={"e": [*((0, y) for y in range(60, 90)), *too_much]})
    db.apply(insert={"e": [(0, 1000)]})
    assert db.rows("out") == {(0, sum(range(60)) + 1000, 61)}
    db.apply(insert={"e": [(0, y) for y in range(60, 90)]})
    with pytest.raises(EvaluationError, match="`all` does not fit into 64 bits"):
        db.apply(insert={"e": too_much}, delete={"e": [(0, y) for y in range(80)]})
    db.apply(delete={"e": [(0, 1000)]})
    assert db.rows("out") == {(0, sum(range(90)), 90)}
