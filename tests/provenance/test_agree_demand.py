"""Provenance that is built for one row against provenance that is kept of all: the same, row by row."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import headwater as hw
from headwater.engine.border.lookup import tuples
from tests.engine.holding import hold, pairs
from tests.oracle.harness import Disagreement, Opener
from tests.oracle.program import Row, to_text
from tests.oracle.strategies import Case, list_cases, null_cases, random_cases, seeds, template_case
from tests.oracle.templates import TEMPLATES
from tests.oracle.timed import TimedCase
from tests.oracle.timed_cases import timed_case
from tests.time.holding import Timed
from tests.time.holding import hold as hold_timed

_ROWS = 6
_ROOM = 4_000


def check_demand(case: Case, open_: Opener) -> None:
    """Rows that are there, and rows that only other worlds have."""
    program = hw.compile(to_text(case.program))
    kept = hw.Database(program, provenance="absorption", nodes=_ROOM)
    asked = hw.Database(program, nodes=100 * _ROOM)
    for step in case.script[:3]:
        for db in (kept, asked):
            try:
                db.apply(
                    insert={name: list(rows) for name, rows in step.insert.items()},
                    delete={name: list(rows) for name, rows in step.delete.items()},
                )
            except hw.BudgetSpent:
                return
    for relation in case.program.outputs:
        some = possible(kept, relation)
        known = case.program.asked(relation, set(some))  # of others nothing is said
        for row in some:
            if row in known:
                compare(kept, asked, relation, row)


def possible(kept: hw.Database, relation: str) -> list[Row]:
    """Some rows that some world has."""
    assert kept._absorbed is not None
    table = kept._shard.stores[relation].table
    held = sorted(row for row, _ in kept._absorbed.worlds.rows(relation))
    codes = np.array(held, dtype=np.int64).reshape(len(held), len(table.types))
    return list(tuples(table, codes[:: max(1, len(held) // _ROWS)], kept._held.symbols))


def compare(kept: hw.Database, asked: hw.Database, relation: str, row: Row) -> None:
    expected, found = (db.probability(relation, row, Fraction(2, 3)) for db in (kept, asked))
    if found != expected:
        raise Disagreement("probability", f"{relation}{row}: {found} instead of {expected}")
    if row in asked.rows(relation):
        expected_sets, found_sets = (
            {frozenset(map(repr, one)) for one in db.witnesses(relation, row, None)} for db in (kept, asked)
        )
        if found_sets != expected_sets:
            raise Disagreement("witnesses", f"{relation}{row}: {found_sets} instead of {expected_sets}")
        if set(map(repr, asked.critical(relation, row).facts)) != set(map(repr, kept.critical(relation, row).facts)):
            raise Disagreement("critical", f"{relation}{row}")


def check_over_time(case: TimedCase) -> None:
    """Rows of views and base rows, once the script is over."""
    kept, asked = Timed(case, "absorption", nodes=_ROOM), Timed(case, "witness", nodes=100 * _ROOM)
    try:
        for step in case.script:
            kept.apply(step)
            asked.apply(step)
    except hw.BudgetSpent:
        return
    for name in [*case.lives, *asked.rows()]:
        for row in sorted(asked.db.rows(name), key=repr)[:3]:
            compare(kept.db, asked.db, name, row)


@pairs(8)
@given(seeds)
def test_agree_rows_over_time(seed: int) -> None:
    hold_timed(check_over_time, timed_case(seed, facts=False))


@pairs(40)
@given(random_cases)
def test_agree_rows_of_random_programs(case: Case) -> None:
    hold(check_demand, case)


@pairs(12)
@given(null_cases)
def test_agree_rows_with_nulls(case: Case) -> None:
    hold(check_demand, case)


@pairs(12)
@given(list_cases)
def test_agree_rows_of_programs_about_lists(case: Case) -> None:
    hold(check_demand, case)


@pytest.mark.parametrize("name", sorted(TEMPLATES.keys() - {"lloyd"}))
@pairs(1)
@given(seed=seeds)
def test_agree_rows_of_templates(name: str, seed: int) -> None:
    hold(check_demand, template_case(name, seed))
