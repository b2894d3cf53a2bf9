"""Dead rows are cleared away, except those that witnesses still rest on."""

from __future__ import annotations

import pytest

import headwater as hw

TEXT = """
relation e(x: int, y: int, c: int).
relation passing(x: int, y: int, c: int).
d(X, Y, min<C>) :- e(X, Y, C).
d(X, Y, min<C>) :- passing(X, Y, C).
d(X, Y, min<C>) :- d(X, Z, A), e(Z, Y, B), C = larger(A, B).
"""


def test_a_row_that_was_best_for_a_while_stays_as_long_as_something_rests_on_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """d(0, 2, 10) is as good over d(0, 1, 9) as over d(0, 1, 5), and keeps the witness it has."""
    monkeypatch.setattr("headwater.engine.store.compaction._WORTH_IT", 0)
    db = hw.Database(hw.compile(TEXT))
    db.apply(insert={"e": [(0, 1, 9), (1, 2, 10), (2, 3, 10)]})
    db.apply(insert={"e": [(0, 1, 5)]})
    much = [(x, y, 1) for x in range(100, 110) for y in range(10)]
    for _ in range(3):
        db.apply(insert={"passing": much})
        db.apply(delete={"passing": much})
    best = {(0, 1, 5), (0, 2, 10), (0, 3, 10), (1, 2, 10), (1, 3, 10), (2, 3, 10)}
    assert db.rows("d") == best
    db.apply(delete={"e": [(0, 1, 9)]})
    assert db.rows("d") == best
    db.apply(delete={"e": [(0, 1, 5)]})
    assert db.rows("d") == {(1, 2, 10), (1, 3, 10), (2, 3, 10)}
