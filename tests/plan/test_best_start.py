"""Where all rows come at once, a rule begins with the atom that has least to join."""

from __future__ import annotations

import pytest

import headwater as hw

ATOMS = ("one(X, Y)", "two(Y, Z)", "three(Z, W)")


@pytest.mark.parametrize("few", range(3))
def test_a_load_begins_with_the_few_rows(few: int) -> None:
    db = hw.Database(
        hw.compile(
            f"relation one(a: int, b: int). relation two(a: int, b: int). "
            f"relation three(a: int, b: int). r(X, W) :- {', '.join(ATOMS)}."
        )
    )
    tables = {
        name: [(at, at) for at in range(5)] if place == few else [(at % 700, at) for at in range(7_000)]
        for place, name in enumerate(("one", "two", "three"))
    }
    db.apply(insert=tables)
    (rule,) = db._shard.plan.rules
    assert (rule.last if rule.last is not None else 2) == few
    joined = {(x, z) for x, y in tables["one"] for z in _after(y, tables["two"])}
    assert db.rows("r") == {(x, w) for x, z in joined for w in _after(z, tables["three"])}


def _after(start: int, rows: list[tuple[int, int]]) -> list[int]:
    return [end for begin, end in rows if begin == start]
