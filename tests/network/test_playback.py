"""What is played back is what happened: the views at every moment, the messages, the links that fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from headwater.cli.main import app
from headwater.network import Link, Simulation, Topology
from headwater.network.events.model import LinkFails, LinkReturns, NodeFails
from headwater.network.phases import simulate
from headwater.network.playback import TOLD_ROWS, playback
from headwater.network.protocols import protocol
from headwater.network.scenario import Scenario, prepared
from headwater.network.topologies import read_topology

SQUARE = Topology(
    [Link("a", "b", latency=0.005), Link("b", "c"), Link("c", "d", latency=0.04), Link("d", "a")],
    places={"a": (38.7, -9.1)},
)
EVENTS = [LinkFails(0.012, "a", "b"), LinkReturns(0.3, "a", "b"), NodeFails(0.5, "c")]


def scenario() -> Scenario:
    return prepared(protocol("path_vector"), SQUARE, events=EVENTS)


def rows_at(played: dict[str, Any], view: str, time: float) -> set[Any]:
    found = set()
    for moment, sign, name, row in played["changes"]:
        if name == view and moment <= time + 1e-9:
            each = tuple(tuple(value) if isinstance(value, list) else value for value in row)
            if sign > 0:
                found.add(each)
            else:
                found.remove(each)
    return found


def test_views_are_those_of_every_moment() -> None:
    made = scenario()
    played = json.loads(json.dumps(playback("path_vector", made, simulate(made, cuts=True, trace=True))))
    again = Simulation(made.program, made.topology)
    for moment in made.moments:
        again.at(moment.time, insert=moment.insert, delete=moment.delete, cut=moment.cut, mend=moment.mended)
    sizes = set()
    for time in (0.01, 0.012, 0.02, 0.1, 0.31, 0.5, 0.52, 0.6, 2.0):
        again.run(until=time)
        assert rows_at(played, "path", time) == again.rows("path")
        sizes.add(len(again.rows("path")))
    assert len(sizes) == 3
    assert played["views"] == {"path": ["S", "D", "C", "P"]}


def test_messages_travel_along_links_and_are_lost_with_them() -> None:
    made = scenario()
    run = simulate(made, cuts=True, trace=True)
    played = playback("path_vector", made, run)
    links = {(link["src"], link["dst"]) for link in played["links"]}
    for sent, arrived, src, dst, size, count, told in played["messages"]:
        assert (src, dst) in links or (dst, src) in links
        assert arrived is None or arrived > sent
        assert size > 28
        assert len(told) == min(count, TOLD_ROWS)
    lost = [message for message in played["messages"] if message[1] is None]
    assert len(lost) == run.simulation.report.lost > 0
    assert len(played["messages"]) == run.simulation.report.messages
    assert [(event["time"], event["cut"], event["mended"]) for event in played["events"]][1:3] == [
        (0.012, [[0, 1]], []),
        (0.3, [], [[0, 1]]),
    ]
    assert played["nodes"][0] == {"name": "a", "latitude": 38.7, "longitude": -9.1}
    assert played["nodes"][1] == {"name": "b"}


def test_the_command_writes_it_with_the_places_of_a_map(tmp_path: Path) -> None:
    (tmp_path / "zoo.graphml").write_text(
        """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
        <key attr.name="Latitude" attr.type="double" for="node" id="d1"/>
        <key attr.name="Longitude" attr.type="double" for="node" id="d2"/>
        <graph edgedefault="undirected">
        <node id="x"><data key="d1">40.5</data><data key="d2">-3.5</data></node><node id="y"/>
        <edge source="x" target="y"/></graph></graphml>"""
    )
    assert read_topology(tmp_path / "zoo.graphml").places == {"x": (40.5, -3.5)}
    given = ["simulate", "reachability", "-t", str(tmp_path / "zoo.graphml"), "--playback", str(tmp_path / "run.json")]
    ran = CliRunner().invoke(app, given)
    assert ran.exit_code == 0, ran.output
    played = json.loads((tmp_path / "run.json").read_text())
    assert (played["format"], played["version"]) == ("headwater-playback", 1)
    assert played["nodes"] == [{"name": "x", "latitude": 40.5, "longitude": -3.5}, {"name": "y"}]
    assert len(rows_at(played, "reachable", played["until"])) == 4
