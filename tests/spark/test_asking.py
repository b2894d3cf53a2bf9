"""Questions about a running query, in this process and in Spark's workers: they change nothing of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import headwater as hw
from headwater import spark as hws
from headwater.cli.main import app
from headwater.spark.questions import state_reader

PROGRAM = """
relation link(a: string, b: string).
joins: joined(X, Y) :- link(X, Y).
more: joined(X, Z) :- joined(X, Y), joined(Y, Z).
lone: alone(X) :- link(X, _), not joined(X, X).
query joined(X, Y).
query alone(X).
"""
FIRST = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "b"), ("x", "a")]


class Running:
    """A query over files that arrive."""

    def __init__(self, spark: Any, folder: Path, program: str = PROGRAM, shards: int = 2) -> None:
        self.folder = folder / "link"
        self.folder.mkdir()
        self.checkpoint = str(folder / "state")
        stream = spark.readStream.schema("a string, b string, _change_type string").json(str(self.folder))
        written = hw.compile(program, disabled=["linear_recursion"])  # shards exchange rows
        self.query = hws.maintain(written, {"link": stream}, checkpoint=self.checkpoint, shards=shards)

    def give(self, rows: list[tuple[str, str]], kind: str = "insert") -> None:
        lines = [json.dumps({"a": a, "b": b, "_change_type": kind}) for a, b in rows]
        name = f"{len(list(self.folder.iterdir())):03d}.json"
        (self.folder.parent / name).write_text("\n".join(lines))
        (self.folder.parent / name).rename(self.folder / name)
        self.query.processAllAvailable()


@pytest.fixture(params=["here", "in workers"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(state_reader, "_SMALL", 0 if request.param == "in workers" else 1 << 30)
    return str(request.param)


def state(checkpoint: str) -> set[str]:
    return {str(path) for path in Path(checkpoint).rglob("*") if "headwater" in path.parts}


def test_questions_about_a_running_query(spark: Any, tmp_path: Path, place: str) -> None:
    running = Running(spark, tmp_path)
    where = running.checkpoint
    try:
        running.give(FIRST)
        running.give([("x", "a")], "delete")
        running.give([("x", "c")])
        before = state(where)
        proof = hws.why(where, "joined", ("x", "b"), spark=spark)
        assert {fact for _, fact in proof.facts} == {("x", "c"), ("c", "d"), ("d", "b")}
        assert {node.rule for node in proof.nodes() if node.rule} == {"joins", "more"}
        assert str(hws.why(where, "alone", ("a",), spark=spark)).splitlines() == [
            "alone(a)  [lone]",
            "├─ link(a, b)",
            "└─ no row matched joined(a, a)",
        ]
        assert {fact for _, fact in hws.critical(where, "joined", ("x", "b"), spark=spark).facts} == {
            ("x", "c"), ("c", "d"), ("d", "b")
        }  # fmt: skip
        assert len(hws.witnesses(where, "joined", ("x", "b"), spark=spark)) == 1
        assert hws.probability(where, "joined", ("x", "b"), 0.5, spark=spark) == pytest.approx(0.125)
        assert hws.without(where, {"link": [("x", "c")]}, spark=spark)["joined"].deleted.num_rows == 3
        assert "link(X, Y)" in str(hws.why_not(where, "joined", ("d", "x"), spark=spark))
        assert hws.blast_radius(where, "link", spark=spark)[0].rows > 0
        with pytest.raises(hw.DataError, match="is not there; ask why_not"):
            hws.why(where, "joined", ("d", "x"), spark=spark)
        with pytest.raises(hw.UnknownRelation, match="did you mean `joined`"):
            hws.why(where, "joine", ("d", "x"), spark=spark)
        with pytest.raises(hw.BudgetSpent, match=r"error\[HW935\].*more than 2 stored rows"):
            hws.why(where, "joined", ("x", "b"), most=2, spark=spark)
        assert state(where) == before
        running.give([("q", "r")])
        assert hws.why(where, "joined", ("q", "r"), spark=spark).facts == [("link", ("q", "r"))]
    finally:
        running.query.stop()


def test_views_of_earlier_batches_and_of_base_relations(spark: Any, tmp_path: Path) -> None:
    running = Running(spark, tmp_path)
    where = running.checkpoint
    try:
        for number in range(4):
            running.give([(f"n{number}", f"n{number + 1}")])
    finally:
        running.query.stop()

    def rows(name: str, batch: int | None = None) -> set[tuple[Any, ...]]:
        return {tuple(row) for row in hws.view(where, name, batch=batch, spark=spark).collect()}

    assert rows("link") == {(f"n{at}", f"n{at + 1}") for at in range(4)}
    assert hws.view(where, "link", spark=spark).columns == ["a", "b"]
    assert len(rows("joined")) == 10
    assert len(rows("joined", 2)) == 6
    assert len(hws.why(where, "joined", ("n0", "n3"), batch=2, spark=spark).facts) == 3
    assert len(rows("joined")) == 10
    with pytest.raises(hw.StateError, match=r"error\[HW936\]: the state of batch 0 is not kept.*it has batch 2 and 3"):
        rows("joined", 0)
    loaded = hws.database(where, spark=spark)
    assert loaded.rows("joined") == rows("joined")
    assert hws.database(where, batch=2, spark=spark).rows("joined") == rows("joined", 2)
    loaded.apply(delete={"link": [("n0", "n1")]})
    assert len(rows("joined")) == 10
    with pytest.raises(hw.StateError, match=r"error\[HW937\].*does not fit: up to .* rows, about .*may be used"):
        hws.database(where, memory=100, spark=spark)


def test_the_command_line_asks_a_checkpoint(spark: Any, tmp_path: Path) -> None:
    running = Running(spark, tmp_path)
    try:
        running.give(FIRST)
    finally:
        running.query.stop()

    def said(*args: str) -> str:
        found = CliRunner().invoke(app, [args[0], "--checkpoint", running.checkpoint, *args[1:]])
        assert found.exit_code in (0, 1), found.output
        return found.output

    assert "└─ link(a, b)" in said("why", "joined(a, b)")
    assert "link(d, b)" in said("why", "joined(d, X)")
    assert "fails at" in said("why", "joined(d, x)")
    assert "joined: 0 came, 4 went" in said("whatif", "link(x, a)")
    assert "link(a, b)" in said("critical", "joined(a, b)")
    assert "0.25" in said("reliability", "joined(a, c)", "--chance", "0.5")
    assert "depend" in said("critical", "link")
    wrong = CliRunner().invoke(app, ["why", "--checkpoint", running.checkpoint, "p.dl", "joined(a, b)"])
    assert wrong.exit_code == 2
    assert "checkpoint has its program" in wrong.output
    missing = CliRunner().invoke(app, ["why", "p.dl"])
    assert missing.exit_code == 2
    assert "ATOM" in missing.output


def test_questions_that_the_query_was_not_given(spark: Any, tmp_path: Path) -> None:
    text = "joined(X, Y) :- link(X, Y).\njoined(X, Z) :- link(X, Y), joined(Y, Z).\nquery joined($From, Y)."
    links = spark.createDataFrame(FIRST, "a string, b string")
    links.write.json(str(tmp_path / "links"))
    stream = spark.readStream.schema("a string, b string").json(str(tmp_path / "links"))
    asked = spark.createDataFrame([("a",)], "From string")
    where = str(tmp_path / "state")
    query = hws.maintain(
        text, {"link": stream}, questions={"joined": asked}, checkpoint=where, shards=2, trigger={"availableNow": True}
    )
    query.awaitTermination()
    assert hws.ask(where, "joined", From="d", spark=spark) == {("d", "b"), ("d", "c"), ("d", "d")}
    assert hws.ask(where, "joined", From="a", spark=spark) == {("a", "b"), ("a", "c"), ("a", "d")}
    with pytest.raises(hw.DataError, match="HW824"):
        hws.ask(where, "joined", To="a", spark=spark)
