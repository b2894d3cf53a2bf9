"""Every spec of SQL holds: queries become the rules that are promised, mistakes are explained as promised."""

from __future__ import annotations

from pathlib import Path

import pytest

import headwater as hw
from headwater.core.render import render
from headwater.language.datalog.printer import print_tree
from tests.spec_file import Case, named, read_cases

SPECS = Path(__file__).parent.parent / "specs" / "sql"


@pytest.mark.parametrize("case", read_cases(SPECS / "rules.spec"), ids=named)
def test_a_query_becomes_these_rules(case: Case) -> None:
    program = hw.compile_sql(case.given, name="query.sql")
    notes = "\n".join(render(note) for note in program.warnings)
    assert (print_tree(program.tree) + notes).rstrip("\n") == case.expected


@pytest.mark.parametrize("case", read_cases(SPECS / "errors.spec"), ids=named)
def test_a_mistake_is_explained(case: Case) -> None:
    with pytest.raises(hw.ProgramError) as caught:
        hw.compile_sql(case.given, name="query.sql")
    assert str(caught.value) == case.expected
