"""What a shard takes in: the bundles that reached it become base rows, and its outcome becomes what users see.

Rows of relations are taken as they are. Documents are compared with those that the shard holds, and what its program
computes is put together to documents again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from headwater.exchange import Member, Outcome, Sharding
from headwater.semistructured.sharded import base_changes
from headwater.spark.inputs.bundles import Arrived, Rejection, arrive
from headwater.spark.inputs.contract import Contract
from headwater.spark.inputs.documents import arrive_documents
from headwater.spark.output.shard_output import rows_with_keys
from headwater.spark.state import shard_cache
from headwater.spark.state.checkpoint import Assignment


@dataclass(frozen=True, slots=True)
class TakenRows:
    """Base rows to insert and to delete, the rows set aside, and how many came."""

    inserts: dict[str, pa.Table]
    deletes: dict[str, pa.Table]
    rejected: list[Rejection]
    rows: int
    latest: int | None = None  # the latest time among the rows of all shards
    shown: Callable[[Member, Outcome], Outcome] | None = None  # what users see of the outcome; None: the outcome


def take(contract: Contract, assignment: Assignment, shard: int, bundles: Iterable[pa.RecordBatch]) -> TakenRows:
    """What a shard takes in, in the state that an assignment starts from."""
    if contract.documents is not None:
        with shard_cache.SHARD_CACHE.reading(assignment, shard) as member:
            return _documents(contract, member, bundles, first=assignment.committed is None)
    arrived = arrive(bundles, assignment.sharding)
    deletes = dict(arrived.deletes)
    if arrived.cleared:
        with shard_cache.SHARD_CACHE.reading(assignment, shard) as member:
            for relation, rows in rows_with_keys(member, arrived.cleared).items():
                deletes[relation] = pa.concat_tables([deletes[relation], rows]) if relation in deletes else rows
    return _rows(arrived, deletes, assignment.sharding, shard)


def take_anew(contract: Contract, member: Member, bundles: Iterable[pa.RecordBatch]) -> TakenRows:
    """What a shard takes in that holds nothing yet."""
    if contract.documents is not None:
        return _documents(contract, member, bundles, first=True)
    return _rows(arrive(bundles, member.sharding), {}, member.sharding, member.number)


def _rows(arrived: Arrived, deletes: dict[str, pa.Table], sharding: Sharding, shard: int) -> TakenRows:
    count = sum(count for name, count in arrived.rows.items() if sharding.shows(name, shard))
    return TakenRows(arrived.inserts, deletes, arrived.rejected, count, arrived.latest)


def _documents(contract: Contract, member: Member, bundles: Iterable[pa.RecordBatch], *, first: bool) -> TakenRows:
    views = contract.documents
    assert views is not None
    arrived = arrive_documents(bundles)
    change = base_changes(member, arrived.documents)

    def shown(member: Member, outcome: Outcome) -> Outcome:
        return replace(outcome, changes=views.changes(member, outcome, change, first=first))

    return TakenRows(change.inserts, change.deletes, arrived.rejected, arrived.rows, None, shown)
