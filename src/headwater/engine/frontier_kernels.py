"""The kernel that tells which versions of rows are best, or can become best when others end."""

from __future__ import annotations

import numpy as np
from numba import njit

_NEVER = np.iinfo(np.int64).min
_LATE = np.iinfo(np.int64).max


@njit(cache=True, nogil=True)
def keep_frontier(order, group, value, identity, time, lease, limit, keep):
    """Which rows nothing else makes needless; `order` goes by group, value (best first), identity, and within an
    identity by lease (latest first) and time (earliest first).

    A row is needless when another of its identity is no later and ends no earlier, or when `limit` better values of its
    group have rows that end no earlier.
    """
    ends = np.empty(limit, dtype=np.int64)  # of the better values, the latest leases, in falling order
    known = 0
    last = _NEVER  # the latest lease of the value at hand
    earliest = _LATE  # the earliest time of the identity at hand
    before = np.int64(-1)
    for row in order:
        new_group = before < 0 or group[row] != group[before]
        new_value = new_group or value[row] != value[before]
        if new_value:
            if new_group:
                known = 0
            else:
                at = known if known < limit else limit - 1
                if known < limit or last > ends[limit - 1]:
                    while at > 0 and ends[at - 1] < last:
                        ends[at] = ends[at - 1]
                        at -= 1
                    ends[at] = last
                    known = min(known + 1, limit)
            last = _NEVER
        if new_value or identity[row] != identity[before]:
            earliest = _LATE
        before = row
        if time[row] < earliest:
            earliest = time[row]
            last = max(last, lease[row])
            keep[row] = known < limit or lease[row] > ends[limit - 1]
        else:
            keep[row] = False


@njit(cache=True, nogil=True)
def not_needless(
    values, leases, cells, begin, order, heads, chain, stamp, data, value_column, lease_column, largest, keep
):
    """Which rows offered are not needless beside the rows of their groups that are alive: `keep` tells.

    For tables that keep one value per group: a row is needless if one that is no worse ends no earlier.
    """
    is_sorted = begin.size > 0
    for at in range(cells.size):
        keep[at] = True
        cell = cells[at]
        if cell < 0:
            continue
        place = np.int64(begin[cell]) if is_sorted else np.int64(0)
        last = np.int64(begin[cell + 1]) if is_sorted else np.int64(0)
        row = ~heads[cell]
        while True:
            if row >= 0:
                one = row
                row = chain[row]
            elif place < last:
                one = order[place]
                place += 1
            else:
                break
            if stamp[one] > 0 and data[one, lease_column] >= leases[at]:
                value = data[one, value_column]
                if value >= values[at] if largest else value <= values[at]:
                    keep[at] = False
                    break
