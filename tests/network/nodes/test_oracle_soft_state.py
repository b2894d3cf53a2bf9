"""Every protocol over links that lose, double and reorder messages: soft state comes right after a link has failed."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import headwater as hw
from headwater.network import Simulation, Topology
from headwater.network.protocols import PROTOCOLS, protocol
from headwater.network.scenario import prepared
from tests.network.nodes.test_oracle_failures import NODES, topology
from tests.network.protocols.test_agree_simulation import given

MANY = [
    pytest.param(name, marks=pytest.mark.soak) if name == "bounded_delay" else name for name in PROTOCOLS
]  # every path within the bound is a row, and all are renewed


@pytest.mark.parametrize("name", MANY)
def test_oracle_soft_state_of_every_protocol(name: str) -> None:
    dice = random.Random(5)
    reliable = topology(dice, name)
    links = [replace(link, loss=0.15, reorder=0.1, duplicate=0.1) for link in reliable.links]
    network, program = Topology(links, reliable.nodes), protocol(name)
    metric = "hops" if name == "distance_vector" else "random"
    (start,) = prepared(program, network, metric=metric, given=given(name, dice, NODES)).moments
    failing = [row for row in start.insert["link"] if set(row[:2]) == {links[0].src, links[0].dst}]
    sim = Simulation(program, network, fifo=False, refresh=0.5, seed=1, tick=0.005)
    sim.at(0.0, insert=start.insert)
    sim.at(2.0, delete={"link": failing})
    sim.run(until=10.0)
    database = hw.Database(program)
    database.apply(insert=start.insert)
    database.apply(delete={"link": failing})
    for view in program.outputs:
        assert sim.rows(view) == database.rows(view)
    assert sim.report.lost
