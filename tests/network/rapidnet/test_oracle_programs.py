"""The pack's programs with events, through failures, beside references in plain Python."""

from __future__ import annotations

import heapq
import math
import random
from itertools import pairwise

import pytest

from headwater.network import Link, Topology
from headwater.network.events import LinkFails, LinkReturns, NetworkEvent, NodeFails, NodeReturns, RowsChange
from headwater.network.phases import simulate
from headwater.network.protocols import EVENT_PROTOCOLS, event_protocol
from headwater.network.rapidnet import EventSimulation
from headwater.network.scenario import prepared

Costs = dict[tuple[str, str], int]


def network(dice: random.Random, nodes: int, links: int) -> tuple[Topology, Costs]:
    names = [f"n{at}" for at in range(nodes)]
    pairs = {(names[at], names[dice.randrange(at)]) for at in range(1, nodes)}
    while len(pairs) < links:
        one, other = sorted(dice.sample(names, 2))
        if (other, one) not in pairs:
            pairs.add((one, other))
    made, costs = [], {}
    for one, other in sorted(pairs):
        cost = dice.randint(1, 9)
        made.append(Link(one, other, dice.randint(2, 20) / 1000, metrics=(("cost", cost),)))
        costs[one, other] = costs[other, one] = cost
    return Topology(made, names), costs


def distances(costs: Costs, nodes: set[str]) -> dict[tuple[str, str], int]:
    found = {}
    for start in nodes:
        pending, done = [(0, start)], dict[str, int]()
        while pending:
            far, node = heapq.heappop(pending)
            if node not in done:
                done[node] = far
                found[start, node] = far
                for (one, other), cost in costs.items():
                    if one == node and other in nodes:
                        heapq.heappush(pending, (far + cost, other))
    return {pair: far for pair, far in found.items() if pair[0] != pair[1]}


def failures(dice: random.Random, topology: Topology) -> tuple[list[NetworkEvent], set[str], set[frozenset[str]]]:
    """Some links and a node fail, some of them return; who is down at the end."""
    links = dice.sample(topology.links, 3)
    node = dice.choice(topology.nodes)
    events: list[NetworkEvent] = [LinkFails(6.0 + at, link.src, link.dst) for at, link in enumerate(links)]
    events += [LinkReturns(15.0, links[0].src, links[0].dst), NodeFails(8.0, node)]
    down = {node}
    if dice.random() < 0.5:
        events.append(NodeReturns(16.0, node))
        down = set()
    return events, down, {frozenset((link.src, link.dst)) for link in links[1:]}


def failed(
    name: str, seed: int, until: float, nodes: int = 6, links: int = 9
) -> tuple[EventSimulation, Costs, set[str]]:
    """A program after failures, once its rows have had the time to expire; the links and nodes that are left."""
    dice = random.Random(seed)
    topology, costs = network(dice, nodes, links)
    events, down, cut = failures(dice, topology)
    scenario = prepared(event_protocol(name), topology, metric="cost", events=events)
    simulation = simulate(scenario, until=until, seed=seed).simulation
    assert isinstance(simulation, EventSimulation)
    left = {pair: cost for pair, cost in costs.items() if frozenset(pair) not in cut and not down & set(pair)}
    return simulation, left, set(topology.nodes) - down


@pytest.mark.parametrize("seed", range(3))
def test_oracle_distance_vector(seed: int) -> None:
    simulation, costs, up = failed("periodic_distance_vector", seed, 100.0)  # costs may have to grow to the farthest
    expected = distances(costs, up)
    rows = simulation.rows("route")
    assert {(x, d): c for x, d, c, _ in rows if x != d} == expected
    for x, d, c, n in rows:
        if x != d:
            assert c == costs[x, n] + (0 if n == d else expected[n, d])


