"""The pipeline's handle: every stage as text, picklable, with its outputs and warnings."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import headwater as hw
from headwater.core.errors import CheckProblem, ProgramError, SyntaxProblem
from headwater.pipeline import STAGES

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.dl"))

REACHABLE = """
reachable(X, Y) :- link(X, Y).
reachable(X, Y) :- link(X, Z), reachable(Z, Y).
"""


def test_every_stage_has_a_text() -> None:
    program = hw.compile(REACHABLE)
    for stage in ("parsed", "checked", "rewritten"):
        assert "reachable(X, Y) :- link(X, Z), reachable(Z, Y)." in program.explain(stage)
    with pytest.raises(ValueError, match="the stages are parsed"):
        program.explain("planed")


def test_outputs_are_the_queried_views_else_all_derived_ones() -> None:
    assert hw.compile(REACHABLE).outputs == ("reachable",)
    both = REACHABLE + "from_a(Y) :- reachable(a, Y).\nother(X) :- link(X, X).\n"
    assert hw.compile(both).outputs == ("reachable", "from_a", "other")
    assert hw.compile(both + "query from_a(X).\nquery link(X, Y).\nquery from_a(b).").outputs == ("from_a", "link")


def test_errors_say_where() -> None:
    with pytest.raises(CheckProblem) as caught:
        hw.compile("p(X, Y) :- q(X).", name="p.dl")
    (problem,) = caught.value.diagnostics
    assert (problem.code, problem.line, problem.column) == ("HW301", 1, 6)
    assert "p.dl:1:6" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).diagnostics == caught.value.diagnostics
    with pytest.raises(SyntaxProblem):
        hw.compile("p(X :- q(X).")
    with pytest.raises(ProgramError, match="cannot read"):
        hw.compile_file("no such file.dl")


def test_a_rewrite_can_be_switched_off_by_name() -> None:
    text = "path(X, Y, C) :- link(X, Y, C).\npath(X, Y, C) :- link(X, Z, A), path(Z, Y, B), C = A + B.\n"
    text += "best(X, Y, min<C>) :- path(X, Y, C).\nquery best(X, Y, C)."
    assert hw.compile(text).rewritten != hw.compile(text, disabled=["aggregate_selection"]).rewritten
    with pytest.raises(ValueError, match="no rewrite 'agregate'"):
        hw.compile(text, disabled=["agregate"])


def test_warnings_stay_on_the_program() -> None:
    program = hw.compile("n(Y) :- n(X), Y = X + 1.\nn(0).")
    assert [warning.code for warning in program.warnings] == ["HW701"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_compile_print_and_pickle(path: Path) -> None:
    program = hw.compile_file(path)
    assert pickle.loads(pickle.dumps(program)) == program
    assert all(program.explain(stage).strip() for stage in STAGES)
    assert program.outputs


def test_checking_what_was_checked_changes_nothing() -> None:
    """The text of a checked program is a program of the same meaning: normal form is reached in one step."""
    for path in EXAMPLES:
        program = hw.compile_file(path)
        again = hw.compile(program.explain("checked"), name=str(path))
        assert again.checked.rules == program.checked.rules
