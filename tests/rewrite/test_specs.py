"""Each rewrite does what its spec file says, and the output of one that can be left out is a program that it leaves
alone."""

from __future__ import annotations

import pytest

from headwater.core.source import Source
from headwater.language.datalog.parse import parse
from headwater.program.text import print_program
from tests.rewrite.spec_cases import FOLDER, REWRITES, Case, all_cases, cases, timed_cases

CASES = all_cases()
IDS = [f"{case.rewrite}: {case.title}" for case in CASES]


@pytest.mark.parametrize("case", [*CASES, *timed_cases()], ids=lambda case: f"{case.rewrite}: {case.title}")
def test_spec(case: Case) -> None:
    assert case.outcome() == case.expected


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_second_time_changes_nothing(case: Case) -> None:
    once = case.rewritten()
    assert REWRITES[case.rewrite](once) == once


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_rewritten_text_parses(case: Case) -> None:
    after = case.rewritten()
    tree = parse(Source("<rewritten>", print_program(after)))
    assert tuple(statement for statement in tree.statements if statement in after.queries) == after.queries


@pytest.mark.parametrize("rewrite", REWRITES)
def test_every_rewrite_has_a_case_where_it_fires_and_one_where_it_must_not(rewrite: str) -> None:
    expected = [case.expected for case in cases(rewrite)]
    assert "unchanged" in expected
    assert any(text != "unchanged" for text in expected)


def test_every_spec_file_belongs_to_a_rewrite() -> None:
    assert {path.stem for path in FOLDER.glob("*.spec")} == set(REWRITES)
