"""The worlds of a database, maintained with every transaction of its engine, and what can be read off them.

The worlds follow the program without leases, over the base rows that are alive: a row that ends is a delete like any
other. So their tables lack the engine's lease columns, and `LeaseTranslation` maps rows between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headwater.engine.reading import Codes, Matrix, tables
from headwater.engine.shard import Change, Shard
from headwater.plan.model import Plan, Table
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function
from headwater.provenance.functions.node_budget import NodeBudget
from headwater.provenance.functions.variables import Fact, Order
from headwater.provenance.worlds.all_derivations import Row
from headwater.provenance.worlds.worlds import Worlds


class KeptWorlds:
    """The worlds of a shard; `follow` and `keep` bring them through each of its transactions."""

    def __init__(
        self, shard: Shard, plan: Plan, nodes: int, order: Order, packed: Mapping[str, Any] | None = None
    ) -> None:
        """`plan` is the engine's, without leases. `packed`: the worlds as saved; without it they are computed."""
        self._nodes = nodes
        self._order = order
        self._shard = shard
        self._fresh: Worlds | None = None
        self.worlds = self._empty(shard, plan)
        if packed is None:
            self.worlds.load(*_base_rows(self.worlds, shard))
        else:
            self.worlds.unpack(packed, _base_rows(self.worlds, shard)[0])
            self._refuse_others()

    def _empty(self, shard: Shard, plan: Plan) -> Worlds:
        return Worlds(plan, shard.symbols, NodeBudget(self._nodes), self._order)

    def _refuse_others(self) -> None:
        """Raise ValueError if the worlds, where all facts are there, have other rows than the engine."""
        for name, engine in tables(self._shard.stores).items():
            if name in self.worlds.stores and engine.table.types == self.worlds.tables[name].types:
                held = {row for row, function in self.worlds.rows(name) if absorption.holds(function)}
                if held != set(map(tuple, engine.codes(engine.alive()).tolist())):
                    raise ValueError(f"its provenance of `{name}` is of other rows")

    def follow(self, shard: Shard, plan: Plan, changes: Mapping[str, Change], check: Callable[[], None]) -> None:
        """Repeat a transaction of the engine; `keep` commits it. Another engine's rows are loaded whole."""
        if shard is not self._shard:
            fresh = self._empty(shard, plan)
            fresh.load(*_base_rows(fresh, shard), check)
            self._fresh = fresh
            return
        inserts: dict[str, Codes] = {}
        deletes: dict[str, Codes] = {}
        for name, change in changes.items():
            table = shard.stores[name].table
            if table.base and name in self.worlds.stores:
                came, went = change.inserted.astype(np.int64), change.deleted.astype(np.int64)
                inserts[name], deletes[name] = (came, went) if table.life is None else _net(came, went, table)
        self.worlds.apply(inserts, deletes, check)

    def keep(self, shard: Shard) -> None:
        """The engine has committed the transaction."""
        if self._fresh is None:
            self.worlds.commit()
        else:
            self.worlds, self._fresh, self._shard = self._fresh, None, shard

    def function(self, table: str, codes: Codes) -> Function:
        """The worlds that have a row, given as the engine has it."""
        return LeaseTranslation(self.worlds, self._shard).function(table, codes)

    def without(self, deletes: Mapping[str, Codes]) -> dict[str, Change]:
        """What deleting these facts would change, read off the functions."""
        worlds, translation = self.worlds, LeaseTranslation(self.worlds, self._shard)
        facts = [fact for name, codes in deletes.items() for fact in translation.facts(name, codes)]
        absent = [worlds.variables[fact] for fact in dict.fromkeys(facts)]
        changes: dict[str, Change] = {}
        for name in translation.tables:
            came: list[Row] = []
            went: list[Row] = []
            for row, function in worlds.rows(name):
                if absorption.depends(function, absent):
                    before, after = absorption.holds(function), absorption.holds(function, absent)
                    if before != after:
                        (came if after else went).append(row)
            if came or went:
                changes[name] = Change(translation.stored(name, came), translation.stored(name, went))
        return changes

    def impact(self, table: str, views: Mapping[str, Callable[[Matrix], Matrix]]) -> dict[Fact, dict[str, int]]:
        """For each fact of a table how many rows of the views, of those asked for, are there only because of it."""
        worlds, translation = self.worlds, LeaseTranslation(self.worlds, self._shard)
        found = {worlds.variables[fact]: dict.fromkeys(views, 0) for fact in worlds.variables if fact[0] == table}
        for view, asked in views.items():
            held = [(row, function) for row, function in worlds.rows(view) if absorption.holds(function)]
            seen = {tuple(row) for row in asked(translation.stored(view, [row for row, _ in held])).tolist()}
            for row, function in held:
                if tuple(translation.stored(view, [row])[0].tolist()) in seen:
                    whole = translation.with_any_time(view, row, function)
                    for number in absorption.diagram(whole).needed():
                        if number in found:
                            found[number][view] += 1
        return {worlds.fact(number): counts for number, counts in found.items()}


