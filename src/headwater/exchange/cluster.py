"""Shards in one process, run in lockstep: what every exchange does, without a network."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from headwater.core.memory import memory_for
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.exchange.member import Member, Opened, Outcome
from headwater.exchange.sharding import Sharding
from headwater.exchange.wire import Incoming, Outgoing, ship

Run = Generator[Outgoing, Incoming, Opened]


@dataclass(slots=True)
class Traffic:
    """What travelled between different shards since the cluster was made."""

    rounds: int = 0
    rows: int = 0
    bytes: int = 0


class Cluster:
    """A sharding, and the shards that run it."""

    def __init__(self, sharding: Sharding, shards: int, guard: Guard = DEFAULT_GUARD) -> None:
        self.sharding = sharding
        memory = memory_for(shards)
        self.members = [Member(sharding, number, shards, guard, memory) for number in range(shards)]
        self.traffic = Traffic()
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

    def _transact(
        self, inserts: Mapping[str, pa.Table], deletes: Mapping[str, pa.Table], now: int | None, *, first: bool
    ) -> list[Outcome]:
        mine_in, mine_out = (self.sharding.dealt(changes, len(self.members)) for changes in (inserts, deletes))
        moments = [one for one in (now, self.sharding.latest(inserts)) if one is not None]
        now = max(moments, default=None)
        outcomes = run_together(
            [
                member.opened(mine_in[number], mine_out[number], now=now, first=first)
                for number, member in enumerate(self.members)
            ]
        )
        self.traffic.rounds += outcomes[0].rounds
        self.traffic.rows += sum(outcome.rows_shipped for outcome in outcomes)
        self.traffic.bytes += sum(outcome.bytes_shipped for outcome in outcomes)
        return outcomes


def run_together(runs: Sequence[Run]) -> list[Outcome]:
    """Drive the transactions of all shards, round by round; if one fails, all are undone."""
    opened: list[Opened] = []
    incoming: list[Incoming] | None = None
    try:
        while not opened:
            outgoing: list[Outgoing] = []
            for number, run in enumerate(runs):
                try:
                    outgoing.append(next(run) if incoming is None else run.send(incoming[number]))
                except StopIteration as stop:
                    opened.append(stop.value)
            assert not (opened and outgoing), "all shards make the same number of rounds"
            incoming = ship(outgoing)
    except BaseException:
        for one in opened:
            one.undo()
        for run in runs:
            run.close()
        raise
    return [one.keep() for one in opened]
