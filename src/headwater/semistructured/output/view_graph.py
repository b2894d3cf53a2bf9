"""The objects of a view as a graph: primary objects, the edges of the with clause, and the values of atoms.

`before` gives the same graph as it was before a transaction, from what the transaction changed, so that only documents
that differ have to be written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from headwater.database import Changes
from headwater.semistructured.schema import ATOM
from headwater.semistructured.store.contents import StoredObjects, value_of
from headwater.semistructured.views import ViewPart, ViewProgram

Made = tuple[Any, ...]
"""The id of an object that a view makes: a list of ints, and a place for each value that it holds."""


class ViewGraph:
    """A view as it is now, or before some changes."""

    def __init__(self, contents: StoredObjects, program: ViewProgram, undone: Changes | None = None) -> None:
        self._contents, self._program, self._undone = contents, program, undone
        self._made: dict[Made, Any] = {}

    def before(self, changes: Changes) -> ViewGraph:
        return ViewGraph(self._contents, self._program, changes)

    def children(self, oids: list[Any]) -> dict[Any, list[tuple[str, Any, int]]]:
        found: dict[Any, list[tuple[str, Any, int]]] = {}
        stored = [oid for oid in oids if isinstance(oid, int)]
        if self._program.edges is not None and stored:
            for parent, label, child, place in self._rows(self._program.edges, 0, stored):
                found.setdefault(parent, []).append((label, child, place))
        for part in self._program.parts:
            for oid in oids if part.made is not None else ():
                if isinstance(oid, tuple):
                    found.setdefault(oid, []).extend(self._made_members(part, oid))
        return found

    def _made_members(self, part: ViewPart, oid: Made) -> list[tuple[str, Any, int]]:
        members: list[tuple[str, Any, int]] = []
        if part.made_edges is not None:
            for _, label, child, place in self._rows(part.made_edges, 0, [oid]):
                members.append((label, child, place))
        if part.made_values is not None:
            for _, label, kind, text, number in sorted(self._rows(part.made_values, 0, [oid]), key=repr):
                own = (*oid, label, kind, text, number)
                self._made[own] = read_value(kind, text, number)
                members.append((label, own, -1))
        return members

    def values(self, oids: list[Any]) -> dict[Any, Any]:
        stored = [oid for oid in oids if isinstance(oid, int)]
        found: dict[Any, Any] = {}
        if stored:
            found = {oid: value_of(kind, text) for oid, kind, text, _ in self._rows(ATOM, 0, stored)}
        found.update((oid, self._made[oid]) for oid in oids if isinstance(oid, tuple) and oid in self._made)
        for part in self._program.parts:
            if part.values is None:
                continue
            for oid in oids:
                if isinstance(oid, tuple):
                    for _, kind, text, number in self._rows(part.values, 0, [oid]):
                        found[oid] = read_value(kind, text, number)
        return found

    def hollow(self, oids: list[Any]) -> dict[Any, list[str]]:
        return {}

    def parents(self, oids: list[int]) -> list[int]:
        if self._program.edges is None or not oids:
            return []
        return [row[0] for row in self._rows(self._program.edges, 2, oids)]

    def made_parents(self, oids: list[int]) -> list[Made]:
        """The objects made by the view that hold one of these."""
        return [
            tuple(row[0])
            for part in self._program.parts
            if part.made_edges is not None and oids
            for row in self._rows(part.made_edges, 2, oids)
        ]

    def unchanged_edges(self, relation: str, changed: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """The rows between the same objects as some changed ones, which were there before the change and are after it.
        In a tree there are none."""
        if self._contents.is_tree:
            return []
        between = self._contents.rows_between(relation, {(row[0], row[2]) for row in changed})
        rows = set(changed)
        return [row for row in map(_row, between) if row not in rows]

    def holds(self, relation: str, oids: list[Any]) -> set[Any]:
        """Which of these are in the first column of a relation."""
        return {_id(row[0]) for row in self._rows(relation, 0, oids)} if oids else set()

    def _rows(self, relation: str, column: int, oids: list[Any]) -> Iterable[tuple[Any, ...]]:
        asked = set(oids)
        stored = [oid for oid in asked if isinstance(oid, int)]
        rows = self._contents.rows(relation, column, stored) if stored else []
        for oid in asked:
            if isinstance(oid, tuple):
                rows += self._contents.rows_with(relation, column, oid)
        if self._undone is None:
            return rows
        change = self._undone[relation]
        if not change:
            return rows
        came = Counter(row_tuples(change.inserted))
        kept = [row for row in map(_row, rows) if row not in came]
        return [*kept, *(row for row in row_tuples(change.deleted) if row[column] in asked)]


def row_tuples(table: Any) -> list[tuple[Any, ...]]:
    return [_row(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def _row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_id(value) for value in row)


def _id(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def read_value(kind: str, text: str | None, number: float | None) -> Any:
    """The value of an atom that a view computes: it may have a number and no text."""
    if text is not None or number is None:
        return value_of(kind, text)
    return int(number) if kind == "int" and number.is_integer() else number
