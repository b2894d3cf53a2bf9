"""Every example parses, prints, compiles without a warning about names, and says what it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

import headwater
from headwater.core.source import Source
from headwater.language.datalog.parse import parse
from headwater.language.datalog.printer import print_tree
from headwater.language.reading import read_program
from headwater.language.syntax import Query

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.dl"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_parses_and_prints(path: Path) -> None:
    tree = read_program(path)
    assert parse(Source("<printed>", print_tree(tree))) == tree
    assert any(isinstance(statement, Query) for statement in tree.statements)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_compiles(path: Path) -> None:
    program = headwater.compile_file(path)
    assert program.outputs
    assert all(warning.code.startswith("HW7") for warning in program.warnings)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_opens_with_what_it_computes_and_for_whom(path: Path) -> None:
    comment = path.read_text(encoding="utf-8").partition("\n\n")[0]
    assert all(line.startswith("% ") for line in comment.splitlines())
    assert "for " in comment
