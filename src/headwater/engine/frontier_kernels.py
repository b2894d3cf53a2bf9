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
