"""Random programs over streams under random timed scripts: after every step the views are the oracle's."""

from __future__ import annotations

from hypothesis import given

from headwater.provenance.witness.proof import Reason
from tests.engine.holding import pairs
from tests.engine.opened import change_of
from tests.oracle.dice import Dice
from tests.oracle.program import Row
from tests.oracle.strategies import seeds
from tests.oracle.timed import Clock, TimedCase, views
from tests.oracle.timed_cases import timed_case
from tests.thresholds import no_room
from tests.time.holding import Timed, expected, hold, steps


def check_rows_and_changes(case: TimedCase) -> None:
    engine = Timed(case)
    assert engine.rows() == expected(case, Clock(case)), "before any step"
    for clock in steps(case, engine):
        assert engine.db.now == clock.now
        assert sum(engine.db.late.values()) == clock.late


@pairs(220)
@given(seeds)
def test_oracle_rows_and_changes_over_time(seed: int) -> None:
    hold(check_rows_and_changes, timed_case(seed))


def _cramped(case: TimedCase, seed: int) -> None:
    """Whatever is decided by size is decided as if there were many rows, and all is saved and opened."""
    with no_room(seed):
        engine, clock = Timed(case), Clock(case)
        for number, step in enumerate(case.script):
            clock.apply(step)
            engine.apply(step)
            found, after = engine.rows(), expected(case, clock)
            assert found == after, f"after step {number}, at {clock.now}: {found} instead of {after}"
            engine.reopen()


@pairs(70)
@given(seeds)
def test_oracle_with_no_room_to_spare_and_reopened(seed: int) -> None:
    hold(lambda other: _cramped(other, seed), timed_case(seed))


def _often_and_rarely(case: TimedCase) -> None:
    """Whether time moves one moment at a time or in leaps, the views are the same when it gets there."""
    patient, hasty, clock = Timed(case), Timed(case), Clock(case)
    for number, step in enumerate(case.script):
        clock.apply(step)
        if patient.db.now is not None and clock.now is not None:
            for moment in range(patient.db.now, clock.now + 1):
                patient.db.advance(moment)
        patient.apply(step)
        hasty.db.apply(
            insert={name: list(rows) for name, rows in step.insert.items()},
            delete={name: list(rows) for name, rows in step.delete.items()},
        )
        if clock.now is not None and (hasty.db.now is None or hasty.db.now < clock.now):
            hasty.db.advance(clock.now)
        after = expected(case, clock)
        assert patient.rows() == after, f"step by step, after {number}"
        assert hasty.rows() == after, f"in leaps, after {number}"


@pairs(50)
@given(seeds)
def test_oracle_time_moves_often_or_rarely(seed: int) -> None:
    case = timed_case(seed)
    by_clock = any(life.kind == "ttl" or life.lateness is not None for life in case.lives.values())
    if not by_clock:  # there the moment at which a row comes is what it lives by
        hold(_often_and_rarely, case)


def check_ends(case: TimedCase, seed: int) -> None:
    """A row is there until the moment that `valid_until` names, and then it is not."""
    engine, clock, dice = Timed(case), Clock(case), Dice(seed)
    for step in case.script:
        clock.apply(step)
        engine.apply(step)
        now = expected(case, clock)
        later = {moment: expected(case, clock, moment) for moment in clock.ends()}
        for name, rows in now.items():
            for row in dice.shuffled(sorted(rows, key=repr))[:3]:
                gone = (moment for moment, then in later.items() if _identity(case, row) not in _rows(case, then[name]))
                end, told = next(gone, None), engine.db.valid_until(name, row)
                assert told == end, f"{name}{row} at {clock.now}: {told} instead of {end}"
                assert engine.rows()[name] == rows, f"asking about {name}{row} changed it"


def _identity(case: TimedCase, row: Row) -> Row:
    return row[1:] if case.timed_heads else row


def _rows(case: TimedCase, rows: set[Row]) -> set[Row]:
    return {_identity(case, row) for row in rows}


@pairs(70)
@given(seeds)
def test_oracle_valid_until_is_when_a_row_ends(seed: int) -> None:
    case = timed_case(seed)
    if case.window is None or case.window[1] is None:  # rows that wait for a window to move may prolong others
        hold(lambda other: check_ends(other, seed), case)


def _proofs(case: TimedCase, seed: int) -> None:
    """Proofs rest on rows that are alive with the times they have now, and name the one whose end decides."""
    engine, clock, dice = Timed(case), Clock(case), Dice(seed)
    for step in case.script:
        clock.apply(step)
        engine.apply(step)
        for name, rows in expected(case, clock).items():
            for row in dice.shuffled(sorted(rows, key=repr))[:3]:
                proof = engine.db.why(name, row)
                facts = [node for node in proof.nodes() if node.reason is Reason.FACT]
                for fact in facts:
                    streamed = case.lives[fact.relation].kind == "stream"
                    identity = fact.row[1:] if streamed else fact.row
                    assert identity in clock.alive()[fact.relation], f"{fact.relation}{fact.row} is not there"
                leaves = [node for node in proof.nodes() if node.reason in (Reason.FACT, Reason.STATED)]
                ends = [leaf.until for leaf in leaves if leaf.until is not None]
                assert all(leaf.decides == (leaf.until == min(ends)) for leaf in leaves if leaf.until is not None)


@pairs(40)
@given(seeds)
def test_oracle_proofs_over_time(seed: int) -> None:
    hold(lambda other: _proofs(other, seed), timed_case(seed))


def check_what_if(case: TimedCase, seed: int, provenance: str = "witness") -> None:
    """`without` foretells what deleting rows would do, and does nothing."""
    engine, clock, dice = Timed(case, provenance, nodes=3_000), Clock(case), Dice(seed)
    for step in case.script:
        clock.apply(step)
        engine.apply(step)
        before = expected(case, clock)
        alive = clock.alive()
        streams = {name for name, life in case.lives.items() if life.kind == "stream"}
        stated = {(name, row[1:] if name in streams else row) for name, rows in case.facts.items() for row in rows}
        doomed = {
            name: [row for row in sorted(rows, key=repr) if (name, row) not in stated and dice.chance(40)]
            for name, rows in alive.items()
        }
        told = engine.db.without(
            {name: [(0, *row) if name in streams else row for row in rows] for name, rows in doomed.items() if rows}
        )
        left = {name: {row: at for row, at in rows.items() if row not in doomed[name]} for name, rows in alive.items()}
        after = views(case, left)
        for name, rows in before.items():
            inserted, deleted = (set(part) for part in change_of(told[name]))
            assert (inserted, deleted) == (after[name] - rows, rows - after[name]), f"{name} without {doomed}"
        assert engine.rows() == before


@pairs(40)
@given(seeds)
def test_oracle_what_if_over_time(seed: int) -> None:
    case = timed_case(seed)
    if case.window is None or case.window[1] is None:
        hold(lambda other: check_what_if(other, seed), case)
