"""Picks: a table that keeps, of each group, only the rows with the best values.

Promise: after `select`, the rows alive are those that are among the `limit` best distinct values of their
group for at least one pick, among all rows offered so far that have not lost their witness. Rows that lose
their place become ghosts (see `states`); candidates that have none are not stored: when a better row dies,
its group is pulled again from the rules. Several picks at once follow 000, section 6. A null is worse than any
value, for a `min` too: it is kept only in a group that has nothing else.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headwater.engine.best.versions import best_first, kept_versions
from headwater.engine.codes.expressions import distinct_rows
from headwater.engine.codes.symbols import Codes, Symbols
from headwater.engine.store import kernels
from headwater.engine.store.frontier import Frontiers
from headwater.engine.store.index import Index, Rows
from headwater.engine.store.journal import Journal
from headwater.engine.store.states import EVER, GHOST, GONE
from headwater.engine.store.store import Store
from headwater.plan.model import Best, Pick
from headwater.program.model import Keeps

_FIRST = 32  # one new row in so many goes first
_FEW = 256  # so few rows are sorted at once


def rows_with(index: Index, keys: Codes, store: Store, stamps: Rows | None = None) -> tuple[Rows, Rows]:
    """All (key number, row) pairs of rows alive, by their own stamps or those given, that have one of these keys."""
    stamp = store.stamp if stamps is None else stamps
    cells = index.cells(keys, store.data)
    lefts: list[Rows] = []
    rights: list[Rows] = []
    at, place, row = 0, -1, -1
    room = max(1024, 4 * keys.shape[0])
    while at < cells.size:
        left = np.empty(room, dtype=np.int32)
        right = np.empty(room, dtype=np.int32)
        count, at, place, row = kernels.expand(cells, index.arrays, stamp, EVER, at, place, row, left, right)
        lefts.append(left[:count])
        rights.append(right[:count])
        room *= 2
    if not lefts:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    return np.concatenate(lefts), np.concatenate(rights)


def find_identity(store: Store, codes: Codes) -> int:
    """The row alive with this identity, whatever its time and lease; -1 if there is none."""
    if len(store.table.identity) == store.width:
        found = int(store.find(codes)[0])
        return found if found >= 0 and store.stamp[found] > GONE else -1
    keys = np.ascontiguousarray(codes[:1, list(store.table.identity)])
    rows = rows_with(store.index(store.table.identity), keys, store)[1]
    return int(rows[0]) if rows.size else -1


def select(
    store: Store,
    candidates: Codes,
    witnesses: npt.NDArray[np.int32],
    rule: int,
    tick: int,
    journal: Journal,
    symbols: Symbols,
) -> tuple[Rows, Rows]:
    """Offer rows to a table with picks; the rows that came alive, and those that lost their place."""
    if store.table.listed and store.name not in journal.marked:
        group = candidates[:, list(store.table.picks[0].group)]
        lists = Frontiers.of(store, group.min(axis=0), group.max(axis=0), candidates.shape[0])
        if lists is not None:
            return lists.place(candidates, witnesses, rule, tick, journal)
    if store.table.single:
        return _select_single(store, candidates, witnesses, rule, tick, journal)
    if store.table.keeps is Keeps.FRONTIER and candidates.shape[0] > _FEW:
        useful = _useful(store, candidates)
        candidates, witnesses = candidates[useful], witnesses[useful]
    rivals = _in_groups(store, candidates)
    everyone = np.concatenate([candidates, store.data[rivals].astype(np.int64)])
    kept = np.zeros(everyone.shape[0], dtype=np.bool_)
    offered = candidates.shape[0]
    for pick in store.table.picks:
        if store.table.keeps is Keeps.ALL:
            kept |= _placed(store, pick, everyone, symbols)
        else:
            whole = _with_groups(store, pick, everyone, rivals)
            kept |= kept_versions(store.table, pick, whole, offered, symbols)[: everyone.shape[0]]
    lost = rivals[~kept[offered:]]
    came = store.merge(candidates[kept[:offered]], witnesses[kept[:offered]], rule, tick, journal)
    if lost.size:
        store.set_state(lost, GHOST, journal)
    return came, lost


def _useful(store: Store, candidates: Codes) -> npt.NDArray[np.bool_]:
    """Rows that the rows alive do not make needless at first sight; the others need not be sorted."""
    keep = np.ones(candidates.shape[0], dtype=np.bool_)
    table = store.table
    if is_ranked(store) and table.time is None and len(table.picks[0].group) == store.width - 2:
        (pick,) = table.picks
        index = store.index(pick.group)
        cells = index.cells(np.ascontiguousarray(candidates[:, list(pick.group)]), store.data)
        shape = pick.value, table.lease, pick.best is Best.MAX
        kernels.not_needless(
            candidates[:, pick.value], candidates[:, table.lease], cells, index.arrays, store.stamp, store.data, shape,
            keep,
        )  # fmt: skip
    return keep


def is_ranked(store: Store) -> bool:
    """Whether the rows of a table are best handled in the order of their values: there is one pick, of numbers."""
    if len(store.table.picks) != 1:
        return False
    (pick,) = store.table.picks
    numbers = not store.table.types[pick.value].is_symbolic and pick.value not in store.table.nullable
    return pick.limit == 1 and numbers


def best_part(store: Store, rows: Rows) -> tuple[Rows, Rows]:
    """The rows with the best few of the values, and the others."""
    (pick,) = store.table.picks
    values = store.data[rows, pick.value]
    if pick.best is Best.MAX:
        values = ~values
    enough = rows.size // _FIRST
    first = values <= np.partition(values, enough)[enough]
    return rows[first], rows[~first]


def _select_single(
    store: Store, candidates: Codes, witnesses: npt.NDArray[np.int32], rule: int, tick: int, journal: Journal
) -> tuple[Rows, Rows]:
    """`select` for a table with one row per group: compare with the row that stands, then with each other."""
    (pick,) = store.table.picks
    index = store.index(pick.group)
    keys = np.ascontiguousarray(candidates[:, list(pick.group)])
    standing = np.empty(candidates.shape[0], dtype=np.int32)
    kernels.exists(index.cells(keys, store.data), index.arrays, store.stamp, EVER, standing)
    values = candidates[:, pick.value]
    held = store.data[standing, pick.value]
    better = values < held if pick.best is Best.MIN else values > held
    ahead = np.flatnonzero(better | (standing < 0))
    if not ahead.size:
        return _NO_ROWS, _NO_ROWS
    order = values[ahead] if pick.best is Best.MIN else ~values[ahead]
    ranked = np.lexsort((order, *keys[ahead].T))
    ahead = ahead[ranked]
    grouped = keys[ahead]
    first = np.ones(ahead.size, dtype=np.bool_)
    first[1:] = (grouped[1:] != grouped[:-1]).any(axis=1)
    winners = ahead[first]
    lost = standing[winners]
    lost = lost[lost >= 0]
    if lost.size:
        store.set_state(lost, GHOST, journal)
    return store.merge(candidates[winners], witnesses[winners], rule, tick, journal), lost


def _in_groups(store: Store, candidates: Codes) -> Rows:
    """Rows alive that share a group with a candidate, for any pick; each once."""
    found: list[Rows] = []
    for pick in store.table.picks:
        keys, _ = distinct_rows(np.ascontiguousarray(candidates[:, list(pick.group)]))
        found.append(rows_with(store.index(pick.group), keys, store)[1])
    return found[0] if len(found) == 1 else np.unique(np.concatenate(found))


def _with_groups(store: Store, pick: Pick, everyone: Codes, rivals: Rows) -> Codes:
    """These rows with all others that share a group with one of them, which only several picks can add to."""
    if len(store.table.picks) == 1:
        return everyone
    groups, _ = distinct_rows(np.ascontiguousarray(everyone[:, list(pick.group)]))
    more = np.setdiff1d(rows_with(store.index(pick.group), groups, store)[1], rivals)
    return np.concatenate([everyone, store.data[more].astype(np.int64)])


def _placed(store: Store, pick: Pick, everyone: Codes, symbols: Symbols) -> npt.NDArray[np.bool_]:
    """Which of these rows are among the best of their group, all rows of the group considered."""
    groups, member = distinct_rows(np.ascontiguousarray(everyone[:, list(pick.group)]))
    left, rows = rows_with(store.index(pick.group), groups, store)
    columns = list(pick.ranked)
    codes = np.concatenate([everyone[:, columns], store.data[rows][:, columns].astype(np.int64)])
    group = np.concatenate([member, left.astype(np.intp)])
    values = best_first(store.table, pick, codes, symbols, group)
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


_NO_ROWS: Rows = np.zeros(0, dtype=np.int32)
