"""Random views over random documents on shards: what the feeds add up to is what the oracle and the store show."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from headwater.core.errors import CheckProblem
from tests.oracle.dice import Dice
from tests.semistructured.random_views import Writer
from tests.semistructured.sharded_store import ShardedStore, canonical, expected, random_changes, random_document


def test_oracle_documents_on_shards() -> None:
    ran = sum(check(seed, 3) for seed in range(25))
    assert ran > 15


@pytest.mark.soak
def test_oracle_documents_on_shards_at_length() -> None:
    for seed in range(1000, 3000):
        check(seed, 5)


def check(seed: int, updates: int) -> bool:
    dice = Dice(seed)
    text = Writer(dice).view()
    shards = dice.number(1, 3)
    try:
        store = ShardedStore(text, shards)
    except CheckProblem as problem:
        if {each.code for each in problem.diagnostics} != {"HW253"}:
            raise
        return False
    there: dict[tuple[str, Any], Any] = {
        (name, key): random_document(dice) for name in "NM" for key in range(1, dice.number(2, 5))
    }
    put, removed = dict(there), []
    for _ in range(updates + 1):
        store.apply(put, removed)
        said = sorted((canonical(json.loads(one)) for one in store.shown["V"].values()), key=repr)
        assert said == expected(text, there), f"seed {seed}: {text}\n{there}"
        assert store.shown["V"] == store.documents("V"), f"seed {seed}: {text}"
        put, removed = random_changes(dice, there)
        there = {key: document for key, document in {**there, **put}.items() if key not in removed}
    return True


def test_no_two_shards_give_one_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the hash that finds the shard of a document: here all texts have the same one of two."""
    monkeypatch.setattr("tests.semistructured.sharded_store.hash_values", _weak)
    store = ShardedStore("define view V as P = select x from N x with x.# y;", 3)
    dice = Dice(4)
    there: dict[tuple[str, Any], Any] = {("N", key): random_document(dice) for key in range(40)}
    store.apply(there)
    put = {key: random_document(dice) for key in list(there)[:20]}
    store.apply(put, [("N", 39)])
    found = [set(member.rows("edge").column(2).to_pylist()) for member in store.members]
    assert sum(map(len, found)) == len(set().union(*found)) > 100
    assert sorted(map(bool, found)) == [False, True, True]
    there = {key: document for key, document in {**there, **put}.items() if key != ("N", 39)}
    said = sorted((canonical(json.loads(one)) for one in store.shown["V"].values()), key=repr)
    assert said == expected("define view V as P = select x from N x with x.# y;", there)


def _weak(texts: Any) -> Any:
    return np.array([len(text) % 2 for text in texts], dtype=np.uint64)
