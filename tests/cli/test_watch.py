"""`headwater run --watch`: views while files arrive, as a screen and as lines."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from headwater.cli.live import watching
from headwater.cli.main import app

PROGRAM = """
reachable(X, Y) :- link(X, Y).
reachable(X, Z) :- link(X, Y), reachable(Y, Z).
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "paths.dl").write_text(PROGRAM)
    (tmp_path / "links.csv").write_text("a,b\na,b\n")
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    (incoming / "1.csv").write_text("a,b\nb,c\n")
    (incoming / "2.jsonl").write_text(json.dumps({"_change_type": "delete", "a": "a", "b": "b"}) + "\n")
    (incoming / "_later.csv").write_text("a,b\nx,y\n")
    for at, name in enumerate(("1.csv", "2.jsonl")):
        os.utime(incoming / name, (1_000_000_000 + at, 1_000_000_000 + at))
    return tmp_path


def run(folder: Path, *words: str) -> Any:
    arguments = ["run", f"{folder}/paths.dl", "-i", f"link={folder}/links.csv", *words]
    return CliRunner().invoke(app, arguments)


def test_each_file_is_a_transaction_and_told_in_lines(folder: Path) -> None:
    found = run(folder, "--watch", f"{folder}/incoming", "--once")
    assert found.exit_code == 0, found.output
    said = [" ".join(line.split()) for line in found.stdout.splitlines()]
    assert said[0] == "reachable: 1 row"
    assert said.index("1.csv: 1 change") < said.index("reachable: 2 came, 0 went")
    assert "+ a c" in said
    assert "reachable: 0 came, 2 went" in said
    assert "- a c" in said
    assert not any("x y" in line for line in said[4:])


def test_a_terminal_shows_the_views_as_they_are_at_the_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(watching, "terminal", lambda: Console(file=out, force_terminal=True, width=90, height=40))
    found = run(folder, "--watch", f"link={folder}/incoming", "--once")
    assert found.exit_code == 0, found.output
    last = out.getvalue().rpartition("reachable")[0].rpartition("reachable")[2]
    assert ": 1 row" in last
    assert "transaction 2" in out.getvalue()
    assert "\x1b[" in out.getvalue()


def test_what_does_not_go_together_is_told(folder: Path) -> None:
    for words in (["--output", "out"], ["--engine", "spark", "--stream", "link=x"]):
        found = run(folder, "--watch", f"{folder}/incoming", *words)
        assert found.exit_code == 2
        assert "--watch" in found.stderr
    assert run(folder, "--watch", f"{folder}/nowhere").exit_code == 2
