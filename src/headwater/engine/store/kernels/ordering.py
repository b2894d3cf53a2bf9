"""Kernels over rows as they come: their extremes, and whether they are in order, or nearly."""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import borrowing, kernel

ASCENDING, GROUPED, MIXED = range(3)


@borrowing
def _compared(some, at, others, to):
    """Below, at or above 0 as a row is smaller than, equal to or larger than another. Both are given by their places:
    to make an array of each would cost more than to compare them."""
    found = 0
    for column in range(some.shape[1]):
        if some[at, column] != others[to, column]:
            found = 1 if some[at, column] > others[to, column] else -1
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
        if found == ASCENDING and _compared(rows, at, rows, at - 1) <= 0:
            found = GROUPED
    return found


@kernel
def sort_groups(rows, moves):
    """Sort rows that are GROUPED, in place: whether it could be done, each row being there once, in so many moves."""
    held = np.empty((1, rows.shape[1]), dtype=rows.dtype)
    for at in range(1, rows.shape[0]):
        if _compared(rows, at, rows, at - 1) > 0:
            continue
        held[0] = rows[at]
        to = at
        while to > 0:
            order = _compared(held, 0, rows, to - 1)
            if order == 0 or moves == 0:
                rows[to] = held[0]
                return False
            if order > 0:
                break
            rows[to] = rows[to - 1]
            to -= 1
            moves -= 1
        rows[to] = held[0]
    return True


@kernel
def extremes_of(rows, low, high):
    """The least and the largest code of each column, in one pass; there is a row."""
    for column in range(rows.shape[1]):
        low[column] = high[column] = rows[0, column]
    for at in range(1, rows.shape[0]):
        for column in range(rows.shape[1]):
            code = rows[at, column]
            low[column] = min(low[column], code)
            high[column] = max(high[column], code)
