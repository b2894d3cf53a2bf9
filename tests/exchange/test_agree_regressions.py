"""Programs that shards once got wrong."""

from __future__ import annotations

import pytest

from tests.exchange.sharded import Sharded
from tests.oracle.program import Row

_EDGES: list[Row] = [(1, 2, 9), (1, 3, 1), (3, 2, 1), (2, 1, 9), (2, 4, 2), (4, 1, 3)]


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_a_copy_inside_a_recursion_shows_nobody_what_was_best_for_a_while(shards: int) -> None:
    text = """
        relation e(x: int, y: int, c: int).
        d(X, Y, min<C>) :- e(X, Y, C).
        d(X, Y, min<C>) :- d(X, Z, A), d(Z, Y, B), C = A + B.
        both(X, Y, C) :- d(X, Y, C), d(Y, X, C).
    """
    sharded = Sharded.of_text(text, ("both",), shards, kinds=("exchange",))
    sharded.apply({"e": _EDGES[:1] + _EDGES[3:4]}, {})
    assert sharded.rows("both") == {(1, 2, 9), (2, 1, 9), (1, 1, 18), (2, 2, 18)}
    sharded.apply({"e": _EDGES}, {})
    assert sharded.rows("both") == {(1, 1, 7), (2, 2, 7), (3, 3, 7), (4, 4, 7)}


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_what_a_better_row_replaced_at_its_sender_is_gone_when_both_are(shards: int) -> None:
    text = "relation link(y: int, x: int, c: int). best(X, min<C>) :- link(_, X, C)."
    sharded = Sharded.of_text(text, ("best",), shards, kinds=("exchange",))
    dear: list[Row] = [(y, x, 5) for y in range(6) for x in range(6)]
    cheap: list[Row] = [(y, x, 3) for y, x, _ in dear]
    sharded.apply({"link": dear}, {})
    sharded.apply({"link": cheap}, {})
    sharded.apply({}, {"link": dear})
    assert sharded.rows("best") == {(x, 3) for x in range(6)}
    sharded.apply({}, {"link": cheap})
    assert sharded.rows("best") == set()
