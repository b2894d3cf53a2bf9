"""A view as it was: the view as it is, with the changes of later transactions undone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from headwater.core.errors import DataError
from headwater.database import Database, RelationChange
from headwater.serve.live.journal import Entry, Journal

MOST = 100_000
"""Rows of a view that can be shown as it was; of a larger one only the difference is."""


def net_change(entries: Iterable[Entry], relation: str) -> RelationChange | None:
    """What came and went of a relation in several transactions together; None: one of them is not kept whole."""
    came: dict[str, tuple[pa.Table, int]] = {}
    went: dict[str, tuple[pa.Table, int]] = {}
    schema = None
    for entry in entries:
        change = entry.change(relation)
        if change is None:
            return None
        schema = change.inserted.schema
        for table, other, mine in ((change.deleted, came, went), (change.inserted, went, came)):
            for at, key in enumerate(keys_of(table)):
                if key in other:
                    del other[key]
                else:
                    mine[key] = table, at
    if schema is None:
        return None
    return RelationChange(_gathered(came, schema), _gathered(went, schema))


def table_after(db: Database, journal: Journal, relation: str, number: int) -> pa.Table:
    """The rows of a relation after transaction `number`; DataError where they are not known any more."""
    if not journal.reach <= number <= journal.last:
        raise DataError(
            f"the rows after transaction {number:,} are not kept; those after {journal.reach:,} to {journal.last:,} are"
        )
    now = db.table(relation)
    entries = journal.since(number)
    if not entries:
        return now
    if now.num_rows > MOST:
        raise DataError(f"`{relation}` has more than {MOST:,} rows; only the difference can be shown")
    change = net_change(entries, relation)
    assert change is not None, "entries within reach are whole"
    gone = set(keys_of(change.inserted))
    kept = [at for at, key in enumerate(keys_of(now)) if key not in gone]
    return pa.concat_tables([now.take(pa.array(kept, pa.int64())), change.deleted.cast(now.schema)])


def keys_of(table: pa.Table) -> Sequence[str]:
    """A text per row that equal rows have in common."""
    if not table.num_columns:
        return [""] * table.num_rows
    rows: Iterable[tuple[Any, ...]] = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return [repr(row) for row in rows]


def _gathered(found: dict[str, tuple[pa.Table, int]], schema: pa.Schema) -> pa.Table:
    """The rows that are left, table by table."""
    by_table: dict[int, tuple[pa.Table, list[int]]] = {}
    for table, at in found.values():
        by_table.setdefault(id(table), (table, []))[1].append(at)
    taken = [table.take(pa.array(places, pa.int64())).cast(schema) for table, places in by_table.values()]
    return pa.concat_tables(taken) if taken else schema.empty_table()
