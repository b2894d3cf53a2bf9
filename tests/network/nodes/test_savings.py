"""Holding rows back, joining them into fewer bytes, and soft state: the views stay the same."""

from __future__ import annotations

import random
from typing import Any

import pytest

import headwater as hw
from headwater.network import Link, Periodic, Simulation, Topology
from headwater.network.protocols import PROTOCOLS
from tests.network.nodes.scripts import Script, check_script, from_database, random_topology
from tests.network.nodes.test_oracle_scripts import TEXT, from_oracle

THREE = hw.compile(
    """
    relation link(src: address, dst: address, one: int, two: int).
    a(@S, @D, P, C) :- #link(@S, @D, C, _), P = [S, D].
    a(@S, @D, P, C) :- #link(@S, @Z, C1, _), a(@Z, @D, P2, C2), C = C1 + C2, P = concat([S], P2).
    bestA(@S, @D, min<C>) :- a(@S, @D, P, C).
    b(@S, @D, P, C) :- #link(@S, @D, _, C), P = [S, D].
    b(@S, @D, P, C) :- #link(@S, @Z, _, C1), b(@Z, @D, P2, C2), C = C1 + C2, P = concat([S], P2).
    bestB(@S, @D, min<C>) :- b(@S, @D, P, C).
    query bestA(@S, @D, C).
    query bestB(@S, @D, C).
    """
)


@pytest.mark.parametrize("options", [{"selections": Periodic(0.04)}, {"sharing": 0.03}], ids=["periodic", "sharing"])
@pytest.mark.parametrize("name", ["reach", "cost", "paths"])
def test_oracle_held_rows(name: str, options: dict[str, Any]) -> None:
    compiled, answers = hw.compile(TEXT[name]), from_oracle(name)
    for seed in range(100, 105):
        check_script(compiled, seed, answers, **options)


def test_agree_shared_messages() -> None:
    for seed in range(6):
        check_script(THREE, seed, from_database(THREE), sharing=0.05)


def test_shared_rows_take_fewer_bytes() -> None:
    dice = random.Random(1)
    topology = random_topology(dice, 6, reliable=True)
    rows = [(a, b, cost, cost) for a, b, _ in topology.channels for cost in [dice.randint(1, 9)]]

    def sent(sharing: float | None) -> int:
        sim = Simulation(THREE, topology, sharing=sharing, selections="eager" if sharing else Periodic(0.1))
        sim.at(0.0, insert={"link": rows})
        sim.run()
        return sim.report.bytes

    assert sent(0.1) < 0.8 * sent(None)


def test_periodic_selections_send_fewer_rows() -> None:
    """Three paths to `z`, the shortest arrives last: only the best of them is told to `y`."""
    slow = {("s", "a"): 0.03, ("s", "b"): 0.02, ("s", "c"): 0.01}
    links = [Link("s", name, latency=slow["s", name]) for name in "abc"]
    links += [Link(name, "z", latency=0.001) for name in "abc"] + [Link("y", "s", latency=0.001)]
    topology = Topology(links)
    cost = {"a": 1, "b": 5, "c": 9}
    rows = [(one, other, max(cost.get(one, 1), cost.get(other, 1))) for one, other, _ in topology.channels]
    program = PROTOCOLS["path_vector"].compiled()

    def sent(**options: Any) -> tuple[int, set[tuple[Any, ...]]]:
        sim = Simulation(program, topology, **options)
        sim.at(0.0, insert={"link": rows})
        sim.run()
        return sim.report.rows, sim.rows("path")

    eager, periodic = sent(), sent(selections=Periodic(0.1))
    assert periodic[0] < eager[0]
    assert periodic[1] == eager[1]


@pytest.mark.parametrize("name", ["reach", "cost", "paths"])
def test_oracle_soft_state_comes_right_when_changes_stop(name: str) -> None:
    compiled, answers = hw.compile(TEXT[name]), from_oracle(name)
    for seed in range(200, 205):
        dice = random.Random(seed)
        topology = random_topology(dice, 5)
        links = [
            Link(link.src, link.dst, link.latency, loss=0.25, reorder=0.3, duplicate=0.2) for link in topology.links
        ]
        sim = Simulation(compiled, Topology(links, topology.nodes), fifo=False, refresh=0.5, seed=seed)
        script = Script(compiled, topology, dice)
        for number in range(2):
            script.burst(sim, first=number == 0)
            sim.run(until=script.now + 30.0)
            for view, rows in answers(script.state).items():
                assert sim.rows(view) == rows, (view, seed, number)
            script.now = sim.now
        assert sim.report.lost


def test_soft_state_needs_an_end_and_unreliable_links_need_soft_state() -> None:
    lossy = Topology([Link("a", "b", loss=0.5)])
    program = hw.compile(TEXT["reach"])
    with pytest.raises(ValueError, match="pass refresh"):
        Simulation(program, lossy, fifo=False)
    sim = Simulation(program, lossy, fifo=False, refresh=1.0)
    with pytest.raises(ValueError, match="say how long"):
        sim.run()


def test_a_query_that_ends_gives_its_state_back() -> None:
    program = hw.compile_file("examples/shortest_path_magic.dl")
    topology = random_topology(random.Random(3), 6, reliable=True)
    sim = Simulation(program, topology, maintenance="proofs")
    sim.at(0.0, insert={"link": topology.rows("hops")})
    sim.run()
    before = sim.stored_rows
    sim.at(1.0, insert={"magicSrc": [("n0",)], "magicDst": [("n1",)]})
    sim.run()
    assert sim.rows("shortestPath")
    assert sim.stored_rows > before
    sim.at(sim.now, delete={"magicSrc": [("n0",)], "magicDst": [("n1",)]})
    sim.run()
    assert sim.stored_rows == before
