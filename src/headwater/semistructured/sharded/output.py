"""The documents of a view as a shard shows them: all of them, or those that a transaction changed.

Every document is shown by one shard, the one that owns its root, and everything that it consists of is there. A
document that a transaction may have changed is written twice, as it was and as it is; what it was follows from the rows
that are there and from those that came and went. A document whose text stays the same has not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from headwater.exchange import Member, Outcome
from headwater.semistructured.output.json_text import json_text
from headwater.semistructured.output.rendering import documents_of
from headwater.semistructured.output.view import delegate_id
from headwater.semistructured.output.view_graph import read_value, row_tuples
from headwater.semistructured.schema import ATOM
from headwater.semistructured.sharded.intake import BaseChanges, reader_of
from headwater.semistructured.sharded.relations import ShownView
from headwater.semistructured.store.contents import StoredObjects, value_of

DOCUMENT_SCHEMA = pa.schema([pa.field("oid", pa.string()), pa.field("document", pa.string())])
Row: TypeAlias = tuple[Any, ...]
_AT_ONCE = 1 << 12  # roots whose documents are written together


@dataclass(frozen=True, slots=True)
class DocumentViews:
    """The views of a program over documents: a value that can be sent to workers, and stands in a checkpoint."""

    views: tuple[ShownView, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(view.name for view in self.views)

    def rows(self, member: Member, name: str) -> pa.Table:
        """The documents of a view that a shard shows."""
        view = next(view for view in self.views if view.name == name)
        now = _ViewMoment(_contents(member), view, {})
        roots = dict.fromkeys(_id(row) for relation in _roots_of(view) for row in _first_column(member, relation))
        return _table(_texts(now, list(roots)).items())

    def changes(
        self, member: Member, outcome: Outcome, change: BaseChanges, *, first: bool
    ) -> dict[str, tuple[pa.Table, pa.Table]]:
        """The documents that came and those that went, by view, in a transaction that the shard has committed.

        In the `first` one of all, everything has come.
        """
        if first:
            return {view.name: (self.rows(member, view.name), _table(())) for view in self.views}
        atoms = _Change(*(row_tuples(side[ATOM]) if ATOM in side else [] for side in (change.inserts, change.deletes)))
        return {view.name: _changed(_contents(member), view, outcome, atoms) for view in self.views}

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(view) for view in self.views]

    @classmethod
    def from_json(cls, given: Iterable[dict[str, Any]]) -> DocumentViews:
        return cls(tuple(ShownView.from_json(view) for view in given))


def _contents(member: Member) -> StoredObjects:
    return StoredObjects(reader_of(member), is_tree=True)


def _roots_of(view: ShownView) -> tuple[str, ...]:
    return (*view.objects, *view.values, *(made.made for made in view.made))


def _first_column(member: Member, relation: str) -> list[Any]:
    found: list[Any] = member.rows(relation).column(0).to_pylist()
    return found


def _table(documents: Iterable[tuple[Any, str]]) -> pa.Table:
    found = list(documents)
    oids = pa.array([delegate_id(oid) for oid, _ in found], type=pa.string())
    return pa.table([oids, pa.array([text for _, text in found], type=pa.string())], schema=DOCUMENT_SCHEMA)


def _texts(moment: _ViewMoment, roots: Sequence[Any]) -> dict[Any, str]:
    """The documents of these roots as JSON."""
    found: dict[Any, str] = {}
    for start in range(0, len(roots), _AT_ONCE):
        some = list(roots[start : start + _AT_ONCE])
        moment.hold([root for root in some if isinstance(root, tuple)])
        written = documents_of(moment, some, delegate_id)
        found.update((root, json_text(document)) for root, document in written.items())
    return found


class _Change:
    """What came and went of one relation."""

    __slots__ = ("came", "went")

    def __init__(self, came: Iterable[Row] = (), went: Iterable[Row] = ()) -> None:
        self.came = set(came)
        self.went = set(went)

    def column(self, at: int) -> set[Any]:
        return {row[at] for row in self.came} | {row[at] for row in self.went}


class _ViewMoment:
    """The objects of a view on one shard, as they are or, with the changes to undo, as they were."""

    def __init__(self, contents: StoredObjects, view: ShownView, undone: Mapping[str, _Change]) -> None:
        self._contents, self._view = contents, view
        self._undone = undone
        self._gone = {relation: _by_key(change.went) for relation, change in undone.items()}
        self._edges: dict[Any, set[tuple[str, Any, int]]] = {}  # of what the made objects at hand hold
        self._values: dict[Any, Any] = {}

    def hold(self, made: Sequence[Row]) -> None:
        """Read the made objects and values with these ids, and everything inside them."""
        self._edges, self._values = {}, {}
        if not made:
            return
        for relation in self._view.values:
            for oid, *value in sorted(self.rows(relation, made), key=repr):
                self._values[oid] = read_value(*value)
        for each in self._view.made:
            for oid, label, child, place in self.rows(each.edges, made):
                self._edges.setdefault(oid, set()).add((label, child, place))
            for oid, label, *value in self.rows(each.values, made):
                own = (*oid, label, *value)
                self._values[own] = read_value(*value)
                self._edges.setdefault(oid, set()).add((label, own, -1))
            for _, parent, label, child, place in self.rows(each.inner_edges, made):
                self._edges.setdefault(parent, set()).add((label, child, place))
            for _, oid, kind, text, _ in self.rows(each.inner_atoms, made):
                self._values[oid] = value_of(kind, text)

    def children(self, oids: list[Any]) -> dict[Any, list[tuple[str, Any, int]]]:
        found = {oid: set(self._edges[oid]) for oid in oids if oid in self._edges}
        for parent, label, child, place in self.rows(self._view.edges, [oid for oid in oids if isinstance(oid, int)]):
            found.setdefault(parent, set()).add((label, child, place))
        return {oid: list(edges) for oid, edges in found.items()}

    def values(self, oids: list[Any]) -> dict[Any, Any]:
        found = {oid: self._values[oid] for oid in oids if oid in self._values}
        missing = [oid for oid in oids if isinstance(oid, int) and oid not in found]
        found.update((oid, value_of(kind, text)) for oid, kind, text, _ in self.rows(ATOM, missing))
        return found

    def hollow(self, oids: list[Any]) -> dict[Any, list[str]]:
        return {}

    def holds(self, relation: str, oids: Sequence[Any]) -> set[Any]:
        """Which of these are in the first column of a relation."""
        return {row[0] for row in self.rows(relation, oids)}

    def rows(self, relation: str | None, keys: Sequence[Any], column: int = 0) -> list[Row]:
        """The rows that hold one of these ids in a column: ints, or tuples."""
        if relation is None or not keys:
            return []
        if isinstance(keys[0], int):
            rows = self._contents.rows(relation, column, keys)
        else:
            rows = self._contents.rows_with_any(relation, column, keys)
        rows = [tuple(map(_id, row)) for row in rows]
        change = self._undone.get(relation)
        if change is None:
            return rows
        gone = self._gone[relation] if column == 0 else _by_key(change.went, column)
        return [*(row for row in rows if row not in change.came), *(row for key in keys for row in gone.get(key, ()))]


def _changed(contents: StoredObjects, view: ShownView, outcome: Outcome, atoms: _Change) -> tuple[pa.Table, pa.Table]:
    changes = {relation: _Change(*map(row_tuples, outcome.changes[relation])) for relation in view.relations}
    now = _ViewMoment(contents, view, {})
    before = _ViewMoment(contents, view, {**changes, ATOM: atoms})
    roots = _roots_above(view, now, before, changes, atoms)
    made = {row for relation in view.values for row in changes[relation].column(0)}
    made |= {row for each in view.made for relation in each.relations for row in changes[relation].column(0)}
    old, new = (_documents(view, moment, roots, made) for moment in (before, now))
    came = [(root, new[root]) for root in new if old.get(root) != new[root]]
    went = [(root, old[root]) for root in old if new.get(root) != old[root]]
    return _table(came), _table(went)


def _documents(view: ShownView, moment: _ViewMoment, roots: Iterable[int], made: Iterable[Row]) -> dict[Any, str]:
    """The documents of those that are roots at this moment."""
    stored, own = sorted(roots), sorted(made, key=repr)
    there = {oid for relation in view.objects for oid in moment.holds(relation, stored)}
    there |= {oid for relation in view.values for oid in moment.holds(relation, own)}
    there |= {oid for each in view.made for oid in moment.holds(each.made, own)}
    return _texts(moment, [oid for oid in (*stored, *own) if oid in there])


def _roots_above(
    view: ShownView, now: _ViewMoment, before: _ViewMoment, changes: Mapping[str, _Change], atoms: _Change
) -> set[int]:
    """The objects of the store whose documents may have changed: those above a change, before or after."""
    if not view.objects:
        return set()
    found = {oid for relation in view.objects for oid in changes[relation].column(0)}
    if view.edges is not None:
        found |= changes[view.edges].column(0)
    found |= atoms.column(0)
    level = list(found)
    while level and view.edges is not None:
        above = {row[0] for moment in (now, before) for row in moment.rows(view.edges, level, 2)}
        level = list(above - found)
        found |= above
    return found


def _by_key(rows: Iterable[Row], column: int = 0) -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[column], []).append(row)
    return found


def _id(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
