"""Plans as text are what their spec files say; `HEADWATER_UPDATE_SPECS=1 pytest tests/plan` writes them anew."""

from __future__ import annotations

from typing import get_args

import pytest

import headwater as hw
from headwater.plan.build import build
from headwater.plan.model import JoinLoop, Loop
from headwater.program.types.inference import infer
from tests.spec_file import Case, cases, named, settle

CASES = cases("plan")
AS_WRITTEN = ["linear_recursion"]
"""Relations that join themselves are the hard ones to plan: the specs show them as they are written."""


@pytest.mark.parametrize("case", CASES, ids=named)
def test_spec(case: Case) -> None:
    settle(case, lambda text: hw.compile(text, disabled=AS_WRITTEN).explain("plan").strip())


def test_the_specs_show_every_loop() -> None:
    found = set()
    for case in CASES:
        program = hw.compile(case.given, disabled=AS_WRITTEN).rewritten
        for rule in build(program, infer(program)).rules:
            for delta_rule in (*rule.arrive, *rule.forbid, *rule.allow, *(pull.delta_rule for pull in rule.pulls)):
                loop = delta_rule.loop
                found.add((type(loop), isinstance(loop, JoinLoop) and loop.carries is not None))
    assert found == {(kind, False) for kind in get_args(Loop)} | {(JoinLoop, True)}
