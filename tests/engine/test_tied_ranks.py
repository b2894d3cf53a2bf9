"""Rows ranked by several columns: later columns decide where earlier ones are equal, and only there."""

from __future__ import annotations

import random

import pytest

import headwater as hw

TEXT = """
relation offer(group: string, cost: int, path: list<string>).
best(G, {best}<(C, P)>) :- offer(G, C, P).
query best(G, C, P).
"""


@pytest.mark.parametrize("best", ["min", "max"])
def test_ties_are_broken_by_the_list(best: str) -> None:
    choose = min if best == "min" else max
    dice = random.Random(best)
    rows: set[tuple[str, int, tuple[str, ...]]] = set()
    database = hw.Database(hw.compile(TEXT.replace("{best}", best)))
    for _ in range(12):
        new = [
            (dice.choice("gh"), dice.randint(1, 3), tuple(dice.choices("abc", k=dice.randint(1, 3)))) for _ in range(6)
        ]
        gone = dice.sample(sorted(rows), len(rows) // 4)
        rows = (rows - set(gone)) | set(new)
        database.apply(insert={"offer": new}, delete={"offer": gone})
        groups = {group for group, _, _ in rows}
        expected = {(group, *choose((cost, path) for each, cost, path in rows if each == group)) for group in groups}
        assert database.rows("best") == expected
