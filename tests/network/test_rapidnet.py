"""RapidNet's dialect: read as our programs, with the same answers; what has no place is told with its line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

import headwater as hw
from headwater.cli.main import app
from headwater.core.errors import HeadwaterError
from headwater.network.rapidnet import CONSTRUCTS, read_rapidnet
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
    Path("program.olg").write_text("r1 p(@X) :- periodic(@X,E,5).\n")
    ran = CliRunner().invoke(app, ["simulate", "program.olg", "-t", "net.csv"])
    assert ran.exit_code == 1
    assert "program.olg:1:1" in ran.output


def test_types_may_be_given() -> None:
    text = "materialize(q,infinity,infinity,keys(1)).\nmaterialize(p,infinity,infinity,keys(1)).\nr p(@X,Y) :- q(@X,Y)."
    assert "relation q(c1: string, c2: float) key(c1)." in read_rapidnet(text, types={"q": ("string", "float")})


def table() -> str:
    rows = [f"| {construct} | {here} |" for construct, here, _ in CONSTRUCTS]
    return "\n".join(["| in RapidNet | here |", "|---|---|", *rows]) + "\n"


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


def test_a_rule_needs_no_label() -> None:
    assert "p(@X) :- q(@X)." in read_rapidnet("p(@X) :- q(@X)")
