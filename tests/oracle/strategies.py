"""Cases for hypothesis: a program, what it means, and a script of transactions.

A case is a function of a seed, so that it is quick to make and easy to name. Hypothesis keeps the seeds that
fail; making a failing case small is the work of `tests.oracle.minimise`, which knows what a program is.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from tests.oracle.dice import Dice
from tests.oracle.program import Program, mentioned
from tests.oracle.random_programs import random_program
from tests.oracle.scripts import Pools, Script, random_script, row_pools
from tests.oracle.templates import TEMPLATES
from tests.oracle.terms import Value

seeds = st.integers(0, 2**32 - 1)


@dataclass(frozen=True, slots=True)
class Case:
    """The engine runs `program`, the oracle `reference`; they are mostly one and the same."""

    program: Program
    reference: Program
    script: Script


def null_case(seed: int) -> Case:
    return random_case(seed, nulls=True)


def list_case(seed: int) -> Case:
    return random_case(seed, lists=True)


def equation_case(seed: int) -> Case:
    return random_case(seed, equations=True, nulls=seed % 4 == 0)


def random_case(seed: int, *, nulls: bool = False, lists: bool = False, equations: bool = False) -> Case:
    dice = Dice(seed)
    made = random_program(dice, nulls=nulls, lists=lists, equations=equations)
    known = [base for base in made.bases if base.declared or base.name in mentioned(made)]
    return Case(made, made, random_script(dice, row_pools(dice, known)))


def template_case(name: str, seed: int) -> Case:
    dice = Dice(seed)
    scenario = TEMPLATES[name](dice)
    return Case(scenario.program, scenario.reference, random_script(dice, scenario.pools, longest=8))


def large_case(name: str, seed: int) -> Case:
    """A template over one weighted or plain edge relation, with enough rows to make stores grow and shrink."""
    dice = Dice(seed)
    scenario = TEMPLATES[name](dice)
    values: dict[str, list[Value]] = {"string": [f"n{number}" for number in range(18)], "int": list(range(18))}
    pools: Pools = {
        base.name: [tuple(dice.pick(values[type_]) for type_ in base.types) for _ in range(45)]
        for base in scenario.program.bases
    }
    return Case(scenario.program, scenario.reference, random_script(dice, pools, longest=12))


random_cases = seeds.map(random_case)
null_cases = seeds.map(null_case)
list_cases = seeds.map(list_case)
template_cases = st.builds(template_case, st.sampled_from(sorted(TEMPLATES)), seeds)
cases = random_cases | template_cases
