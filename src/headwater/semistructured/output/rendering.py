"""Objects as JSON documents.

An object is written as a dict, its members by label. Edges with a place in an array are a list in this order; so are
several edges with one label and no place. An object that holds itself is written as `{"$ref": "&12"}` where it is met
again; one that is shared is written wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Protocol

from headwater.core.errors import DataError

ITEM = "[]"
_MOST = 10_000_000


class ObjectGraph(Protocol):
    """Objects to be written: their edges, in any order, and the values of those that are atoms."""

    def children(self, oids: list[Any]) -> Mapping[Any, list[tuple[str, Any, int]]]:
        """Edges (label, child, place) of these objects."""

    def values(self, oids: list[Any]) -> Mapping[Any, Any]:
        """Values of those that are atoms."""

    def hollow(self, oids: list[Any]) -> Mapping[Any, list[str]]:
        """Labels of their empty arrays."""


def documents_of(graph: ObjectGraph, roots: Iterable[Any], named: Callable[[Any], str]) -> dict[Any, Any]:
    """The documents that these objects are; `named` writes an id."""
    edges: dict[Any, list[tuple[str, Any, int]]] = {}
    values: dict[Any, Any] = {}
    hollow: dict[Any, list[str]] = {}
    asked: set[Any] = set()
    level = list(dict.fromkeys(roots))
    while level:
        asked.update(level)
        values.update(graph.values(level))
        inner = [oid for oid in level if oid not in values]
        edges.update(graph.children(inner))
        hollow.update(graph.hollow(inner))
        found = (child for oid in inner for _, child, _ in edges.get(oid, ()))
        level = [child for child in dict.fromkeys(found) if child not in asked]
    written = _Writer(edges, values, hollow, named)
    return {root: written.document(root) for root in dict.fromkeys(roots)}


class _Writer:
    def __init__(
        self,
        edges: Mapping[Any, list[tuple[str, Any, int]]],
        values: Mapping[Any, Any],
        hollow: Mapping[Any, list[str]],
        named: Callable[[Any], str],
    ) -> None:
        self._edges, self._values, self._hollow, self._named = edges, values, hollow, named
        self._left = _MOST

    def document(self, root: Hashable) -> Any:
        """Top down with a stack of its own, because documents may be deeper than Python's."""
        out: list[Any] = [None]
        stack: list[tuple[Any, Any, Any, tuple[Any, ...] | None]] = [(root, out, 0, None)]
        while stack:
            oid, container, place, above = stack.pop()
            self._left -= 1
            if self._left < 0:
                raise DataError(
                    f"error[HW823]: the documents have more than {_MOST:,} values; objects that are shared are "
                    "written wherever they stand"
                )
            if oid in self._values:
                container[place] = self._values[oid]
                continue
            if self._is_open(oid, above):
                container[place] = {"$ref": self._named(oid)}
                continue
            made, members = self._opened(oid)
            container[place] = made
            stack += [(child, inside, at, (oid, above)) for child, inside, at in members]
        return out[0]

    @staticmethod
    def _is_open(oid: Any, above: tuple[Any, ...] | None) -> bool:
        while above is not None:
            if above[0] == oid:
                return True
            above = above[1]
        return False

    def _opened(self, oid: Any) -> tuple[Any, list[tuple[Any, Any, Any]]]:
        """The empty dict or list for an object, and where its children go."""
        by_label: dict[str, list[tuple[int, Any]]] = {}
        for label, child, place in sorted(self._edges.get(oid, ()), key=_by_child):
            by_label.setdefault(label, []).append((place, child))
        members: list[tuple[Any, Any, Any]] = []
        made: Any = {}
        for label, found in by_label.items():
            if len(found) == 1 and found[0][0] < 0:
                made[label] = None
                members.append((found[0][1], made, label))
                continue
            found.sort(key=_by_place)
            items: list[Any] = [None] * len(found)
            made[label] = items
            members += [(child, items, at) for at, (_, child) in enumerate(found)]
        for label in self._hollow.get(oid, ()):
            made[label] = []
        return made.get(ITEM, made), members


def _by_child(edge: tuple[str, Any, int]) -> tuple[bool, str]:
    """In the order in which objects came, which is that of the document that they came with."""
    return isinstance(edge[1], tuple), repr(edge[1]).rjust(24)


def _by_place(item: tuple[int, Any]) -> tuple[int, str]:
    return item[0], repr(item[1]).rjust(24)
