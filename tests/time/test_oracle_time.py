"""Random programs over streams under random timed scripts: after every step the views are the oracle's."""

from __future__ import annotations

from hypothesis import given

from tests.engine.holding import pairs
from tests.oracle.strategies import seeds
from tests.oracle.timed import Clock, TimedCase
from tests.oracle.timed_cases import timed_case
from tests.time.holding import Timed, expected, hold


def _rows_and_changes(case: TimedCase) -> None:
    engine, clock = Timed(case), Clock(case)
    before = expected(case, clock)
    assert engine.rows() == before, "before any step"
    for number, step in enumerate(case.script):
        clock.apply(step)
        after = expected(case, clock)
        changes = engine.apply(step)
        found = engine.rows()
        assert found == after, f"after step {number}, at {clock.now}: {found} instead of {after}"
        net = {name: (after[name] - before[name], before[name] - after[name]) for name in after}
        assert changes == net, f"changes of step {number}: {changes} instead of {net}"
        assert engine.db.now == clock.now
        assert sum(engine.db.late.values()) == clock.late
        before = after


@pairs(200)
@given(seeds)
def test_oracle_rows_and_changes_over_time(seed: int) -> None:
    hold(_rows_and_changes, timed_case(seed))