@pytest.mark.parametrize("seed", range(3))
def test_oracle_path_vector(seed: int) -> None:
    simulation, costs, up = failed("periodic_path_vector", seed, 40.0)
    rows = simulation.rows("bestPath")
    assert {(x, d): c for x, d, c, _ in rows} == distances(costs, up)
    for x, d, c, path in rows:
        assert (path[0], path[-1]) == (x, d)
        assert sum(costs[pair] for pair in pairwise(path)) == c


@pytest.mark.parametrize("seed", range(2))
def test_oracle_link_state(seed: int) -> None:
    simulation, costs, up = failed("flooded_link_state", seed, 26.0, 5, 6)
    assert {(x, d): c for x, d, c in simulation.rows("distance")} == distances(costs, up)
    assert {row[1:] for row in simulation.rows("edge")} == {(*pair, cost) for pair, cost in costs.items()}


@pytest.mark.parametrize("seed", range(3))
def test_oracle_ping_pong(seed: int) -> None:
    simulation, costs, _ = failed("ping_pong", seed, 30.0)
    rows = simulation.rows("neighbour")
    assert {row[:2] for row in rows} == set(costs)
    latency = {(src, dst): link.latency for src, dst, link in simulation.topology.channels}
    for one, other, took in rows:
        assert 2 * latency[one, other] <= took + 1e-9 <= 2 * latency[one, other] + 0.003  # a tick for each arrival
    assert simulation.rows("neighbours") == {(one, sum(pair[0] == one for pair in costs)) for one, _ in costs}


@pytest.mark.parametrize("seed", range(2))
def test_oracle_gossip(seed: int) -> None:
    simulation, costs, up = failed("gossip", seed, 45.0, 5, 7)
    reached = distances(costs, up)
    expected = {(one, one) for one in up} | set(reached)
    assert {row[:2] for row in simulation.rows("member")} == expected


@pytest.mark.parametrize("seed", range(3))
def test_oracle_source_routes(seed: int) -> None:
    dice = random.Random(seed)
    topology, costs = network(dice, 8, 12)
    wanted = {tuple(dice.sample(topology.nodes, 2)) for _ in range(5)}
    cut = topology.links[3]
    events: list[NetworkEvent] = [
        RowsChange(float(at + 1), (("want", pair),)) for at, pair in enumerate(sorted(wanted))
    ]
    late = [RowsChange(41.0 + at, (("want", pair),)) for at, pair in enumerate(sorted(wanted))]
    scenario = prepared(
        event_protocol("source_routes"), topology, events=[*events, LinkFails(40.0, cut.src, cut.dst), *late]
    )
    early = simulate(scenario, until=10.0).simulation.rows("route")
    gone = simulate(scenario, until=39.0).simulation.rows("route")
    after = simulate(scenario, until=50.0).simulation.rows("route")
    assert gone == set()  # thirty seconds later they are forgotten
    left = {pair: cost for pair, cost in costs.items() if frozenset(pair) != frozenset((cut.src, cut.dst))}
    for rows, links in ((early, costs), (after, left)):
        ticks = {
            (src, dst): 0 if (src, dst) not in links else math.ceil(link.latency * 1000 + 0.01)
            for src, dst, link in topology.channels
        }
        least = distances({pair: ticks[pair] for pair in links}, set(topology.nodes))
        reachable = {pair for pair in wanted if pair in least}
        assert {row[:2] for row in rows} == reachable
        for source, goal, path in rows:
            assert (path[-1], path[0]) == (source, goal)
            taken = sum(ticks[pair] for pair in zip(path[1:], path, strict=False))
            assert taken == least[source, goal]  # the request that came first


def test_every_program_is_here() -> None:
    tested = {"periodic_distance_vector", "periodic_path_vector", "flooded_link_state", "ping_pong", "gossip"}
    assert set(EVENT_PROTOCOLS) == tested | {"source_routes", "chord_ring"}


def test_programs_say_what_they_are() -> None:
    assert EVENT_PROTOCOLS["gossip"].summary == "Membership by gossip"
