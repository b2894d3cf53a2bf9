"""Shards in one process, run in lockstep: what every exchange does, without a network."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from headwater.core.memory import memory_for
from headwater.engine.driver import drive_together
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.engine.profile import Profile, summed
from headwater.exchange.member import Member, Outcome, Traffic
from headwater.exchange.sharding import Sharding
from headwater.exchange.wire import ship


class Cluster:
    """A sharding, and the shards that run it."""

    def __init__(self, sharding: Sharding, shards: int, guard: Guard = DEFAULT_GUARD) -> None:
        self.sharding = sharding
        memory = memory_for(shards)
        self.members = [Member(sharding, number, shards, guard, memory) for number in range(shards)]
        self.traffic = Traffic()  # between different shards, since the cluster was made
        self._transact({}, {}, None, first=True)

    def apply(
        self, inserts: Mapping[str, pa.Table], deletes: Mapping[str, pa.Table], now: int | None = None
    ) -> list[Outcome]:
        """One transaction over base rows, wherever they live; what it changed on each shard.

        The clock of all shards moves to `now`, or to the latest time among the inserts if that is later.
        """
        return self._transact(inserts, deletes, now, first=False)

    def rows(self, view: str) -> pa.Table:
        parts = [member.rows(view) for member in self.members]
        if not parts[0].num_columns:  # such tables lose their rows when they are put together
            return max(parts, key=lambda part: part.num_rows)
        return pa.concat_tables(parts)

    def profile(self) -> Profile:
        """Where the time of all shards together goes."""
        return summed(member.shard.meter.profile(member.shard.plan) for member in self.members)

    def _transact(
        self, inserts: Mapping[str, pa.Table], deletes: Mapping[str, pa.Table], now: int | None, *, first: bool
    ) -> list[Outcome]:
        mine_in, mine_out = (self.sharding.route_changes(changes, len(self.members)) for changes in (inserts, deletes))
        now = max((moment for moment in (now, self.sharding.latest(inserts)) if moment is not None), default=None)
        runs = [
            member.transaction(mine_in[number], mine_out[number], now=now, first=first, hold=True)
            for number, member in enumerate(self.members)
        ]
        outcomes = drive_together(runs, ship)
        self.traffic.rounds += outcomes[0].rounds
        self.traffic.rows += sum(outcome.rows_shipped for outcome in outcomes)
        self.traffic.bytes += sum(outcome.bytes_shipped for outcome in outcomes)
        return outcomes
