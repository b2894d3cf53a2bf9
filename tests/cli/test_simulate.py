"""`headwater simulate`: protocols on networks, from the command line; what is wrong ends it before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.cli.main import app
from headwater.network.protocols import EVENT_PROTOCOLS, PROTOCOLS

NET = "src,dst,latency_ms,cost\na,b,5,1\nb,c,5,2\na,c,20,5\nc,d,3,1\n"

ALONE = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
  <node id="faro"/>
  <node id="a"/><node id="b"/><edge source="a" target="b"/>
</graph></graphml>
"""


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.csv").write_text(NET)
    return tmp_path


def run(*given: str, status: int = 0) -> str:
    ran = CliRunner().invoke(app, ["simulate", *given], env={"COLUMNS": "200"})
    assert ran.exit_code == status, ran.output
    return ran.output


def test_the_pack_is_listed() -> None:
    listed = run("--list")
    assert [line.split()[0] for line in listed.splitlines()] == [*PROTOCOLS, *EVENT_PROTOCOLS]
    assert all(len(line.split()) > 3 for line in listed.splitlines())


def test_a_program_is_shown(net: Path) -> None:
    assert run("path_vector", "--show") == PROTOCOLS["path_vector"].text


def test_a_protocol_settles(net: Path) -> None:
    told = run("path_vector", "--topology", "net.csv", "--metric", "cost", "--rows", "20")
    assert "path_vector on 4 nodes and 4 links" in told
    assert "path: 12 rows" in told
    assert "[a, b, c, d]" in told


def test_a_file_of_ones_own_runs(net: Path) -> None:
    (net / "own.dl").write_text("near(@S, @D) :- #link(@S, @D, C), C < 3.\n")
    told = json.loads(run("own.dl", "-t", "net.csv", "--metric", "cost", "--json"))
    assert told["rows"] == {"near": 6}


def test_json_has_phases_and_messages(net: Path) -> None:
    (net / "events.csv").write_text("time,event,arguments\n1,change link,a,b,9\n2,change link,a,b,1\n")
    given = [
        "path_vector",
        "-t",
        "net.csv",
        "--metric",
        "cost",
        "-e",
        "events.csv",
        "--until",
        "3",
        "--json",
        "--trace",
    ]
    told = json.loads(run(*given))
    assert [phase["start"] for phase in told["phases"]] == [0, 1, 2]
    assert told["summary"]["messages"] == len(told["trace"]) == sum(phase["messages"] for phase in told["phases"])
    assert told["summary"]["bytes"] == sum(phase["bytes"] for phase in told["phases"])
    assert told["phases"][1]["inserted"] == told["phases"][1]["deleted"] == 2
    assert 0 < told["phases"][1]["convergence"] < 1
    assert told["until"] == 3
    links = {("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")}
    assert all((m["src"], m["dst"]) in links or (m["dst"], m["src"]) in links for m in told["trace"])
    assert run(*given) == run(*given)


def test_a_run_that_stops_early_says_that_it_is_not_quiet(net: Path) -> None:
    given = ["path_vector", "-t", "net.csv", "--metric", "cost"]
    early = run(*given, "--until", "0.015")
    assert "not quiet at 0.015 s" in early
    assert "not quiet" not in run(*given)
    assert [json.loads(run(*given, "--json", *more))["quiet"] for more in ([], ["--until", "0.015"])] == [True, False]


def test_nodes_work_as_asked(net: Path) -> None:
    """Rows that wait cost time and save messages; rows that are renewed come through links that lose messages."""
    CliRunner().invoke(app, ["generate", "overlay", "--nodes", "12", "--output", "made"])
    given = ["path_vector", "-t", "made/topology.csv", "--metric", "random", "--json"]
    eager = json.loads(run(*given))
    for more in (["--periodic", "0.1"], ["--sharing", "0.1"], ["--evaluation", "bsn"], ["--evaluation", "sn"]):
        told = json.loads(run(*given, *more))
        assert told["rows"] == eager["rows"]
        assert told["summary"]["messages"] < eager["summary"]["messages"], more
        assert told["until"] > eager["until"]
    lossy = (net / "net.csv").read_text().splitlines()
    (net / "lossy.csv").write_text("\n".join([f"{lossy[0]},loss", *(f"{line},0.4" for line in lossy[1:])]) + "\n")
    soft = json.loads(run("path_vector", "-t", "lossy.csv", "--refresh", "0.5", "--until", "20", "--json"))
    assert soft["rows"] == {"path": 12}
    assert soft["summary"]["lost"] > 0


def test_rows_of_other_relations_come_from_files(net: Path) -> None:
    (net / "requests.csv").write_text("src,dst\na,d\n")
    given = ["dynamic_source_routing", "-t", "net.csv", "--metric", "cost", "-i", "request=requests.csv", "--rows", "5"]
    assert "[a, b, c, d]" in run(*given)


def test_a_message_a_line(net: Path) -> None:
    lines = [line for line in run("reachability", "-t", "net.csv", "--trace").splitlines() if " bytes " in line]
    assert len(lines) > 8
    assert any("+reachable(" in line for line in lines)


