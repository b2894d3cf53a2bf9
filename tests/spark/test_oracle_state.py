"""State that is kept in a checkpoint, whatever dies in between: the views and their changes are the oracle's."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given

from tests.engine.holding import pairs
from tests.exchange.sharded import NotPlaced
from tests.oracle.evaluate import Diverges
from tests.oracle.harness import check_maintenance
from tests.oracle.strategies import Case, random_case, seeds, template_case
from tests.oracle.timed import Clock, Step, TimedCase, timed_text
from tests.oracle.timed_cases import timed_case
from tests.spark.kept import Kept
from tests.thresholds import no_room
from tests.time.holding import expected, hold

KNOWN = [
    ("closure", "exchange", 3),
    ("path_vector", "exchange", 2),
    ("same_generation", "exchange", 3),
    ("shortest", "exchange", 3),
    ("top_paths", "exchange", 1),
    ("company_control", "decomposed", 2),
    ("path_vector", "decomposed", 3),
    ("top_paths", "decomposed", 1),
]


def _agrees(case: Case, shards: int, kind: str, seed: int) -> bool:
    with TemporaryDirectory() as folder:
        try:
            check_maintenance(case, lambda program: Kept(program, Path(folder), shards, kind, random.Random(seed)))
        except (NotPlaced, Diverges):
            return False
    return True


@pytest.fixture(params=["logs", "snapshots", "both"])
def often(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How often a shard is written whole."""
    most, few = {"logs": (10**9, 10**9), "snapshots": (0, 10**9), "both": (3, 20)}[request.param]
    monkeypatch.setattr("headwater.spark.state.snapshot_policy._MOST_LOGS", most)
    monkeypatch.setattr("headwater.spark.state.snapshot_policy._FEW_ROWS", few)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(("name", "kind", "shards"), KNOWN)
def test_oracle_state_of_known_programs(name: str, kind: str, shards: int) -> None:
    assert any(_agrees(template_case(name, seed), shards, kind, seed) for seed in range(4))


@pytest.mark.parametrize("kind", ["decomposed", "exchange", "single"])
@pairs(8)
@given(seed=seeds)
def test_oracle_state_of_random_programs(seed: int, kind: str) -> None:
    dice = random.Random(seed)
    with no_room(seed) if dice.random() < 0.5 else nullcontext(), pytest.MonkeyPatch.context() as cramped:
        cramped.setattr("headwater.spark.state.snapshot_policy._MOST_LOGS", dice.choice([1, 2, 4, 1000]))
        cramped.setattr("headwater.spark.state.snapshot_policy._FEW_ROWS", dice.choice([5, 50, 10**9]))
        cramped.setattr("headwater.engine.store.compaction._WORTH_IT", dice.choice([0, 4, 1024]))
        _agrees(random_case(seed), 1 if kind == "single" else dice.choice([2, 3]), kind, seed)


def _agrees_over_time(case: TimedCase, shards: int, kind: str, seed: int) -> None:
    """Shards that come back from a snapshot and logs have the clock, and the leases, of those that never went."""
    with TemporaryDirectory() as folder:
        try:
            outputs = tuple(case.program.outputs)
            kept = Kept.of_text(timed_text(case), outputs, Path(folder), shards, kind, seed)
        except NotPlaced:
            return
        clock = Clock(case)
        before = expected(case, clock)
        for step in transactions(case):
            clock.apply(step)
            after = expected(case, clock)
            changes = kept.apply(dict(step.insert), dict(step.delete), step.advance)
            assert kept.driver.manifest is not None
            assert kept.driver.manifest.clock == clock.now
            for name in outputs:
                assert kept.rows(name) == after[name], f"{name} at {clock.now}"
                came, went = (set(rows) for rows in changes[name])
                assert (came, went) == (after[name] - before[name], before[name] - after[name])
            before = after


def transactions(case: TimedCase) -> Iterator[Step]:
    """The steps of a script; an advance that comes with rows is a transaction of its own, before them."""
    for step in case.script:
        if step.advance is not None:
            yield Step(advance=step.advance)
        if step.insert or step.delete:
            yield Step(step.insert, step.delete)


@pytest.mark.parametrize(("kind", "shards"), [("decomposed", 2), ("exchange", 3), ("single", 1)])
@pairs(5)
@given(seed=seeds)
def test_oracle_state_over_time(seed: int, kind: str, shards: int) -> None:
    dice = random.Random(seed)
    with no_room(seed) if dice.random() < 0.5 else nullcontext(), pytest.MonkeyPatch.context() as cramped:
        cramped.setattr("headwater.spark.state.snapshot_policy._MOST_LOGS", dice.choice([1, 2, 4, 1000]))
        cramped.setattr("headwater.spark.state.snapshot_policy._FEW_ROWS", dice.choice([0, 10, 10**9]))
        hold(lambda case: _agrees_over_time(case, shards, kind, seed), timed_case(seed))
