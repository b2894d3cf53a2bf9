"""Heaps in flat arrays: the least value first, and what waits with it. Inlined into the kernels that use them."""

from __future__ import annotations

from headwater.engine.codes.compiling import inlined


@inlined
def push(values, rows, waiting, value, row):
    """Put a row into a heap."""
    at = waiting
    while at > 0:
        above = (at - 1) >> 1
        if values[above] <= value:
            break
        values[at] = values[above]
        rows[at] = rows[above]
        at = above
    values[at] = value
    rows[at] = row


@inlined
def pop(values, rows, waiting):
    """Take the least out of a heap that had `waiting` rows."""
    value, row = values[waiting - 1], rows[waiting - 1]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= waiting - 1:
            break
        if below + 1 < waiting - 1 and values[below + 1] < values[below]:
            below += 1
        if values[below] >= value:
            break
        values[at] = values[below]
        rows[at] = rows[below]
        at = below
    values[at] = value
    rows[at] = row
