"""Kernels over rows that come in order, or nearly."""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import inlined, kernel

ASCENDING, GROUPED, MIXED = range(3)


@inlined
def _compared(one, other):
    """Below, at or above 0 as a row is smaller than, equal to or larger than another."""
    found = 0
    for column in range(one.size):
        if one[column] != other[column]:
            found = 1 if one[column] > other[column] else -1
            break
    return found


@kernel
def order_of(rows):
    """ASCENDING: the rows are distinct and ascend. GROUPED: their first column does not descend. Else MIXED."""
    found = ASCENDING
    for at in range(1, rows.shape[0]):
        if rows[at, 0] > rows[at - 1, 0]:
            continue
        if rows[at, 0] < rows[at - 1, 0]:
            return MIXED
        if found == ASCENDING and _compared(rows[at], rows[at - 1]) <= 0:
            found = GROUPED
    return found


@kernel
def sort_groups(rows, moves):
    """Sort rows that are GROUPED, in place: whether it could be done, each row being there once, in so many moves."""
    held = np.empty(rows.shape[1], dtype=rows.dtype)
    for at in range(1, rows.shape[0]):
        if _compared(rows[at], rows[at - 1]) > 0:
            continue
        held[:] = rows[at]
        to = at
        while to > 0:
            order = _compared(held, rows[to - 1])
            if order == 0 or moves == 0:
                rows[to] = held
                return False
            if order > 0:
                break
            rows[to] = rows[to - 1]
            to -= 1
            moves -= 1
        rows[to] = held
    return True
