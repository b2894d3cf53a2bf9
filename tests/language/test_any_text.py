"""Any text gives a tree or a SyntaxProblem that can be shown: never another exception, never a hang."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source
from headwater.language.datalog.parse import MOST_PROBLEMS, parse
from headwater.language.datalog.printer import print_tree
from headwater.language.syntax import Tree

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = [path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.dl"))]
FRAGMENTS = [*"()[]{}<>|,.:;!@#%=+-*/'\"`\\_ \n\t\r\0", ":-", "<-", "←", "¬", "#include", "query ", "stream ", "key("]
FRAGMENTS += ["/*", "*/", "//", "min<", "X", "p(", "1.5", "30 seconds", "\ufeff", "\u2028", "é", "9" * 30, "WINDOW("]


def outcome(text: str) -> Tree | str:
    try:
        return parse(Source("<text>", text))
    except SyntaxProblem as problem:
        found = problem
    assert 0 < len(found.diagnostics) <= MOST_PROBLEMS
    assert all(diagnostic.code.startswith("HW1") for diagnostic in found.diagnostics)
    return str(found)


def settled(text: str) -> None:
    found = outcome(text)
    if isinstance(found, Tree):
        assert parse(Source("<printed>", print_tree(found))) == found
    else:
        assert found.startswith("error[HW1")


@given(st.text())
def test_random_characters(text: str) -> None:
    settled(text)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join))
@settings(max_examples=300)
def test_random_fragments_of_the_language(text: str) -> None:
    settled(text)


@given(st.sampled_from(PROGRAMS), st.randoms(use_true_random=False), st.integers(1, 4))
@settings(max_examples=150)
def test_programs_with_random_damage(program: str, dice: random.Random, wounds: int) -> None:
    text = program
    for _ in range(wounds):
        start = dice.randrange(len(text) + 1)
        end = min(len(text), start + dice.choice((0, 0, 1, 5)))
        text = text[:start] + dice.choice([*FRAGMENTS, ""]) + text[end:]
    settled(text)


@pytest.mark.parametrize("opening", ["(", "[", "f(", "{", "p([", "-", "[X|", "@", "not ", "!", "<", "min<", "/*", '"'])
def test_ten_thousand_levels_of_anything(opening: str) -> None:
    for text in (opening * 10_000, f"p({opening * 10_000}", f"p(X) :- X = {opening * 10_000}."):
        assert "error[HW1" in str(outcome(text))


@pytest.mark.parametrize(
    ("opening", "closing"), [("(", ")"), ("[", "]"), ("f(", ")"), ("[X|", "]"), ("-", ""), ("1 + (", ")"), ("", " + 1")]
)
def test_balanced_nesting_beyond_the_limit_is_named(opening: str, closing: str) -> None:
    text = f"p(X) :- X = {opening * 10_000}Y{closing * 10_000}."
    found = outcome(text)
    if opening == "(":
        assert isinstance(found, Tree)  # brackets around one value leave nothing in the tree
    else:
        assert "error[HW106]" in str(found)


def test_nesting_up_to_the_limit_is_fine() -> None:
    text = f"p(X) :- X = {'f(' * 149}Y{')' * 149}."
    found = outcome(text)
    assert isinstance(found, Tree)
    assert parse(Source("<printed>", print_tree(found))) == found


MANY = 5_000_000


@pytest.mark.parametrize(
    "text",
    [
        "p(" + "a" * MANY + ").",
        'p("' + "a" * MANY + '").',
        "% " + "a" * MANY,
        "/*" + "*" * MANY,
        " " * MANY,
        "." * MANY,
        "(" * MANY,
        '"' * MANY,
        "%" * MANY,
        "p(X) :- q(X)\n" * 100_000,
        "X % " * 100_000,
        "9" * 500_000,
        "'" * 500_000,
        "}" * 100_000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_five_megabytes_of_one_thing(text: str) -> None:
    outcome(text)


def test_a_long_line_of_facts() -> None:
    text = "".join(f"link(n{number}, n{number + 1}, {number})." for number in range(10_000))
    found = outcome(text)
    assert isinstance(found, Tree)
    assert len(found.statements) == 10_000


def test_line_ends_marks_and_nulls() -> None:
    plain = outcome("p(X) :-\n  q(X). % note\n# line\nr(a).\n")
    assert isinstance(plain, Tree)
    assert outcome("\ufeffp(X) :-\r\n  q(X). % note\r\n# line\r\nr(a).\r\n") == plain
    assert "U+0000" in str(outcome("p(\0)."))
    assert outcome("") == outcome("\ufeff") == Tree(())


def test_a_mistake_on_a_windows_line_points_at_its_column() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse(Source("a.dl", "p(a).\r\nq(b c).\r\n"))
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.line, diagnostic.column) == (2, 5)
