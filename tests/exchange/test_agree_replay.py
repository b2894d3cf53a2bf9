"""Recovery rests on this: recorded rounds lead another member to the same state, and to the same changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from headwater.engine.driver import drive, drive_together
from headwater.exchange.cluster import Cluster
from headwater.exchange.member import Member, Outcome
from headwater.exchange.wire import Incoming, Outgoing, read_incoming, ship, write_incoming
from tests.engine.holding import pairs
from tests.exchange.sharded import NotPlaced, Sharded
from tests.oracle.strategies import random_case, seeds, template_case

Inputs = tuple[dict[str, pa.Table], dict[str, pa.Table], list[bytes]]


class Recorder:
    """Members in lockstep, each with a log: the base rows that it got, and the rounds as bytes."""

    def __init__(self, cluster: Cluster) -> None:
        self.sharding = cluster.sharding
        self.members = [
            Member(cluster.sharding, number, len(cluster.members)) for number in range(len(cluster.members))
        ]
        self.logs: list[list[Inputs]] = [[] for _ in self.members]
        self.outcomes: list[list[Outcome]] = [[] for _ in self.members]

    def apply(self, inserts: dict[str, pa.Table], deletes: dict[str, pa.Table]) -> None:
        routed = [self.sharding.route_changes(changes, len(self.members)) for changes in (inserts, deletes)]
        runs = []
        for number, member in enumerate(self.members):
            first = not self.logs[number]
            self.logs[number].append((routed[0][number], routed[1][number], []))
            runs.append(member.transaction(routed[0][number], routed[1][number], first=first))

        def exchange(outgoing: Sequence[Outgoing]) -> list[Incoming]:
            incoming = ship(outgoing)
            for number, received in enumerate(incoming):
                self.logs[number][-1][2].append(write_incoming(received).to_pybytes())
            return incoming

        for number, outcome in enumerate(drive_together(runs, exchange)):
            self.outcomes[number].append(outcome)


def replayed(recorder: Recorder, number: int) -> tuple[Member, list[Outcome]]:
    member = Member(recorder.sharding, number, len(recorder.members))
    outcomes = []
    for at, (inserts, deletes, rounds) in enumerate(recorder.logs[number]):
        contents = iter(rounds)
        run = member.transaction(inserts, deletes, first=at == 0)
        outcomes.append(drive(run, lambda _, contents=contents: read_incoming(next(contents))))
        assert next(contents, None) is None
    return member, outcomes


def state(member: Member) -> dict[str, Any]:
    """Everything a member holds, down to the numbers of rows and symbols."""
    found: dict[str, Any] = {"symbols": list(map(repr, member.shard.symbols.values))}
    for name, store in member.shard.stores.items():
        known = store.rules[: store.size]
        depth = np.array([len(rule.atoms) for rule in member.shard.plan.rules] + [0])
        used = np.arange(store.depth) < depth[np.minimum(known, depth.size - 1)][:, None]
        witnesses = np.where(used, store.witness[: store.size], -1)
        rows = store.data[: store.size], store.stamp[: store.size], known, witnesses
        found[name] = [array.tolist() for array in rows]
    return found


def _check(case_script: Any, sharded: Sharded) -> None:
    recorder = Recorder(sharded.cluster)
    for transaction in case_script:
        recorder.apply(sharded.arrow(transaction.insert), sharded.arrow(transaction.delete))
    for number, member in enumerate(recorder.members):
        again, outcomes = replayed(recorder, number)
        assert outcomes == recorder.outcomes[number]
        assert state(again) == state(member)


@pytest.mark.parametrize("kind", ["decomposed", "exchange"])
@pairs(25)
@given(seed=seeds)
def test_agree_replay_of_random_programs(seed: int, kind: str) -> None:
    case = random_case(seed)
    try:
        sharded = Sharded(case.program, 3, (kind,))
    except NotPlaced:
        return
    with pytest.MonkeyPatch.context() as cramped:
        if seed % 2:
            cramped.setattr("headwater.engine.store.compaction._WORTH_IT", 0)
        _check(case.script, sharded)


@pytest.mark.parametrize("name", ["closure", "components", "points_to", "shortest"])
def test_agree_replay_of_templates(name: str) -> None:
    case = template_case(name, 11)
    _check(case.script, Sharded(case.program, 2, ("exchange",)))
