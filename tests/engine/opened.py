"""Headwater as the oracle's harness sees it: a program opened as a database, rows in and out as tuples."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import headwater as hw
from headwater.rewrite.rules import RULES
from tests.oracle.harness import Change, Changes, Fact
from tests.oracle.program import Program, Row, to_text
from tests.oracle.scripts import Rows


class Opened:
    def __init__(self, program: Program, disabled: Iterable[str] = ()) -> None:
        self.outputs = program.outputs
        self.db = hw.Database(hw.compile(to_text(program), disabled=disabled))

    def apply(self, insert: Rows, delete: Rows) -> Changes:
        return self._changes(self.db.apply(insert=_lists(insert), delete=_lists(delete)))

    def rows(self, relation: str) -> set[Row]:
        return set(self.db.rows(relation))

    def why(self, relation: str, row: Row) -> list[Fact]:
        return [(name, tuple(fact)) for name, fact in self.db.why(relation, row).facts]

    def without(self, delete: Rows) -> Changes:
        return self._changes(self.db.without(_lists(delete)))

    def _changes(self, changes: Any) -> Changes:
        return {relation: change_of(changes[relation]) for relation in self.outputs}


class Unrewritten(Opened):
    """The program as it stands: no rewrite touches it."""

    def __init__(self, program: Program) -> None:
        super().__init__(program, disabled=[rewrite.__name__ for rewrite in RULES])


class Reopened(Opened):
    """Saved and opened again after every transaction."""

    def apply(self, insert: Rows, delete: Rows) -> Changes:
        changes = super().apply(insert, delete)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "views.headwater"
            self.db.save(path)
            self.db = hw.Database.open(path)
        return changes


def _lists(rows: Rows) -> dict[str, list[Row]]:
    return {relation: list(many) for relation, many in rows.items()}


def change_of(change: Any) -> Change:
    return list(_tuples(change.inserted)), list(_tuples(change.deleted))


def _tuples(table: Any) -> Iterable[Row]:
    """The rows of an Arrow table; one without columns still counts its rows."""
    columns = [column.to_pylist() for column in table.columns]
    return zip(*map(_frozen, columns), strict=True) if columns else [()] * table.num_rows


def _frozen(values: list[Any]) -> list[Any]:
    return [tuple(_frozen(value)) if isinstance(value, list) else value for value in values]
