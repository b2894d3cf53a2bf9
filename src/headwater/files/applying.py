"""Files for a relation of a program: what they should hold, and their changes as one transaction of a database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from headwater.database import Database
from headwater.files.feed import is_cleared, net
from headwater.files.rows import Expected, FileRows
from headwater.program.model import Relation

Row = tuple[Any, ...]


def expected_of(relation: Relation) -> Expected:
    """What a file for a relation should hold."""
    return Expected(
        relation.name,
        tuple(column.name for column in relation.visible),
        tuple(column.type for column in relation.visible),
        relation.named,
        frozenset(at for at, column in enumerate(relation.visible) if column.nullable),
        relation.ordered,
    )


def net_changes(db: Database, rows: FileRows) -> tuple[Any, Any]:
    """The rows to insert and to delete so that the changes of a file, in their order, have happened."""
    assert rows.inserts is not None, "a change file says which way each row goes"
    relation = db.program.checked.relation(rows.relation)
    found = net(rows.tuples(), rows.inserts.tolist(), relation.key, counted=bool(relation.hidden), time=relation.time)
    deletes = rows.taken(found.deletes)
    if found.cleared and relation.key is not None:
        deletes = joined(deletes, _with_key(db, relation, found.cleared))
    return rows.taken(found.inserts), deletes


def joined(left: Any, right: Any) -> Any:
    """Rows behind rows, in a form that a database takes."""
    if isinstance(left, pa.Table) and isinstance(right, pa.Table):
        return pa.concat_tables([left, right])
    return _tuples(left) + _tuples(right)


def _tuples(rows: Any) -> list[Row]:
    if isinstance(rows, pa.Table):
        return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    return list(rows)


def _with_key(db: Database, relation: Relation, keys: Mapping[Row, Any]) -> list[Row]:
    assert relation.key is not None
    found = []
    for row in db.rows(relation.name):
        key = tuple(row[place] for place in relation.key)
        if key in keys and is_cleared(keys[key], None if relation.time is None else row[relation.time]):
            found.append(row)
    return found
