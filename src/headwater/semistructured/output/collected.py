"""A view whose rows were computed elsewhere, put together to documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from headwater.semistructured.output.rendering import documents_of
from headwater.semistructured.output.view import delegate_id
from headwater.semistructured.output.view_graph import read_value
from headwater.semistructured.store.contents import value_of
from headwater.semistructured.views import ViewProgram


def _shown(view: ViewProgram) -> str:
    return f"shown_{view.name}"


def shown_rules(view: ViewProgram) -> str:
    """Rules for the values of the atoms that a view shows, and a query for them."""
    name = _shown(view)
    holders = [f"{relation}(O)" for relation in (view.adjuncts, *(part.objects for part in view.parts)) if relation]
    holders += [f"{part.made_edges}(_, _, O, _)" for part in view.parts if part.made_edges]
    rules = [f"{name}(O, K, T, N) :- {holder}, atom(O, K, T, N)." for holder in holders]
    return "\n".join([*rules, f"query {name}(O, K, T, N)."]) if rules else ""


class CollectedView:
    """The rows of a view, by relation, as a graph."""

    def __init__(self, view: ViewProgram, tables: Mapping[str, pa.Table]) -> None:
        self._edges: dict[Any, list[tuple[str, Any, int]]] = {}
        self._values: dict[Any, Any] = {}
        self._roots: dict[Any, None] = {}

        def rows(relation: str | None) -> list[tuple[Any, ...]]:
            if relation is None or relation not in tables:
                return []
            columns = (column.to_pylist() for column in tables[relation].columns)
            return [tuple(map(_id, row)) for row in zip(*columns, strict=True)]

        for oid, kind, text, _ in rows(_shown(view)):
            self._values[oid] = value_of(kind, text)
        for parent, label, child, place in rows(view.edges):
            self._edges.setdefault(parent, []).append((label, child, place))
        for part in view.parts:
            self._roots.update(dict.fromkeys(row[0] for row in rows(part.objects)))
            self._roots.update(dict.fromkeys(row[0] for row in rows(part.made)))
            for oid, kind, text, number in rows(part.values):
                self._roots[oid] = None
                self._values[oid] = read_value(kind, text, number)
            for oid, label, child, place in rows(part.made_edges):
                self._edges.setdefault(oid, []).append((label, child, place))
            for oid, label, kind, text, number in rows(part.made_values):
                own = (*oid, label, kind, text, number)
                self._values[own] = read_value(kind, text, number)
                self._edges.setdefault(oid, []).append((label, own, -1))

    def children(self, oids: list[Any]) -> dict[Any, list[tuple[str, Any, int]]]:
        return {oid: self._edges[oid] for oid in oids if oid in self._edges}

    def values(self, oids: list[Any]) -> dict[Any, Any]:
        return {oid: self._values[oid] for oid in oids if oid in self._values}

    def hollow(self, oids: list[Any]) -> dict[Any, list[str]]:
        return {}

    def documents(self) -> dict[str, Any]:
        """The selected objects as documents, by the ids of their delegates."""
        roots = sorted(self._roots, key=repr)
        found = documents_of(self, roots, delegate_id)
        return {delegate_id(root): found[root] for root in roots}


def _id(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
