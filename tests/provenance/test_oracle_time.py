"""Provenance over rows that end: it speaks of the base rows that are alive when it is asked, as the oracle does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given

import headwater as hw
from headwater.engine.border.lookup import tuples
from headwater.provenance.functions import absorption
from headwater.provenance.worlds.kept_worlds import LeaseTranslation
from tests.engine.holding import pairs
from tests.oracle.dice import Dice
from tests.oracle.program import Row
from tests.oracle.strategies import seeds
from tests.oracle.timed import Clock, TimedCase, views
from tests.oracle.timed_cases import timed_case
from tests.time.holding import Timed, expected, hold
from tests.time.test_oracle_time import check_what_if


def within_room(check: Callable[[TimedCase], None], case: TimedCase) -> bool:
    """Whether the case was checked, and not left because its functions grew too large."""
    done = True

    def checked(one: TimedCase) -> None:
        nonlocal done
        try:
            check(one)
        except hw.BudgetSpent:
            done = False

    hold(checked, case)
    return done


def _identity(case: TimedCase, row: Row) -> Row:
    return row[1:] if case.timed_heads else row


def _follows(case: TimedCase) -> None:
    """Rows, changes and the rows whose function is true now; saved and opened again after every step."""
    engine, clock = Timed(case, "absorption", nodes=3_000), Clock(case)
    for number, step in enumerate(case.script):
        clock.apply(step)
        engine.apply(step)
        after = expected(case, clock)
        assert engine.rows() == after, f"after step {number}, at {clock.now}"
        for name, rows in after.items():
            assert _true(engine, case, name) == {_identity(case, row) for row in rows}, f"{name} after step {number}"
        engine.reopen()


def _true(engine: Timed, case: TimedCase, name: str) -> set[Row]:
    absorbed = engine.db._absorbed
    assert absorbed is not None
    rows = [row for row, function in absorbed.worlds.rows(name) if absorption.holds(function)]
    table = engine.db._held.table(name)
    codes = engine.db._held.asked(name, LeaseTranslation(absorbed.worlds, engine.db._shard).stored(name, rows))
    return {_identity(case, row) for row in tuples(table, codes, engine.db._held.symbols)}


def _needs(case: TimedCase, seed: int, provenance: str) -> None:
    """`critical` names the base rows without which, by the oracle, a row would not be there now."""
    engine, clock, dice = Timed(case, provenance, nodes=3_000), Clock(case), Dice(seed)
    streams = {name for name, life in case.lives.items() if life.kind == "stream"}
    for step in case.script:
        clock.apply(step)
        engine.apply(step)
        alive = clock.alive()
        less = {
            (name, row): views(case, {**alive, name: {one: at for one, at in rows.items() if one != row}})
            for name, rows in alive.items()
            for row in rows
        }
        for name, rows in expected(case, clock).items():
            for row in dice.shuffled(sorted(rows, key=repr))[:3]:
                found = {
                    (one, fact[1:] if one in streams else fact) for one, fact in engine.db.critical(name, row).facts
                }
                seen = {_identity(case, row)}
                lost = {fact for fact, left in less.items() if not seen & {_identity(case, one) for one in left[name]}}
                assert found == lost, f"{name}{row} at {clock.now}"


@pairs(40)
@given(seeds)
def test_oracle_functions_follow_the_clock(seed: int) -> None:
    within_room(_follows, timed_case(seed, facts=False))


@pairs(30)
@given(seeds)
def test_oracle_what_if_over_time_is_read_off(seed: int) -> None:
    case = timed_case(seed, facts=False)
    if case.window is None or case.window[1] is None:
        within_room(partial(check_what_if, seed=seed, provenance="absorption"), case)


@pytest.mark.parametrize("provenance", ["absorption", "witness"])
@pairs(15)
@given(seed=seeds)
def test_oracle_critical_facts_over_time(seed: int, provenance: str) -> None:
    within_room(partial(_needs, seed=seed, provenance=provenance), timed_case(seed, facts=False))


def test_most_cases_have_room() -> None:
    """The tests above would say nothing if everything were too large."""
    assert sum(within_room(_follows, timed_case(seed, facts=False)) for seed in range(8)) >= 4
