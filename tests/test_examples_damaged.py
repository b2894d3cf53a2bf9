"""Damaged examples compile or are refused with diagnostics: no stage lets another exception through."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headwater
from headwater.language.datalog.printer import print_tree
from headwater.language.syntax import Tree
from tests.language.trees import trees

FOLDER = Path(__file__).parents[1] / "examples"
PROGRAMS = {path: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.dl"))}
TOKEN = re.compile(r"\w+|[^\w\s]|\s+")
SPARE = sorted({token for text in PROGRAMS.values() for token in TOKEN.findall(text)})


def settled(text: str, name: str) -> None:
    try:
        program = headwater.compile(text, name=name)
    except headwater.ProgramError as problem:
        findings = problem
    else:
        assert all(isinstance(program.explain(stage), str) for stage in ("parsed", "checked", "rewritten"))
        return
    assert findings.diagnostics
    assert str(findings).startswith("error[HW")


@given(st.sampled_from(list(PROGRAMS)), st.randoms(use_true_random=False), st.integers(1, 3))
@settings(max_examples=200)
def test_words_swapped_for_others(path: Path, dice: random.Random, wounds: int) -> None:
    tokens = TOKEN.findall(PROGRAMS[path])
    for _ in range(wounds):
        tokens[dice.randrange(len(tokens))] = dice.choice([*SPARE, ""])
    settled("".join(tokens), str(path))


@given(trees)
@settings(max_examples=100)
def test_random_trees(tree: Tree) -> None:
    settled(print_tree(tree), "<random>")


@pytest.mark.parametrize("text", ["a(0). relation a().", "p(X) :- a(X, X). relation a(x: int)."])
def test_a_declaration_below_a_use_with_another_number_of_arguments(text: str) -> None:
    with pytest.raises(headwater.ProgramError) as problem:
        headwater.compile(text)
    (found,) = [one for one in problem.value.diagnostics if one.code == "HW201"]
    assert found.note == f"it is first declared at <text>:1:{text.index('relation') + 1}"


@pytest.mark.parametrize("term", [f"{'f(' * 149}Y{')' * 149}", f"{'[' * 149}Y{']' * 149}", "Y" + " + 1" * 149])
def test_the_deepest_terms_that_parse(term: str) -> None:
    settled(f"p(X) :- q(Y), X = {term}.", "<deep>")
