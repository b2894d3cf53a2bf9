"""Keys that lie far apart are addressed by numbers of their values: views stay right, whatever comes and goes."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.engine.store.index import Space
from headwater.engine.store.numbering import number_columns

CLOSURE = """
path(X, Y) :- edge(X, Y).
path(X, Z) :- path(X, Y), edge(Y, Z).
query path(X, Y).
"""
PLACES = """
at(X, Y, K) :- link(X, Y, K).
at(X, Z, K) :- at(X, Y, K), link(Y, Z, K).
query at(X, Y, K).
"""
EPOCH = dt.datetime(2020, 1, 1)
IDS: dict[str, Callable[[int], Any]] = {
    "ints": lambda node: node * 1_000_003,
    "wide ints": lambda node: (node - 20) * 1_000_003**2,
    "moments": lambda node: EPOCH + dt.timedelta(seconds=7919 * node),
    "floats": lambda node: node * 1e9 + 0.5,
}


def _closure(pairs: set[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    """Pairs that steps lead between, where steps share what follows their two ends."""
    found = set(pairs)
    while True:
        more = {(x, z, *rest) for x, y, *rest in found for w, z, *also in pairs if y == w and rest == also} - found
        if not more:
            return found
        found |= more


def _space(db: hw.Database, name: str) -> Space | None:
    store = db._shard.stores[name]
    store.identify()
    return store.space


@pytest.mark.parametrize("ids", IDS.values(), ids=list(IDS))
def test_oracle_ids_that_lie_far_apart(ids: Callable[[int], Any]) -> None:
    """More ids come than there were numbers for, and rows go."""
    dice = random.Random(7)
    db = hw.Database(hw.compile(CLOSURE))
    edges: set[tuple[Any, ...]] = set()
    for nodes in (12, 12, 20, 40, 40):
        came = {(ids(dice.randrange(nodes)), ids(dice.randrange(nodes))) for _ in range(nodes)}
        gone = set(dice.sample(sorted(edges), len(edges) // 3))
        edges = (edges - gone) | came
        db.apply(insert={"edge": came}, delete={"edge": gone})
        assert db.rows("path") == _closure(edges)
        space = _space(db, "path")
        assert space is not None
        assert not space.is_plain


def test_oracle_numbers_beside_values() -> None:
    """One column lies close together and is addressed by its values, the others by numbers."""
    dice = random.Random(3)
    db = hw.Database(hw.compile(PLACES))
    links: set[tuple[Any, ...]] = set()
    for step in range(6):
        came = {(9**9 * dice.randrange(9), 9**9 * dice.randrange(9), dice.randrange(2 + step)) for _ in range(10)}
        gone = set(dice.sample(sorted(links), len(links) // 2))
        links = (links - gone) | came
        db.apply(insert={"link": came}, delete={"link": gone})
        assert db.rows("at") == _closure(links)
    space = _space(db, "at")
    assert space is not None
    assert not space.is_plain
    assert [start > 0 for start in space.words[: 3 * 3 : 3].tolist()] == [True, True, False]


def test_a_refused_transaction_leaves_the_rest_right() -> None:
    db = hw.Database(hw.compile(CLOSURE), guard=hw.Guard(rows=150))
    chain = [(node * 10**9, (node + 1) * 10**9) for node in range(10)]
    db.apply(insert={"edge": chain})
    with pytest.raises(hw.GuardError):
        db.apply(insert={"edge": [(node * 10**9, (node + 1) * 10**9) for node in range(10, 60)]})
    assert db.rows("path") == _closure(set(chain))
    db.apply(insert={"edge": [(5, 0)]}, delete={"edge": [chain[0]]})
    assert db.rows("path") == _closure({(5, 0), *chain[1:]})


def test_what_is_worth_numbers() -> None:
    few = np.array([[at % 50 * 10**6, at % 7] for at in range(1000)], dtype=np.int64)
    low, high = few.min(axis=0), few.max(axis=0)
    found = number_columns(few, 1000, [0, 1], low, high, 1 << 20)
    assert found is not None
    base, extent, words = found
    assert base.tolist() == [0, 0]
    assert extent[0] > 50
    assert extent[1] >= 7
    assert words[[0, 2, 3]].tolist() == [6, 50, 0]
    assert number_columns(few, 1000, [0, 1], low, high, 7 * 50) is None  # no number for a value that comes
    many = np.arange(100_000, dtype=np.int64).reshape(-1, 1) * 10**6
    assert number_columns(many, many.shape[0], [0], many[0], many[-1], 1 << 22) is None
