"""Every protocol on simulated nodes: once messages have arrived, the nodes hold what one database derives.

Nodes fail and return, the network is cut and healed, costs change while messages are under way.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import headwater as hw
from headwater.core.functions.builtins import ring_position
from headwater.network import Simulation
from headwater.network.events import NetworkEvent, bursts, node_failures, partitions
from headwater.network.protocols import PROTOCOLS, protocol
from headwater.network.scenario import prepared
from headwater.network.topologies import mesh, random_graph
from tests.network.protocols.test_oracle_protocols import KINDS, OTHERS
from tests.network.protocols.worlds import rows_of, with_row

QUIET = 1.0  # seconds after which no message is under way in networks of this size
MORE = {
    "chord": ["lookup"],
    "epidemic_membership": [],
    "flooding_search": ["file", "search"],
    "inverted_index_search": ["file", "search"],
    "hybrid_search": ["neighbour", "shared", "question", "waited"],
    "horizon": ["shares", "watcher"],
    "crawl": ["seed"],
}
MESHES = ("chord", "inverted_index_search", "hybrid_search")


def given(name: str, dice: random.Random, names: list[str]) -> dict[str, list[Any]]:
    keyed = name == "inverted_index_search"
    found: dict[str, list[Any]] = {}
    for relation in MORE.get(name, OTHERS.get(name, [])):
        rows: set[Any] = set()
        for at in range(5):
            node, word, other = dice.choice(names), dice.choice("xyz"), dice.choice("xyz")
            match relation:
                case "file":
                    row: Any = (node, f"f{at % 3}", word, *([ring_position(word)] if keyed else []))
                case "search" if keyed:
                    row = (node, f"q{at}", word, ring_position(word), other, ring_position(other))
                case "search":
                    row = (node, f"q{at}", word, other)
                case "neighbour":
                    row = (names[at % len(names)], names[(at + 1) % len(names)])
                case "shared":
                    row = (node, f"f{at % 2}", ring_position(f"f{at % 2}"), word, ring_position(word))
                case "question":
                    row = (names[at], f"q{at}", word, ring_position(word), word, ring_position(word), 1 + at % 3)
                case "waited":
                    row = (names[at], f"q{at}")
                case "shares":
                    row = (node, word)
                case "watcher" | "seed":
                    row = (names[at % 2],)
                case _:
                    row = rows_of(dice, names, relation)
            rows = with_row(rows, relation, row)
        found[relation] = sorted(rows)
    return found


def check(name: str, seed: int, size: int, until: float) -> None:
    dice = random.Random(seed)
    network = mesh(5, seed) if name in MESHES else random_graph(size, size + size // 2, seed)
    events: list[NetworkEvent] = node_failures(network, until=until, every=3.0, away=1.5, seed=seed)
    events += partitions(network, until=until, every=4.0, apart=1.3, seed=seed)
    if KINDS.get(name, ["cost"]) != ["mbps"] and "cost: " in PROTOCOLS[name].text:
        events += bursts(network, until=until, every=(0.02, 3.4), share=0.3, most=0.5, seed=seed)
    program = protocol(name)
    metric = "hops" if name == "distance_vector" else "random"
    scenario = prepared(program, network, metric=metric, given=given(name, dice, list(network.nodes)), events=events)
    simulation, database = Simulation(program, network, seed=seed), hw.Database(program)
    for moment in scenario.moments:
        simulation.at(moment.time, insert=moment.insert, delete=moment.delete)
    ends = [moment.time - 0.001 for moment in scenario.moments[1:]] + [until + 5]
    compared = 0
    for moment, end in zip(scenario.moments, ends, strict=True):
        database.apply(insert=moment.insert, delete=moment.delete)
        simulation.run(until=end)
        if end - moment.time >= QUIET:
            compared += 1
            for view in program.outputs:
                assert simulation.rows(view) == database.rows(view), (name, seed, moment.time, view)
    assert compared >= 2


@pytest.mark.parametrize("name", PROTOCOLS)
def test_agree_protocol_on_nodes(name: str) -> None:
    check(name, 1, 6, 5.0)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 22))
@pytest.mark.parametrize("name", PROTOCOLS)
def test_agree_protocol_on_nodes_at_length(name: str, seed: int) -> None:
    check(name, seed, 8, 14.0)
