"""Rounds are numbered by 32 bits, and a database lives longer: numbers begin anew, and nobody notices."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

import headwater as hw
from headwater.core.errors import EvaluationError
from headwater.engine.guard import DEFAULT_GUARD
from headwater.engine.shard import Shard
from headwater.engine.store.budget import Budget
from headwater.engine.store.states import EVER, GONE, RENUMBER_FROM
from headwater.engine.transaction import Transaction
from headwater.spark.state.log import fingerprint
from tests.exchange.sharded import Sharded
from tests.oracle.program import Row
from tests.scale.reading import rules_of
from tests.scale.seminaive import evaluate

VIEWS = ("p", "d", "apart", "total")
TEXT = """
relation link(x: int, y: int, c: int).
p(X, Y) :- link(X, Y, _).
p(X, Z) :- p(X, Y), p(Y, Z).
d(X, Y, min<C>) :- link(X, Y, C).
d(X, Y, min<C>) :- d(X, Z, A), link(Z, Y, B), C = A + B.
apart(X, Y) :- link(X, _, _), link(_, Y, _), !p(X, Y).
total(X, sum<C>) :- d(X, Y, C).
"""
STARTS = [RENUMBER_FROM - 12, RENUMBER_FROM + 12, EVER - 12]


def age(shard: Shard, tick: int) -> None:
    """As if so many rounds had been made, and all rows had come in the latest of them."""
    later = tick - shard.tick
    for store in shard.stores.values():
        stamps = store.stamp[: store.size]
        stamps[stamps > GONE] += later
        store.calm = None
    shard.tick = tick


class Edits:
    """Random edits of a small graph, and what the views are after each."""

    def __init__(self, seed: int) -> None:
        self._dice = Random(seed)
        self.links: set[Row] = set()

    def next(self) -> tuple[list[Row], list[Row]]:
        dice = self._dice
        gone = dice.sample(sorted(self.links), min(len(self.links), dice.randrange(4)))
        come = [(dice.randrange(8), dice.randrange(8), dice.randrange(1, 9)) for _ in range(dice.randrange(1, 5))]
        self.links = (self.links - set(gone)) | set(come)
        return come, gone

    def check(self, views: hw.Database | Sharded) -> None:
        expected = evaluate(rules_of(TEXT), {"link": self.links})
        for view in VIEWS:
            assert views.rows(view) == expected[view], view


@pytest.mark.parametrize("tick", STARTS)
def test_oracle_embedded(tick: int) -> None:
    edits, db = Edits(1), hw.Database(hw.compile(TEXT, disabled=["linear_recursion"]))
    for step in range(20):
        come, gone = edits.next()
        db.apply({"link": come}, {"link": gone})
        edits.check(db)
        if step == 4:
            age(db._shard, tick)
            edits.check(db)
    assert db._shard.tick < 1_000


@pytest.mark.parametrize("tick", STARTS)
def test_oracle_saved_and_opened(tick: int, tmp_path: Path) -> None:
    edits, db = Edits(2), hw.Database(hw.compile(TEXT, disabled=["linear_recursion"]))
    for _ in range(5):
        come, gone = edits.next()
        db.apply({"link": come}, {"link": gone})
    age(db._shard, tick)
    for step in range(10):
        db.save(tmp_path / str(step))
        db = hw.Database.open(tmp_path / str(step))
        edits.check(db)
        come, gone = edits.next()
        db.apply({"link": come}, {"link": gone})
        edits.check(db)
    assert db._shard.tick < 1_000


@pytest.mark.parametrize("shards", [2, 3])
def test_oracle_on_shards(shards: int) -> None:
    """They need not begin anew at the same moment."""
    edits, cluster = Edits(3), Sharded.of_text(TEXT, VIEWS, shards)
    for step in range(16):
        come, gone = edits.next()
        cluster.apply({"link": come}, {"link": gone})
        edits.check(cluster)
        if step == 4:
            for number, member in enumerate(cluster.cluster.members):
                age(member.shard, RENUMBER_FROM - 6 - 9 * number)
    assert all(member.shard.tick < 1_000 for member in cluster.cluster.members)


def test_agree_a_replay_begins_anew_at_the_same_transaction(tmp_path: Path) -> None:
    """A checkpoint relies on it: the fingerprint of a state has the number of rounds, which a replay must reach."""
    edits, db = Edits(4), hw.Database(hw.compile(TEXT, disabled=["linear_recursion"]))
    for _ in range(5):
        come, gone = edits.next()
        db.apply({"link": come}, {"link": gone})
    age(db._shard, RENUMBER_FROM - 8)
    db.save(tmp_path / "state")
    one, other = hw.Database.open(tmp_path / "state"), hw.Database.open(tmp_path / "state")
    for _ in range(8):
        come, gone = edits.next()
        for db in (one, other):
            db.apply({"link": come}, {"link": gone})
        assert fingerprint(one._shard, exact=True) == fingerprint(other._shard, exact=True)
    assert one._shard.tick < 1_000
    for name, store in one._shard.stores.items():
        assert np.array_equal(store.stamp[: store.size], other._shard.stores[name].stamp[: store.size])


def test_a_look_that_is_taken_back_begins_anew_too() -> None:
    edits, db = Edits(5), hw.Database(hw.compile(TEXT, disabled=["linear_recursion"]))
    for _ in range(6):
        come, gone = edits.next()
        db.apply({"link": come}, {"link": gone})
    age(db._shard, EVER - 3)
    db.without({"link": sorted(edits.links)[:3]})
    edits.check(db)
    db.apply({"link": [(1, 2, 3)]})
    edits.links.add((1, 2, 3))
    edits.check(db)


def test_a_transaction_that_runs_out_of_rounds_says_so() -> None:
    transaction = Transaction(EVER - 6, DEFAULT_GUARD, Budget(), lambda: False)
    transaction.next_tick()
    transaction.next_tick()
    with pytest.raises(EvaluationError, match="made 2 rounds, the most possible"):
        transaction.next_tick()
