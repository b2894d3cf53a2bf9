"""UNION ALL in a recursion is taken as UNION, and its writer is told once."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import headwater as hw
from headwater.cli.main import app

TABLE = "CREATE TABLE part (of STRING, needs STRING);\n"
RECURSION = (
    "WITH RECURSIVE all_parts(name) AS (SELECT needs FROM part WHERE of = 'car' {} "
    "SELECT needs FROM part JOIN all_parts ON of = name) SELECT name FROM all_parts"
)


def told(text: str) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        db = hw.Database(hw.compile(TABLE + text))
        for row in (("car", "wheel"), ("car", "door"), ("wheel", "bolt"), ("door", "bolt")):
            db.apply(insert={"part": [row]})
        db.rows("result" if "result" in db.program.outputs else db.program.outputs[0])
    return found


def test_union_all_in_a_recursion_is_told_once_per_query() -> None:
    (found,) = told(RECURSION.format("UNION ALL"))
    assert found.category is hw.UnionAllWarning
    assert "UNION ALL in the recursion of `all_parts` is taken as UNION" in str(found.message)
    assert "hint: write UNION" in str(found.message)
    assert found.filename == __file__


@pytest.mark.parametrize("text", [RECURSION.format("UNION"), "SELECT of FROM part UNION ALL SELECT needs FROM part"])
def test_other_unions_are_no_matter(text: str) -> None:
    assert told(text) == []


def test_a_saved_database_is_opened_without_a_word(tmp_path: Path) -> None:
    with pytest.warns(hw.UnionAllWarning):
        db = hw.Database(hw.compile(TABLE + RECURSION.format("UNION ALL")))
    db.save(tmp_path / "saved")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hw.Database.open(tmp_path / "saved")


def test_the_command_line_tells_by_its_diagnostics_alone(tmp_path: Path) -> None:
    path = tmp_path / "parts.sql"
    path.write_text(TABLE + RECURSION.format("UNION ALL"), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = CliRunner().invoke(app, ["check", str(path)])
    assert result.exit_code == 0
    assert "warning[HW704]" in result.output
    with pytest.warns(hw.UnionAllWarning):
        assert [one.code for one in hw.compile_file(path).warnings] == ["HW704"]
