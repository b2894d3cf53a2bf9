"""Every protocol through random scripts of failures, messages under way lost: once all is quiet, one database agrees.

Nodes fail and return, links fail and return, the network is cut in two and healed, costs change, within milliseconds of
each other, so that most of it happens while messages are under way. How nodes evaluate and maintain, and what they
hold back, is drawn for each script.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import headwater as hw
from headwater.network import Link, Periodic, Topology
from headwater.network.events import NetworkEvent
from headwater.network.events.model import (
    LinkChanges,
    LinkFails,
    LinkReturns,
    NodeFails,
    NodeReturns,
    Partitioned,
    PartitionHeals,
)
from headwater.network.phases import simulate
from headwater.network.protocols import PROTOCOLS, protocol
from headwater.network.scenario import prepared
from tests.network.protocols.test_agree_simulation import MESHES, given

NODES = [f"n{at}" for at in range(5)]
WAYS: tuple[dict[str, Any], ...] = (
    {"evaluation": "psn"},
    {"evaluation": "psn", "maintenance": "proofs"},
    {"evaluation": "bsn", "iteration": 0.02},
    {"evaluation": "sn"},
    {"evaluation": "psn", "sharing": 0.02},
    {"evaluation": "psn", "selections": Periodic(0.02)},
    {"evaluation": "bsn", "iteration": 0.01, "sharing": 0.01, "selections": Periodic(0.03)},
)


def topology(dice: random.Random, name: str) -> Topology:
    pairs = [(one, other) for at, one in enumerate(NODES) for other in NODES[at + 1 :]]
    ring = {tuple(sorted((node, NODES[at - 1]))) for at, node in enumerate(NODES)}
    chosen = pairs if name in MESHES else sorted(ring | set(dice.sample(pairs, 2)))
    links = []
    for one, other in chosen:
        price = ("random", float(dice.randint(1, 6)))
        links.append(Link(one, other, latency=dice.choice((0.001, 0.004, 0.02, 0.05)), metrics=(price,)))
    return Topology(links, NODES)


def failures(dice: random.Random, network: Topology, *, costs: bool) -> list[NetworkEvent]:
    """Some twelve events, close together; what has failed may return, or not."""
    found: list[NetworkEvent] = []
    time, apart = 0.0, False
    down: set[str] = set()
    broken: set[tuple[str, str]] = set()
    for _ in range(12):
        time = round(time + dice.choice([0.0, 0.002, 0.01, 0.03, 0.2]), 6)
        node, link = dice.choice(NODES), dice.choice(network.links)
        ends = (link.src, link.dst)
        match dice.randrange(4):
            case 0:
                found.append(NodeReturns(time, node) if node in down else NodeFails(time, node))
                down ^= {node}
            case 1:
                found.append(LinkReturns(time, *ends) if ends in broken else LinkFails(time, *ends))
                broken ^= {ends}
            case 2:
                part = tuple(sorted(dice.sample(NODES, 2)))
                found.append(PartitionHeals(time) if apart else Partitioned(time, part))
                apart = not apart
            case _ if costs:
                found.append(LinkChanges(time, *ends, dice.choice((0.5, 1.5, 3.0))))
    return found


def check(name: str, seed: int) -> int:
    """One script; gives the number of messages that were lost."""
    dice = random.Random(seed)
    program, network = protocol(name), topology(dice, name)
    way = WAYS[seed % len(WAYS)]
    costs = "cost: " in PROTOCOLS[name].text
    metric = "hops" if name == "distance_vector" else "random"
    events = failures(dice, network, costs=costs)
    scenario = prepared(program, network, metric=metric, given=given(name, dice, NODES), events=events)
    outcome = simulate(scenario, cuts=True, seed=seed, messages=200_000, **way)
    assert outcome.simulation.is_quiet
    database = hw.Database(program)
    for moment in scenario.moments:
        database.apply(insert=moment.insert, delete=moment.delete)
    for view in program.outputs:
        assert outcome.simulation.rows(view) == database.rows(view), (name, seed, way, view)
    return outcome.simulation.report.lost


@pytest.mark.parametrize("name", PROTOCOLS)
def test_oracle_protocol_survives_failures(name: str) -> None:
    first = 3 * list(PROTOCOLS).index(name)  # so that all ways are taken, by different protocols
    for seed in range(first, first + 3):
        check(name, seed)


def test_messages_are_lost_in_these_scripts() -> None:
    assert sum(check("path_vector", seed) for seed in range(10, 14)) > 5


@pytest.mark.soak
@pytest.mark.parametrize("name", PROTOCOLS)
def test_oracle_protocol_survives_many_failures(name: str) -> None:
    for seed in range(100, 400):
        check(name, seed)
