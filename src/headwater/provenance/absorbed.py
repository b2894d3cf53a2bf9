"""The worlds of a database, kept in step with its engine, and what can be read off them at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headwater.engine.index import Matrix
from headwater.engine.shard import Change, Shard
from headwater.engine.values import Codes
from headwater.provenance import absorption
from headwater.provenance.room import Room
from headwater.provenance.variables import Fact, Order
from headwater.provenance.worlds import Worlds


class Absorbed:
    def __init__(self, shard: Shard, nodes: int, order: Order, packed: Mapping[str, Any] | None = None) -> None:
        """`packed`: the worlds of this engine as they were saved; else they are worked out."""
        self._nodes = nodes
        self._order = order
        self._shard = shard
        self._fresh: Worlds | None = None
        self.worlds = self._empty(shard)
        if packed is None:
            self.worlds.load(shard.stores)
        else:
            self.worlds.unpack(packed)

    def _empty(self, shard: Shard) -> Worlds:
        return Worlds(shard.plan, shard.symbols, Room(self._nodes), self._order)

    def follow(self, shard: Shard, changes: Mapping[str, Change], check: Callable[[], None]) -> None:
        """Make a transaction of the engine, to be ended by `keep`. Another engine is taken in whole."""
        if shard is not self._shard:
            fresh = self._empty(shard)
            fresh.load(shard.stores, check)
            self._fresh = fresh
            return
        base = {name: change for name, change in changes.items() if shard.stores[name].table.base}
        inserts = {name: one.inserted.astype(np.int64) for name, one in base.items()}
        deletes = {name: one.deleted.astype(np.int64) for name, one in base.items()}
        self.worlds.apply(inserts, deletes, check)

    def keep(self, shard: Shard) -> None:
        """The engine has kept the transaction."""
        if self._fresh is None:
            self.worlds.commit()
        else:
            self.worlds, self._fresh, self._shard = self._fresh, None, shard

    def without(self, deletes: Mapping[str, Codes]) -> dict[str, Change]:
        """What deleting these facts would change, read off the functions."""
        worlds = self.worlds
        facts = [(name, tuple(row)) for name, codes in deletes.items() for row in codes.tolist()]
        absent = [worlds.variables[fact] for fact in dict.fromkeys(facts) if fact in worlds.variables]
        changes: dict[str, Change] = {}
        for name, store in worlds.stores.items():
            came: list[tuple[int, ...]] = []
            went: list[tuple[int, ...]] = []
            for row, function in worlds.rows(name):
                if absorption.depends(function, absent):
                    before, after = absorption.holds(function), absorption.holds(function, absent)
                    if before != after:
                        (came if after else went).append(row)
            if came or went:
                changes[name] = Change(_matrix(came, store.width), _matrix(went, store.width))
        return changes

    def impact(self, table: str, views: Mapping[str, Callable[[Matrix], Matrix]]) -> dict[Fact, dict[str, int]]:
        """For each fact of a table how many rows of the views, of those asked for, are there only because of it."""
        worlds = self.worlds
        found = {worlds.variables[fact]: dict.fromkeys(views, 0) for fact in worlds.variables if fact[0] == table}
        for view, asked in views.items():
            rows = dict(worlds.rows(view))
            for row in map(tuple, asked(_matrix(list(rows), worlds.stores[view].width)).tolist()):
                nodes = absorption.diagram(rows[row])
                if nodes.holds():
                    for number in nodes.needed():
                        if number in found:
                            found[number][view] += 1
        return {worlds.fact(number): counts for number, counts in found.items()}


def _matrix(rows: list[tuple[int, ...]], width: int) -> Matrix:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)
