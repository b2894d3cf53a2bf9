"""Documents on shards that live in a checkpoint, with the mishaps of `kept` in every batch."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from headwater.exchange import Member, Outcome, choose, hash_values, owners
from headwater.semistructured.sharded import BaseChanges, GivenDocument, base_changes, compile_for_shards, key_text
from headwater.spark.state.checkpoint import Assignment
from headwater.spark.state.query_definition import QueryDefinition
from headwater.spark.state.shard_cache import Done, ShardCache
from tests.spark.kept import Kept, Run, lockstep

Keyed = tuple[str, Any]


class KeptDocuments(Kept):
    """What the feed adds up to is in `shown`."""

    def __init__(self, text: str, folder: Path, shards: int, dice: random.Random) -> None:
        compiled = compile_for_shards(text)
        self.views = compiled.views
        self.sharding = choose(compiled.program, {}, max(2, shards), kinds=("exchange", "single"))
        shards = 1 if self.sharding.kind == "single" else shards
        self.definition = QueryDefinition.of(compiled.program, self.sharding, shards)
        self.path, self.dice = str(folder), dice
        self.workers = [ShardCache() for _ in range(3)]
        self.batch = -1
        self.outputs = ()
        self.shown: dict[str, dict[str, str]] = {name: {} for name in self.views.names}
        self._new_driver()

    def put(self, documents: dict[Keyed, Any], removed: list[Keyed]) -> None:
        """One batch, with whatever happens in it."""
        self.batch += 1
        given: list[list[GivenDocument]] = [[] for _ in range(self.definition.shards)]
        for name, key in (*documents, *removed):
            text = json.dumps(documents[name, key]).encode() if (name, key) in documents else None
            home = int(owners(hash_values([f"{name}\0{key_text(key)}"]), len(given))[0])
            given[home].append(GivenDocument(name, key_text(key), text))
        tables: Any = (given, None, None)
        while self.dice.random() < 0.35:
            self._given_up(*tables)
            self._new_driver()
        done = lockstep(self.runs(self.assignment(), *tables))
        self._commit([one.report for one in done], tables)
        self._follow(done)
        for worker in self.workers:
            if self.dice.random() < 0.3:
                worker.clear()

    def _follow(self, done: list[Done]) -> None:
        """What is committed may be another attempt: all of them change the same."""
        for side in (1, 0):
            for one in done:
                for view, changes in one.outcome.changes.items():
                    for oid, text in zip(*changes[side].to_pydict().values(), strict=True):
                        if side:
                            assert self.shown[view].pop(oid) == text
                        else:
                            assert self.shown[view].setdefault(oid, text) is text

    def documents(self, view: str) -> dict[str, str]:
        found: dict[str, str] = {}
        assignment = self.assignment()
        for shard in range(self.definition.shards):
            worker = self.dice.choice([ShardCache(), *self.workers])
            with worker.reading(assignment, shard) as member:
                rows = self.views.rows(member, view).to_pydict()
            found |= dict(zip(rows["oid"], rows["document"], strict=True))
        return found

    def runs(self, assignment: Assignment, given: Any, _: Any = None, now: int | None = None) -> list[Run]:
        return [self._run(assignment, shard, own) for shard, own in enumerate(given)]

    def _run(self, assignment: Assignment, shard: int, given: list[GivenDocument]) -> Run:
        with self.dice.choice(self.workers).reading(assignment, shard) as member:
            change = base_changes(member, given)
        shown = self._showing(change, first=assignment.committed is None)
        worker = self.dice.choice(self.workers)
        return worker.transaction(assignment, shard, change.inserts, change.deletes, shown=shown)

    def _showing(self, change: BaseChanges, *, first: bool) -> Any:
        def shown(member: Member, outcome: Outcome) -> Outcome:
            return replace(outcome, changes=self.views.changes(member, outcome, change, first=first))

        return shown
