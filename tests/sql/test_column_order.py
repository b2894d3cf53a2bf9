"""An SQL table that nobody declared has columns by name alone: rows by position are refused, never guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import headwater as hw
from headwater.cli.main import app

QUERY = "SELECT dst, src FROM link"
NAMED = [{"src": "a", "dst": "b"}]


@pytest.mark.parametrize(
    "rows", [[("a", "b")], [["a", "b"]], pa.table({"c0": ["a"], "c1": ["b"]}), [*NAMED, ("a", "b")]], ids=repr
)
def test_rows_by_position_are_refused(rows: Any) -> None:
    db = hw.Database(hw.compile(QUERY))
    for changes in ({"insert": {"link": rows}}, {"delete": {"link": rows}}):
        with pytest.raises(
            hw.DataError, match=r"the order of its columns is not known \(dst, src\).*CREATE TABLE link"
        ):
            db.apply(**changes)
    assert db.rows("result") == set()


@pytest.mark.parametrize(
    "rows", [NAMED, pa.table({"src": ["a"], "dst": ["b"]}), pa.table({"DST": ["b"], "Src": ["a"]})]
)
def test_rows_by_name_are_taken(rows: Any) -> None:
    db = hw.Database(hw.compile(QUERY))
    db.apply(insert={"link": rows})
    assert db.rows("result") == {("b", "a")}


@pytest.mark.parametrize(
    "program",
    [
        hw.compile("CREATE TABLE link (src STRING, dst STRING);" + QUERY),
        hw.compile(QUERY, tables={"link": {"src": "string", "dst": "string"}}),
        hw.compile(QUERY, tables={"link": {"src": None, "dst": None}}),
    ],
)
def test_a_told_order_is_that_of_the_rows(program: Any) -> None:
    db = hw.Database(program)
    db.apply(insert={"link": [("a", "b")]})
    assert db.rows("result") == {("b", "a")}


def test_one_column_has_an_order() -> None:
    db = hw.Database(hw.compile("SELECT src FROM link"))
    db.apply(insert={"link": [("a",)]})
    assert db.rows("result") == {("a",)}


@pytest.mark.parametrize(
    ("file", "text", "options"),
    [
        ("rows.csv", "a,b\n", ["--no-header"]),
        ("rows.csv", "from,to\na,b\n", []),
        ("rows.jsonl", '["a", "b"]\n', []),
    ],
)
def test_files_by_position_are_refused(tmp_path: Path, file: str, text: str, options: list[str]) -> None:
    (tmp_path / "query.sql").write_text(QUERY, encoding="utf-8")
    (tmp_path / file).write_text(text, encoding="utf-8")
    given = ["run", str(tmp_path / "query.sql"), "--input", f"link={tmp_path / file}", *options]
    result = CliRunner().invoke(app, given)
    assert result.exit_code != 0
    assert "the order of the columns of `link` is not known" in " ".join(result.output.split())
