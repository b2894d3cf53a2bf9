"""The rows of a document store, read by object: its children, its parents, its value.

This is the one module here that reads the engine's tables. Everything is asked for many objects at once, through an
index, so that it costs what the answer is large and not what the store is large.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headwater.database import Database
from headwater.engine.reading import TableReader, tuples
from headwater.semistructured.schema import ATOM, BOOL, EDGE, INT, NAME, NULL, REAL

HOLLOW = "hollow"
HOLLOW_DECLARATION = "relation hollow(parent: int, label: string) optional."
"""Arrays without items: no edge says that they are there, and documents shall come out as they came in."""

Ints = npt.NDArray[np.int64]
DEEPEST_TREE = 1002  # levels of the deepest document that is read; what is deeper has a cycle, or was put together


class StoredObjects:
    """What a database holds of a document store."""

    __slots__ = ("_db",)

    def __init__(self, db: Database) -> None:
        self._db = db

    def rows(self, relation: str, column: int, values: Iterable[int] | Ints) -> list[tuple[Any, ...]]:
        """All rows that hold one of these ints in a column."""
        table, found = self._found(relation, column, _ints(values))
        return list(tuples(table.table, table.codes(found), self._db._symbols))

    def codes(self, relation: str, column: int, values: Ints) -> tuple[npt.NDArray[np.int32], Ints]:
        """The same as codes, and which of the values each row holds."""
        table = TableReader(self._db._shard.stores[relation])
        which, found = table.with_keys((column,), values.reshape(-1, 1))
        return which, table.codes(found)

    def has(self, relation: str, column: int, values: Ints) -> npt.NDArray[np.bool_]:
        """Which of these ints a column holds."""
        held = np.zeros(values.size, dtype=np.bool_)
        if values.size:
            held[self.codes(relation, column, values)[0]] = True
        return held

    def rows_with(self, relation: str, column: int, symbol: Any) -> list[tuple[Any, ...]]:
        """All rows that hold a text or list in a column."""
        number = self._db._symbols.find(symbol)
        return [] if number < 0 else self.rows(relation, column, [number])

    def exist(self, oids: Ints) -> npt.NDArray[np.bool_]:
        """Which of these are objects: atoms, or at an end of an edge, or named."""
        found = self.has(ATOM, 0, oids)
        for relation, column in ((EDGE, 2), (EDGE, 0), (NAME, 1), (HOLLOW, 0)):
            if found.all():
                break
            found |= self.has(relation, column, oids)
        return found

    def _found(self, relation: str, column: int, values: Ints) -> tuple[TableReader, npt.NDArray[np.int32]]:
        table = TableReader(self._db._shard.stores[relation])
        return table, table.with_keys((column,), values.reshape(-1, 1))[1]

    def is_empty(self, relation: str) -> bool:
        return not self._db._shard.stores[relation].count


def _ints(values: Iterable[int] | Ints) -> Ints:
    return values if isinstance(values, np.ndarray) else np.fromiter(values, dtype=np.int64)


def value_of(kind: str, text: str | None) -> Any:
    """The Python value of an atom: exact ints, times as ISO text."""
    match kind:
        case _ if kind == NULL or text is None:
            return None
        case _ if kind == INT:
            return int(text)
        case _ if kind == REAL:
            return float(text)
        case _ if kind == BOOL:
            return text == "true"
        case _:
            return text


@dataclass(frozen=True, slots=True)
class ObjectTree:
    """Objects below some roots, each once, level by level. Labels, kinds and texts are codes."""

    oid: Ints
    parent: Ints  # its number in these arrays, -1 for a root
    label: Ints
    place: Ints
    kind: Ints  # -1 for objects
    text: Ints
    edges: Ints  # all edges from these objects, as codes (parent, label, child, place)


def subgraph(contents: StoredObjects, roots: Ints) -> ObjectTree:
    """Everything that these objects lead to; of several ways to an object the first counts."""
    found = _levels(contents, roots, once=False)  # most documents are trees, where no object is met twice
    if found is None:
        found = _levels(contents, roots, once=True)
    assert found is not None
    parts, edges = found
    oid, parent, labels, places = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    kind, text = np.full(oid.size, -1, dtype=np.int64), np.zeros(oid.size, dtype=np.int64)
    which, atoms = contents.codes(ATOM, 0, oid)
    kind[which], text[which] = atoms[:, 1], atoms[:, 2]
    return ObjectTree(oid, parent, labels, places, kind, text, np.concatenate(edges))


_Level: TypeAlias = tuple[Ints, Ints, Ints, Ints]


def _levels(contents: StoredObjects, roots: Ints, *, once: bool) -> tuple[list[_Level], list[Ints]] | None:
    """The objects level by level; unless each is to be met `once`, None if one was met again."""
    parts: list[_Level] = []
    edges: list[Ints] = [np.zeros((0, 4), dtype=np.int64)]
    none = np.full(roots.size, -1, dtype=np.int64)
    level, above, label, place = roots, none, none, none
    seen = np.sort(roots)
    done = 0
    while level.size or not parts:
        parts.append((level, above, label, place))
        if not once and len(parts) > DEEPEST_TREE:
            return None
        which, rows = contents.codes(EDGE, 0, level)
        edges.append(rows)
        fresh = _first_seen(rows[:, 2], seen) if once else slice(None)
        above, level = done + which[fresh].astype(np.int64), rows[fresh, 2]
        label, place = rows[fresh, 1], rows[fresh, 3]
        done += parts[-1][0].size
        if once and level.size:
            seen = np.sort(np.concatenate([seen, level]))
    if not once:
        every = np.sort(np.concatenate([part[0] for part in parts]))
        if (every[1:] == every[:-1]).any():
            return None
    return parts, edges


def _first_seen(children: Ints, seen: Ints) -> Ints:
    """Which of these are met for the first time, in their order."""
    if not children.size:
        return np.zeros(0, dtype=np.int64)
    at = np.minimum(np.searchsorted(seen, children), seen.size - 1)
    fresh = np.flatnonzero(seen[at] != children)
    if fresh.size > 1 and np.unique(children[fresh]).size < fresh.size:
        _, first = np.unique(children[fresh], return_index=True)
        fresh = fresh[np.sort(first)]
    return fresh
