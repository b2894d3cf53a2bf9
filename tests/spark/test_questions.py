"""Questions as DataFrames: the view has the rows that are asked for, batch by batch, and after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater import spark as hws

PROGRAM = """
reach(X, Y) :- edge(X, Y).
reach(X, Y) :- edge(X, Z), reach(Z, Y).
query reach($From, Y).
"""
EDGES = [(1, 2), (2, 3), (3, 4), (9, 1), (5, 6)]


def rows(frame: Any) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in frame.collect()}


@pytest.mark.parametrize("shards", [1, 2])
def test_evaluate_answers_what_is_asked(spark: Any, shards: int) -> None:
    edges = spark.createDataFrame(EDGES, "x int, y int")
    asked = spark.createDataFrame([(2,), (9,)], "From int")
    views = hws.evaluate(hw.compile(PROGRAM), {"edge": edges}, questions={"reach": asked}, shards=shards)
    assert rows(views["reach"]) == {(2, 3), (2, 4), (9, 1), (9, 2), (9, 3), (9, 4)}
    assert views["reach"].columns == ["From", "Y"]


def test_what_is_asked_with_parameters_needs_questions(spark: Any) -> None:
    edges = spark.createDataFrame(EDGES, "x int, y int")
    with pytest.raises(hw.DataError, match=r'HW825.*`From`.*questions=\{"reach": asked\}.*--query'):
        hws.evaluate(hw.compile(PROGRAM), {"edge": edges})
    wrong = spark.createDataFrame([(2,)], "Start int")
    with pytest.raises(hw.DataError, match=r"HW824.*`\$From`; `\$Start` is not among them"):
        hws.evaluate(hw.compile(PROGRAM), {"edge": edges}, questions={"reach": wrong})
    with pytest.raises(hw.DataError, match=r"HW801.*a list is given for `reach`"):
        hws.evaluate(hw.compile(PROGRAM), {"edge": edges}, questions={"reach": [(2,)]})
    texts = spark.createDataFrame([("2",)], "From string")
    with pytest.raises(hw.ProgramError) as problem:
        hws.evaluate(hw.compile(PROGRAM), {"edge": edges}, questions={"reach": texts})
    note = "it is string by column 1 of the questions about `reach` and int by column 1 of `reach`"
    assert [found.note for found in problem.value.diagnostics] == [note]


def test_maintain_follows_questions_through_a_restart(spark: Any, tmp_path: Path) -> None:
    edge, asked = tmp_path / "edge", tmp_path / "asked"
    for folder in (edge, asked):
        folder.mkdir()

    def batch() -> set[tuple[Any, ...]]:
        edges = spark.readStream.schema("x int, y int, _change_type string").json(str(edge))
        questions = spark.readStream.schema("From int, _change_type string").json(str(asked))
        query = hws.maintain(
            hw.compile(PROGRAM),
            {"edge": edges},
            questions={"reach": questions},
            checkpoint=str(tmp_path / "checkpoint"),
            trigger={"availableNow": True},
            shards=2,
        )
        query.awaitTermination()
        return rows(hws.view(str(tmp_path / "checkpoint"), "reach", spark=spark))

    lines = [f'{{"x": {x}, "y": {y}, "_change_type": "insert"}}' for x, y in EDGES]
    (edge / "0.json").write_text("\n".join(lines))
    (asked / "0.json").write_text('{"From": 2, "_change_type": "insert"}')
    assert batch() == {(2, 3), (2, 4)}
    (edge / "1.json").write_text('{"x": 4, "y": 7, "_change_type": "insert"}')
    (asked / "1.json").write_text('{"From": 3, "_change_type": "insert"}')
    assert batch() == {(2, 3), (2, 4), (2, 7), (3, 4), (3, 7)}
    (asked / "2.json").write_text('{"From": 2, "_change_type": "delete"}')
    assert batch() == {(3, 4), (3, 7)}
