"""What the rules of all shards did together, beside what one database does."""

from __future__ import annotations

import pyarrow as pa
import pytest

import headwater as hw
from headwater.engine.profile import Profile
from headwater.exchange import choose
from headwater.exchange.cluster import Cluster

REACH = """
relation link(x: int, y: int).
reach(X, Y) :- link(X, Y).
reach(X, Z) :- reach(X, Y), link(Y, Z).
"""
CHAIN = [(at, at + 1) for at in range(12)]


def _table(rows: list[tuple[int, int]]) -> pa.Table:
    return pa.table({"x": pa.array([x for x, _ in rows], pa.int64()), "y": pa.array([y for _, y in rows], pa.int64())})


def _kept(profile: Profile) -> int:
    return sum(work.kept for work in profile.rules if work.rule.startswith("reach("))


@pytest.mark.parametrize("kind", ["decomposed", "exchange"])
@pytest.mark.parametrize("shards", [1, 2, 3])
def test_agree_shards_keep_together_what_one_database_keeps(kind: str, shards: int) -> None:
    db = hw.Database(hw.compile(REACH))
    db.apply(insert={"link": CHAIN})
    cluster = Cluster(choose(hw.compile(REACH), {}, shards, kinds=(kind,)), shards)
    outcomes = cluster.apply({"link": _table(CHAIN)}, {})
    together = cluster.profile()
    own = [work for work in together.rules if "'in(" not in work.way]  # the others: rows that another shard has sent
    closed = [work for work in own if "reach(X, Y), link(Y, Z)" in work.rule]
    assert _kept(db.profile()) == len(db.rows("reach")) == 78
    assert sum(work.kept for work in closed) == 78 - len(CHAIN)
    if kind == "decomposed":
        assert _kept(together) == 78
    works = [work for outcome in outcomes for work in outcome.work]
    assert sum(work.read for work in works) == sum(work.read for work in together.rules) > 78
    assert len({(work.rule, work.way) for work in together.rules}) == len(together.rules)
    assert sum(work.kept for work in together.rounds) == sum(work.kept for work in together.rules)


def test_a_transaction_says_what_it_did_and_not_what_others_did() -> None:
    cluster = Cluster(choose(hw.compile(REACH), {}, 2), 2)
    cluster.apply({"link": _table(CHAIN)}, {})
    (_, *_), second = cluster.apply({}, {}), cluster.apply({"link": _table([(12, 13)])}, {})
    assert sum(work.kept for outcome in second for work in outcome.work if work.rule.startswith("reach(")) == 13
