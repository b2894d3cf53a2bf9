"""Kernels of the lists of children: which rows rest on a row."""

from __future__ import annotations

from headwater.engine.codes.compiling import kernel
from headwater.engine.store.states import GHOST, GONE, MARKED


@kernel
def link_rows(rows, position, rule_id, rules, stamp, witness, first, use, following, before):
    """Enter rows that `rule_id` derived into the list of children of the row their witness names at `position`."""
    for row in rows:
        if rules[row] != rule_id or stamp[row] == GONE:
            continue
        parent = witness[row, position]
        head = first[parent, use]
        following[row, position] = head
        before[row, position] = -1
        if head >= 0:
            before[head, position] = row
        first[parent, use] = row


@kernel
def unlink_rows(rows, position, rule_id, rules, witness, first, use, following, before):
    for row in rows:
        if rules[row] != rule_id:
            continue
        after = following[row, position]
        ahead = before[row, position]
        if ahead >= 0:
            following[ahead, position] = after
        else:
            first[witness[row, position], use] = after
        if after >= 0:
            before[after, position] = ahead


@kernel
def mark_children(parents, first, use, following, position, stamp, at, child, out, out_stamp):
    """Mark the rows whose witness rests on `parents`; returns (count, next parent, next child)."""
    count = 0
    full = out.size
    while at < parents.size:
        if child == -2:
            child = first[parents[at], use]
        while child >= 0:
            state = stamp[child]
            if state > 0 or state == GHOST:
                if count == full:
                    return count, at, child
                out[count] = child
                out_stamp[count] = state
                stamp[child] = MARKED
                count += 1
            child = following[child, position]
        child = -2
        at += 1
    return count, at, child


@kernel
def mark_descendants(queue, count, first, uses, following, positions, stamp, at, use, child, old_stamp):
    """Mark all that rests on the first `count` rows of a queue through uses of a store by itself, and queue it too.

    `old_stamp` gets what the rows marked here were. Stops when the queue is full; returns
    (count, next row of the queue, next use, next child).
    """
    full = queue.size
    while at < count:
        while use < uses.size:
            if child == -2:
                child = first[queue[at], uses[use]]
            while child >= 0:
                state = stamp[child]
                if state > 0 or state == GHOST:
                    if count == full:
                        return count, at, use, child
                    queue[count] = child
                    old_stamp[count] = state
                    stamp[child] = MARKED
                    count += 1
                child = following[child, positions[use]]
            child = -2
            use += 1
        use = 0
        at += 1
    return count, at, use, child
