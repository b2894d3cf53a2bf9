"""Topologies from dice and from files: of the size asked for, connected, and read as they were written."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from headwater.core.errors import DataError, FileError
from headwater.network.links import Link, Topology
from headwater.network.topologies import (
    Overlay,
    mesh,
    overlay,
    random_graph,
    read_topology,
    transit_stub,
    write_rows,
)
from headwater.network.topology import TransitStub

ZOO = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="label" attr.type="string" for="node" id="d33" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d29" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d32" />
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d35" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d33">Lisbon</data><data key="d29">38.72</data><data key="d32">-9.13</data></node>
    <node id="1"><data key="d33">Madrid</data><data key="d29">40.42</data><data key="d32">-3.70</data></node>
    <node id="2"><data key="d33">Madrid</data></node>
    %s
    <edge source="0" target="1"><data key="d35">155000000.0</data></edge>
    <edge source="1" target="2" />
    %s
  </graph>
</graphml>
"""


def reached(topology: Topology) -> set[str]:
    onward: dict[str, list[str]] = {}
    for src, dst, _ in topology.channels:
        onward.setdefault(src, []).append(dst)
    seen, pending = {topology.nodes[0]}, [topology.nodes[0]]
    while pending:
        fresh = [node for node in onward[pending.pop()] if node not in seen]
        seen.update(fresh)
        pending += fresh
    return seen


@pytest.mark.parametrize("seed", range(3))
def test_a_random_graph_is_connected_and_of_its_size(seed: int) -> None:
    made = random_graph(200, 600, seed)
    assert len(made.links) == 600
    assert reached(made) == set(made.nodes)
    assert len(made.nodes) == 200
    assert random_graph(200, 600, seed) == made


def test_the_random_graph_of_the_paper_is_the_default() -> None:
    made = random_graph()
    assert (len(made.nodes), len(made.links)) == (1000, 3000)


def test_transit_stub_links_have_the_papers_latencies_and_bandwidth() -> None:
    made = transit_stub(TransitStub())
    assert {round(link.latency * 1000) for link in made.links} == {50, 10, 2}
    assert {link.bandwidth for link in made.links} == {10e6}
    assert len(made.links) == 200
    assert transit_stub(TransitStub(1, 1, 0, 0)).nodes == ("t0.0",)


@pytest.mark.parametrize("seed", range(3))
def test_the_overlay_stands_on_stubs(seed: int) -> None:
    made = overlay(Overlay(seed=seed))
    assert len(made.nodes) == 100
    assert reached(made) == set(made.nodes)
    assert 350 <= len(made.links) <= 400  # four each, less those who picked each other
    at = {node: sum(node in (link.src, link.dst) for link in made.links) for node in made.nodes}
    assert min(at.values()) >= 4
    for link in made.links:
        assert link.metric("hops") == 1
        assert 1 <= link.metric("random") <= 100
        assert link.metric("reliability") > 0
        assert 1 <= link.metric("latency") <= 400
    far = [link for link in made.links if link.latency > 0.1]
    near = [link for link in made.links if link.latency < 0.03]
    assert min(link.metric("reliability") for link in far) > max(link.metric("reliability") for link in near)


def test_a_mesh_joins_all() -> None:
    assert len(mesh(10).links) == 45


@pytest.mark.parametrize(("nodes", "count"), [(1, 0), (5, 3), (5, 11), (10_000, 20_000_000)])
def test_graphs_that_cannot_be_are_refused(nodes: int, count: int) -> None:
    with pytest.raises(ValueError):
        random_graph(nodes, count)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    made = overlay(Overlay(nodes=12, neighbours=2))
    columns, rows = write_rows(made)
    out = io.StringIO()
    csv.writer(out).writerows([columns, *rows])
    path = tmp_path / "net.csv"
    path.write_text(out.getvalue())
    again = read_topology(path)
    assert {(a, b): link.metrics for a, b, link in again.channels} == {
        (a, b): link.metrics for a, b, link in made.channels
    }
    assert [round(link.latency, 6) for _, _, link in sorted(again.channels, key=lambda each: each[:2])] == [
        round(link.latency, 6) for _, _, link in sorted(made.channels, key=lambda each: each[:2])
    ]


def test_directions_may_differ(tmp_path: Path) -> None:
    path = tmp_path / "net.csv"
    path.write_text("src,dst,latency_ms\na,b,5\nb,a,7\nb,c,1\n")
    made = read_topology(path)
    assert {(a, b): link.latency for a, b, link in made.channels} == {
        ("a", "b"): 0.005,
        ("b", "a"): 0.007,
        ("b", "c"): 0.001,
        ("c", "b"): 0.001,
    }


