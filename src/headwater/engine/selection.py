"""Picks: a table that keeps, of each group, only the rows with the best values.

Promise: after `select`, the rows alive are those that are among the `limit` best distinct values of their
group for at least one pick, among all rows offered so far that have not lost their proof. Rows that lose
their place become ghosts (see `states`); candidates that have none are not stored: when a better row dies,
its group is pulled again from the rules. Several picks at once follow 000, section 6.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headwater.engine import kernels
from headwater.engine.expressions import distinct_rows, order_keys
from headwater.engine.index import Index
from headwater.engine.journal import Journal
from headwater.engine.states import EVER, GHOST
from headwater.engine.store import Rows, Store
from headwater.engine.values import Codes, Symbols
from headwater.plan.model import Best, Pick


def rows_with(index: Index, keys: Codes, store: Store) -> tuple[Rows, Rows]:
    """All (key number, row) pairs of rows alive that have one of these keys."""
    first = index.lookup(keys, store.data)
    lefts: list[Rows] = []
    rights: list[Rows] = []
    at, row = 0, -2
    room = max(1024, 4 * keys.shape[0])
    while at < first.size:
        left = np.empty(room, dtype=np.int32)
        right = np.empty(room, dtype=np.int32)
        count, at, row = kernels.expand(first, index.chain, store.stamp, EVER, at, row, left, right)
        lefts.append(left[:count])
        rights.append(right[:count])
        room *= 2
    if not lefts:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    return np.concatenate(lefts), np.concatenate(rights)


def select(
    store: Store,
    candidates: Codes,
    proofs: npt.NDArray[np.int32],
    rule: int,
    tick: int,
    journal: Journal,
    symbols: Symbols,
) -> tuple[Rows, Rows]:
    """Offer rows to a table with picks; the rows that came alive, and those that lost their place."""
    rivals = _in_groups(store, candidates)
    everyone = np.concatenate([candidates, store.data[rivals].astype(np.int64)])
    kept = np.zeros(everyone.shape[0], dtype=np.bool_)
    for pick in store.table.picks:
        kept |= _placed(store, pick, everyone, symbols)
    offered = candidates.shape[0]
    lost = rivals[~kept[offered:]]
    came = store.merge(candidates[kept[:offered]], proofs[kept[:offered]], rule, tick, journal)
    if lost.size:
        store.set_state(lost, GHOST, journal)
    return came, lost


def _in_groups(store: Store, candidates: Codes) -> Rows:
    """Rows alive that share a group with a candidate, for any pick; each once."""
    found: list[Rows] = []
    for pick in store.table.picks:
        keys, _ = distinct_rows(np.ascontiguousarray(candidates[:, list(pick.group)]))
        found.append(rows_with(store.index(pick.group), keys, store)[1])
    return found[0] if len(found) == 1 else np.unique(np.concatenate(found))


def _placed(store: Store, pick: Pick, everyone: Codes, symbols: Symbols) -> npt.NDArray[np.bool_]:
    """Which of these rows are among the best of their group, all rows of the group considered."""
    groups, member = distinct_rows(np.ascontiguousarray(everyone[:, list(pick.group)]))
    left, rows = rows_with(store.index(pick.group), groups, store)
    values = np.concatenate([everyone[:, pick.value], store.data[rows, pick.value].astype(np.int64)])
    values = order_keys(values, store.table.types[pick.value], symbols)
    if pick.best is Best.MAX:
        values = ~values  # reverses the order without overflow
    group = np.concatenate([member, left.astype(np.intp)])
    order = np.lexsort((values, group))
    group, values = group[order], values[order]
    new_group = np.ones(group.size, dtype=np.bool_)
    new_group[1:] = group[1:] != group[:-1]
    new_value = new_group.copy()
    new_value[1:] |= values[1:] != values[:-1]
    count = np.cumsum(new_value)
    rank: npt.NDArray[np.int64] = count - np.maximum.accumulate(np.where(new_group, count, 0))
    placed = np.empty(group.size, dtype=np.bool_)
    placed[order] = rank < pick.limit
    return placed[: everyone.shape[0]]
