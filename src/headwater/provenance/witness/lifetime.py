"""When a row ends if no more changes come.

Where every row below carries its lease, the answer is stored: the latest lease among the versions of the row. A row
that rests on a total, on the best of a group or on an absence may end, or get another derivation, when rows below it
end. There the future is played through, from one end of a lease to the next, and rolled back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from headwater.core.graph import reachable
from headwater.engine.reading import TableReader, tables
from headwater.engine.shard import Shard
from headwater.plan.model import Plan
from headwater.program.time.program_clock import FOREVER
from headwater.provenance.worlds.cone import tables_read


def valid_until(shard: Shard, table: str, row: int) -> int | None:
    """The moment at which a row alive ends; None: never."""
    readers, reads = tables(shard.stores), tables_read(shard.plan)
    shown, cone = readers[table], reachable(table, reads)
    if not any(readers[name].table.lasting for name in cone):
        return None
    kept = readers.get(f"{table}'kept", shown)
    if _leases_decide(shard.plan, readers, reachable(kept.name, reads), reads):
        return _latest_lease(kept, shown, row)
    codes = shown.codes([row])
    for moment in _ends(readers[name] for name in cone):
        if shard.at(moment, lambda: shown.find_identity(codes)) < 0:
            return moment
    return None


def _leases_decide(plan: Plan, readers: Mapping[str, TableReader], cone: set[str], reads: dict[str, set[str]]) -> bool:
    """Whether the leases of a table's rows say when they end."""
    lasting = {name for name, reader in readers.items() if reader.table.lasting}
    below = {name: reachable(name, reads) for name in cone}
    ending = {name for name in cone if lasting & below[name]}
    absent = {name for rule in plan.rules if rule.table in cone for name in rule.negated}
    return not ending & absent and ending <= lasting


def _latest_lease(kept: TableReader, shown: TableReader, row: int) -> int | None:
    identity = shown.table.identity
    rows = kept.with_keys(identity, shown.codes([row])[:, list(identity)])[1]
    until = max(map(kept.lease, rows.tolist()))
    return None if until >= FOREVER else until


def _ends(below: Iterable[TableReader]) -> list[int]:
    """The moments at which base rows end, in order."""
    found: set[int] = set()
    for reader in below:
        if reader.table.base and reader.table.lease is not None:
            found.update(np.unique(reader.codes(reader.alive())[:, reader.table.lease]).tolist())
    return sorted(moment for moment in found if moment < FOREVER)
