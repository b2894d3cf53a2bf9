"""Recursions over streams, asked from every side: the same rows, times and ends with and without the rewrites."""

from __future__ import annotations

from random import Random

import pytest

import headwater as hw
from headwater.rewrite.demand.leading_side import leading_side
from headwater.rewrite.demand.linear_recursion import linear_recursion
from headwater.rewrite.demand.magic_sets import magic_sets
from headwater.rewrite.demand.steps_apart import steps_apart
from tests.rewrite.left_out import agree_on_shards

REWRITES = [rule.__name__ for rule in (leading_side, linear_recursion, steps_apart, magic_sets)]
STREAMS = """
stream e(ts: int, x: int, y: int).
stream f(ts: int, x: int).
stream w(ts: int, x: int, y: int, c: int).
"""
WAYS = {
    "right": "r(T, X, Y) :- e(T, X, Y). r(T, X, Y) :- e(T1, X, Z), r(T2, Z, Y), larger(T, T1, T2).",
    "left": "r(T, X, Y) :- e(T, X, Y). r(T, X, Y) :- r(T1, X, Z), e(T2, Z, Y), largest(T, T1, T2).",
    "doubled": "r(T, X, Y) :- e(T, X, Y). r(T, X, Y) :- r(T1, X, Z), r(T2, Z, Y), largest(T, T1, T2).",
    "first time": "r(T, X, Y) :- e(T, X, Y). r(T, X, Y) :- e(T, X, Z), r(_, Z, Y).",
    "last time": "r(T, X, Y) :- e(T, X, Y). r(T, X, Y) :- r(_, X, Z), e(T, Z, Y).",
    "no time": "r(X, Y) :- e(_, X, Y). r(X, Y) :- e(_, X, Z), r(Z, Y).",
    "no time, other ends": "r(X, Y) :- w(_, X, Y, _). r(X, Y) :- e(_, X, Z), r(Z, Y).",
    "no time, negated steps": "r(X, Y) :- w(T, X, Y, _), T > 3. r(X, Y) :- e(_, X, Z), !f(_, Z), r(Z, Y).",
    "other ends": "r(T, X, Y) :- w(T, X, Y, _). r(T, X, Y) :- e(T1, X, Z), r(T2, Z, Y), larger(T, T1, T2).",
    "steps look back": "r(T, X, Y) :- e(T, X, Y), !f(_, Y). "
    "r(T, X, Y) :- e(T1, X, Z), r(T2, Z, Y), !f(_, Z), larger(T, T1, T2).",
    "looked back at": "c(T, X, Y) :- e(T, X, Y). c(T, X, Y) :- e(T1, X, Z), c(T2, Z, Y), larger(T, T1, T2). "
    "r(T, X, Y) :- w(T, X, Y, _), !c(_, X, Y).",
}
VALUED = {
    "cost": "r(T, X, Y, mmin<C>) :- w(T, X, Y, C). "
    "r(T, X, Y, mmin<C>) :- w(T1, X, Z, A), r(T2, Z, Y, B), C = A + B, larger(T, T1, T2).",
    "widest": "r(T, X, Y, max<C>) :- w(T, X, Y, C). "
    "r(T, X, Y, max<C>) :- w(T1, X, Z, A), r(T2, Z, Y, B), smaller(C, A, B), larger(T, T1, T2).",
}


def _question(shape: str, dice: Random) -> str:
    extra = ", V" if shape in VALUED else ""
    time = "" if shape.startswith("no time") else dice.choice(["T, ", "_, "]) if shape in WAYS else "_, "
    ends = dice.choice([f"{dice.randrange(5)}, Y", f"X, {dice.randrange(5)}", "1, 2", "X, Y"])
    window = dice.choice(["", ", WINDOW(6)", ", WINDOW(4)"])
    return f"query r({time}{ends}{extra}){window}."


def _rows(text: str, dice: Random, now: int) -> dict[str, list[tuple[int, ...]]]:
    def row(name: str) -> tuple[int, ...]:
        ends = (dice.randrange(5), dice.randrange(5))
        more = {"e": ends, "f": ends[:1], "w": (*ends, dice.randrange(1, 4))}[name]
        return (now + dice.randrange(3), *more)

    return {name: [row(name) for _ in range(dice.randrange(5))] for name in ("e", "f", "w") if f"{name}(" in text}


@pytest.mark.parametrize("shape", [*WAYS, *VALUED])
@pytest.mark.parametrize("disabled", [[], *([name] for name in REWRITES)], ids=str)
def test_agree_timed_closures_however_they_are_written(shape: str, disabled: list[str]) -> None:
    rules = WAYS.get(shape) or VALUED[shape]
    for seed in range(4):
        dice = Random(f"{shape} {seed}")
        text = f"{STREAMS}{rules} {_question(shape, dice)}"
        dbs = [hw.Database(hw.compile(text, disabled=off)) for off in (REWRITES, disabled)]
        there: dict[str, list[tuple[int, ...]]] = {}
        for now in range(0, 20, 3):
            insert = _rows(rules, dice, now)
            delete = {name: [row for row in rows if dice.random() < 0.15] for name, rows in there.items()}
            for db in dbs:
                db.apply(insert=insert, delete=delete)
            assert dbs[0].rows("r") == dbs[1].rows("r"), (text, now)
            ends = [{row: db.valid_until("r", row) for row in db.rows("r")} for db in dbs]
            assert ends[0] == ends[1], (text, now)
            for name, rows in insert.items():
                there[name] = [row for row in there.get(name, []) if row not in delete.get(name, ())] + rows
        for db in dbs:
            db.advance(40)
        assert dbs[0].rows("r") == dbs[1].rows("r"), text


@pytest.mark.parametrize("shards", [1, 2, 3])
@pytest.mark.parametrize("shape", ["right", "doubled", "cost", "no time, other ends"])
def test_agree_timed_closures_on_shards(shape: str, shards: int) -> None:
    dice = Random(f"{shape} {shards}")
    rules = WAYS.get(shape) or VALUED[shape]
    time = "" if shape.startswith("no time") else "_, "
    text = f"{STREAMS}{rules} query r({time}1, Y{', V' if shape in VALUED else ''}), WINDOW(7)."
    edits = [(_rows(rules, dice, now), {}) for now in range(0, 12, 3)]
    agree_on_shards(text, "leading_side" if time else "steps_apart", shards, edits)


def test_a_question_over_a_stream_asks_for_nothing_on_the_way() -> None:
    db = hw.Database(hw.compile(f"{STREAMS}{WAYS['right']} query r(_, $From, Y), WINDOW(60)."))
    db.apply(insert={"e": [(at, at, at + 1) for at in range(50)]})
    with db.follow("r", From=10) as live:
        assert len(live.rows) == 40
        assert db.reader.count("r'asked") == 1
