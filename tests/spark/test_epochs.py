"""Two runs on one checkpoint: the later one takes it over, the earlier one stops, and no batch is lost or torn."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path

import pytest

from headwater.core.errors import StateError
from headwater.spark.folders.local import LocalFolder
from headwater.spark.state import epochs
from headwater.spark.state.checkpoint import BatchNotes, Checkpoint
from headwater.spark.state.manifest import Report
from tests.spark.test_checkpoint import BATCHES, Query, expected, files, folders

TAKEN = (
    r"error\[HW931\]: another run has opened the checkpoint .*: this run had epoch 1, taken at \S+ by .*, process \d+"
)


def test_a_later_run_leaves_the_files_of_a_batch_in_flight_alone(tmp_path: Path) -> None:
    first = Query(tmp_path)
    first.run(1)
    written = first.reports(1, *BATCHES[1])
    before = files(tmp_path)
    second = Query(tmp_path)
    assert before - files(tmp_path) == {"headwater/epoch-1"}
    with pytest.raises(StateError, match=TAKEN + r"; the other one has epoch 2, taken at \S+ by .*, process \d+\. "):
        first.driver.commit(first.definition, 1, written)
    second.run()
    assert Query(tmp_path).reach() == expected(len(BATCHES))


def test_a_commit_just_after_the_epoch_was_taken_counts(tmp_path: Path) -> None:
    """The earlier run had checked its epoch, and then took its time to create the manifest."""
    first = Query(tmp_path)
    first.run(1)
    made = first.driver.prepared(first.definition, 1, first.reports(1, *BATCHES[1]), BatchNotes(rejected={"link": 10}))
    second = Query(tmp_path)
    theirs = second.reports(1, *BATCHES[1])
    assert first.driver.folder.create("manifest-1", made.to_bytes())
    assert second.driver.commit(second.definition, 1, theirs, BatchNotes(rejected={"link": 1})) == made
    second.run()
    assert Query(tmp_path).reach() == expected(len(BATCHES))
    assert second.driver.manifest is not None
    assert second.driver.manifest.rejected == {"link": 13}
    assert files(tmp_path / "headwater") == second.driver._named() | {"manifest-2", "manifest-3", "epoch-3"}
    with pytest.raises(StateError, match=TAKEN):
        first.driver.hold()


def test_a_batch_that_spark_knows_to_be_committed_is_looked_for(tmp_path: Path) -> None:
    first = Query(tmp_path)
    first.run(1)
    made = first.driver.prepared(first.definition, 1, first.reports(1, *BATCHES[1]))
    second = Query(tmp_path)
    first.driver.folder.create("manifest-1", made.to_bytes())
    assert second.driver.is_due(2)
    assert second.driver.committed == 1


def test_a_commit_that_names_a_file_which_is_gone_is_refused(tmp_path: Path) -> None:
    query = Query(tmp_path)
    query.run(2)
    reports = query.reports(2, *BATCHES[2])
    lost = tmp_path / "headwater" / reports[1].part.logs[-1].name
    lost.unlink()
    with pytest.raises(StateError, match=rf"batch 2 is not committed: .* lacks shard-1/{lost.name}, which the shards"):
        query.driver.commit(query.definition, 2, reports)
    assert Query(tmp_path).reach() == expected(2)


def test_the_first_commit_of_a_run_looks_for_all_files(tmp_path: Path) -> None:
    Query(tmp_path).run(2)
    again = Query(tmp_path)
    reports = again.reports(2, *BATCHES[2])
    (tmp_path / "headwater" / reports[0].part.logs[0].name).unlink()
    with pytest.raises(StateError, match="batch 2 is not committed"):
        again.driver.commit(again.definition, 2, reports)


def test_a_run_whose_checkpoint_was_replaced_stops(tmp_path: Path) -> None:
    query = Query(tmp_path / "one")
    query.run(1)
    mine = tmp_path / "one" / "headwater" / "epoch-1"
    mine.unlink()
    with pytest.raises(
        StateError, match=r"error\[HW931\]: the checkpoint .* was removed or replaced .* \(it had epoch 1"
    ):
        query.driver.hold()
    mine.write_bytes(epochs.Epoch(1, "another", "then", "somebody").to_bytes())
    with pytest.raises(StateError, match=r"the other one has epoch 1, taken at then by somebody\."):
        query.driver.hold()
    mine.write_text("damaged")
    with pytest.raises(StateError, match=r"the other one has epoch 1, taken at an unknown time by an unknown run"):
        query.driver.hold()
    assert epochs.take(query.driver.folder, 0).number == 2


def test_readers_take_no_epoch(tmp_path: Path) -> None:
    query = Query(tmp_path)
    query.run(1)
    assert Checkpoint(str(tmp_path)).committed == 0
    assert query.driver.hold().number == 1


def test_a_checkpoint_for_something_else_is_not_taken(tmp_path: Path) -> None:
    query = Query(tmp_path)
    query.run(1)
    with pytest.raises(StateError, match="belongs to another query"):
        Query(tmp_path, shards=3)
    assert query.driver.hold().number == 1


def test_no_two_runs_take_the_same_epoch(tmp_path: Path) -> None:
    where = LocalFolder(str(tmp_path))
    taken: list[epochs.Epoch] = []
    start = threading.Barrier(8)

    def take() -> None:
        start.wait()
        taken.extend(epochs.take(where, 0) for _ in range(5))

    runs = [threading.Thread(target=take) for _ in range(8)]
    for one in runs:
        one.start()
    for one in runs:
        one.join()
    assert sorted(one.number for one in taken) == list(range(1, 41))
    assert epochs.latest(where) == max(taken, key=lambda one: one.number)
    assert {one.name: json.loads(where.read(one.name))["run"] for one in taken} == {one.name: one.run for one in taken}


def test_epochs_wherever_files_are(tmp_path: Path) -> None:
    for where in folders(tmp_path):
        assert epochs.latest(where) is None
        first = epochs.take(where, 6)
        assert (first.number, epochs.latest(where)) == (7, first)
        assert epochs.lost(where, first, "it") is None
        second = epochs.take(where, 0)
        assert epochs.older(where, second) == ["epoch-7"]
        assert f"this run had {first}; the other one has {second}." in str(epochs.lost(where, first, "it"))
        assert where.missing(["epoch-7", "epoch-8", "epoch-9", "a/b"]) == ["epoch-9", "a/b"]


class Runs:
    """Runs on one checkpoint that take their steps (open, work, commit, die) in any order."""

    def __init__(self, path: Path, dice: random.Random) -> None:
        self.path, self.dice = path, dice
        self.live: list[Query] = []
        self.reported: dict[Query, tuple[int, list[Report]]] = {}
        self.stopped = 0

    def step(self) -> None:
        if not self.live or self.dice.random() < 0.2:
            self.live.append(Query(self.path))
        one = self.dice.choice(self.live)
        if self.dice.random() < 0.1:
            self.live.remove(one)  # killed
            return
        try:
            self.go_on(one)
        except StateError as problem:
            if "error[HW931]" not in str(problem):
                raise
            self.live.remove(one)
            self.stopped += 1

    def go_on(self, one: Query) -> None:
        batch = 0 if one.driver.committed is None else one.driver.committed + 1
        if one not in self.reported:
            if batch < len(BATCHES):
                self.reported[one] = batch, one.reports(batch, *BATCHES[batch])
            return
        batch, reports = self.reported.pop(one)
        if self.dice.random() < 0.3:  # another one opens the checkpoint after the check, before the commit
            one.driver.hold()
            made = one.driver.prepared(one.definition, batch, reports, BatchNotes(rejected={"link": 1}))
            self.live.append(Query(self.path))
            one.driver.folder.create(f"manifest-{batch}", made.to_bytes())
            self.live.remove(one)
        else:
            one.driver.commit(one.definition, batch, reports, BatchNotes(rejected={"link": 1}))


def test_runs_in_any_order_of_their_steps(tmp_path: Path) -> None:
    """Whatever their order is, each batch counts once, and all that was committed can be read."""
    stopped = 0
    for seed in range(12):
        runs = Runs(tmp_path / str(seed), random.Random(seed))
        for _ in range(30):
            runs.step()
            reader = Checkpoint(str(runs.path))
            assert reader.manifest is None or not reader.folder.missing(sorted(reader.manifest.files))
        last = Query(runs.path)
        done = last.driver.committed
        if done is not None:
            assert last.reach() == expected(done + 1)
        last.run()
        assert last.reach() == expected(len(BATCHES))
        assert last.driver.manifest is not None
        assert last.driver.manifest.rejected == {"link": len(BATCHES)}, "no batch twice, none lost"
        stopped += runs.stopped
    assert stopped > 10
