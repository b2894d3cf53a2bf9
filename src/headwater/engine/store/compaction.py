"""Compaction: throws out rows that are gone and ghosts that no witness needs, and gives their room back.

It runs between transactions, over one stratum at a time, when what is dead outweighs what is alive; its cost
is therefore paid for by the rows that died. Whoever expects no transaction for a while may ask for it sooner. Row
numbers change; witnesses that name them are rewritten.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum

import numpy as np
import numpy.typing as npt

from headwater.engine.store.index import Rows
from headwater.engine.store.sieve import rows_by
from headwater.engine.store.states import BASE, GHOST, GONE
from headwater.engine.store.store import Store

_WORTH_IT = 1024
_WORTH_IT_AT_REST = 64
_NOTABLE = 8  # at rest, one dead row beside so many alive is worth it


class Moment(Enum):
    """When rows are thrown out: between two transactions, or when none is expected for a while."""

    BUSY = "busy"
    REST = "rest"


def is_worth(store: Store, moment: Moment) -> bool:
    """Whether enough is dead. Rows that end are cleared away sooner: all of them will be dead one day."""
    if moment is Moment.REST:
        return store.size - store.count > store.count // _NOTABLE + _WORTH_IT_AT_REST
    much = store.count if store.table.lease is None else store.count // 2
    return store.size - store.count > much + _WORTH_IT


def compact(names: Collection[str], stores: Mapping[str, Store], moment: Moment) -> None:
    """Compact those of a stratum's tables that are worth it: if busy, those that are mostly dead."""
    own = [stores[name] for name in names]
    if not any(is_worth(store, moment) for store in own):
        return
    for store, needed in _needed_ghosts(own).items():
        idle = np.flatnonzero((store.stamp[: store.size] == GHOST) & ~needed).astype(np.int32)
        if idle.size:
            store.unlink(idle)
            store.stamp[idle] = GONE
            store.buried = True
    for store in own:
        if is_worth(store, moment):
            squeeze(store, moment)


def forget_sparse(store: Store) -> None:
    """Give up indexes with many more cells than rows; they are made anew when needed."""
    if store.space is not None and store.space.is_sparse(store.size):
        store.forget_identities()
    for columns, index in list(store.indexes.items()):
        if index.space is not None and index.space.is_sparse(store.size):
            del store.indexes[columns]


def _needed_ghosts(own: list[Store]) -> dict[Store, npt.NDArray[np.bool_]]:
    """The ghosts that a witness of a row alive, or of one that was sent, rests on, directly or through other ghosts.

    A fact of the program that a later version has replaced is needed too: it returns when that version is deleted.
    """
    needed = {store: np.full(store.size, store.table.outbox) for store in own}
    for store in own:
        if store.table.base:
            needed[store] |= store.rules[: store.size] != BASE
    for store in own:
        if store.table.lasting:
            needed[store] |= _named_anywhere(store)
    frontier = [(store, _counted_on(store)) for store in own]
    while frontier:
        store, rows = frontier.pop()
        for use in store.used:
            if use.parent not in needed:
                continue
            parents = store.witness[rows[store.rules[rows] == use.rule], use.position]
            parents = np.unique(parents[use.parent.stamp[parents] == GHOST])
            fresh = parents[~needed[use.parent][parents]].astype(np.int32)
            if fresh.size:
                needed[use.parent][fresh] = True
                frontier.append((use.parent, fresh))
    return needed


def _counted_on(store: Store) -> Rows:
    """Rows that other rows or shards rely on: those alive, and of an outbox the ghosts too."""
    if not store.table.outbox:
        return store.alive()
    stamps = store.stamp[: store.size]
    return np.flatnonzero((stamps > GONE) | (stamps == GHOST)).astype(np.int32)


def _named_anywhere(store: Store) -> npt.NDArray[np.bool_]:
    """Rows that any witness names: those of higher strata, too, may rest on versions that later leases replaced."""
    named = np.zeros(store.size, dtype=np.bool_)
    for use in store.uses:
        child = use.child
        rows = np.flatnonzero((child.rules[: child.size] == use.rule) & (child.stamp[: child.size] != GONE))
        named[child.witness[rows, use.position]] = True
    return named


def squeeze(store: Store, moment: Moment) -> None:
    """Move the rows that are not gone to the front and rewrite every witness that names them.

    There is room for as many again, as a table that was that large once will grow; at rest there is none.
    """
    keep = np.flatnonzero(store.stamp[: store.size] != GONE).astype(np.int32)
    if store.table.clusters is not None:
        keep = _clustered(store, keep, store.table.clusters)
    moved = np.full(store.size, -1, dtype=np.int32)
    moved[keep] = np.arange(keep.size, dtype=np.int32)
    for use in store.uses:
        child = use.child
        rows = np.flatnonzero((child.rules[: child.size] == use.rule) & (child.stamp[: child.size] != GONE))
        child.witness[rows, use.position] = moved[child.witness[rows, use.position]]
    store.relist()
    for child in {use.child for use in store.uses}:
        child.relist()
    store.keep_only(keep, 0 if moment is Moment.REST else keep.size)


def _clustered(store: Store, rows: Rows, column: int) -> Rows:
    """The rows by the values of a column, if these lie close together."""
    found = rows_by(store, rows, column)
    return rows if found is None else found[2]
