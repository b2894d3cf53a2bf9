"""Lorel as specified: statements print and parse back, mistakes are explained, and any text gives one or the other."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source
from headwater.language.lorel import InsertEdge, parse_lorel, parse_update, print_lorel
from headwater.language.lorel.parse import MOST_FINDINGS
from headwater.language.lorel.tree import LorelTree
from tests.oracle.dice import Dice
from tests.semistructured.random_views import Writer
from tests.spec_file import SPECS, Case, cases, named, paths, settle

SHARED = {"HW103", "HW104", "HW105", "HW106", "HW107", "HW108"}
PIECES = [
    *"()[]{}<>|,.:;!@#%=+-*/'\"`\\_ \n\0",
    "select ",
    "from ",
    "where ",
    "with ",
    "define view ",
    " as ",
    "exists ",
]
PIECES += [
    "N.a",
    " x",
    "&1",
    "in ",
    "for all ",
    "count(",
    "/*",
    "*/",
    "--",
    "1.5",
    "9" * 30,
    "“",
    "\ufeff",
    "é",
    "not ",
]


def told(text: str) -> str:
    with pytest.raises(SyntaxProblem) as caught:
        parse_lorel(Source("view.lorel", text))
    return str(caught.value)


@pytest.mark.parametrize("case", cases("language/lorel/print"), ids=named)
def test_statements_print_as_specified_and_parse_back(case: Case) -> None:
    tree = parse_lorel(Source("view.lorel", case.given))
    settle(case, lambda _: print_lorel(tree))
    assert parse_lorel(print_lorel(tree)) == tree


@pytest.mark.parametrize("case", cases("language/lorel/errors"), ids=named)
def test_mistakes_are_explained_as_specified(case: Case) -> None:
    settle(case, told)
    code = case.title[:5] if case.path.stem == "shared" else case.path.stem
    assert f"error[{code}]" in told(case.given)


def test_every_code_of_the_language_has_a_spec() -> None:
    folder = SPECS.parents[1] / "src" / "headwater" / "language" / "lorel"
    used = {code for path in folder.glob("*.py") for code in re.findall(r'"(HW1\d\d)"', path.read_text("utf-8"))}
    assert used - SHARED - {"HW155"} == {path.stem for path in paths("language/lorel/errors")} - {"shared"}


def test_an_elementary_update_stands_alone() -> None:
    assert parse_update("Ins(&10, Ingredient, &15)") == InsertEdge(10, "Ingredient", 15)
    for text in ("", "select e from N.e e", "Ins(&1, a, &2); Ins(&1, a, &3);"):
        with pytest.raises(SyntaxProblem, match=r"error\[HW155\]"):
            parse_update(text)


def settled(text: str) -> None:
    try:
        tree = parse_lorel(text)
    except SyntaxProblem as problem:
        found = problem
    else:
        assert isinstance(tree, LorelTree)
        assert parse_lorel(print_lorel(tree)) == tree
        return
    assert 0 < len(found.diagnostics) <= MOST_FINDINGS
    assert str(found).startswith("error[HW1")


@given(st.text())
def test_random_characters(text: str) -> None:
    settled(text)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@settings(max_examples=300)
def test_random_pieces_of_the_language(text: str) -> None:
    settled(text)


@given(st.integers(0, 2**32), st.randoms(use_true_random=False), st.integers(1, 4))
@settings(max_examples=150)
def test_views_with_random_damage(seed: int, dice: random.Random, wounds: int) -> None:
    text = Writer(Dice(seed)).view()
    settled(text)
    for _ in range(wounds):
        start = dice.randrange(len(text) + 1)
        end = min(len(text), start + dice.choice((0, 0, 1, 5)))
        text = text[:start] + dice.choice([*PIECES, ""]) + text[end:]
    settled(text)


@pytest.mark.parametrize("opening", ["(", "N.(", "not ", "exists x in N.a: ", "(select x from ", "count(", "- ", "N."])
def test_ten_thousand_levels_of_anything(opening: str) -> None:
    for text in (opening * 10_000, f"select x from N.a x where {opening * 10_000}x = 1"):
        settled(text)


def test_views_are_no_program(tmp_path: Path) -> None:
    """The error names what takes them."""
    text = "-- the cheap ones\nDefine View V as Entrees = select e from Guide.Restaurant.Entree e;\n"
    with pytest.raises(hw.ProgramError, match=r"(?s)error\[HW156\].*Define View V.*Documents\.define.*headwater run"):
        hw.compile(text)
    for name, held in (("view.lorel", text), ("view.dl", text), ("empty.lorel", ""), ("other.lorel", "p(X) :- q(X).")):
        (tmp_path / name).write_text(held)
        with pytest.raises(hw.ProgramError, match=r"error\[HW156\]"):
            hw.compile_file(tmp_path / name)
