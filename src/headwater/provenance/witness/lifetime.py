"""Until when a row holds if nothing more comes.

Where every row below carries its lease, the answer is stored: the latest lease among the versions of the row. Rows
that rest on totals, on the best of a group or on an absence can end, or be borne by something else, when rows below
them end; there the future is played through, from one end of a lease to the next, and taken back.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headwater.core.graph import reachable
from headwater.engine.best.selection import find_identity, rows_with
from headwater.engine.shard import Shard
from headwater.engine.store.store import Store
from headwater.program.time.program_clock import FOREVER


def valid_until(shard: Shard, table: str, row: int) -> int | None:
    """The moment at which a row alive ends; None: never."""
    store = shard.stores[table]
    reads = _reads(shard)
    cone = reachable(table, reads)
    if not any(shard.stores[name].table.lasting for name in cone):
        return None
    kept = shard.stores.get(f"{table}'kept", store)
    if _told_by_leases(shard, kept.name, reachable(kept.name, reads)):
        return _stored(kept, store, row)
    codes = store.data[row : row + 1].astype(np.int64)
    for moment in _ends(shard, cone):
        if shard.at(moment, lambda: find_identity(store, codes)) < 0:
            return moment
    return None


def _reads(shard: Shard) -> dict[str, set[str]]:
    reads: dict[str, set[str]] = {}
    for rule in shard.plan.rules:
        reads.setdefault(rule.table, set()).update(rule.atoms, rule.negated)
    for one in shard.plan.aggregations:
        reads.setdefault(one.table, set()).update(source.table for source in one.contributions)
    return reads


def _told_by_leases(shard: Shard, table: str, cone: set[str]) -> bool:
    """Whether the leases of a table's rows tell all there is to tell."""
    reads = _reads(shard)
    ending = {name for name in cone if any(shard.stores[one].table.lasting for one in reachable(name, reads))}
    absent = {name for rule in shard.plan.rules if rule.table in cone for name in rule.negated}
    return not ending & absent and all(shard.stores[name].table.lasting for name in ending)


def _stored(kept: Store, store: Store, row: int) -> int | None:
    lease = kept.table.lease
    assert lease is not None
    identity = store.table.identity
    keys = np.ascontiguousarray(store.data[row : row + 1, list(identity)].astype(np.int64))
    rows = rows_with(kept.index(identity), keys, kept)[1]
    until = int(kept.data[rows, lease].max())
    return None if until >= FOREVER else until


def _ends(shard: Shard, cone: set[str]) -> Iterator[int]:
    """The moments at which base rows that a table rests on end, in order."""
    found: set[int] = set()
    for name in cone:
        store = shard.stores[name]
        if store.table.base and store.table.lease is not None:
            found.update(np.unique(store.data[store.alive(), store.table.lease]).tolist())
    return iter(sorted(moment for moment in found if moment < FOREVER))
