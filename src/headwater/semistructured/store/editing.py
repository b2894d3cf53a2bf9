"""Ins, Del and Chg of 001, section 2.5, as rows: edges between objects, and values of atoms.

Promise: an edit that names an object which is not there, gives an atom members, or changes the value of an object with
members, is a DataError, and nothing is applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np

from headwater.core.errors import DataError
from headwater.semistructured.output.rendering import ITEM
from headwater.semistructured.reading.kernels.scanning import COMPLEX
from headwater.semistructured.reading.nodes import KIND_NAMES, Nodes
from headwater.semistructured.reading.python_values import nodes_of
from headwater.semistructured.schema import ATOM, EDGE
from headwater.semistructured.store.contents import HOLLOW, StoredObjects, value_of
from headwater.semistructured.store.garbage import Edge, unreachable


@dataclass(frozen=True, slots=True)
class NewValue:
    """The value of an object that is not there yet."""

    value: Any


@dataclass(frozen=True, slots=True)
class ObjectEdit:
    """Rows to insert and to delete."""

    insert: dict[str, list[Any]]
    delete: dict[str, list[Any]]
    fresh: int
    shares: bool  # whether an object that was there gets another parent


@dataclass(slots=True)
class _Rows:
    edges: list[Edge] = field(default_factory=list)
    atoms: list[tuple[Any, ...]] = field(default_factory=list)
    hollow: list[tuple[int, str]] = field(default_factory=list)
    fresh: int = 0


def edited(
    contents: StoredObjects,
    insert: Sequence[tuple[int, str, Any]],
    delete: Sequence[tuple[int, str, int]],
    change: Sequence[tuple[int, Any]],
    first: int,
) -> ObjectEdit:
    """The rows of some updates; new objects get ids from `first` on."""
    made = _Rows()
    _check(contents, insert, delete, change)
    going = _edges_to_delete(contents, delete)
    arrays = _Arrays(contents, {row[0] for row in insert}, set(going))
    for parent, label, child in insert:
        known = child if _is_oid(child) else _make(made, child, first)
        made.edges.append((parent, label, known, arrays.place(parent, label)))
    values = [(oid, *atom) for (oid, _), atom in zip(change, _atoms([value for _, value in change]), strict=True)]
    lost = unreachable(contents, {edge[2] for edge in going}, going, made.edges) if going else set()
    going = [*going, *_close_gaps(contents, going, made)]
    known = {edge for edge in going if edge not in made.edges}
    delete_edges = [*known, *(row for row in contents.rows(EDGE, 0, lost) if row not in known)]
    come = {EDGE: made.edges, ATOM: [*values, *made.atoms], HOLLOW: made.hollow}
    rows = {name: [row for row in found if row[0] not in lost] for name, found in come.items()}
    filled = [(parent, label) for parent, label, _, place in rows[EDGE] if place == 0]
    dead = {
        EDGE: delete_edges,
        ATOM: contents.rows(ATOM, 0, lost),
        HOLLOW: [*contents.rows(HOLLOW, 0, lost), *filled],
    }
    return ObjectEdit(
        {name: found for name, found in rows.items() if found},
        {name: found for name, found in dead.items() if found},
        made.fresh,
        any(_is_oid(child) for _, _, child in insert),
    )


def check_old_values(contents: StoredObjects, expected: Sequence[tuple[int, Any]]) -> None:
    """Raise DataError where the value of an object is not the one that an update says it changes."""
    values = {row[0]: value_of(row[1], row[2]) for row in contents.rows(ATOM, 0, [oid for oid, _ in expected])}
    for oid, old in expected:
        if oid in values and (values[oid] != old or isinstance(values[oid], bool) != isinstance(old, bool)):
            raise DataError(
                f"error[HW821]: object &{oid} has the value {values[oid]!r}, and not {old!r}; nothing was applied"
            )


def _check(
    contents: StoredObjects, insert: Sequence[tuple[int, str, Any]], delete: Sequence[tuple[int, str, int]],
    change: Sequence[tuple[int, Any]],
) -> None:  # fmt: skip
    for what, rows, width in (("insert", insert, 3), ("delete", delete, 3), ("change", change, 2)):
        for row in rows:
            if not isinstance(row, tuple | list) or len(row) != width or not _is_oid(row[0]):
                raise DataError(
                    f"error[HW821]: {what}: {row!r} should be ({'oid, label, oid' if width == 3 else 'oid, value'})"
                )
            if width == 3 and (not isinstance(row[1], str) or row[1] == ITEM):
                raise DataError(f"error[HW821]: {what}: {row[1]!r} cannot be a label")
    parents = [row[0] for row in insert]
    oids = sorted({*parents, *(row[2] for row in insert if _is_oid(row[2])), *(row[0] for row in change)})
    if not oids:
        return
    asked = np.array(oids, dtype=np.int64)
    missing = asked[~contents.exist(asked)]
    if missing.size:
        raise DataError(f"error[HW821]: there is no object &{missing[0]}; nothing was applied")
    atoms = {row[0] for row in contents.rows(ATOM, 0, asked)}
    for parent in parents:
        if parent in atoms:
            raise DataError(f"error[HW821]: object &{parent} is an atom and cannot have members; nothing was applied")
    for oid, _ in change:
        if oid not in atoms:
            raise DataError(
                f"error[HW821]: object &{oid} has members and no value that could change; nothing was applied"
            )


def _is_oid(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _edges_to_delete(contents: StoredObjects, delete: Sequence[tuple[int, str, int]]) -> list[Edge]:
    if not delete:
        return []
    asked = {(parent, label, child) for parent, label, child in delete}
    return [row for row in contents.rows(EDGE, 0, sorted({row[0] for row in delete})) if row[:3] in asked]


def _close_gaps(contents: StoredObjects, going: Sequence[Edge], made: _Rows) -> list[Edge]:
    """Number the items anew that stay in arrays which lose some: the edges that move, which `made` gets at their new
    places. An array that loses all of them is there, and empty."""
    gone, moved = set(going), list[Edge]()
    arrays = dict.fromkeys((parent, label) for parent, label, _, place in going if place >= 0)
    left: dict[tuple[int, str], list[Edge]] = {array: [] for array in arrays}
    for row in contents.rows(EDGE, 0, sorted({parent for parent, _ in arrays})):
        if row[:2] in left and row[3] >= 0 and row not in gone:
            left[row[:2]].append(row)
    for (parent, label), stay in left.items():
        come = [at for at, row in enumerate(made.edges) if row[:2] == (parent, label) and row[3] >= 0]
        for place, at in enumerate(come, len(stay)):
            made.edges[at] = (*made.edges[at][:3], place)
        for place, row in enumerate(sorted(stay, key=itemgetter(3))):
            if place != row[3]:
                moved.append(row)
                made.edges.append((*row[:3], place))
        if not stay and not come:
            made.hollow.append((parent, label))
    return moved


class _Arrays:
    """Where the next item goes: after the last one of an array; -1 where there is no array."""

    def __init__(self, contents: StoredObjects, parents: set[int], gone: set[Edge]) -> None:
        self._next: dict[tuple[int, str], int] = dict.fromkeys(contents.rows(HOLLOW, 0, parents), 0)
        for row in contents.rows(EDGE, 0, parents):
            if row not in gone:
                parent, label, _, place = row
                self._next[parent, label] = max(self._next.get((parent, label), -1), place + 1 if place >= 0 else -1)

    def place(self, parent: int, label: str) -> int:
        found = self._next.get((parent, label), -1)
        if found >= 0:
            self._next[parent, label] = found + 1
        return found


def _make(made: _Rows, value: Any, first: int) -> int:
    """Objects for a new value; the id of the first."""
    nodes = nodes_of([_plain(value)], "the new value")
    if nodes.rejected:
        raise DataError(f"error[HW820]: {nodes.rejected[0]}; nothing was applied")
    oids = first + made.fresh + np.arange(nodes.size, dtype=np.int64)
    made.edges += [tuple(row.values()) for row in nodes.edges(oids).to_pylist()]
    made.atoms += [tuple(row.values()) for row in nodes.atoms(oids).to_pylist()]
    made.hollow += [tuple(row.values()) for row in nodes.hollow_rows(oids).to_pylist()]
    made.fresh += nodes.size
    return int(oids[0])


def _atoms(values: Sequence[Any]) -> list[tuple[str, str | None, float | None]]:
    """The kind, text and number of atoms."""
    nodes: Nodes = nodes_of([_plain(value) for value in values], "the new values")
    if nodes.rejected:
        raise DataError(f"error[HW820]: {nodes.rejected[0]}; nothing was applied")
    if nodes.size != len(values) or (nodes.kind == COMPLEX).any():
        wrong = next(value for value in values if isinstance(_plain(value), dict | list | tuple))
        raise DataError(f"error[HW821]: {wrong!r} is no atomic value; delete the edge and insert a new one")
    numbers = [None if np.isnan(number) else number for number in nodes.number.tolist()]
    kinds = [KIND_NAMES[kind].as_py() for kind in range(len(KIND_NAMES))]
    return list(zip([kinds[kind] for kind in nodes.kind.tolist()], nodes.text.to_pylist(), numbers, strict=True))


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, NewValue) else value
