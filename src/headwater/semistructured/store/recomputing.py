"""Whether a transaction is followed or the views are computed anew, and what changes if they are.

Section 4 of 001 weighs both. What counts here is rows: a changed edge costs several times what a row costs to load,
because what rests on it is looked for, marked and derived again; a changed value costs about as much. So one update is
always followed, and a transaction that replaces most objects of a store is not. The statistics are the row counts,
which the store maintains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headwater.database import Changes, Database, RelationChange
from headwater.semistructured.schema import ATOM, EDGE, NAME
from headwater.semistructured.store.contents import HOLLOW, StoredObjects

_CHANGED_ROW = 3  # rows that are loaded in the time in which one changed row is followed
_CHANGED_VALUE = 1  # the same for a changed value
_START = 50_000  # rows that are loaded in the time in which the rules are planned and started


@dataclass(frozen=True, slots=True)
class TransactionCost:
    """What a transaction costs in rows that are loaded, followed and with the views computed anew."""

    incremental: int
    recompute: int

    @property
    def recomputes(self) -> bool:
        """What is chosen."""
        return self.recompute < self.incremental


def cheaper_from(stored: int) -> int:
    """How many changed edges in one transaction make it cheaper to compute the views anew."""
    return (stored + _START) // _CHANGED_ROW + 1


def cost_of(contents: StoredObjects, insert: Mapping[str, Any], delete: Mapping[str, Any]) -> TransactionCost:
    """The cost of a transaction of these rows."""
    changed = [(name, len(rows)) for side in (insert, delete) for name, rows in side.items()]
    incremental = sum((_CHANGED_VALUE if name == ATOM else _CHANGED_ROW) * count for name, count in changed)
    stored = sum(contents.count(relation) for relation in (EDGE, ATOM, NAME, HOLLOW))
    return TransactionCost(incremental, stored + _START)


def recomputed_changes(stored: Changes, before: Mapping[str, pa.Table], after: Database) -> Changes:
    """The changes of a transaction after which the views were computed anew: those of base relations are known, those
    of views are what differs."""
    now = {name: after.table(name) for name in before}

    def change_of(name: str, queries: object = None) -> RelationChange:
        if name not in before:
            return stored[name]
        return RelationChange(_without(now[name], before[name]), _without(before[name], now[name]))

    return Changes(after.program.outputs, change_of)


def _without(one: pa.Table, other: pa.Table) -> pa.Table:
    """The rows of a table that another one does not have."""
    held = set(_rows(other))
    return one.filter(pa.array([row not in held for row in _rows(one)], type=pa.bool_()))


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in table.columns]
    return [tuple(map(_hashable, row)) for row in zip(*columns, strict=True)]


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
