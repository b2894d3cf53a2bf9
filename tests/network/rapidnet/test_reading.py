"""RapidNet's dialect: read as our programs, with the same answers; what has no place is told with its line."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

import headwater as hw
from headwater.cli.main import app
from headwater.core.errors import HeadwaterError
from headwater.core.functions.builtins import ring_position
from headwater.network import Link, Topology
from headwater.network.rapidnet import CONSTRUCTS, EventSimulation, event_program, read_rapidnet
from tests.docs.fences import ROOT
from tests.network.protocols.references import path_vector
from tests.network.protocols.worlds import edits
from tests.spec_file import SPECS, Case, read_cases, settle

CASES = read_cases(SPECS / "network" / "rapidnet.spec")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_programs_are_read(case: Case) -> None:
    def outcome(text: str) -> str:
        try:
            read = read_rapidnet(text, name="program.olg")
        except HeadwaterError as error:
            return str(error)
        hw.compile(read)
        return read

    settle(case, outcome)


@pytest.mark.parametrize("seed", range(3))
def test_oracle_the_path_vector_protocol(seed: int) -> None:
    db = hw.Database(hw.compile(read_rapidnet(CASES[0].given)))
    least = hw.Database(hw.compile(read_rapidnet(CASES[1].given)))
    for insert, delete, world in edits(random.Random(seed), list("abcdef"), ["cost"], [], 6):
        db.apply(insert=insert, delete=delete)
        least.apply(insert=insert, delete=delete)
        expected = path_vector(world)["path"]
        assert db.rows("bestPath") == expected
        assert least.rows("least") == {row[:3] for row in expected if row[2] < 16}


def test_a_file_is_simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.olg").write_text(CASES[0].given)
    Path("net.csv").write_text("src,dst,cost\na,b,1\nb,c,2\na,c,9\n")
    ran = CliRunner().invoke(app, ["simulate", "program.olg", "-t", "net.csv", "--metric", "cost", "--rows", "9"])
    assert ran.exit_code == 0, ran.output
    assert "[a, b, c]" in ran.output
    Path("program.olg").write_text("r1 p(@X) :- periodic(@X,E).\n")
    ran = CliRunner().invoke(app, ["simulate", "program.olg", "-t", "net.csv", "--until", "1"])
    assert ran.exit_code == 1
    assert "program.olg:1:1" in ran.output


PINGS = """
materialize(link,infinity,infinity,keys(1,2)).
materialize(seen,infinity,infinity,keys(1,2)).
p1 ping(@Y,X) :- periodic(@X,E,5), link(@X,Y,C).
p2 seen(@Y,X) :- ping(@Y,X).
"""


def test_a_file_with_events_is_simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.olg").write_text(PINGS)
    Path("net.csv").write_text("src,dst,cost\na,b,1\nb,c,2\na,c,9\n")
    Path("events.csv").write_text("time,event,arguments\n1,insert,ping,c,b\n2,fail node,a\n11,return node,a\n")
    words = ["simulate", "program.olg", "-t", "net.csv", "-e", "events.csv", "--trace", "--rows", "9"]
    ran = CliRunner().invoke(app, [*words, "--until", "12"])
    assert ran.exit_code == 0, ran.output
    assert "5.000 -> 5.010  b -> c" in ran.output
    assert "a -> b" not in ran.output  # it came back at 11 s, and its timer goes off at 16 s
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 2
    assert "come for ever" in ran.output


def test_what_a_database_cannot_mean_is_said_with_the_way_out() -> None:
    with pytest.raises(HeadwaterError, match="run it on nodes"):
        read_rapidnet(PINGS)


CANNOT = {
    "two events": "materialize(t,infinity,infinity,keys(1)).\nr1 t(@X) :- e(@X), f(@X).",
    "two places": "materialize(t,infinity,infinity,keys(1)).\nr1 t(@X) :- e(@X,Y), t(@Y).",
    "no event says": "materialize(t,infinity,infinity,keys(1)).\nr1 u(@X,T) :- t(@X), T := f_now().",
    "made by a clock": "materialize(t,infinity,infinity,keys(1)).\nr1 periodic(@X,A,B) :- t(@X), A := 1, B := 2.",
    "no rows to delete": "materialize(t,infinity,infinity,keys(1)).\nr1 delete e(@X) :- t(@X).",
    "has an aggregate": "materialize(t,infinity,infinity,keys(1)).\nr1 delete t(@X,a_MIN<C>) :- e(@X,C).",
    "asked not to be there": "materialize(t,infinity,infinity,keys(1)).\nr1 t(@X) :- u(@X), !e(@X).",
    "says no period": "materialize(t,infinity,infinity,keys(1)).\nr1 t(@X) :- periodic(@X,E,0).",
    "no number of rows": "materialize(t,infinity,0,keys(1)).\nr1 t(@X) :- e(@X).",
    "no lifetime": "materialize(t,soon,infinity,keys(1)).\nr1 t(@X) :- e(@X).",
    "has no place here": "materialize(t,infinity,infinity,keys(1)).\nr1 t(@X,Y) :- e(@X), Y := f_randomNodeID(X).",
}


@pytest.mark.parametrize("words", CANNOT)
def test_what_no_node_can_do_is_refused(words: str) -> None:
    with pytest.raises(HeadwaterError, match=words) as raised:
        event_program(CANNOT[words])
    assert "HW815" in str(raised.value)


def test_types_that_do_not_meet_are_told() -> None:
    text = "materialize(t,infinity,infinity,keys(1)).\nr1 t(@X,C) :- e(@X), C := 1.\nr2 t(@X,C) :- f(@X), C := 1.5."
    program = event_program(text)
    with pytest.raises(HeadwaterError, match="rule r1 gives column 2"):
        EventSimulation(program, Topology([Link("a", "b")])).run(until=1.0)


def test_events_that_never_end_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.network.rapidnet.simulation.MOST_STEPS", 500)
    text = "materialize(t,infinity,infinity,keys(1)).\nr1 e(@X) :- e(@X), t(@X)."
    simulation = EventSimulation(event_program(text), Topology([Link("a", "b")]))
    simulation.at(0.0, insert={"t": [("a",)], "e": [("a",)]})
    with pytest.raises(HeadwaterError, match="steps follow each other"):
        simulation.run(until=1.0)


def test_a_message_for_a_node_that_is_none_is_told() -> None:
    text = "materialize(t,infinity,infinity,keys(1)).\nr1 e(@Y) :- t(@X,Y)."
    simulation = EventSimulation(event_program(text), Topology([Link("a", "b")]))
    simulation.at(0.0, insert={"t": [("a", "z")]})
    with pytest.raises(HeadwaterError, match="not a node"):
        simulation.run(until=1.0)


def test_timers_without_end_need_one() -> None:
    with pytest.raises(ValueError, match="for ever"):
        EventSimulation(event_program(PINGS), Topology([Link("a", "b")])).run()


def test_types_may_be_given() -> None:
    text = "materialize(q,infinity,infinity,keys(1)).\nmaterialize(p,infinity,infinity,keys(1)).\nr p(@X,Y) :- q(@X,Y)."
    assert "relation q(c1: string, c2: float) key(c1)." in read_rapidnet(text, types={"q": ("string", "float")})


def table() -> str:
    rows = [f"| {construct} | {nodes} | {views} |" for construct, nodes, views in CONSTRUCTS]
    return "\n".join(["| in RapidNet | on nodes | in a `Database` |", "|---|---|---|", *rows]) + "\n"


def test_the_page_has_the_table() -> None:
    assert table() in (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")


HOSTILE = (
    "",
    ".",
    "r1",
    "r1 :- .",
    "r1 p(@X :- q(@X).",
    "\0",
    "materialize(x).",
    '#include "a.olg"\nr p(@X) :- q(@X).',
)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_that_is_no_program_is_refused(text: str) -> None:
    with pytest.raises(HeadwaterError):
        hw.compile(read_rapidnet(text))


def test_a_hash_is_a_position_on_the_ring() -> None:
    text = "materialize(at,infinity,infinity,keys(1)).\nr1 at(@X,I) :- start(@X), I := f_sha1(X), I in (0, 65535]."
    simulation = EventSimulation(event_program(text), Topology([Link("a", "b")]))
    simulation.at(0.0, insert={"start": [("a",), ("b",)]})
    simulation.run(until=1.0)
    assert simulation.rows("at") == {("a", ring_position("a")), ("b", ring_position("b"))}
    assert ring_position("a") == int(hashlib.sha1(b"a", usedforsecurity=False).hexdigest()[:4], 16)
    view = hw.Database(hw.compile(read_rapidnet("r1 at(@X,I) :- start(@X), I := f_sha1(X).")))
    view.apply(insert={"start": [("a",)]})
    assert view.rows("at") == {("a", ring_position("a"))}


def test_files_are_included_once_with_their_definitions(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "tables.olg").write_text(
        '/* tables */\n#define LONG 30\n#include "more.olg"\nmaterialize(link,infinity,infinity,keys(1,2)).\n'
    )
    (tmp_path / "parts" / "more.olg").write_text('#include "tables.olg"\nm1 seen(@X,Y) :- link(@X,Y,C), C < FEW.\n')
    main = (
        '#include "parts/tables.olg"\n#include "parts/more.olg"\n#define FEW 3\nm2 far(@X,Y) :- link(@X,Y,C), C > LONG.'
    )
    (tmp_path / "main.olg").write_text(main)
    found = read_rapidnet(main, name=str(tmp_path / "main.olg"))
    assert found.count("seen(@X, Y) :-") == 1
    assert "C < 3" in found
    assert "C > 30" in found
    assert "relation link(src: string, dst: string, cost: int) key(src, dst)." in found


@pytest.mark.parametrize(
    ("text", "words", "place"),
    [
        ('#include "none.olg"\nr1 p(@X) :- q(@X).', "HW113", "main.olg:1:1"),
        ("\n#include <stdio.h>\nr1 p(@X) :- q(@X).", "includes no file", "main.olg:2:1"),
        ('#include "bad.olg"\nr1 p(@X) :- q(@X).', "no statement", "bad.olg:3:1"),
    ],
)
def test_a_file_that_cannot_be_included_is_told_with_its_place(
    tmp_path: Path, text: str, words: str, place: str
) -> None:
    (tmp_path / "bad.olg").write_text("// one\n/* two */\nnonsense.\n")
    with pytest.raises(HeadwaterError, match=words) as raised:
        read_rapidnet(text, name=str(tmp_path / "main.olg"))
    assert place in str(raised.value)


def test_a_rule_needs_no_label() -> None:
    assert "p(@X) :- q(@X)." in read_rapidnet("p(@X) :- q(@X)")
