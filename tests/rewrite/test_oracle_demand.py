"""What queries ask for is the same however little of the rest is derived, after every transaction."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given

from headwater.rewrite.rules import DEMAND_RULES, RULES
from tests.engine.holding import hold, pairs
from tests.engine.opened import Opened
from tests.exchange.sharded import NotPlaced, Sharded
from tests.oracle.asking import asked_case
from tests.oracle.evaluate import Diverges
from tests.oracle.harness import check_batchings, check_maintenance, check_proofs, check_what_if
from tests.oracle.strategies import list_case, null_case, random_case, seeds, template_case
from tests.oracle.templates import TEMPLATES

NAMES = tuple(rule.__name__ for rule in RULES)
DEMAND = tuple(rule.__name__ for rule in DEMAND_RULES)


@pairs(100)
@given(seed=seeds)
def test_oracle_random_questions(seed: int) -> None:
    hold(check_maintenance, asked_case(random_case(seed), seed))


@pairs(20)
@given(seed=seeds)
def test_oracle_random_questions_with_nulls(seed: int) -> None:
    hold(check_maintenance, asked_case(null_case(seed), seed))


@pairs(20)
@given(seed=seeds)
def test_oracle_random_questions_about_lists(seed: int) -> None:
    hold(check_maintenance, asked_case(list_case(seed), seed))


@pytest.mark.parametrize("name", sorted(TEMPLATES))
@pairs(3)
@given(seed=seeds)
def test_oracle_questions_of_templates(name: str, seed: int) -> None:
    hold(check_maintenance, asked_case(template_case(name, seed), seed))


@pytest.mark.parametrize("alone", DEMAND)
@pairs(20)
@given(seed=seeds)
def test_oracle_each_rewrite_alone(alone: str, seed: int) -> None:
    others = [name for name in NAMES if name != alone]
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
