"""Marks rows whose witness names a row that is lost."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from headwater.engine.store import kernels
from headwater.engine.store.index import Index
from headwater.engine.store.journal import NO_ROWS, Entry, Journal, Rows
from headwater.engine.store.states import GHOST, GONE
from headwater.engine.store.store import Store, Use, resized


def mark_children(use: Use, parents: Rows, journal: Journal) -> Rows:
    """Mark the rows whose witness names one of `parents` at `use`; the rows marked."""
    store = use.child
    store.link()
    store.buried = True
    use.parent.room_for_children()
    found: list[Rows] = []
    at, child = 0, -2
    while at < parents.size:
        out = np.empty(max(256, 4 * parents.size), dtype=np.int32)
        old = np.empty_like(out)
        count, at, child = kernels.mark_children(
            parents, use.parent.first, use.column, store.following, use.position, store.stamp, at, child, out, old
        )
        if count:
            journal.note(store, Entry(out[:count], old[:count]))
            found.append(out[:count])
    if found:
        journal.marked.add(store.name)
    return np.concatenate(found) if found else NO_ROWS


def mark_descendants(store: Store, rows: Rows, journal: Journal) -> Rows:
    """Mark what rests on these marked rows of a store within the store itself; the rows with all that was marked."""
    own = [use for use in store.uses if use.child is store]
    if not own:
        return rows
    store.link()
    store.buried = True
    store.room_for_children()
    columns = np.array([use.column for use in own], dtype=np.int64)
    positions = np.array([use.position for use in own], dtype=np.int64)
    queue = np.empty(max(1024, 8 * rows.size), dtype=np.int32)
    queue[: rows.size] = rows
    old = np.empty_like(queue)
    count, at, use, child = rows.size, 0, 0, -2
    while True:
        count, at, use, child = kernels.mark_descendants(
            queue, count, store.first, columns, store.following, positions, store.stamp, at, use, child, old
        )
        if at == count:
            break
        queue, old = resized(queue, 4 * queue.size, count), resized(old, 4 * old.size, count)
    if count > rows.size:
        journal.note(store, Entry(queue[rows.size : count].copy(), old[rows.size : count].copy()))
    return queue[:count]


def distinct(rows: Rows) -> Rows:
    """Rows in ascending order, each once; mostly they are so already."""
    if not (rows[1:] > rows[:-1]).all():
        rows = np.sort(rows)
        rows = rows[np.concatenate([[True], rows[1:] > rows[:-1]])]
    return rows


def by_store(parts: Iterable[tuple[Store, Rows]]) -> list[tuple[Store, Rows]]:
    """The rows of each store together."""
    merged: dict[Store, list[Rows]] = {}
    for store, rows in parts:
        merged.setdefault(store, []).append(rows)
    return [(store, np.concatenate(pieces)) for store, pieces in merged.items()]


def versions(index: Index, keys: npt.NDArray[np.int64], store: Store) -> Rows:
    """Rows with these keys that are alive or ghosts."""
    found: list[int] = []
    for cell in index.cells(keys, store.data).tolist():
        found.extend(row for row in index.rows_of(cell) if store.stamp[row] > GONE or store.stamp[row] == GHOST)
    return np.array(found, dtype=np.int32)
