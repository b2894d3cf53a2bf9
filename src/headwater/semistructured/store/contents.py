"""The rows of a document store, read by object: its children, its parents, its value.

Here the engine's tables are read, of a database or of one shard of several. Everything is asked for many objects at
once, through an index, so that it costs what the answer is large and not what the store is large.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headwater.engine.reading import StoreReader
from headwater.semistructured.schema import ATOM, BOOL, EDGE, INT, NAME, NULL, REAL

HOLLOW = "hollow"
HOLLOW_DECLARATION = "relation hollow(parent: int, label: string) optional."
"""Arrays without items: no edge says that they are there, and documents shall come out as they came in."""

Ints = npt.NDArray[np.int64]


class StoredObjects:
    """What the tables of a database, or of a shard, hold of a document store as they are now."""

    __slots__ = ("_reader", "is_tree")

    def __init__(self, reader: StoreReader, *, is_tree: bool = False) -> None:
        self._reader = reader
        self.is_tree = is_tree  # whether every object is known to have one parent or one name, and no other

    def rows(self, relation: str, column: int, values: Iterable[int] | Ints) -> list[tuple[Any, ...]]:
        """All rows that hold one of these ints in a column."""
        table = self._reader.table(relation)
        return self._reader.tuples(table, table.with_keys((column,), _ints(values).reshape(-1, 1))[1])

    def codes(self, relation: str, column: int, values: Ints) -> tuple[npt.NDArray[np.int32], Ints]:
        """The same as codes, and which of the values each row holds."""
        table = self._reader.table(relation)
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
        return self.rows_with_any(relation, column, [symbol])

    def rows_with_any(self, relation: str, column: int, symbols: Iterable[Any]) -> list[tuple[Any, ...]]:
        """All rows that hold one of these texts or lists in a column."""
        found = map(self._reader.symbols.find, symbols)
        numbers = [number for number in found if number >= 0]
        return self.rows(relation, column, numbers) if numbers else []

    def rows_between(self, relation: str, ends: Iterable[tuple[Any, int]]) -> list[tuple[Any, ...]]:
        """All rows that lead from an object of the first column to one of the third."""
        find = self._reader.symbols.find
        keys = [(one if isinstance(one, int) else find(one), other) for one, other in ends]
        if not keys:
            return []
        table = self._reader.table(relation)
        return self._reader.tuples(table, table.with_keys((0, 2), np.array(keys, dtype=np.int64))[1])

    @property
    def words(self) -> Sequence[Any]:
        """What the codes of texts stand for."""
        return self._reader.symbols.values

    def exist(self, oids: Ints) -> npt.NDArray[np.bool_]:
        """Which of these are objects: atoms, or at an end of an edge, or named."""
        found = self.has(ATOM, 0, oids)
        for relation, column in ((EDGE, 2), (EDGE, 0), (NAME, 1), (HOLLOW, 0)):
            if found.all():
                break
            found |= self.has(relation, column, oids)
        return found

    def count(self, relation: str) -> int:
        return self._reader.count(relation)

    def is_empty(self, relation: str) -> bool:
        return not self.count(relation)


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
    roots: int  # how many of the objects are roots: the first ones


def subgraph(contents: StoredObjects, roots: Ints) -> ObjectTree:
    """Everything that these objects lead to; of several ways to an object the first counts."""
    parts, edges = _levels(contents, roots)
    oid, parent, labels, places = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    kind, text = np.full(oid.size, -1, dtype=np.int64), np.zeros(oid.size, dtype=np.int64)
    which, atoms = contents.codes(ATOM, 0, oid)
    kind[which], text[which] = atoms[:, 1], atoms[:, 2]
    return ObjectTree(oid, parent, labels, places, kind, text, np.concatenate(edges), roots.size)


_Level: TypeAlias = tuple[Ints, Ints, Ints, Ints]


def _levels(contents: StoredObjects, roots: Ints) -> tuple[list[_Level], list[Ints]]:
    """The objects level by level, each where it is first met; in a tree none is met twice, so this is not checked."""
    parts: list[_Level] = []
    edges: list[Ints] = [np.zeros((0, 4), dtype=np.int64)]
    none = np.full(roots.size, -1, dtype=np.int64)
    level, above, label, place = roots, none, none, none
    seen = np.sort(roots)
    done = 0
    while level.size or not parts:
        parts.append((level, above, label, place))
        which, rows = contents.codes(EDGE, 0, level)
        edges.append(rows)
        fresh = slice(None) if contents.is_tree else _first_seen(rows[:, 2], seen)
        above, level = done + which[fresh].astype(np.int64), rows[fresh, 2]
        label, place = rows[fresh, 1], rows[fresh, 3]
        done += parts[-1][0].size
        if level.size and not contents.is_tree:
            seen = np.sort(np.concatenate([seen, level]))
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
