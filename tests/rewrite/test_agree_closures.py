"""Recursions of every shape, asked from every side: with and without the rewrites, the same rows after every edit."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import headwater as hw
from headwater.rewrite.demand.linear_recursion import linear_recursion
from headwater.rewrite.rules import DEMAND_RULES

DEMAND = [rule.__name__ for rule in (*DEMAND_RULES, linear_recursion)]

STEPS = {
    "right": "r(X, Y) :- e(X, Y). r(X, Y) :- e(X, Z), r(Z, Y).",
    "left": "r(X, Y) :- e(X, Y). r(X, Y) :- r(X, Z), e(Z, Y).",
    "doubled": "r(X, Y) :- e(X, Y). r(X, Y) :- r(X, Z), r(Z, Y).",
    "two kinds": "r(X, Y) :- e(X, Y), X != Y. r(X, Y) :- f(X, Y). r(X, Y) :- f(X, Z), r(Z, Y). "
    "r(X, Y) :- e(X, Z), X != Z, r(Z, Y).",
    "turned": "r(X, Y) :- e(Y, X). r(X, Y) :- e(Z, X), r(Z, Y).",
    "ends differ": "r(X, Y) :- f(X, Y). r(X, Y) :- e(X, Z), r(Z, Y).",
    "ends differ, left": "r(X, Y) :- f(X, Y). r(X, Y) :- r(X, Z), e(Z, Y).",
    "negated step": "r(X, Y) :- e(X, Y), !f(Y, X). r(X, Y) :- e(X, Z), !f(Z, X), r(Z, Y).",
    "ends differ in value": "r(X, Y) :- e(X, Y). r(X, Y) :- e(X, Z), r(Z, Y), X != Y.",
    "with facts": "r(0, 3). r(X, Y) :- e(X, Y). r(X, Y) :- e(X, Z), r(Z, Y).",
}
VALUED = {
    "cost": "p(X, Y, C) :- w(X, Y, C). p(X, Y, C) :- w(X, Z, A), p(Z, Y, B), C = A + B. r(X, Y, min<C>) :- p(X, Y, C).",
    "hops": "p(X, Y, 1) :- w(X, Y, _). p(X, Y, C) :- p(X, Z, B), w(Z, Y, _), C = B + 1. r(X, Y, min<C>) :- p(X, Y, C).",
    "widest": "r(X, Y, max<C>) :- w(X, Y, C). r(X, Y, max<C>) :- w(X, Z, A), r(Z, Y, B), smaller(C, A, B).",
    "list": "p(X, Y, C, L) :- w(X, Y, C), L = [X, Y]. "
    "p(X, Y, C, L) :- w(X, Z, A), p(Z, Y, B, M), C = A + B, L = [X | M]. "
    "b(X, Y, min<C>) :- p(X, Y, C, _). r(X, Y, L) :- b(X, Y, C), p(X, Y, C, L).",
    "next hop": "p(X, Y, Y, C) :- w(X, Y, C). p(X, Y, Z, C) :- w(X, Z, A), p(Z, Y, _, B), C = A + B. "
    "b(X, Y, min<C>) :- p(X, Y, _, C). r(X, Y, Z) :- b(X, Y, C), p(X, Y, Z, C).",
    "cost, doubled": "p(X, Y, C) :- w(X, Y, C). p(X, Y, C) :- p(X, Z, A), p(Z, Y, B), C = A + B. "
    "r(X, Y, min<C>) :- p(X, Y, C).",
    "cost, best kept": "r(X, Y, min<C>) :- w(X, Y, C). r(X, Y, min<C>) :- w(X, Z, A), r(Z, Y, B), C = A + B.",
    "hops, best kept": "r(X, Y, min<C>) :- w(X, Y, _), C = 1. r(X, Y, min<C>) :- r(X, Z, B), w(Z, Y, _), C = B + 1.",
    "cost, doubled, best kept": "r(X, Y, mmin<C>) :- w(X, Y, C). "
    "r(X, Y, mmin<C>) :- r(X, Z, A), r(Z, Y, B), C = A + B.",
    "hops, ends differ": "r(X, Y, min<C>) :- w(X, Y, _), C = 1. "
    "r(X, Y, min<C>) :- w(X, Z, _), r(Z, Y, B), X != Y, C = B + 1.",
    "widest, ends differ": "r(X, Y, max<C>) :- w(X, Y, C), X != Y. "
    "r(X, Y, max<C>) :- r(X, Z, A), r(Z, Y, B), X != Y, smaller(C, A, B).",
    "narrowest": "r(X, Y, min<C>) :- w(X, Y, C). r(X, Y, min<C>) :- r(X, Z, A), w(Z, Y, B), larger(C, A, B).",
    "best by next hop": "p(X, Y, Y, min<C>) :- w(X, Y, C). p(X, Y, Z, min<C>) :- w(X, Z, A), p(Z, Y, _, B), C = A + B. "
    "r(X, Y, Z) :- p(X, Y, Z, C), C < 6.",
    "counted": "c(X, Y) :- w(X, Y, _). c(X, Y) :- w(X, Z, _), c(Z, Y). r(X, X, count<Y>) :- c(X, Y).",
}


def _rows(dice: Random) -> dict[str, list[tuple[int, ...]]]:
    return {
        "e": [(dice.randrange(7), dice.randrange(7)) for _ in range(dice.randrange(6))],
        "f": [(dice.randrange(7), dice.randrange(7)) for _ in range(dice.randrange(4))],
        "w": [(dice.randrange(6), dice.randrange(6), dice.randrange(1, 5)) for _ in range(dice.randrange(6))],
    }


@pytest.mark.parametrize("shape", [*STEPS, *VALUED])
@pytest.mark.parametrize("disabled", [[], *([name] for name in DEMAND)], ids=str)
def test_agree_closures_however_they_are_written(shape: str, disabled: list[str]) -> None:
    text = STEPS.get(shape) or VALUED[shape]
    extra = "" if shape in STEPS else ", V"
    reads = {name for name in ("e", "f", "w") if f"{name}(" in text}
    for seed in range(3):
        dice = Random(f"{shape} {seed}")
        query = dice.choice(
            [
                f"r({dice.randrange(6)}, Y{extra})",
                f"r(X, {dice.randrange(6)}{extra})",
                f"r(1, 2{extra})",
                f"r(X, Y{extra})",
            ]
        )
        both = [f"{text} query {query}.", f"{text} query {query}. query r(5, Y{extra})."][seed % 2]
        dbs = [hw.Database(hw.compile(both, disabled=off)) for off in (DEMAND, disabled)]
        there: dict[str, list[tuple[int, ...]]] = {name: [] for name in reads}
        for _ in range(6):
            insert = {name: rows for name, rows in _rows(dice).items() if name in reads}
            delete = {name: [row for row in rows if dice.random() < 0.4] for name, rows in there.items()}
            changes = [_changed(db, insert, delete) for db in dbs]
            assert changes[0] == changes[1], (both, disabled)
            assert dbs[0].rows("r") == dbs[1].rows("r"), (both, disabled)
            for name, rows in insert.items():
                there[name] = [row for row in there[name] if row not in delete[name]] + rows
        for row in sorted(dbs[1].rows("r"))[:2]:
            assert "'" not in str(dbs[1].why("r", row))


@pytest.mark.parametrize("kind", ["int", "float"])
def test_oracle_doubled_sums_of_what_the_data_shows(kind: str) -> None:
    """Floats are summed as written: in another order the last bits would differ."""
    text = VALUED["cost, doubled"] + " query r(X, Y, C)."
    costs = (0.1, 0.2, 0.3, 0.7) if kind == "float" else (1, 2, 3, 7)
    rows = [(at, at + 1, cost) for at, cost in enumerate(costs)]
    db, written = (hw.Database(hw.compile(text, disabled=off)) for off in ([], ["linear_recursion"]))
    for each in (db, written):
        each.apply(insert={"w": rows})
    assert db.rows("r") == written.rows("r")
    assert {cost for x, y, cost in db.rows("r") if (x, y) == (0, 4)} == {min(_sums(costs))}


def _sums(costs: tuple[float, ...]) -> set[float]:
    """What these add up to, in every way to bracket them."""
    if len(costs) == 1:
        return set(costs)
    return {one + two for at in range(1, len(costs)) for one in _sums(costs[:at]) for two in _sums(costs[at:])}


@pytest.mark.parametrize("first", [int, float])
def test_agree_doubled_over_steps_of_two_types(first: type) -> None:
    text = "r(X, Y) :- e(X, Y). r(X, Y) :- f(X, Y). r(X, Y) :- r(X, Z), r(Z, Y)."
    dbs = [hw.Database(hw.compile(text, disabled=off)) for off in ([], ["linear_recursion"])]
    for db in dbs:
        db.apply(insert={"e": [(first(1), first(2)), (first(3), first(1))], "f": [(2.0, 3.0), (3.5, 2.0)]})
    assert dbs[0].rows("r") == dbs[1].rows("r")
    assert dbs[0].count("r") == 12


def _changed(db: hw.Database, insert: Any, delete: Any) -> tuple[set[str], set[str]]:
    found = db.apply(insert=insert, delete=delete)["r"]
    return set(map(str, found.inserted.to_pylist())), set(map(str, found.deleted.to_pylist()))
