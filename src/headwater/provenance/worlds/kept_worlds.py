"""The worlds of a database, kept in step with its engine, and what can be read off them at once.

Rows that end: the worlds follow the program without leases, over the base rows that are alive; when one ends, that is a
delete like any other. So their tables have the engine's columns but for the lease, and `Translated` goes between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headwater.engine.codes.symbols import Codes
from headwater.engine.shard import Change, Shard
from headwater.engine.store.index import Matrix
from headwater.engine.store.states import BASE
from headwater.plan.model import Plan, Table
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function
from headwater.provenance.functions.node_budget import Room
from headwater.provenance.functions.variables import Fact, Order
from headwater.provenance.worlds.all_derivations import Row
from headwater.provenance.worlds.worlds import Worlds


class Absorbed:
    def __init__(
        self, shard: Shard, plan: Plan, nodes: int, order: Order, packed: Mapping[str, Any] | None = None
    ) -> None:
        """`plan` is the engine's, without leases. `packed`: the worlds as they were saved; else they are worked out."""
        self._nodes = nodes
        self._order = order
        self._shard = shard
        self._fresh: Worlds | None = None
        self.worlds = self._empty(shard, plan)
        if packed is None:
            self._load(self.worlds, shard, lambda: None)
        else:
            self.worlds.unpack(packed, self._base_rows(self.worlds, shard)[0])
            self._refuse_others()

    def _empty(self, shard: Shard, plan: Plan) -> Worlds:
        return Worlds(plan, shard.symbols, Room(self._nodes), self._order)

    @staticmethod
    def _load(worlds: Worlds, shard: Shard, check: Callable[[], None]) -> None:
        """Take in all base rows that are alive."""
        worlds.load(*Absorbed._base_rows(worlds, shard), check)

    @staticmethod
    def _base_rows(worlds: Worlds, shard: Shard) -> tuple[dict[str, Codes], dict[str, Codes]]:
        """All base rows that are alive: those that users inserted, and those that the program states."""
        facts: dict[str, Codes] = {}
        stated: dict[str, Codes] = {}
        for name, store in worlds.stores.items():
            if store.table.base:
                rows = shard.stores[name].alive()
                own = shard.stores[name].rules[rows] == BASE
                whole = shard.stores[name].data[:, : store.width]  # leases stand last
                facts[name], stated[name] = whole[rows[own]].astype(np.int64), whole[rows[~own]].astype(np.int64)
        return facts, stated

    def _refuse_others(self) -> None:
        """Raise ValueError if the worlds, where all facts are there, have other rows than the engine."""
        for name in Translated(self.worlds, self._shard).tables:
            engine = self._shard.stores[name]
            if engine.table.types == self.worlds.stores[name].table.types:
                held = {row for row, function in self.worlds.rows(name) if absorption.holds(function)}
                if held != set(map(tuple, engine.data[engine.alive()].tolist())):
                    raise ValueError(f"its provenance of `{name}` is of other rows")

    def follow(self, shard: Shard, plan: Plan, changes: Mapping[str, Change], check: Callable[[], None]) -> None:
        """Make a transaction of the engine, to be ended by `keep`. Another engine is taken in whole."""
        if shard is not self._shard:
            fresh = self._empty(shard, plan)
            self._load(fresh, shard, check)
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
        """The engine has kept the transaction."""
        if self._fresh is None:
            self.worlds.commit()
        else:
            self.worlds, self._fresh, self._shard = self._fresh, None, shard

    def function(self, table: str, codes: Codes) -> Function:
        """The worlds that have a row, given as the engine has it."""
        return Translated(self.worlds, self._shard).function(table, codes)

    def without(self, deletes: Mapping[str, Codes]) -> dict[str, Change]:
        """What deleting these facts would change, read off the functions."""
        worlds, translated = self.worlds, Translated(self.worlds, self._shard)
        facts = [fact for name, codes in deletes.items() for fact in translated.facts(name, codes)]
        absent = [worlds.variables[fact] for fact in dict.fromkeys(facts)]
        changes: dict[str, Change] = {}
        for name in translated.tables:
            came: list[Row] = []
            went: list[Row] = []
            for row, function in worlds.rows(name):
                if absorption.depends(function, absent):
                    before, after = absorption.holds(function), absorption.holds(function, absent)
                    if before != after:
                        (came if after else went).append(row)
            if came or went:
                changes[name] = Change(translated.stored(name, came), translated.stored(name, went))
        return changes

    def impact(self, table: str, views: Mapping[str, Callable[[Matrix], Matrix]]) -> dict[Fact, dict[str, int]]:
        """For each fact of a table how many rows of the views, of those asked for, are there only because of it."""
        worlds, translated = self.worlds, Translated(self.worlds, self._shard)
        found = {worlds.variables[fact]: dict.fromkeys(views, 0) for fact in worlds.variables if fact[0] == table}
        for view, asked in views.items():
            held = [(row, function) for row, function in worlds.rows(view) if absorption.holds(function)]
            seen = {tuple(row) for row in asked(translated.stored(view, [row for row, _ in held])).tolist()}
            for row, function in held:
                if tuple(translated.stored(view, [row])[0].tolist()) in seen:
                    whole = translated.with_any_time(view, row, function)
                    for number in absorption.diagram(whole).needed():
                        if number in found:
                            found[number][view] += 1
        return {worlds.fact(number): counts for number, counts in found.items()}


