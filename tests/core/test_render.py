"""Diagnostics read as promised: number, place, excerpt, carets, note and hint."""

from __future__ import annotations

import pickle

import pytest

from headwater.core.diagnostics import Diagnostic, Severity
from headwater.core.errors import CheckProblem, ProgramError
from headwater.core.render import render
from headwater.core.source import Source, Span


def at(text: str, marked: str, name: str = "paths.dl") -> Span:
    start = text.index(marked)
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    return Span(Source(name, text), start, start + len(marked), line, column)


def test_an_error_points_numbers_and_helps() -> None:
    text = "% paths\n\nreach(X, Z) :- edge(X, Y).\n"
    diagnostic = Diagnostic(
        "HW301", "variable `Z` in the rule head is not bound", at(text, "Z"), hint="did you mean `Y`?"
    )
    assert render(diagnostic) == (
        "error[HW301]: variable `Z` in the rule head is not bound\n"
        "  --> paths.dl:3:10\n"
        "   3 | reach(X, Z) :- edge(X, Y).\n"
        "     |          ^\n"
        "  hint: did you mean `Y`?"
    )


def test_without_a_span_there_is_no_excerpt() -> None:
    diagnostic = Diagnostic("HW701", "may not stop", note="first\nsecond", severity=Severity.WARNING)
    assert render(diagnostic) == "warning[HW701]: may not stop\n  note: first\n        second"


@pytest.mark.parametrize(
    ("text", "marked", "excerpt", "carets"),
    [
        ("p(abc).", "abc", "p(abc).", "  ^^^"),
        ("\tp(abc).", "abc", "    p(abc).", "      ^^^"),
        ("p('a\tb').", "'a\tb'", "p('a    b').", "  ^^^^^^^^"),
        ("p('\u6c34', x).\r\n", "x", "p('\u6c34', x).", "        ^"),
        ("p('e\u0301', x).", "x", "p('e\u0301', x).", "       ^"),
        ("p(\x00\x1b).", "\x1b", "p(\ufffd\ufffd).", "   ^"),
        ("p(X)\n  :- q.", "p(X)\n  :- q", "p(X)", "^^^^"),
    ],
)
def test_carets_stand_under_what_they_point_at(text: str, marked: str, excerpt: str, carets: str) -> None:
    lines = render(Diagnostic("HW101", "wrong", at(text, marked))).split("\n")
    assert lines[2:] == [f"   1 | {excerpt}", f"     | {carets}"]


def test_a_span_at_the_end_of_the_text_has_one_caret() -> None:
    span = Span(Source("a.dl", "p(X)"), 4, 4, 1, 5)
    assert render(Diagnostic("HW101", "ends", span)).split("\n")[2:] == ["   1 | p(X)", "     |     ^"]


def test_a_long_line_is_cut_around_the_caret() -> None:
    text = "a" * 5000 + "MARK" + "b" * 5000
    excerpt, carets = render(Diagnostic("HW101", "wrong", at(text, "MARK"))).split("\n")[2:]
    assert len(excerpt) < 120
    assert excerpt.startswith("   1 | ...aaa")
    assert excerpt.endswith("bbb...")
    assert excerpt[carets.index("^") : carets.rindex("^") + 1] == "MARK"


def test_errors_survive_pickling_with_their_text() -> None:
    problem = CheckProblem((Diagnostic("HW301", "wrong", at("p(X).", "X")),))
    again = pickle.loads(pickle.dumps(problem))
    assert type(again) is CheckProblem
    assert isinstance(again, ProgramError)
    assert again.diagnostics == problem.diagnostics
    assert str(again) == str(problem)
    assert again.diagnostics[0].column == 3