def test_a_picture_is_drawn(net: Path) -> None:
    run("reachability", "-t", "net.csv", "--plot", "out.png")
    assert (net / "out.png").read_bytes().startswith(b"\x89PNG")
    assert (net / "out.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("given", "status", "told"),
    [
        (["path_vetor", "-t", "net.csv"], 2, "did you mean `path_vector`?"),
        (["none.dl", "-t", "net.csv"], 2, "none.dl"),
        ([], 2, "--list"),
        (["path_vector"], 2, "--topology"),
        (["path_vector", "-t", "gone.csv"], 2, "gone.csv does not exist"),
        (["path_vector", "-t", "net.csv", "-e", "gone.csv"], 2, "gone.csv does not exist"),
        (["path_vector", "-t", "net.csv", "--metric", "lateny"], 2, "did you mean latency?"),
        (["path_vector", "-t", "net.csv", "--metric", "random"], 1, "no metric 'random'"),
        (["path_vector", "-t", "net.csv", "--until", "nan"], 2, "--until"),
        (["path_vector", "-t", "net.csv", "--until", "-1"], 2, "--until"),
        (["path_vector", "-t", "net.csv", "--evaluation", "all"], 2, "psn, bsn, sn"),
        (["path_vector", "-t", "net.csv", "--periodic", "0"], 2, "above 0"),
        (["path_vector", "-t", "net.csv", "--sharing", "inf"], 2, "above 0"),
        (["path_vector", "-t", "net.csv", "--sharing", "1", "--periodic", "1"], 2, "rows wait once"),
        (["path_vector", "-t", "net.csv", "--refresh", "1"], 2, "say when to stop"),
        (["ping_pong", "-t", "net.csv", "--refresh", "1", "--until", "5"], 2, "a program of events"),
        (["path_vector", "-t", "net.csv", "--plot", "out.gif"], 2, ".png"),
        (["path_vector", "-t", "net.csv", "--plot", "gone/out.png"], 2, "is no folder"),
        (["path_vector", "-t", "net.csv", "--playback", "gone/run.json"], 2, "is no folder"),
        (["path_vector", "-t", "alone.graphml"], 1, "alone.graphml:2:3"),
        (["dynamic_source_routing", "-t", "net.csv"], 1, "HW806"),
        (["dynamic_source_routing", "-t", "net.csv", "-i", "request=strange.csv"], 1, "HW814"),
        (["dynamic_source_routing", "-t", "net.csv", "-i", "requests=strange.csv"], 2, "did you mean `request`"),
        (["path_vector", "-t", "minus.csv"], 1, "minus.csv:3:5"),
        (["path_vector", "-t", "net.csv", "-e", "stranger.csv"], 1, "stranger.csv:2:13"),
        (["plain.dl", "-t", "net.csv"], 1, "HW913"),
        (["far.dl", "-t", "net.csv"], 1, "HW604"),
        (["odd.dl", "-t", "net.csv"], 1, "HW915"),
    ],
)
def test_bad_input_is_told_and_nothing_runs(
    given: list[str], status: int, told: str, net: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (net / "strange.csv").write_text("src,dst\nzz,d\n")
    (net / "minus.csv").write_text("src,dst,latency_ms\na,b,5\nb,c,-5\n")
    (net / "alone.graphml").write_text(ALONE)
    (net / "stranger.csv").write_text("time,event,arguments\n5,fail node,zz\n")
    (net / "plain.dl").write_text("reach(X, Y) :- link(X, Y).\nreach(X, Y) :- link(X, Z), reach(Z, Y).\n")
    (net / "far.dl").write_text("r(@X, @Y) :- #link(@X, @Y).\nfar(@Z, @X) :- r(@X, @Y), r(@Y, @Z).\n")
    (net / "odd.dl").write_text("relation link(src: address, dst: address, colour: int).\nr(@X) :- #link(@X, @Y, C).\n")

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it ran")

    monkeypatch.setattr("headwater.network.phases.Simulation", never)
    before = sorted(path.name for path in net.iterdir())
    assert told in run(*given, status=status)
    assert sorted(path.name for path in net.iterdir()) == before


@pytest.mark.parametrize("kind", ["overlay", "random", "mesh"])
def test_generated_networks_are_simulated(kind: str, net: Path) -> None:
    more = [] if kind != "random" else ["--links", "14"]
    made = CliRunner().invoke(app, ["generate", kind, "--nodes", "10", *more, "-o", "made"])
    assert made.exit_code == 0, made.output
    told = json.loads(run("reachability", "-t", "made/topology.csv", "--json"))
    assert told["rows"] == {"reachable": 100}


@pytest.mark.parametrize("kind", ["bursts", "failures", "partitions"])
def test_generated_events_are_read(kind: str, net: Path) -> None:
    given = ["generate", kind, "--topology", "net.csv", "-o", "made", "--until", "50"]
    made = CliRunner().invoke(app, given)
    assert made.exit_code == 0, made.output
    from headwater.network.events import read_events

    assert len(read_events(net / "made" / "events.csv")) >= 3


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["bursts"], "--topology"),
        (["bursts", "--topology", "net.csv", "--nodes", "5"], "is for overlay and random and mesh"),
        (["bursts", "--topology", "net.csv", "--every", "0"], "more than 0"),
        (["failures", "--topology", "net.csv", "--every", "2", "--every", "8"], "several intervals"),
        (["random", "--nodes", "5", "--links", "2"], "5 nodes are connected by"),
        (["mesh", "--nodes", "100000"], "at most"),
    ],
)
def test_events_and_networks_that_cannot_be_are_told(given: list[str], told: str, net: Path) -> None:
    made = CliRunner().invoke(app, ["generate", *given, "-o", "made"], env={"COLUMNS": "200"})
    assert made.exit_code == 2
    assert told in made.output
    assert not (net / "made").exists()
