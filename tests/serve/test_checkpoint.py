"""`headwater serve --checkpoint`: the state of a query, and its batches as they commit, in a process of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.serve.serving import COMMAND, PATIENCE, serving
from tests.spark.kept import Kept

PROGRAM = """
relation link(a: string, b: string).
reachable(X, Y) :- link(X, Y).
reachable(X, Z) :- link(X, Y), reachable(Y, Z).
"""


def kept(folder: Path) -> Kept:
    """A checkpoint with one batch of rows."""
    found = Kept.of_text(PROGRAM, ("reachable",), folder / "state", 2, "exchange")
    found.apply({"link": {("a", "b"), ("b", "c")}}, {})
    return found


def test_batches_are_followed_and_the_state_is_not_touched(tmp_path: Path) -> None:
    state = kept(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "state").rglob("*")}
    with serving(tmp_path, "--checkpoint", "state") as server:
        stream = server.events(after=0, view="reachable")
        assert next(stream)[0] == "hello"
        assert set(server.rows("reachable")) == {("a", "b"), ("a", "c"), ("b", "c")}
        assert server.post("/api/why", relation="reachable", row=["a", "c"])["status"] == 200
        assert {path: path.stat().st_mtime_ns for path in (tmp_path / "state").rglob("*")} == before
        state.apply({"link": {("c", "d")}}, {"link": {("a", "b")}})
        _, event = next(stream)
        assert event["titles"] == ["batch 2"]
        change = event["views"]["reachable"]
        assert {tuple(row) for row in change["inserted_rows"]} == {("b", "d"), ("c", "d")}
        assert {tuple(row) for row in change["deleted_rows"]} == {("a", "b"), ("a", "c")}
        assert set(server.rows("reachable", at_least=1)) == {("b", "c"), ("b", "d"), ("c", "d")}
        assert set(server.rows("reachable", at=0)) == {("a", "b"), ("a", "c"), ("b", "c")}
        assert server.post("/api/apply", insert={"link": [["x", "y"]]})["status"] == 403
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([], 2, "Give FILE and its inputs, or --checkpoint DIR."),
        (["p.dl", "--checkpoint", "state"], 2, "Give FILE and its inputs, or --checkpoint DIR."),
        (["--checkpoint", "state", "--writable"], 2, "which the query alone changes"),
        (["--checkpoint", "state", "--watch", "in"], 2, "which the query alone changes"),
        (["--checkpoint", "nowhere"], 1, "nowhere is not the checkpoint of a query"),
    ],
)
def test_misuse_is_told(tmp_path: Path, words: list[str], status: int, message: str) -> None:
    done = subprocess.run(
        [*COMMAND, "serve", *words], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == status
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
