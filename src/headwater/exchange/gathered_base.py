"""Base rows of several shards in one process: all of them, or those that one row can depend on.

What a row can depend on is found as for questions to one process (see `headwater.provenance.demand`): rules lead from
the row to the values that each table is asked for. Here base tables are asked too, and the shards give the rows with
these values. What they give leads to further values, so they are asked again, until nothing more is asked for.

A database of these rows alone gives the same answers about the row as one of all rows: whether the row holds in a
world, a set of base rows, is decided by the rows found in that world. For every rule that could derive a row asked for,
every goal is asked by values that the goals before it bind, in all worlds at once: negated goals by the values that
they would have, an aggregate by its whole group, and what has no known value by the whole table. So for every row asked
for the same derivations are there, the same rows against them, and the same bindings of its groups. More base rows than
these change nothing. A proof rests on rows asked for alone, and so is a proof over all rows, too.

Where rows live by a clock, all base rows that the row's relation rests on are gathered: a window shows at each moment
other rows of the same stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from headwater.core.graph import reachable_from
from headwater.database import Database
from headwater.engine.border.learnt_types import Known, plan_of
from headwater.engine.codes.symbols import Codes, Symbols
from headwater.engine.guard import NO_GUARD, Guard
from headwater.engine.reading import BASE
from headwater.engine.shard import Shard
from headwater.exchange.asking import QuestionKind, RowLookup, StoredRows, question, read_answer, spent
from headwater.exchange.gathered_proof import Ask
from headwater.language.terms import reads
from headwater.pipeline import CompiledProgram
from headwater.plan.model import Table
from headwater.program.time.program_clock import clock_type
from headwater.provenance import Demand, NodeBudget, Search, TableQuestion


class GatheredBase:
    """Base rows from all shards, under the plan of one process."""

    def __init__(self, program: CompiledProgram, known: Known, shards: int, ask: Ask, most: int | None) -> None:
        self._program = program
        self._known = known
        running = program.fitted(known)
        self._model = running.rewritten
        self.plan = plan_of(self._model, known)
        keys = {relation.name: relation.key for relation in self._model.relations if relation.key is not None}
        self.shard = Shard(self.plan, Symbols(), keys, NO_GUARD)
        self._shards = shards
        self._ask = ask
        self._most = most
        self._rows: dict[str, list[tuple[StoredRows, Codes]]] = {}
        self._places: set[tuple[int, str, int]] = set()

    @property
    def rows(self) -> int:
        return len(self._places)

    def take_all(self, relations: Iterable[str] | None = None) -> None:
        """Gather all base rows, or those that some relations rest on."""
        below = None if relations is None else reachable_from(relations, reads(self._model.rules))
        bases = [table for table in self.plan.tables if table.base]
        wanted = [table for table in bases if below is None or (table.stands_for or table.name) in below]
        self._fetch([_all_of(table) for table in wanted])

    def take_below(self, relation: str, codes: Codes) -> None:
        """Gather what a row, in the columns of its table, can depend on."""
        if clock_type(self._model) is not None:
            self.take_all([relation])
            return
        demand = Demand(self.plan, relation, asks_base=True)
        nodes = NodeBudget(2**31 - 1)  # what is gathered is bounded
        tables = {table.name: table for table in self.plan.tables}
        asked: dict[TableQuestion, set[tuple[int, ...]]] = {}
        row = codes[0].tolist()
        while True:
            search = Search(self.shard, demand, row, nodes, lambda: None)
            lookups = []
            for each, values in search.asked_of_base().items():
                known = asked.setdefault(each, set())
                fresh = [value for value in map(tuple, values.tolist()) if value not in known]
                if fresh:
                    known.update(fresh)
                    keys = np.array(fresh, dtype=np.int64).reshape(len(fresh), len(each.columns))
                    lookups.append(RowLookup.of(tables[each.table], each.columns, keys, self.shard.symbols))
            if not lookups:
                return
            self._fetch(lookups)

    def database(self, columns: Mapping[str, Sequence[str]], now: int | None, guard: Guard, nodes: int) -> Database:
        """A database over what was gathered."""
        self.shard.clock.now = now
        return Database.holding(self._program, self._known, columns, self.shard, guard, nodes)

    def _fetch(self, lookups: list[RowLookup]) -> None:
        most = 2**31 - 1 if self._most is None else self._most
        asked = question(QuestionKind.BASE, lookups, most)
        for shard, content in self._ask(dict.fromkeys(range(self._shards), asked)).items():
            for stored in read_answer(content).tables:
                self._take(shard, stored)
        if self._most is not None and self.rows > self._most:
            raise spent(self._most)
        for name in {lookup.table for lookup in lookups} & self._rows.keys():
            self._load(name)

    def _take(self, shard: int, stored: StoredRows) -> None:
        places = [(shard, stored.table, number) for number in stored.numbers.tolist()]
        fresh = [at for at, place in enumerate(places) if place not in self._places]
        self._places.update(places)
        if fresh:
            stored = StoredRows(stored.table, stored.rows.take(fresh))
            codes = stored.codes(self.shard.stores[stored.table].table, self.shard.symbols)
            self._rows.setdefault(stored.table, []).append((stored, codes))

    def _load(self, name: str) -> None:
        store, held = self.shard.stores[name], self._rows[name]
        data = np.ascontiguousarray(np.concatenate([codes for _, codes in held]))
        size = data.shape[0]
        inserted = np.concatenate([stored.rules for stored, _ in held]) == BASE
        rules = np.where(inserted, BASE, 0).astype(np.int16)  # 0: any rule; the program states them anew
        witness = np.zeros((size, store.depth), dtype=np.int32)
        store.load(data, np.ones(size, dtype=store.stamp.dtype), rules, witness, size=size, count=size)
        store.bounds.include(data)


def _all_of(table: Table) -> RowLookup:
    return RowLookup.of(table, (), np.zeros((1, 0), dtype=np.int64), Symbols())
