"""Every generated program is one that the compiler must accept: its generator keeps all the language's rules."""

from __future__ import annotations

import pytest
from hypothesis import given

import headwater as hw
from tests.engine.holding import pairs
from tests.oracle.program import to_text
from tests.oracle.strategies import Case, random_cases, seeds, template_case
from tests.oracle.templates import TEMPLATES


@pairs(500)
@given(random_cases)
def test_random_programs_compile(case: Case) -> None:
    assert set(hw.compile(to_text(case.program)).outputs) == set(case.program.outputs)


@pytest.mark.parametrize("name", sorted(TEMPLATES))
@pairs(10)
@given(seed=seeds)
def test_templates_compile(name: str, seed: int) -> None:
    program = template_case(name, seed).program
    assert set(hw.compile(to_text(program)).outputs) == set(program.outputs)
