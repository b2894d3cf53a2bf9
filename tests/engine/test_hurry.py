"""Of many new rows of a table that keeps the best, the best go first: none of the others may be forgotten."""

from __future__ import annotations

from random import Random

import pytest

import headwater as hw

TEXT = """
relation link(s: int, d: int, c: int).
near(X, Y, min<C>) :- link(X, Y, C).
near(X, Z, min<C>) :- near(X, Y, A), near(Y, Z, B), C = A + B.
far(X, Y, max<C>) :- link(X, Y, C).
far(X, Z, max<C>) :- far(X, Y, A), link(Y, Z, B), C = smaller(A, B).
"""
NODES = 24


def shortest(links: dict[tuple[int, int], int]) -> set[tuple[int, int, int]]:
    known = dict(links)
    for middle in range(NODES):
        for one in range(NODES):
            for other in range(NODES):
                through = known.get((one, middle), 10**9) + known.get((middle, other), 10**9)
                if through < known.get((one, other), 10**9):
                    known[one, other] = through
    return {(*ends, cost) for ends, cost in known.items()}


def widest(links: dict[tuple[int, int], int]) -> set[tuple[int, int, int]]:
    known = dict(links)
    for middle in range(NODES):
        for one in range(NODES):
            for other in range(NODES):
                through = min(known.get((one, middle), -1), known.get((middle, other), -1))
                if through > known.get((one, other), -1):
                    known[one, other] = through
    return {(*ends, cost) for ends, cost in known.items()}


@pytest.mark.parametrize("seed", range(3))
def test_oracle_rows_that_wait_for_better_ones(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.engine.stratum._HURRY_FROM", 3)
    dice = Random(seed)
    pairs = [(one, other) for one in range(NODES) for other in range(NODES) if one != other]
    links = {pair: dice.randint(1, 90) for pair in dice.sample(pairs, 3 * NODES)}
    db = hw.Database(hw.compile(TEXT))
    db.apply(insert={"link": [(*ends, cost) for ends, cost in links.items()]})
    assert db.rows("near") == shortest(links)
    assert db.rows("far") == widest(links)
    gone = dice.sample(sorted(links), NODES)
    db.apply(delete={"link": [(*ends, links.pop(ends)) for ends in gone]})
    assert db.rows("near") == shortest(links)
    assert db.rows("far") == widest(links)
