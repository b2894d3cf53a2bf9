"""docs/language.md and docs/glossary.md do not lie: their programs compile, their tables are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headwater.core.types import ONE_WORD
from headwater.program.recursion.aggregates import AGGREGATES
from headwater.rewrite.rules import rewrite
from tests.rewrite.language_tables import ERROR, PAGE, PROGRAM, updated
from tests.rewrite.spec_cases import compiled

TEXT = PAGE.read_text()
GLOSSARY = PAGE.parent / "glossary.md"
SOURCE = Path(__file__).parents[2] / "src" / "headwater"


@pytest.mark.parametrize("program", PROGRAM.findall(TEXT) + PROGRAM.findall(GLOSSARY.read_text()))
def test_every_program_compiles(program: str) -> None:
    assert rewrite(compiled(program)).rules


def test_there_are_programs_and_errors_to_test() -> None:
    assert len(PROGRAM.findall(TEXT)) > 15
    assert len(ERROR.findall(TEXT)) > 1


def test_functions_and_errors_are_as_the_code_gives_them() -> None:
    assert updated(TEXT) == TEXT


def test_types() -> None:
    assert _first_cells("| type | holds |") == [type_.value for type_ in ONE_WORD]


def test_aggregates_and_where_they_may_stand() -> None:
    rows = {cells[0].split("<")[0].strip("` "): cells[2].strip() for cells in _rows("| aggregate | gives |")}
    assert {name: place == "yes" for name, place in rows.items()} == {
        name: kind.monotone for name, kind in AGGREGATES.items()
    }


def test_every_code_of_the_language_is_listed_once() -> None:
    listed = _first_cells("| code | meaning |")
    found = {
        code
        for folder in ("language", "program", "semistructured/views")
        for path in (SOURCE / folder).rglob("*.py")
        for code in re.findall(r'"(HW[1-7]\d{2})"', path.read_text())  # data's are in operations.md
    }
    assert listed == sorted(found)


def _rows(header: str) -> list[list[str]]:
    """The cells of the table that starts with this header."""
    lines = TEXT[TEXT.index(header) :].split("\n\n")[0].splitlines()[2:]
    return [line.strip("|").split("|") for line in lines]


def _first_cells(header: str) -> list[str]:
    return [cells[0].strip("` ") for cells in _rows(header)]
