"""Rewritten programs give the answers of the original, by naive evaluation over small random data."""

from __future__ import annotations

from random import Random

import pytest

from headwater.program.model import Program
from headwater.rewrite.rules import NETWORK_RULES, RULES, rewrite
from tests.rewrite.naive import Diverges, State, answers, evaluate
from tests.rewrite.random_rows import random_rows
from tests.rewrite.spec_cases import Case, all_cases

CASES = all_cases()
TRIES = 12
WHOLE = [case for case in CASES if not any(query.parameters for query in case.program().queries)]
"""Those whose queries have no parameters: what is derived for these depends on what is asked."""
ALONE = [case for case in CASES if case in WHOLE or case.rewrite != "asker_leads"]
"""The other rewrites, by themselves, leave queries with parameters as they are."""


def expected_answers(program: Program, data: State, *, endless: bool) -> State | None:
    """None where the program does not settle. Stages that are asked for settle long before the others end."""
    try:
        return answers(program, evaluate(program, data, rounds=16 if endless else 40, endless=endless))
    except Diverges:
        return None


def compare(case: Case, after: Program) -> None:
    """Equal answers on every data set on which the original settles."""
    before = case.program()
    random = Random(case.title)
    settled = 0
    for ordered in [True, False] * (TRIES // 2):
        data = random_rows(before, random, ordered=ordered)
        expected = expected_answers(before, data, endless=case.rewrite == "stage_limit")
        if expected is not None:
            settled += 1
            assert answers(after, evaluate(after, data)) == expected, data
    assert settled >= TRIES // 3, "too few data sets on which the program settles"


@pytest.mark.parametrize("case", ALONE, ids=lambda case: f"{case.rewrite}: {case.title}")
def test_oracle_each_rewrite_alone(case: Case) -> None:
    compare(case, case.rewritten())


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: f"{case.rewrite}: {case.title}")
def test_oracle_all_rewrites(case: Case) -> None:
    compare(case, rewrite(case.program()))


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: f"{case.rewrite}: {case.title}")
def test_oracle_all_rewrites_for_several_shards(case: Case) -> None:
    compare(case, rewrite(case.program(), rules=RULES + NETWORK_RULES))
