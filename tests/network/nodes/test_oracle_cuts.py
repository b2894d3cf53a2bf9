"""Links and nodes fail with the messages that are under way on them: the views come right all the same."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.core.errors import DataError
from headwater.network import Link, Periodic, Simulation, Topology
from headwater.network.events import read_events
from headwater.network.phases import simulate
from headwater.network.protocols import PROTOCOLS
from headwater.network.scenario import prepared
from tests.network.nodes.scripts import random_topology, simulated
from tests.network.nodes.test_oracle_scripts import TEXT, from_oracle


def check_cuts(name: str, seed: int, **options: Any) -> int:
    """Random links fail and come back, in bursts; gives the number of messages that were lost."""
    dice = random.Random(seed)
    topology = random_topology(dice)
    compiled, answers = hw.compile(TEXT[name]), from_oracle(name)
    sim = simulated(compiled, topology, dice, messages=50_000, **options)
    cables = {frozenset((link.src, link.dst)): dice.randint(1, 4) for link in topology.links}
    up, now = set(cables), 0.0

    def rows(some: Any) -> list[tuple[Any, ...]]:
        return [
            (src, dst, cables[pair]) for src, dst, _ in topology.channels if (pair := frozenset((src, dst))) in some
        ]

    sim.at(0.0, insert={"link": rows(up)})
    for _ in range(3):
        for _ in range(dice.randint(1, 5)):
            now += dice.choice([0.0, 0.002, 0.01, 0.04])
            chosen = {pair for pair in sorted(cables, key=sorted) if dice.random() < 0.35}
            down, back = chosen & up, chosen - up
            up = (up | back) - down
            sim.at(now, delete={"link": rows(down)}, cut=map(sorted, down))
            sim.at(now, insert={"link": rows(back)}, mend=map(sorted, back))
        sim.run()
        assert sim.is_quiet
        for view, expected in answers({"link": set(rows(up)), "blocked": set()}).items():
            assert sim.rows(view) == expected, (view, seed)
        now = sim.now + 0.1
    return sim.report.lost


@pytest.mark.parametrize("name", TEXT)
def test_oracle_links_fail_with_their_messages(name: str) -> None:
    assert sum(check_cuts(name, seed) for seed in range(400, 410))


def test_oracle_links_fail_while_rows_wait() -> None:
    for seed in range(420, 424):
        check_cuts("cost", seed, selections=Periodic(0.02))
        check_cuts("reach", seed, sharing=0.02)


def test_oracle_a_notice_about_the_link_is_lost_with_it() -> None:
    check_cuts("reach", 3093)


@pytest.mark.soak
@pytest.mark.parametrize("name", TEXT)
def test_oracle_many_links_fail(name: str) -> None:
    for seed in range(3000, 3200):
        check_cuts(name, seed)


def test_a_message_under_way_is_lost() -> None:
    slow = Topology([Link("a", "b", latency=1.0)])
    program = hw.compile("relation link(src: address, dst: address). back(@D, @S) :- #link(@S, @D).")
    for cut, lost in (((), 0), ([("b", "a")], 1)):
        sim = Simulation(program, slow)
        sim.at(0.0, insert={"link": [("a", "b")]})
        sim.at(0.5, cut=cut)
        sim.run()
        assert (sim.report.lost, len(sim.rows("back"))) == (lost, 1 - lost)
        sim.at(3.0, mend=[("a", "b")])
        sim.run()
        assert sim.rows("back") == {("b", "a")}
    with pytest.raises(DataError, match="no link joins 'a' and 'c'"):
        sim.at(5.0, cut=[("a", "c")])


EVENTS = """time,event,arguments
0.012,fail node,n1
0.013,fail link,n0,n2
0.02,return node,n1
0.05,partition,n0,n1
0.056,return link,n0,n2
0.3,heal
0.301,fail node,n2
"""


@pytest.mark.parametrize("name", ["path_vector", "distance_vector", "link_state", "multicast_source_tree"])
def test_agree_protocols_when_nodes_fail_with_their_messages(name: str, tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text(EVENTS)
    compiled = PROTOCOLS[name].compiled()
    lost = 0
    for seed in range(4):
        dice = random.Random(seed)
        while len((topology := random_topology(dice, reliable=True)).nodes) < 4:
            pass
        nodes = topology.nodes
        links = [*topology.links, *([] if _joined(topology) else [Link("n0", "n2")])]
        network = Topology(links, nodes)
        given = {"listener": [(node, "x") for node in nodes], "source": [("n0", "x")]}
        bases = {each.name for each in compiled.checked.relations if not each.derived}
        known = {relation: rows for relation, rows in given.items() if relation in bases}
        scenario = prepared(compiled, network, given=known, events=read_events(tmp_path / "events.csv"))
        outcome = simulate(scenario, cuts=True)
        database = hw.Database(compiled)
        for moment in scenario.moments:
            database.apply(insert=moment.insert, delete=moment.delete)
        for view in compiled.outputs:
            assert outcome.simulation.rows(view) == database.rows(view), (view, seed)
        lost += outcome.simulation.report.lost
    assert lost


def _joined(topology: Topology) -> bool:
    return any({link.src, link.dst} == {"n0", "n2"} for link in topology.links)
