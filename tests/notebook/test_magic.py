"""`%load_ext headwater` in a real IPython: the cell magic, what it says of mistakes, bars of progress, highlighting."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Error, Name, Token
from rich.console import Console

import headwater as hw
from headwater.core import progress

PROGRAM = "reachable(X, Y) :- link(X, Y).\nreachable(X, Z) :- link(X, Y), reachable(Y, Z).\n"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def shell() -> Iterator[Any]:
    found = InteractiveShell.instance()
    found.extension_manager.load_extension("headwater")
    yield found
    found.reset(new_session=False)
    InteractiveShell.clear_instance()
    hw.show_progress(False)


def test_a_cell_becomes_a_database(shell: Any) -> None:
    shell.user_ns["links"] = [("a", "b"), ("b", "c")]
    found = shell.run_cell_magic("headwater", "db link=links", PROGRAM)
    assert found is shell.user_ns["db"]
    assert found.rows("reachable") == {("a", "b"), ("b", "c"), ("a", "c")}


def test_a_relation_can_come_from_a_file(shell: Any, tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text("a,b\nx,y\n")
    found = shell.run_cell_magic("headwater", f"db link={tmp_path}/links.csv", PROGRAM)
    assert found.rows("reachable") == {("x", "y")}


@pytest.mark.parametrize(
    ("line", "cell", "said"),
    [
        ("", PROGRAM, "write %%headwater NAME"),
        ("link=links", PROGRAM, "write %%headwater NAME"),
        ("db link=nowhere", PROGRAM, "neither a variable of this notebook nor a"),
        ("db other=links", PROGRAM, "`other` is no base relation"),
        ("db", "p(X, Y) :- q(X).", r"error\[HW301\]"),
        ("db link=wrong", PROGRAM, "link"),
    ],
)
def test_mistakes_are_said_without_a_traceback(shell: Any, line: str, cell: str, said: str) -> None:
    shell.user_ns |= {"links": [("a", "b")], "wrong": [("a", "b", "c"), ("d",)]}
    with pytest.raises(UsageError, match=said):
        shell.run_cell_magic("headwater", line, cell)
    assert "db" not in shell.user_ns


class Shown:
    """A bar that remembers what it said."""

    said: list[str]

    def __init__(self, text: str) -> None:
        Shown.said = [text]

    def say(self, text: str) -> None:
        self.said.append(text)

    def stop(self) -> None:
        self.said.append("ended")


def test_a_bar_is_shown_only_while_work_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    Shown.said = []
    with progress.ProgressLine(quiet=False, bar=Shown) as quick:
        quick.step("quick")
    assert Shown.said == []
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_wanted", Shown)
    db = hw.Database(hw.compile(PROGRAM))
    asked: list[int] = []

    def patient() -> bool:  # the first round lasts until the bar is there
        asked.append(1)
        while not Shown.said:
            time.sleep(0)
        return False

    db.apply(insert={"link": [(at, at + 1) for at in range(60)]}, cancelled=patient)
    assert db.count("reachable") == 60 * 61 // 2
    assert Shown.said[0] == "taking in rows"
    assert Shown.said[-1] == "ended"
    with progress.ProgressLine(quiet=False, bar=Shown) as line:
        told = progress.rounds_told(line, "deriving")
        while not any(text.startswith("deriving, round ") for text in Shown.said):
            assert not told()


def test_a_bar_in_a_notebook_is_removed_at_the_end(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[tuple[str, bool]] = []
    monkeypatch.setattr(
        shell.display_pub,
        "publish",
        lambda data, metadata=None, **more: published.append((data["text/html"], bool(more.get("update")))),
    )
    bar = progress.NotebookBar("taking in <rows>")
    bar.say("deriving")
    bar.stop()
    assert [update for _, update in published] == [False, True, True]
    assert "&lt;rows&gt;" in published[0][0]
    assert "deriving" in published[1][0]
    assert published[2][0] == ""


def test_a_bar_in_a_terminal_says_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rich.console.Console", lambda stderr: Console(force_terminal=False, stderr=stderr))
    bar = progress.TerminalBar("reading")
    bar.say("deriving")
    assert bar._progress.tasks[0].description == "deriving"
    bar.stop()


def test_every_program_is_highlighted_without_a_gap() -> None:
    """Pygments finds the lexer by name and by file; no letter of a program is lost or an error."""
    files = sorted((ROOT / "examples").rglob("*.dl")) + sorted((ROOT / "src").rglob("*.dl"))
    assert len(files) > 10
    for path in files:
        text = path.read_text(encoding="utf-8")
        found = list(get_lexer_for_filename(path.name).get_tokens(text))
        assert "".join(part for _, part in found).strip() == text.strip()
        assert not [part for kind, part in found if kind in Error]


def test_the_parts_of_a_rule_are_told_apart() -> None:
    text = 'near: hop(X, min<T>) :- link(X, "b", T), not gone(X), T < 9. % so'
    found = {part: kind for kind, part in get_lexer_by_name("datalog").get_tokens(text)}
    assert found["near"] is Name.Label
    assert found["hop"] is Name.Function
    assert found["X"] is Name.Variable
    assert found["min"] is Name.Builtin
    assert found['"b"'] is Token.Literal.String.Double
    assert found["not"] is Token.Operator.Word
    assert found["% so"] is Token.Comment.Single