class LeaseTranslation:
    """Maps rows of an engine to rows of worlds without leases, and back."""

    def __init__(self, worlds: Worlds, shard: Shard) -> None:
        self._worlds = worlds
        self._shard = shard
        self.tables = [name for name in worlds.stores if name in shard.stores]

    def stored(self, name: str, rows: list[Row]) -> Matrix:
        """Rows of the worlds as the engine has them; columns that the worlds lack are 0."""
        worlds, engine = self._worlds.tables[name], self._shard.stores[name].table
        found = np.array(rows, dtype=np.int64).reshape(len(rows), len(worlds.types))
        if worlds.types == engine.types:
            return found
        out: Matrix = np.zeros((len(rows), len(engine.types)), dtype=np.int64)
        for here, there in _shared_columns(worlds, engine):
            out[:, there] = found[:, here]
        return out

    def function(self, name: str, codes: Codes) -> Function:
        """The worlds that have a row of the engine, at whatever time."""
        worlds, engine = self._worlds.tables[name], self._shard.stores[name].table
        row = without_lease(worlds, engine, codes)
        if worlds.time is None and engine.time is None:
            return self._worlds.function(name, row)
        return self._worlds.budget.any_of(self._like(name, row))

    def with_any_time(self, name: str, row: Row, function: Function) -> Function:
        """The function of a row of the worlds, and of those that differ from it in their time alone."""
        if self._worlds.tables[name].time is None:
            return function
        return self._worlds.budget.any_of(self._like(name, row))

    def facts(self, name: str, codes: Codes) -> list[Fact]:
        """The facts that a delete of these rows, as written, takes away."""
        table = self._shard.stores[name].table
        given = {tuple(row) for row in codes.tolist()}
        if table.life is None:
            return [(name, row) for row in given if (name, row) in self._worlds.variables]
        same = [at for at in table.identity if at < codes.shape[1]]
        wanted = {tuple(row[at] for at in same) for row in given}
        held = (row for relation, row in self._worlds.variables if relation == name)
        return [(name, row) for row in held if tuple(row[at] for at in same) in wanted]

    def _like(self, name: str, row: Row) -> list[Function]:
        time = self._shard.stores[name].table.time
        same = [at for at in range(len(row)) if at != time]
        rows = self._worlds.rows(name)
        return [function for other, function in rows if all(other[at] == row[at] for at in same)]


def without_lease(worlds: Table, engine: Table, codes: Codes) -> Row:
    """A row of an engine in the columns of worlds."""
    row = [0] * len(worlds.types)
    for here, there in _shared_columns(worlds, engine):
        row[here] = int(codes[0, there])
    return tuple(row)


def _shared_columns(worlds: Table, engine: Table) -> list[tuple[int, int]]:
    """Where the columns of a relation are stored, in the worlds and in the engine."""
    places = (
        range(len(table.types)) if table.shown is None else [column.at for column in table.shown]
        for table in (worlds, engine)
    )
    return [(here, there) for here, there in zip(*places, strict=True) if here is not None and there is not None]


def _base_rows(worlds: Worlds, shard: Shard) -> tuple[dict[str, Codes], dict[str, Codes]]:
    """All base rows that are alive: those that users inserted, and those that the program states."""
    facts: dict[str, Codes] = {}
    stated: dict[str, Codes] = {}
    readers = tables(shard.stores)
    for name, table in worlds.tables.items():
        if table.base:
            rows = readers[name].alive()
            inserted = readers[name].inserted(rows)
            whole = readers[name].codes(rows)[:, : len(table.types)]  # leases stand last
            facts[name], stated[name] = whole[inserted], whole[~inserted]
    return facts, stated


def _net(came: Codes, went: Codes, table: Table) -> tuple[Codes, Codes]:
    """Rows that came and went, without their leases: a renewed row is in neither."""
    width = came.shape[1] - (table.lease is not None)
    new, old = (dict.fromkeys(map(tuple, codes[:, :width].tolist())) for codes in (came, went))
    only_new, only_old = [row for row in new if row not in old], [row for row in old if row not in new]
    added, removed = (np.array(rows, dtype=np.int64).reshape(len(rows), width) for rows in (only_new, only_old))
    return added, removed
