"""Random programs over streams on several shards, under random timed scripts: after every step the oracle's views."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given

import headwater as hw
from headwater.core.types import Type
from headwater.engine.border.soundness import refuse_unsound
from headwater.exchange.cluster import Cluster
from headwater.exchange.sharding import choose
from tests.engine.holding import pairs
from tests.exchange.sharded import NotPlaced, to_rows, to_table
from tests.oracle.program import State
from tests.oracle.strategies import seeds
from tests.oracle.timed import Step, TimedCase, timed_text
from tests.oracle.timed_cases import timed_case
from tests.time.holding import Changes, hold, steps


class TimedShards:
    """A cluster over a timed case."""

    def __init__(self, case: TimedCase, shards: int, kind: str) -> None:
        self.case = case
        try:
            sharding = choose(hw.compile(timed_text(case)), {}, max(shards, 2), kinds=(kind,))
        except ValueError:
            raise NotPlaced from None
        self.cluster = Cluster(sharding, shards)
        self.late = 0

    @property
    def now(self) -> int | None:
        """What all shards say it is."""
        (now,) = {member.shard.clock.now for member in self.cluster.members}
        return now

    def apply(self, step: Step) -> Changes:
        """One step; an advance that comes with rows is a transaction of its own, before them."""
        found: Changes = {name: (set(), set()) for name in self.case.program.outputs}
        if step.advance is not None and (self.now is None or step.advance > self.now):
            self._transact({}, {}, step.advance, found)
        if step.insert or step.delete:
            self._transact(self._tables(step.insert), self._tables(step.delete), None, found)
        return found

    def _transact(
        self, inserts: dict[str, pa.Table], deletes: dict[str, pa.Table], now: int | None, found: Changes
    ) -> None:
        outcomes = self.cluster.apply(inserts, deletes, now)
        self.late += sum(rows.num_rows for outcome in outcomes for rows in outcome.late.values())
        for name, (came, went) in found.items():
            told = [outcome.changes[name] for outcome in outcomes]
            inserted, deleted = ({row for change in told for row in to_rows(change[side])} for side in (0, 1))
            assert len(inserted) == sum(change[0].num_rows for change in told), "a row is told once"
            assert not inserted & deleted, f"{name}: {inserted & deleted} came and went"
            found[name] = (came - deleted) | (inserted - went), (went - inserted) | (deleted - came)

    def _tables(self, rows: object) -> dict[str, pa.Table]:
        assert isinstance(rows, dict)
        return {name: to_table(self.cluster.sharding.table(name), list(many)) for name, many in rows.items()}

    def rows(self) -> State:
        found: State = {}
        for name in self.case.program.outputs:
            rows = [row for member in self.cluster.members for row in to_rows(member.rows(name))]
            found[name] = set(rows)
            assert len(rows) == len(found[name]), "a row lives on one shard"
        return found


def _agrees(case: TimedCase, shards: int, kind: str) -> None:
    try:
        engine = TimedShards(case, shards, kind)
    except NotPlaced:
        return
    for clock in steps(case, engine):
        assert engine.now == clock.now
        assert engine.late == clock.late
        for member in engine.cluster.members:
            refuse_unsound(member.shard)  # a snapshot of it could be opened


@pytest.mark.parametrize("shards", [1, 2, 3])
@pytest.mark.parametrize("kind", ["decomposed", "exchange"])
@pairs(30)
@given(seed=seeds)
def test_oracle_time_on_shards(seed: int, shards: int, kind: str) -> None:
    hold(partial(_agrees, shards=shards, kind=kind), timed_case(seed))


def test_oracle_an_inbox_holds_every_version_that_its_sender_relies_on() -> None:
    """A row that was sent again with a later lease leaves the earlier version in place until that has ended."""
    program = hw.compile("""
        stream near(ts: int, x: int, y: int) key(x, y) ttl 10.
        low(T, X, mmin<X>) :- near(T, X, _).
        low(T, Y, mmin<L>) :- low(T1, X, L), near(T2, X, Y), larger(T, T1, T2).
        query low(_, X, L).
    """)
    cluster = Cluster(choose(program, {}, 2, kinds=("exchange",)), 2)
    for rows in ([(at, at, at + 1) for at in range(5)], [(6, 2, 3), (6, 9, 8)], [(8, 5, 0)], [(12, 3, 2)]):
        cluster.apply({"near": to_table(cluster.sharding.table("near"), rows)}, {})
        for member in cluster.members:
            refuse_unsound(member.shard)


@pytest.mark.parametrize("kind", ["decomposed", "exchange", "single"])
def test_columns_that_only_the_data_names_keep_their_names(kind: str) -> None:
    program = hw.compile("stream seen(t: int, x: int) ttl 5. p(Y) :- seen(_, X), owner(X, Y), near(Y, X).")
    known = {"owner": (Type.INT, Type.INT), "near": (Type.INT, Type.INT)}
    sharding = choose(program, known, 2, columns={"owner": ("y", "x")}, kinds=(kind,))
    assert sharding.table("owner").names == ("y", "x")
    cluster = Cluster(sharding, 2)
    cluster.apply(
        {
            "seen": pa.table({"t": [1, 1], "x": [7, 8]}),
            "owner": pa.table({"x": [9, 9], "y": [7, 6]}),  # by name: y is the first column
            "near": pa.table({"c0": [9], "c1": [7]}),
        },
        {},
    )
    assert {row for member in cluster.members for row in to_rows(member.rows("p"))} == {(9,)}
