"""Every spec file holds: programs print as promised, and mistakes are explained as promised."""

from __future__ import annotations

import re

import pytest

from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source
from headwater.language.datalog.parse import parse
from headwater.language.datalog.printer import print_tree
from headwater.language.reading import read_text
from tests.spec_file import SPECS, Case, cases, named, paths


@pytest.mark.parametrize("case", cases("language/print"), ids=named)
def test_a_program_prints_as_specified_and_parses_back(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SPECS / "language" / "files")
    tree = parse(Source("program.dl", case.given))
    printed = print_tree(tree)
    assert printed.rstrip("\n") == case.expected
    assert parse(Source("printed.dl", printed)) == tree


@pytest.mark.parametrize("case", cases("language/errors"), ids=named)
def test_a_mistake_is_explained_as_specified(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SPECS / "language" / "files")
    with pytest.raises(SyntaxProblem) as caught:
        read_text(Source("program.dl", case.given))
    assert str(caught.value) == case.expected
    assert case.path.stem in {diagnostic.code for diagnostic in caught.value.diagnostics}


def test_every_code_that_the_language_stage_uses_has_a_spec() -> None:
    package = SPECS.parents[1] / "src" / "headwater" / "language"
    files = (*package.glob("*.py"), *(package / "datalog").glob("*.py"))
    used = {code for path in files for code in re.findall(r'"(HW1\d\d)"', path.read_text("utf-8"))}
    assert used == {path.stem for path in paths("language/errors")}
