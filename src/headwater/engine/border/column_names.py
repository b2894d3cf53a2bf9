"""What the columns of relations are called: as declared, or, where nothing is declared, as the data calls them.

The names that data brings are learnt by a transaction that succeeds, and saved with the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.engine.border.intake import Header
from headwater.plan.model import Table
from headwater.program.model import Relation


class ColumnNames:
    """The names of columns, by relation, and the headers that rows of each relation are taken in by."""

    def __init__(self) -> None:
        self.learnt: dict[str, tuple[str, ...]] = {}
        self._headers: dict[tuple[str, tuple[str, ...] | None], Header] = {}

    def of(self, table: Table) -> tuple[str, ...]:
        return self.learnt.get(table.name, table.names)

    def header(self, table: Table, relation: Relation) -> Header:
        learnt = self.learnt.get(table.name)
        known = self._headers.get((table.name, learnt))
        if known is None:
            known = Header(table.name, learnt or table.names, bool(learnt) or relation.named, relation.ordered)
            self._headers[table.name, learnt] = known
        return known

    def restore(self, tables: Mapping[str, Table], saved: Mapping[str, Sequence[str]]) -> None:
        """Take over names from a file; raises ValueError or KeyError where they cannot be those of the tables."""
        for relation, names in saved.items():
            width = len(tables[relation].written)
            if len(names) != width or not all(type(name) is str for name in names):
                raise ValueError(f"`{relation}` has {width} columns")
            self.learnt[relation] = tuple(names)
