"""What queries ask for is the same however little of the rest is derived, after every transaction."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest
from hypothesis import given

from headwater.core.types import Type
from headwater.language.syntax import Assign, Comparison
from headwater.language.terms import positive_atoms
from headwater.program.model import Program
from headwater.rewrite.rules import ALONE_RULES, DEMAND_RULES, RULES, rewrite
from tests.engine.holding import hold, pairs
from tests.engine.opened import Opened
from tests.exchange.sharded import NotPlaced, Sharded
from tests.oracle.asking import asked_case, asked_timed_case
from tests.oracle.evaluate import Diverges
from tests.oracle.harness import check_batchings, check_maintenance, check_proofs, check_what_if
from tests.oracle.program import to_text
from tests.oracle.strategies import equation_case, list_case, null_case, random_case, seeds, template_case
from tests.oracle.templates import TEMPLATES
from tests.oracle.timed import timed_text
from tests.oracle.timed_cases import timed_case
from tests.rewrite.spec_cases import compiled
from tests.time.holding import hold as hold_timed
from tests.time.test_oracle_time import check_ends, check_rows_and_changes

NAMES = tuple(rule.__name__ for rule in (*RULES, *ALONE_RULES))
DEMAND = tuple(rule.__name__ for rule in DEMAND_RULES)


@pairs(100)
@given(seed=seeds)
def test_oracle_random_questions(seed: int) -> None:
    hold(check_maintenance, asked_case(random_case(seed), seed))


@pairs(20)
@given(seed=seeds)
def test_oracle_random_questions_with_nulls(seed: int) -> None:
    hold(check_maintenance, asked_case(null_case(seed), seed))


@pairs(80)
@given(seed=seeds)
def test_oracle_random_questions_with_equations(seed: int) -> None:
    hold(check_maintenance, asked_case(equation_case(seed), seed))


@pairs(20)
@given(seed=seeds)
def test_oracle_random_questions_about_lists(seed: int) -> None:
    hold(check_maintenance, asked_case(list_case(seed), seed))


@pairs(60)
@given(seed=seeds)
def test_oracle_random_questions_over_time(seed: int) -> None:
    hold_timed(check_rows_and_changes, asked_timed_case(timed_case(seed), seed))


@pairs(30)
@given(seed=seeds)
def test_oracle_answers_end_when_they_say(seed: int) -> None:
    case = asked_timed_case(timed_case(seed), seed)
    if case.window is None or case.window[1] is None:
        hold_timed(lambda other: check_ends(other, seed), case)


def test_questions_of_all_kinds_are_drawn() -> None:
    """The cases above restrict by floats, nulls and computed values, over keys and over rows that end."""
    plain = [asked_case(draw(seed), seed).program for draw in (null_case, equation_case) for seed in range(100)]
    timed = [asked_timed_case(timed_case(seed), seed) for seed in range(60)]
    programs = [compiled(to_text(each)) for each in plain] + [compiled(timed_text(each)) for each in timed]
    drawn = Counter(kind for program in programs for kind in _kinds(rewrite(program)))
    assert min(drawn[kind] for kind in ("float", "null", "key", "ttl", "computed row", "computed question")) >= 4, drawn


def _kinds(program: Program) -> set[str]:
    """What a program whose relations are restricted has that questions must take care of."""
    asked = [each for each in program.relations if each.asks is not None]
    found = {"float" for each in asked for column in each.columns if column.type is Type.FLOAT}
    found |= {"null" for each in asked for column in each.columns if column.nullable}
    names = {each.name for each in asked}
    for rule in program.rules:
        values = [goal for goal in rule.body if isinstance(goal, Assign | Comparison)]
        compared = {goal.left for goal in values if isinstance(goal, Comparison) and goal.op == "="}
        if rule.head.relation in names:
            found |= {"computed question" for goal in values if isinstance(goal, Assign)}
        elif any(atom.relation in names and not compared.isdisjoint(atom.args) for atom in positive_atoms(rule)):
            found.add("computed row")
    found |= {"key" for each in program.relations if asked and each.key is not None}
    return found | {"ttl" for each in program.relations if asked and each.ttl is not None}


@pytest.mark.parametrize("name", sorted(TEMPLATES))
@pairs(3)
@given(seed=seeds)
def test_oracle_questions_of_templates(name: str, seed: int) -> None:
    hold(check_maintenance, asked_case(template_case(name, seed), seed))


ALONE = [*((name,) for name in DEMAND), ("magic_sets", "bound_columns")]
"""Rewrites to leave on; `bound_columns` starts from what `magic_sets` gives."""


@pytest.mark.parametrize("alone", ALONE, ids=" and ".join)
@pairs(20)
@given(seed=seeds)
def test_oracle_each_rewrite_alone(alone: tuple[str, ...], seed: int) -> None:
    others = [name for name in NAMES if name not in alone]
    hold(check_maintenance, asked_case(random_case(seed), seed), partial(Opened, disabled=others))


@pytest.mark.parametrize("check", [check_proofs, check_what_if, check_batchings])
@pairs(15)
@given(seed=seeds)
def test_oracle_proofs_and_what_if_of_questions(check, seed: int) -> None:  # type: ignore[no-untyped-def]
    hold(partial(check, seed=seed), asked_case(random_case(seed), seed))


@pytest.mark.parametrize("kind", ["decomposed", "exchange"])
@pytest.mark.parametrize("shards", [2, 3])
@pairs(20)
@given(seed=seeds)
def test_agree_shards_on_questions(seed: int, shards: int, kind: str) -> None:
    try:
        check_maintenance(asked_case(random_case(seed), seed), partial(Sharded, shards=shards, kinds=(kind,)))
    except (NotPlaced, Diverges):
        return
