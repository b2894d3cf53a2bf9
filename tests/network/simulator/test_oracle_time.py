"""Streams, windows and ttl on nodes: rows end where they live, and at rest the views are the oracle's."""

from __future__ import annotations

import pytest
from hypothesis import given

import headwater as hw
from headwater.core.errors import CheckProblem, DataError
from headwater.network.simulator.network import Network
from headwater.network.simulator.wire.links import Delays
from tests.engine.holding import pairs
from tests.network.simulator.networked import WAYS
from tests.oracle.program import Row
from tests.oracle.strategies import seeds
from tests.oracle.timed import Clock, TimedCase, timed_text
from tests.oracle.timed_cases import timed_case
from tests.time.holding import expected, hold


def agrees(case: TimedCase, way: str, nodes: int, seed: int) -> bool:
    """Whether nodes run the program at all; if they do, their rows and changes are held against the oracle's."""
    ran = True

    def check(one: TimedCase) -> None:
        nonlocal ran
        try:
            program = hw.compile(timed_text(one))
            delays = Delays(0.0, 20.0, seed)
            network = Network(program, nodes, WAYS[way].strategy, shipping=WAYS[way].shipping, delays=delays)
        except CheckProblem as problem:
            ran = False
            if {one.code for one in problem.diagnostics} <= {"HW911", "HW912"}:
                return
            raise
        clock = Clock(one)
        before: dict[str, set[Row]] = {name: set() for name in one.program.outputs}
        for number, step in enumerate(one.script):
            clock.apply(step)
            if step.advance is not None and (network.now is None or step.advance > network.now):
                network.advance(step.advance)
                before = {name: network.rows(name) for name in before}
            changes = network.apply(step.insert, step.delete).changes
            after = expected(one, clock)
            for name, rows in after.items():
                assert network.rows(name) == rows, f"{name} after step {number}, at {clock.now}"
                came, went = (set(part) for part in changes[name])
                assert (came, went) == (rows - before[name], before[name] - rows), f"{name}: changes of step {number}"
            assert sum(network.late.values()) == clock.late
            before = after

    hold(check, case)
    return ran


@pytest.mark.parametrize("way", WAYS)
@pairs(12)
@given(seed=seeds)
def test_oracle_networks_over_time(seed: int, way: str) -> None:
    agrees(timed_case(seed), way, 1 + seed % 5, seed)


def test_most_timed_programs_run_on_nodes() -> None:
    assert sum(agrees(timed_case(seed), "absorption", 3, seed) for seed in range(12)) >= 5


def test_time_does_not_go_back_and_must_be_known() -> None:
    network = Network(hw.compile("relation p(x: int) ttl 5. q(X) :- p(X)."), 2)
    with pytest.raises(DataError, match=r"HW803.*no time is known"):
        network.apply(insert={"p": [(1,)]})
    network.apply(insert={"p": [(1,)]}, now=10)
    with pytest.raises(DataError, match=r"HW803.*does not go back"):
        network.advance(9)
    for wrong in ("noon", [], True, 1.5):
        with pytest.raises(DataError, match="HW803"):
            network.advance(wrong)
    assert network.rows("q") == {(1,)}
    network.advance(15)
    assert network.rows("q") == set()


def test_times_are_given_as_the_streams_have_them() -> None:
    program = hw.compile("stream p(ts: timestamp, x: string) ttl 30 seconds. q(X) :- p(_, X).")
    network = Network(program, 2)
    network.apply(insert={"p": [("2020-01-01T00:00:00", "a"), ("2020-01-01T00:00:20", "b")]})
    network.advance("2020-01-01T00:00:30")
    assert network.rows("q") == {("b",)}


def test_facts_that_live_by_the_clock_are_refused() -> None:
    with pytest.raises(CheckProblem, match="HW911"):
        Network(hw.compile("stream p(ts: int, x: int) ttl 3. p(1, 2). q(X) :- p(_, X)."), 2)