class Translated:
    """Rows of an engine and of worlds without leases, each in the columns of the other."""

    def __init__(self, worlds: Worlds, shard: Shard) -> None:
        self._worlds = worlds
        self._shard = shard
        self.tables = [name for name in worlds.stores if name in shard.stores]

    def stored(self, name: str, rows: list[Row]) -> Matrix:
        """Rows of the worlds as the engine has them; what the worlds do not know of is 0."""
        worlds, engine = self._worlds.stores[name].table, self._shard.stores[name].table
        found = np.array(rows, dtype=np.int64).reshape(len(rows), len(worlds.types))
        if worlds.types == engine.types:
            return found
        out: Matrix = np.zeros((len(rows), len(engine.types)), dtype=np.int64)
        for here, there in zip(_places(worlds), _places(engine), strict=True):
            if here is not None and there is not None:
                out[:, there] = found[:, here]
        return out

    def function(self, name: str, codes: Codes) -> Function:
        """The worlds that have a row of the engine, at whatever time."""
        worlds, engine = self._worlds.stores[name].table, self._shard.stores[name].table
        row = without_lease(worlds, engine, codes)
        if worlds.time is None and engine.time is None:
            return self._worlds.function(name, row)
        return self._worlds.room.any_of(self._like(name, row))

    def with_any_time(self, name: str, row: Row, function: Function) -> Function:
        """The function of a row of the worlds, and of those that differ from it in their time alone."""
        if self._worlds.stores[name].table.time is None:
            return function
        return self._worlds.room.any_of(self._like(name, row))

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
        return [one for other, one in self._worlds.rows(name) if all(other[at] == row[at] for at in same)]


def without_lease(worlds: Table, engine: Table, codes: Codes) -> Row:
    """A row of an engine in the columns of worlds."""
    row = [0] * len(worlds.types)
    for here, there in zip(_places(worlds), _places(engine), strict=True):
        if here is not None and there is not None:
            row[here] = int(codes[0, there])
    return tuple(row)


def _places(table: Table) -> list[int | None]:
    """Where the columns of a relation, as the program has them, are stored."""
    return list(range(len(table.types))) if table.shown is None else [one.at for one in table.shown]


def _net(came: Codes, went: Codes, table: Table) -> tuple[Codes, Codes]:
    """Rows that came and went without their leases: one that was renewed has done neither."""
    width = came.shape[1] - (table.lease is not None)
    new = dict.fromkeys(map(tuple, came[:, :width].tolist()))
    old = dict.fromkeys(map(tuple, went[:, :width].tolist()))
    added = [row for row in new if row not in old]
    removed = [row for row in old if row not in new]
    return (
        np.array(added, dtype=np.int64).reshape(len(added), width),
        np.array(removed, dtype=np.int64).reshape(len(removed), width),
    )
