"""Headwater as the oracle's harness sees it: a program opened as a database, rows in and out as tuples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import headwater as hw
from tests.oracle.harness import Change, Changes, Fact
from tests.oracle.program import Program, Row, to_text
from tests.oracle.scripts import Rows


class Opened:
    def __init__(self, program: Program) -> None:
        self.outputs = program.outputs
        self.db = hw.Database(hw.compile(to_text(program)))

    def apply(self, insert: Rows, delete: Rows) -> Changes:
        return self._changes(self.db.apply(insert=_lists(insert), delete=_lists(delete)))

    def rows(self, relation: str) -> set[Row]:
        return set(self.db.rows(relation))

    def why(self, relation: str, row: Row) -> list[Fact]:
        return [(name, tuple(fact)) for name, fact in self.db.why(relation, row).facts]

    def without(self, delete: Rows) -> Changes:
        return self._changes(self.db.without(_lists(delete)))

    def _changes(self, changes: Any) -> Changes:
        return {relation: _change(changes[relation]) for relation in self.outputs}


def _lists(rows: Rows) -> dict[str, list[Row]]:
    return {relation: list(many) for relation, many in rows.items()}


def _change(change: Any) -> Change:
    return list(_tuples(change.inserted)), list(_tuples(change.deleted))


def _tuples(table: Any) -> Iterable[Row]:
    """The rows of an Arrow table; one without columns still counts its rows."""
    columns = [column.to_pylist() for column in table.columns]
    return zip(*map(_frozen, columns), strict=True) if columns else [()] * table.num_rows


def _frozen(values: list[Any]) -> list[Any]:
    return [tuple(_frozen(value)) if isinstance(value, list) else value for value in values]
