"""Tables whose rows have a time or a lease beside their identity: which versions of a row are kept.

`Keeps.BEST`: of each identity the earliest time, and of each group the best values. `Keeps.FRONTIER`: all rows that are
so now or will be when others have ended: exactly those that no other row makes needless for as long as they live.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.engine.codes.expressions import distinct_rows, order_keys
from headwater.engine.codes.symbols import Codes, Symbols, null_code
from headwater.engine.store.kernels import keep_frontier
from headwater.plan.model import Best, Pick, Table
from headwater.program.model import Keeps


def kept_versions(table: Table, pick: Pick, rows: Codes, offered: int, symbols: Symbols) -> npt.NDArray[np.bool_]:
    """Which of these rows a pick keeps; the first `offered` are new, the others are all that their groups have."""
    _, group = distinct_rows(np.ascontiguousarray(rows[:, list(pick.group)]))
    nothing = np.zeros(rows.shape[0], dtype=np.int64)
    if pick.value == table.time:
        value, identity = nothing, nothing  # the group is the identity, and its time decides
    else:
        value = best_first(table, pick, rows[:, pick.ranked], symbols, group)
        beside = [at for at in table.identity if at not in pick.group and at not in pick.ranked]
        identity = distinct_rows(np.ascontiguousarray(rows[:, beside]))[1] if beside else nothing
    time = nothing if table.time is None else rows[:, table.time]
    lease = nothing if table.lease is None or table.keeps is Keeps.BEST else rows[:, table.lease]
    fresh = np.arange(rows.shape[0]) < offered  # of equals the one that is there stays
    order = np.lexsort((fresh, time, ~lease, identity, value, group))
    keep = np.empty(rows.shape[0], dtype=np.bool_)
    keep_frontier(order, group, value, identity, time, lease, pick.limit, keep)
    return keep


def best_first(table: Table, pick: Pick, ranked: Codes, symbols: Symbols, group: npt.NDArray[np.integer[Any]]) -> Codes:
    """Integers that are the smaller the better a row is for a pick, among the rows of its group.

    A later column of those it is ranked by is looked at only where rows of a group are equal in the earlier ones:
    lists, which stand there most often, are slow to put in order (all pairs of a path vector: a quarter of the time).
    """
    keys: list[Codes] = []
    for place, at in enumerate(pick.ranked):
        codes = ranked[:, place]
        tied = slice(None) if not keys else _tied(keys, codes, group)
        key = np.zeros(codes.size, dtype=np.int64)
        if codes[tied].size:
            key[tied] = _column_first(table, pick.best, at, codes[tied], symbols)
        keys.append(key)
    if len(keys) == 1:
        return keys[0]
    order = np.lexsort(keys[::-1])
    differs = np.zeros(order.size, dtype=np.bool_)
    for key in keys:
        differs[1:] |= key[order[1:]] != key[order[:-1]]
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.cumsum(differs)
    return rank


def _tied(keys: list[Codes], codes: Codes, group: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.intp]:
    """The rows that share their group and keys with a row of another code."""
    order = np.lexsort((codes, *keys, group))
    new = np.ones(order.size, dtype=np.bool_)
    new[1:] = group[order[1:]] != group[order[:-1]]
    for key in keys:
        new[1:] |= key[order[1:]] != key[order[:-1]]
    first = np.flatnonzero(new)
    last = np.append(first[1:], order.size) - 1
    apart = codes[order[first]] != codes[order[last]]
    return order[np.repeat(apart, last - first + 1)]


def _column_first(table: Table, best: Best, column: int, codes: Codes, symbols: Symbols) -> Codes:
    """Integers that are the smaller the better a value is; a null is the worst of all."""
    kind = table.types[column]
    values = order_keys(codes, kind, symbols)
    if best is Best.MAX:
        return ~values  # reverses the order without overflow
    if column in table.nullable:
        return np.where(codes == null_code(kind), np.iinfo(np.int64).max, values)
    return values
