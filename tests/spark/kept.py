"""A program over shards that live in a checkpoint, as the oracle's harness sees it, with mishaps in every batch.

There is a driver that may die between any two steps of a batch, or be overtaken by another one, and three workers, each
with a cache of its own, any of which may get any shard and may forget everything at any time.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.errors import StateError
from headwater.core.types import Type
from headwater.engine.driver import drive_together
from headwater.exchange.sharding import choose
from headwater.exchange.wire import Incoming, Outgoing, ship
from headwater.spark.state.checkpoint import Assignment, Checkpoint
from headwater.spark.state.manifest import Manifest, Report
from headwater.spark.state.query_definition import QueryDefinition
from headwater.spark.state.shard_cache import Done, ShardCache
from tests.exchange.sharded import NoQuestions, NotPlaced, to_rows, to_table
from tests.oracle.harness import Changes
from tests.oracle.program import Program, Row, to_text
from tests.oracle.scripts import Rows

Run = Generator[Outgoing, Incoming, Done]
Tables = tuple[dict[str, pa.Table], dict[str, pa.Table], int | None]


def lockstep(runs: Sequence[Run]) -> list[Done]:
    """Drive the transactions of all shards, round by round."""
    return drive_together(runs, ship)


def _reports(done: Sequence[Done]) -> list[Report]:
    return [Report.from_text(one.report.to_text()) for one in done]


class Kept(NoQuestions):
    def __init__(self, program: Program, folder: Path, shards: int, kind: str, dice: random.Random) -> None:
        known = {base.name: tuple(map(Type, base.types)) for base in program.bases}
        self._begin(to_text(program), tuple(program.outputs), known, folder, shards, kind, dice)

    @classmethod
    def of_text(cls, text: str, outputs: tuple[str, ...], folder: Path, shards: int, kind: str, seed: int = 0) -> Kept:
        self = cls.__new__(cls)
        self._begin(text, outputs, {}, folder, shards, kind, random.Random(seed))
        return self

    def _begin(
        self, text: str, outputs: tuple[str, ...], known: Any, folder: Path, shards: int, kind: str, dice: random.Random
    ) -> None:
        compiled = hw.compile(text)
        try:
            self.sharding = choose(compiled, known, max(2, shards), kinds=(kind,))
        except ValueError:
            raise NotPlaced from None
        self.definition = QueryDefinition.of(compiled, self.sharding, shards, known=known)
        self.outputs = outputs
        self.path = str(folder)
        self.dice = dice
        self.workers = [ShardCache() for _ in range(3)]
        self.batch = -1
        self._new_driver()
        self.apply({}, {})

    # The harness's side

    def apply(self, insert: Rows, delete: Rows, now: int | None = None) -> Changes:
        self.batch += 1
        tables = self._arrow(insert), self._arrow(delete), now
        while self.dice.random() < 0.35:
            self._given_up(*tables)
            self._new_driver()
        assignment = self.assignment()
        done = self.run(assignment, *tables)
        if self.dice.random() < 0.2:  # somebody else did it as well; one of the two is committed
            other = self.run(assignment, *tables)
            done = self.dice.choice((done, other))
        self._commit(_reports(done), tables)
        assert not self.driver.is_due(self.batch)
        for worker in self.workers:
            if self.dice.random() < 0.3:
                worker.clear()
        return {
            view: tuple([row for one in done for row in to_rows(one.outcome.changes[view][side])] for side in (0, 1))
            for view in self.outputs
        }

    def rows(self, relation: str) -> set[Row]:
        found: list[Row] = []
        assignment = self.assignment()
        for shard in range(self.definition.shards):
            worker = self.dice.choice([ShardCache(), *self.workers])
            with worker.reading(assignment, shard) as member:
                found += to_rows(member.rows(relation))
        assert len(found) == len(set(found)), "a row lives on one shard"
        return set(found)

    # What happens

    def assignment(self) -> Assignment:
        return self.driver.assignment(self.definition, self.sharding, self.batch)

    def runs(
        self, assignment: Assignment, inserts: dict[str, pa.Table], deletes: dict[str, pa.Table], now: int | None = None
    ) -> list[Run]:
        shards = self.definition.shards
        moments = [one for one in (now, self.sharding.latest(inserts)) if one is not None]
        now = max(moments, default=None)
        came, went = (self.sharding.route_changes(changes, shards) for changes in (inserts, deletes))
        return [
            self.dice.choice(self.workers).transaction(assignment, shard, came[shard], went[shard], now=now)
            for shard in range(shards)
        ]

    def run(
        self, assignment: Assignment, inserts: dict[str, pa.Table], deletes: dict[str, pa.Table], now: int | None = None
    ) -> list[Done]:
        return lockstep(self.runs(assignment, inserts, deletes, now))

    def _given_up(self, inserts: dict[str, pa.Table], deletes: dict[str, pa.Table], now: int | None = None) -> None:
        """An attempt that ends before its manifest is there: at its start, in its midst, or with all logs written."""
        runs = self.runs(self.assignment(), inserts, deletes, now)
        match self.dice.randrange(3):
            case 0:
                for run in runs[: self.dice.randrange(len(runs) + 1)]:
                    next(run, None)
                if self.dice.random() < 0.5:
                    for run in runs:
                        run.close()
            case 1:
                lockstep(runs)
            case _:
                pass

    def _commit(self, reports: list[Report], tables: Tables) -> None:
        chance = self.dice.random()
        if chance < 0.3:  # the driver dies when the manifest is there, and nothing is cleaned up
            self._create(self.driver, reports)
            self._new_driver()
        elif chance < 0.4:  # another run has opened the checkpoint: what this one did counts for nothing
            earlier = self.driver
            self._new_driver()
            with pytest.raises(StateError, match=r"error\[HW931\]"):
                earlier.commit(self.definition, self.batch, reports)
            self.driver.commit(self.definition, self.batch, _reports(self.run(self.assignment(), *tables)))
        elif chance < 0.5:  # or it opened it just before this one's manifest is there: that counts, and not its own
            earlier = self.driver
            self._new_driver()
            others = _reports(self.run(self.assignment(), *tables))
            made = self._create(earlier, reports)
            assert self.driver.commit(self.definition, self.batch, others) == made
        else:
            self.driver.commit(self.definition, self.batch, reports)

    def _create(self, driver: Checkpoint, reports: list[Report]) -> Manifest:
        manifest = driver.prepared(self.definition, self.batch, reports)
        assert driver.folder.create(f"manifest-{self.batch}", manifest.to_bytes())
        return manifest

    def _new_driver(self) -> None:
        self.driver = Checkpoint(self.path)
        self.driver.resume(self.definition)

    def _arrow(self, rows: Rows) -> dict[str, pa.Table]:
        return {name: to_table(self.sharding.table(name), list(many)) for name, many in rows.items()}
