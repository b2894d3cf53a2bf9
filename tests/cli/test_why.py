"""`headwater why`: proofs, absences, questions with variables, and questions that make no sense."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.cli.main import app

PROGRAM = """R1: route(X, Y, P, C) :- link(X, Y, C), P = [X, Y].
R2: route(X, Z, P, C) :- link(X, Y, C1), route(Y, Z, P2, C2), !inPath(P2, X), C = C1 + C2, P = concat([X], P2).
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("route.dl").write_text(PROGRAM)
    Path("links.csv").write_text("src,dst,cost\na,b,1\nb,c,2\nOslo,b,3\n")
    Path("cut.jsonl").write_text('{"_change_type": "delete", "src": "b", "dst": "c", "cost": 2}\n')


def why(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["why", "route.dl", "--input", "link=links.csv", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


PROOF = """route(a, c, [a, b, c], 3)  [R2]
├─ link(a, b, 1)
└─ route(b, c, [b, c], 2)  [R1]
   └─ link(b, c, 2)
"""


def test_a_row_that_is_there() -> None:
    result = why("route(a, c, [a, b, c], 3)")
    assert (result.exit_code, result.stdout, result.stderr) == (0, PROOF, "")


def test_variables_stand_for_any_value() -> None:
    assert why("route(a, c, P, C)").stdout == PROOF
    assert why("route(a, c, _, _).").stdout == PROOF
    result = why("route(X, Y, P, C)", "--rows", "1")
    assert result.stdout.startswith('route("Oslo", b, ["Oslo", b], 3)')
    assert result.stdout.count("route(") == 1
    assert "4 more rows like it" in result.stderr
    assert why("route(X, X, P, C)").exit_code == 1


def test_a_row_that_is_not_there() -> None:
    result = why("route(a, c, P, C)", "--changes", "link=cut.jsonl")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no row of `route` matches" in result.stderr
    result = why("route(c, a, [c, a], 1)")
    assert result.exit_code == 1
    assert result.stdout.startswith("route(c, a, [c, a], 1) is not there\n  R1: ")
    assert "fails at: link(X, Y, C1)" in result.stdout
    assert why("link(a, q, 1)").stdout == "link(a, q, 1) is not there\n  no such base row was inserted\n"


def test_a_list_that_the_data_never_held_is_shown_as_asked() -> None:
    text = why("route(c, a, [c, a], 1)").stdout
    assert "fails at: link(X, Y, C)\n    with X = c, Y = a, P = [c, a], C = 1\n" in text


def test_asking_why_not() -> None:
    assert why("--not", "route(c, a, [c, a], 1)").exit_code == 0
    there = why("--not", "route(a, b, [a, b], 1)")
    assert there.exit_code == 1
    assert there.stdout.startswith("route(a, b, [a, b], 1)  [R1]")


def test_formats() -> None:
    nodes = json.loads(why("route(a, c, P, C)", "--format", "json").stdout)
    assert nodes[0]["row"] == ["a", "c", ["a", "b", "c"], 3]
    assert why("route(a, c, P, C)", "--format", "dot").stdout.startswith("digraph")
    assert why("route(a, c, P, C)", "--format", "mermaid").stdout.startswith("flowchart")
    missing = json.loads(why("route(c, a, [c], 1)", "--format", "json").stdout)
    assert missing["relation"] == "route"
    assert {one["failed"] for one in missing["attempts"]} >= {"link(X, Y, C1)"}
    drawn = why("route(c, a, [c], 1)", "--format", "dot")
    assert (drawn.exit_code, drawn.stdout) == (1, "")


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("rout(a, c, P, C)", "did you mean `route`?"),
        ("qqqqq(a)", "there are route, link"),
        ("route(a, c)", "`route` has 4 columns (x, y, p, c), not 2"),
        ("route(a, c", "HW105"),
        ("route(a, c, P, C), link(a, b, 1)", "error"),
        ("a(1). b(2)", "not one atom"),
        ("route(Oslo, Y, P, C)", 'write "Oslo" for the value'),
        ("route(a, c, [a, B], 3)", "inside a list"),
        ("route(a, c, P, 1 + 2)", "values only"),
        ("route(a, c, [a], dear)", "is not a valid int"),
        ("", "error"),
    ],
)
def test_questions_that_make_no_sense(question: str, message: str) -> None:
    result = why(question)
    assert result.exit_code == 2
    assert message.lower() in " ".join(result.stderr.replace("│", " ").split()).lower()
    assert result.stdout == ""


def test_numbers_for_columns_of_text() -> None:
    Path("links.csv").write_text("src,dst,cost\n007,b,1\n")
    Path("route.dl").write_text("relation link(src: string, dst: string, cost: int).\n" + PROGRAM)
    Path("numbers.csv").write_text("src,dst,cost\n1,2,3\n")
    asked = CliRunner().invoke(app, ["why", "route.dl", "-i", "link=numbers.csv", "route(1, 2, P, C)"])
    assert asked.exit_code == 0
    assert why("route('007', b, P, C)").exit_code == 0


def test_relations_that_are_kept_only_as_far_as_needed() -> None:
    program = PROGRAM.replace("!inPath(P2, X), ", "")
    Path("route.dl").write_text(program + "best(X, Y, min<C>) :- route(X, Y, P, C).\nquery best(X, Y, C).\n")
    assert why("best(a, c, C)").stdout.startswith("best(a, c, 3)")
    result = why("route(a, c, P, C)")
    assert result.exit_code == 2
    assert "query route(...)" in result.stderr
    assert why("route(a, c, P, C)", "--query", "route(X, Y, P, C)").stdout == PROOF


def test_bad_rows_are_reported_here_too() -> None:
    Path("links.csv").write_text("src,dst,cost\na,b,1\nb,c\n")
    result = why("link(a, b, 1)")
    assert (result.exit_code, result.stdout) == (0, "link(a, b, 1)\n")
    assert "links.csv:3: 2 values for 3 columns" in result.stderr
    assert why("link(a, b, 1)", "--strict").exit_code == 1
