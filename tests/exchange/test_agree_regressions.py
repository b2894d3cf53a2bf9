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


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_a_sum_over_three_atoms_counts_every_binding(shards: int) -> None:
    """The parts that are joined on the way carry the variables that nothing but the sum tells apart."""
    text = """
        relation a(x: int, y: int).
        relation b(y: int, z: int).
        relation c(z: int, w: int).
        total(sum<W>) :- a(X, Y), b(Y, Z), c(Z, W).
        each(Z, sum<W>, count<X>) :- a(X, Y), b(Y, Z), c(Z, W).
        each(Z, sum<W>, count<X>) :- c(Z, W), a(X, Z).
    """
    sharded = Sharded.of_text(text, ("total", "each"), shards, kinds=("exchange",))
    sharded.apply({"a": [(1, 1), (2, 1)], "b": [(1, 1), (1, 2)], "c": [(1, 5), (2, 5)]}, {})
    assert sharded.rows("total") == {(20,)}
    assert sharded.rows("each") == {(1, 20, 4), (2, 10, 2)}
    sharded.apply({}, {"a": [(2, 1)]})
    assert sharded.rows("total") == {(10,)}
    assert sharded.rows("each") == {(1, 10, 2), (2, 5, 1)}
