"""Recursions of every shape, asked from every side: with and without the rewrites, the same rows after every edit."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import headwater as hw
from headwater.rewrite.rules import DEMAND_RULES

DEMAND = [rule.__name__ for rule in DEMAND_RULES]

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
            [f"r({dice.randrange(6)}, Y{extra})", f"r(X, {dice.randrange(6)}{extra})", f"r(1, 2{extra})"]
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


def _changed(db: hw.Database, insert: Any, delete: Any) -> tuple[set[str], set[str]]:
    found = db.apply(insert=insert, delete=delete)["r"]
    return set(map(str, found.inserted.to_pylist())), set(map(str, found.deleted.to_pylist()))
