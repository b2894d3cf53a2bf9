"""A maintained view over documents: its objects, its documents, its changes, and the proof of each object.

The view holds a *delegate* of each object that it imports (001, section 2.4), with an id of its own: `&9'` is the
delegate of `&9`. Objects that a view makes, of several selected items, are called after the number of the statement and
their parts: `&1.9.14'`. An object without parts has a dot all the same: `&1.'` is not the delegate of `&1`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from headwater.core.errors import DataError
from headwater.database import Changes
from headwater.provenance import Critical, Proof, WhyNot
from headwater.semistructured.output.json_text import json_text
from headwater.semistructured.output.rendering import documents_of
from headwater.semistructured.output.view_changes import ViewChanges, view_changes
from headwater.semistructured.output.view_graph import ViewGraph, read_value
from headwater.semistructured.schema import EDGE
from headwater.semistructured.store.contents import StoredObjects
from headwater.semistructured.views import ViewPart, ViewProgram

if TYPE_CHECKING:
    from headwater.semistructured.documents import Documents

ObjectId: TypeAlias = "int | str | tuple[int | str, ...]"
_WRITTEN = re.compile(r"&([0-9]+(?:\.|(?:\.[^.]+?)*?))'?")


@dataclass(frozen=True, slots=True)
class ViewObject:
    """A delegate: its id, the object it stands for, its value or its edges, and whether it is primary or adjunct."""

    oid: str
    of: Any
    value: Any
    edges: tuple[tuple[str, str], ...]
    primary: bool
    adjunct: bool


def shown_id(oid: Any) -> str:
    """The id of an object of the store, as users write it."""
    if isinstance(oid, tuple):
        return f"&{'.'.join(map(str, oid))}{'.' if len(oid) == 1 else ''}"
    return f"&{oid}"


def delegate_id(oid: Any) -> str:
    """The id of the object that stands for another one in a view."""
    return f"{shown_id(oid)}'"


class DocumentView:
    """What `Documents.define` gives back."""

    def __init__(self, docs: Documents, program: ViewProgram) -> None:
        self._docs = docs
        self.program = program
        self.name = program.name
        self._last: Changes | None = None

    def __repr__(self) -> str:
        return f"DocumentView({self.name!r})"

    def _changed(self, changes: Changes) -> None:
        self._last = changes

    @property
    def _graph(self) -> ViewGraph:
        return ViewGraph(self._docs._contents, self.program)

    # Reading

    def documents(self, part: str | None = None, *, first: int = 0, most: int | None = None) -> dict[str, Any]:
        """The primary objects as JSON documents, by the ids of their delegates, in the order that the view asks for.

        `first` and `most` choose some of them by their places.
        """
        roots = self.primaries(part)[first : None if most is None else first + most]
        found = documents_of(self._graph, roots, delegate_id)
        return {delegate_id(root): found[root] for root in roots}

    def primaries(self, part: str | None = None) -> list[Any]:
        """The ids in the store of the objects that are selected."""
        found: dict[Any, None] = {}
        for one in self._parts(part):
            found.update(dict.fromkeys(self._ordered(one)))
        return list(found)

    def _parts(self, name: str | None) -> tuple[ViewPart, ...]:
        chosen = tuple(part for part in self.program.parts if name is None or part.name == name)
        if not chosen:
            names = ", ".join(f"`{part.name}`" for part in self.program.parts)
            raise DataError(f"error[HW821]: the view `{self.name}` has no part `{name}`; it has {names}")
        return chosen

    def _ordered(self, part: ViewPart) -> list[Any]:
        db = self._docs.database
        relation = part.objects or part.made or part.values
        assert relation is not None
        oids = sorted({_key(row[0]) for row in db.rows(relation)}, key=_natural)
        for order in reversed(part.order):
            keys: dict[Any, list[tuple[Any, ...]]] = {}
            for row in db.rows(order.relation):
                keys.setdefault(_key(row[0]), []).append(_sort_key(*row[1:4]))
            best = {oid: (max if order.descending else min)(found) for oid, found in keys.items()}
            last = [oid for oid in oids if oid not in best]
            first = sorted((oid for oid in oids if oid in best), key=best.__getitem__, reverse=order.descending)
            oids = first + last
        return oids

    @property
    def objects(self) -> dict[str, ViewObject]:
        """All delegates, primary and adjunct, by their ids."""
        db, graph = self._docs.database, self._graph
        primary = set(self.primaries())
        adjunct = {row[0] for row in db.rows(self.program.adjuncts)} if self.program.adjuncts is not None else set()
        level = [*primary, *(adjunct - primary)]
        seen = set(level)
        found: dict[str, ViewObject] = {}
        while level:
            edges, values = graph.children(level), graph.values(level)
            after: list[Any] = []
            for oid in level:
                own = edges.get(oid, [])
                after += [child for _, child, _ in own if child not in seen]
                seen.update(after)
                named = tuple(sorted((label, delegate_id(child)) for label, child, _ in own))
                found[delegate_id(oid)] = ViewObject(
                    delegate_id(oid), oid, values.get(oid), named, oid in primary, oid not in primary or oid in adjunct
                )
            level = list(dict.fromkeys(after))
        return found

    @property
    def changes(self) -> ViewChanges:
        """What the last change of the store changed in this view: Ins, Del and Chg, and patches of its documents."""
        if self._last is None:
            return ViewChanges((), {})
        return view_changes(self._graph, self.program, self._last, delegate_id, shown_id)

    def table(self, part: str | None = None) -> pa.Table:
        """The documents as an Arrow table with the struct schema that they have: `oid` and `document`.

        Where documents do not agree on a type, the column `document` holds JSON texts.
        """
        found = self.documents(part)
        oids = pa.array(list(found), type=pa.string())
        return pa.table({"oid": oids, "document": _structs(list(found.values()))})

    # Asking

    def why(self, oid: ObjectId) -> Proof:
        """Why an object is in the view."""
        relation, row = self._asked(oid)
        return self._docs.database.why(relation, row)

    def why_not(self, oid: ObjectId) -> WhyNot:
        """Why an object is not among the selected ones."""
        key = _readings(oid)[0]
        part = self._selecting(key)
        if part is None:
            raise DataError(f"error[HW821]: no statement of `{self.name}` selects objects like {oid!r}")
        if part.values is None:
            return self._docs.database.why_not(part.objects or part.made or "", (_listed(key),))
        if self._graph.holds(part.values, [key]):
            raise DataError(f"error[HW821]: {oid!r} is in the view `{self.name}`; ask why({oid!r})")
        return self._docs.database.why_not(part.values, (_listed(key), "", "", 0))  # whatever its value would be

    def _selecting(self, key: Any) -> ViewPart | None:
        """The statement that selects objects of the store, or that an object which a view makes is called after."""
        parts = self.program.parts
        if isinstance(key, int):
            return next((part for part in parts if part.objects is not None), None)
        number = int(key[0])
        part = parts[number - 1] if 0 < number <= len(parts) else None
        return None if part is None or part.objects is not None else part

    def critical(self, oid: ObjectId) -> Critical:
        """The edges and values that an object of the view cannot do without."""
        return self._docs.database.critical(*self._asked(oid))

    def valid_until(self, oid: ObjectId) -> Any:
        """When an object ends if nothing comes; None: never. Documents do not expire."""
        return self._docs.database.valid_until(*self._asked(oid))

    def without(
        self, delete: Iterable[tuple[ObjectId, str, ObjectId]] = (), *, facts: Mapping[str, Any] | None = None
    ) -> ViewChanges:
        """What would change in this view if these edges were not there; nothing is changed."""
        db = self._docs.database
        contents = StoredObjects(db.reader)
        edges = [_edge(edge) for edge in delete]
        rows = [row for edge in edges for row in contents.rows(EDGE, 0, [edge[0]]) if row[:3] == tuple(edge)]
        taken = dict(facts or {})
        if rows:
            taken[EDGE] = [*taken.get(EDGE, ()), *rows]
        return view_changes(self._graph, self.program, db.without(taken), delegate_id, shown_id, patches=False)

    def _asked(self, oid: ObjectId) -> tuple[str, tuple[Any, ...]]:
        """The relation and row of an object of the view."""
        graph = self._graph
        for key in _readings(oid):
            for part in self.program.parts:
                for relation in (part.objects, part.made):
                    if relation is not None and graph.holds(relation, [key]):
                        return relation, (_listed(key),)
                if part.values is not None and isinstance(key, tuple):
                    for row in StoredObjects(self._docs.database.reader).rows_with(part.values, 0, key):
                        return part.values, row
            if self.program.adjuncts is not None and isinstance(key, int) and graph.holds(self.program.adjuncts, [key]):
                return self.program.adjuncts, (key,)
            for part in self.program.parts if isinstance(key, int) else ():  # what an object that is made holds
                if part.made_edges is not None:
                    for made, *rest in StoredObjects(self._docs.database.reader).rows(part.made_edges, 2, [key]):
                        return part.made_edges, (_listed(_key(made)), *rest)
        raise DataError(f"error[HW821]: {oid!r} is not in the view `{self.name}`; ask why_not({oid!r})")


def _edge(edge: Any) -> tuple[int, str, int]:
    match edge:
        case (parent, str(label), child) if not isinstance(edge, str):
            return _readings(parent)[0], label, _readings(child)[0]
        case _:
            raise DataError(
                f"error[HW821]: without: {edge!r} should be an edge (oid, label, oid); "
                "rows of relations are given as facts={...}"
            )


def _key(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _listed(key: Any) -> Any:
    return list(key) if isinstance(key, tuple) else key


def _natural(oid: Any) -> tuple[Any, ...]:
    """Objects of the store first; numbers by size, and before labels."""
    if not isinstance(oid, tuple):
        return 0, oid
    return 1, *((0, int(item), "") if str(item).isdecimal() else (1, 0, item) for item in oid)


def _sort_key(kind: str, text: str | None, number: float | None) -> tuple[Any, ...]:
    """Numbers before texts, nulls last of all."""
    if number is not None:
        return 0, number, text or ""
    return (2, 0.0, "") if text is None else (1, 0.0, text)


def _readings(oid: ObjectId) -> list[Any]:
    """The ids that a text may stand for: those of objects made of others hold ints, or texts where one is a label."""
    if isinstance(oid, tuple):
        return [tuple(map(str, oid))] if any(isinstance(part, str) for part in oid) else [oid]
    if not isinstance(oid, str):
        return [oid]
    match = _WRITTEN.fullmatch(oid)
    if match is None:
        raise DataError(f"error[HW821]: {oid!r} is no id of an object; write `&9'` or 9")
    first, dot, rest = match[1].partition(".")
    if not dot:
        return [int(first)]
    parts = (first, *rest.split(".")) if rest else (first,)
    numbers = [tuple(map(int, parts))] if all(part.isdecimal() for part in parts) else []
    return [*numbers, parts]


def _structs(documents: list[Any]) -> pa.Array:
    try:
        return pa.array(documents)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return pa.array([json_text(document) for document in documents], type=pa.string())


__all__ = ["DocumentView", "ViewObject", "delegate_id", "read_value", "shown_id"]
