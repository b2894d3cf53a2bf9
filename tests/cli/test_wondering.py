"""`headwater whatif`, `critical` and `reliability`: answers, also for machines, and questions that make no sense."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.cli.main import app

PROGRAM = "reachable(X, Y) :- link(X, Y).\nreachable(X, Z) :- link(X, Y), reachable(Y, Z).\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("paths.dl").write_text(PROGRAM)
    Path("links.csv").write_text("src,dst\na,b\nb,c\na,d\nd,c\nc,e\n")


def ask(command: str, *arguments: str) -> Result:
    result = CliRunner().invoke(app, [command, "paths.dl", "--input", "link=links.csv", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_what_would_go() -> None:
    result = ask("whatif", "link(c, e)")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "without 1 fact:",
        "  reachable: 0 came, 4 went",
        *(f"  -  {node}  e" for node in "abcd"),
    ]


def test_a_fact_named_twice_is_one_fact() -> None:
    result = ask("whatif", "link(c, e)", "link(_, e)")
    assert result.stdout.splitlines()[0] == "without 1 fact:"


def test_chances_of_single_facts_with_a_time() -> None:
    Path("paths.dl").write_text("relation link(at: timestamp, x: int).\np(X) :- link(_, X).\n")
    Path("links.csv").write_text("at,x\n2020-01-01 10:00,1\n2020-01-01 11:00,2\n")
    result = ask("reliability", "p(X)", "--chance", "link(T, 1)=0.5")
    assert [line.split() for line in result.stdout.splitlines()[1:]] == [["p(1)", "0.5"], ["p(2)", "1"]]
    assert "2020-01-01 10:00:00" in ask("critical", "p(1)").stdout


def test_what_would_go_for_machines() -> None:
    changes = json.loads(ask("whatif", "link(a, Y)", "--format", "json").stdout)
    assert changes["reachable"]["inserted"] == []
    assert sorted(row["y"] for row in changes["reachable"]["deleted"]) == ["b", "c", "d", "e"]


def test_what_a_row_cannot_do_without() -> None:
    result = ask("critical", "reachable(a, e)")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:3] == ["reachable(a, e)", "  cannot do without:", "    link(c, e)"]
    assert sum(" and " in line for line in lines) == 4 + 2
    (answer,) = json.loads(ask("critical", "reachable(a, c)", "--format", "json", "--sets", "2").stdout)
    assert answer["facts"] == []
    assert [len(cut) for cut in answer["cuts"]] == [2, 2]
    assert sorted(map(sorted, answer["witnesses"])) == [
        [["link", ["a", "b"]], ["link", ["b", "c"]]],
        [["link", ["a", "d"]], ["link", ["d", "c"]]],
    ]


def test_facts_by_the_rows_that_need_them() -> None:
    result = ask("critical", "link", "--rows", "1")
    assert [line.split() for line in result.stdout.splitlines()[1:]] == [["link(c,", "e)", "4"], ["...", "4", "more"]]
    ranking = json.loads(ask("critical", "link", "--format", "json").stdout)
    assert ranking[0] == {"fact": ["link", ["c", "e"]], "rows": 4, "by_view": {"reachable": 4}}


def test_how_probable_rows_are() -> None:
    assert ask("reliability", "reachable(a, c)", "--chance", "0.9").stdout.split()[-1] == "0.9639"
    (answer,) = json.loads(
        ask(
            "reliability", "reachable(a, e)", "--chance", "link=0.9", "--chance", "link(a, b)=0", "--format", "json"
        ).stdout
    )
    assert answer["probability"] == pytest.approx(0.9**3)
    (sure,) = json.loads(ask("reliability", "reachable(a, e)", "--chance", "link(c, e)=0.5", "--format", "json").stdout)
    assert sure["probability"] == 0.5


def test_bounds_when_the_room_is_spent() -> None:
    steps = [(f"{side}{at}", f"{other}{at + 1}") for at in range(8) for side in "xy" for other in "xy"]
    Path("links.csv").write_text("src,dst\n" + "\n".join(map(",".join, steps)))
    question = ("reliability", "reachable(x0, x8)", "--chance", "0.9")
    (exact,) = json.loads(ask(*question, "--format", "json").stdout)
    (rough,) = json.loads(ask(*question, "--format", "json", "--nodes", "100").stdout)
    assert 0.4 < rough["low"] < exact["probability"] < rough["high"] < 1
    (roughest,) = json.loads(ask(*question, "--format", "json", "--nodes", "3").stdout)
    assert (roughest["low"], roughest["high"]) == (pytest.approx(0.9**8), 1)
    assert "between" in ask(*question, "--nodes", "100").stdout
    spent = ask("critical", "reachable(x0, x8)", "--nodes", "3")
    assert spent.exit_code == 2
    assert "HW903" in spent.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["whatif", "link(a, z)"], 2, "no row of `link` matches"),
        (["whatif", "reachable(a, b)"], 2, "is derived by rules"),
        (["whatif", "lnk(a, b)"], 2, "did you mean `link`?"),
        (["critical", "reachable(e, a)"], 1, "no row of `reachable` matches"),
        (["critical", "reachable"], 2, "is derived by rules"),
        (["critical", "nothing"], 2, "no relation `nothing`"),
        (["reliability", "reachable(a, c)", "--chance", "often"], 2, "is not a number"),
        (["reliability", "reachable(a, c)", "--chance", "1.5"], 2, "HW805"),
        (["reliability", "reachable(a, c)", "--chance", "0.5", "--chance", "link=0.1"], 2, "is for all facts"),
        (["reliability", "reachable(a, c)", "--chance", "link(z, z)=0.1"], 2, "no row of `link` matches"),
        (["reliability", "reachable(a, c)", "--chance", "reachable=0.1"], 2, "is derived by rules"),
        (["reliability", "reachable(a, c)"], 2, "--chance"),
        (["reliability", "reachable(a, c)", "--chance", "1e400"], 2, "HW805"),
        (["reliability", "reachable(a, c)", "--chance", "-0.1"], 2, "HW805"),
        (["reliability", "reachable(a, c)", "--chance", "nan"], 2, "HW805"),
        (["reliability", "reachable(a, c)", "--chance", "link="], 2, "is not a number"),
        (["critical", "reachable(a, c)", "--nodes", "0"], 2, "--nodes"),
        (["critical", f"reachable({10**30}, c)"], 2, "HW108"),
        (["critical"], 2, "Missing argument"),
        (["whatif"], 2, "Missing argument"),
    ],
)
def test_questions_that_make_no_sense(arguments: list[str], status: int, message: str) -> None:
    result = ask(*arguments)
    assert (result.exit_code, result.stdout) == (status, "")
    assert message in result.stderr


def test_facts_are_told_so_that_one_sees_where_they_end() -> None:
    Path("links.csv").write_text('src,dst\n"it""s, q",z\n(b),x\nNew York,x\n')
    told = ask("critical", "link").stdout
    for fact in ('link("it\\"s, q", z)', 'link("(b)", x)', "link(New York, x)"):
        assert fact in told
    assert ask("whatif", 'link("it\\"s, q", z)').exit_code == 0


@pytest.mark.parametrize(
    ("command", "arguments", "told"),
    [
        ("critical", ["reachable"], "`reachable` is derived by rules; only base facts can be asked about (`link`)"),
        ("reliability", ["reachable(a, b)", "--chance", "reachable=0.5"], "only base facts can fail (`link`)"),
        ("reliability", ["reachable(a, b)", "--chance", "=0.5"], "for all facts write 0.5"),
    ],
)
def test_questions_about_the_wrong_thing_name_the_right_one(command: str, arguments: list[str], told: str) -> None:
    result = ask(command, *arguments)
    assert result.exit_code == 2
    assert told in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["whatif", "link(a, b)"],
        ["critical", "reachable(a, c)"],
        ["reliability", "reachable(a, c)"],
        ["why", "link(a, b)"],
    ],
)
def test_a_question_without_any_rows_says_how_to_give_them(arguments: list[str]) -> None:
    command, question = arguments
    chance = ["--chance", "0.9"] if command == "reliability" else []
    result = CliRunner().invoke(app, [command, "paths.dl", question, *chance])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error[HW806]: no rows are given for `link`" in result.stderr
    assert "--input link=FILE" in result.stderr
    allowed = CliRunner().invoke(app, [command, "paths.dl", question, *chance, "--optional", "link"])
    assert "HW806" not in allowed.stderr


@pytest.mark.parametrize("option", ["--nodes", "--sets", "--rows"])
def test_numbers_beyond_all_bounds_are_large_enough(option: str) -> None:
    assert "link(c, e)" in ask("critical", "reachable(a, e)", option, "9" * 30).stdout