def test_one_way_lines_are_one_direction(tmp_path: Path) -> None:
    path = tmp_path / "net.csv"
    path.write_text("src,dst\na,b\nb,c\nc,a\n")
    assert [(a, b) for a, b, _ in read_topology(path, one_way=True).channels] == [("a", "b"), ("b", "c"), ("c", "a")]
    path.write_text("src,dst\na,b\nb,c\nc,b\n")
    with pytest.raises(DataError, match=r"HW812.*no link reaches node 'a'"):
        read_topology(path, one_way=True)


def test_a_list_of_edges_as_the_snapshots_have_it(tmp_path: Path) -> None:
    path = tmp_path / "p2p-Gnutella04.txt"
    path.write_text("# Directed graph\n# FromNodeId\tToNodeId\n0\t1\n0\t2\n2\t0\n")
    made = read_topology(path)
    assert made.nodes == ("0", "1", "2")
    assert len(list(made.channels)) == 4
    path.write_text("0\t1\n0 1 2\n3\t3\n")
    with pytest.raises(DataError, match=r"(?s)txt:2:1.*txt:3:1"):
        read_topology(path)


def test_graphml_of_the_topology_zoo(tmp_path: Path) -> None:
    path = tmp_path / "zoo.graphml"
    path.write_text(ZOO % ("", '<edge source="2" target="1" /><edge source="2" target="2" />'))
    made = read_topology(path)
    assert made.nodes == ("Lisbon", "Madrid (1)", "Madrid (2)")
    first, second = made.links
    assert first.bandwidth == 155e6
    assert first.latency * 1000 == pytest.approx(2.5, abs=0.1)  # 503 km
    assert second == Link("Madrid (1)", "Madrid (2)", 0.010, 10e6)


def test_a_node_that_no_link_reaches_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "zoo.graphml"
    path.write_text(ZOO % ('<node id="7"><data key="d33">Faro</data></node>', ""))
    with pytest.raises(DataError, match=r"(?s)HW812.*no link reaches node 'Faro'.*graphml:11:5.*hint: add an edge"):
        read_topology(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<graphml>",
        "not xml",
        "<?xml version='1.0'?><html/>",
        "<!DOCTYPE lolz [<!ENTITY lol 'lol'>]><graphml/>",
        ZOO % ("<node/>", ""),
        ZOO % ("", '<edge source="0"/>'),
        ZOO % ("", '<edge source="0" target="1"><data key="nope">5</data></edge>'),
    ],
)
def test_files_that_are_no_graphml_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "zoo.graphml"
    path.write_text(text)
    with pytest.raises((FileError, DataError)):
        read_topology(path)


@pytest.mark.parametrize("name", ["net", "net.json", "net.csv", "folder.csv"])
def test_files_that_cannot_be_read_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError):
        read_topology(tmp_path / name)
    (tmp_path / "latin.csv").write_bytes(b"src,dst\n\xe9,b\n")
    with pytest.raises(FileError, match="UTF-8"):
        read_topology(tmp_path / "latin.csv")


PARALLEL = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d1" />
  <key attr.name="LinkLabel" attr.type="string" for="edge" id="d2" />
  <key attr.name="hyperedge" attr.type="int" for="node" id="d3" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d4" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d5" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d4">40.0</data><data key="d5">-8.0</data></node>
    <node id="1"><data key="d4">41.0</data><data key="d5">-8.0</data></node>
    <node id="2"><data key="d3">1</data></node>
    <edge id="e0" source="0" target="1"><data key="d1">155000000.0</data></edge>
    <edge id="e1" source="0" target="1"><data key="d1">10000000000.0</data></edge>
    <edge id="e2" source="1" target="0"><data key="d2">OC-3</data></edge>
    <edge id="e3" source="1" target="2"><data key="d2">&lt; 2.5 Gbps</data></edge>
    <edge id="e4" source="0" target="2"><data key="d2">34Mbit/s</data></edge>
  </graph>
</graphml>
"""


def test_graphml_with_parallel_edges_labels_and_a_hyperedge(tmp_path: Path) -> None:
    path = tmp_path / "zoo.graphml"
    path.write_text(PARALLEL)
    links = {frozenset((link.src, link.dst)): link for link in read_topology(path).links}
    assert len(links) == 3
    assert links[frozenset("01")].bandwidth == 10e9  # the fastest of three cables of one length
    assert links[frozenset("01")].latency == pytest.approx(111.2 / 200 / 1000, rel=0.01)
    assert links[frozenset("12")].bandwidth == 2.5e9
    assert links[frozenset("02")].bandwidth == 34e6
    assert links[frozenset("02")].latency == links[frozenset("12")].latency == 0.010  # a node without a place
