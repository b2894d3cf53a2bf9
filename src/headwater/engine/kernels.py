"""The hot loops: a dozen compiled functions with fixed signatures, cached on disk.

Rows are matrices of integers (see `values`): `data[row, column]`, int32 or int64. A row's `stamp` tells
its state: positive, the round in which it came alive; zero, gone; MARKED and GHOST as below. A chained
index maps a key to the newest row with that key (`heads`) and each row to the next older one (`chain`).

Every kernel that fills a buffer stops when the buffer is full and tells where to go on, so that memory
is bounded and arrays grow outside compiled code.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from headwater.engine.states import GHOST, GONE, MARKED

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@njit(inline="always")
def _mix(hashed, value):  # type: ignore[no-untyped-def]
    hashed = (hashed ^ np.uint64(value)) * _MULTIPLIER
    return hashed ^ (hashed >> _SHIFT)


@njit(inline="always")
def _hash_row(matrix, row, columns):  # type: ignore[no-untyped-def]
    hashed = np.uint64(0)
    for column in columns:
        hashed = _mix(hashed, np.int64(matrix[row, column]))
    return hashed


@njit(inline="always")
def _same(keys, at, data, row, columns):  # type: ignore[no-untyped-def]
    for position in range(columns.size):
        if np.int64(keys[at, position]) != np.int64(data[row, columns[position]]):
            return False
    return True


@njit(inline="always")
def _direct_slot(keys, at, base, extent):  # type: ignore[no-untyped-def]
    """The cell of a key in a direct-addressed table, or -1 when the key lies outside it."""
    cell = np.int64(0)
    for position in range(base.size):
        offset = np.int64(keys[at, position]) - base[position]
        if offset < 0 or offset >= extent[position]:
            return np.int64(-1)
        cell = cell * extent[position] + offset
    return cell


@njit(cache=True, nogil=True)
def lookup_direct(keys, heads, base, extent, out):  # type: ignore[no-untyped-def]
    for at in range(keys.shape[0]):
        cell = _direct_slot(keys, at, base, extent)
        out[at] = heads[cell] if cell >= 0 else -1


@njit(cache=True, nogil=True)
def lookup_hash(keys, heads, data, columns, out):  # type: ignore[no-untyped-def]
    mask = np.uint64(heads.size - 1)
    for at in range(keys.shape[0]):
        hashed = np.uint64(0)
        for position in range(columns.size):
            hashed = _mix(hashed, np.int64(keys[at, position]))
        slot = hashed & mask
        found = -1
        while True:
            row = heads[slot]
            if row < 0:
                break
            if _same(keys, at, data, row, columns):
                found = row
                break
            slot = (slot + np.uint64(1)) & mask
        out[at] = found


@njit(cache=True, nogil=True)
def chain_direct(data, rows, columns, heads, chain, base, extent):  # type: ignore[no-untyped-def]
    """Put rows into a chained index whose table addresses keys directly."""
    for row in rows:
        cell = np.int64(0)
        for position in range(columns.size):
            cell = cell * extent[position] + (np.int64(data[row, columns[position]]) - base[position])
        chain[row] = heads[cell]
        heads[cell] = row


@njit(cache=True, nogil=True)
def chain_hash(data, rows, columns, heads, chain, used):  # type: ignore[no-untyped-def]
    """Put rows into a chained index over a hash table; returns how many cells are now in use."""
    mask = np.uint64(heads.size - 1)
    for row in rows:
        slot = _hash_row(data, row, columns) & mask
        while True:
            head = heads[slot]
            if head < 0:
                chain[row] = -1
                heads[slot] = row
                used += 1
                break
            same = True
            for column in columns:
                if data[head, column] != data[row, column]:
                    same = False
                    break
            if same:
                chain[row] = head
                heads[slot] = row
                break
            slot = (slot + np.uint64(1)) & mask
    return used


@njit(cache=True, nogil=True)
def expand(first, chain, stamp, newest, at, row, out_left, out_right):  # type: ignore[no-untyped-def]
    """Every (key, row) pair whose row came alive no later than round `newest`, until the buffer is full.

    Returns how many pairs were written and the position (key, row) to go on from.
    """
    count = 0
    full = out_left.size
    total = first.size
    while at < total:
        if row == -2:
            row = first[at]
        while row >= 0:
            if 0 < stamp[row] <= newest:
                if count == full:
                    return count, at, row
                out_left[count] = at
                out_right[count] = row
                count += 1
            row = chain[row]
        row = -2
        at += 1
    return count, at, row


@njit(cache=True, nogil=True)
def exists(first, chain, stamp, newest, out):  # type: ignore[no-untyped-def]
    """For every key the first visible row with it, or -1."""
    for at in range(first.size):
        row = first[at]
        while row >= 0 and not (0 < stamp[row] <= newest):
            row = chain[row]
        out[at] = row


@njit(cache=True, nogil=True)
def merge_rows(  # type: ignore[no-untyped-def]
    candidates,
    proofs,
    rule_id,
    tick,
    data,
    stamp,
    rules,
    proof,
    heads,
    direct,
    base,
    extent,
    size,
    at,
    limit,
    out_new,
    out_back,
    old_stamp,
    old_rule,
    old_proof,
):
    """Insert-or-find a batch of rows of a set relation.

    A row not seen before is appended; one that is gone, marked or a ghost comes back in place with its
    new proof, and what it was is written to the `old_*` buffers; one that is alive is left alone.
    Returns (next candidate, rows stored, new rows, rows back). Stops early when the store is full.
    """
    width = data.shape[1]
    depth = proofs.shape[1]
    mask = np.uint64(heads.size - 1)
    new = 0
    back = 0
    total = candidates.shape[0]
    while at < total:
        slot = np.int64(0)
        row = -1
        if direct:
            slot = _direct_slot(candidates, at, base, extent)
            row = heads[slot]
        else:
            hashed = np.uint64(0)
            for column in range(width):
                hashed = _mix(hashed, np.int64(candidates[at, column]))
            cell = hashed & mask
            while True:
                row = heads[cell]
                if row < 0:
                    break
                same = True
                for column in range(width):
                    if np.int64(data[row, column]) != np.int64(candidates[at, column]):
                        same = False
                        break
                if same:
                    break
                cell = (cell + np.uint64(1)) & mask
            slot = np.int64(cell)
        if row < 0:
            if size == limit:
                return at, size, new, back
            row = size
            size += 1
            heads[slot] = row
            for column in range(width):
                data[row, column] = candidates[at, column]
            stamp[row] = tick
            rules[row] = rule_id
            for position in range(depth):
                proof[row, position] = proofs[at, position]
            out_new[new] = row
            new += 1
        elif stamp[row] <= 0:
            out_back[back] = row
            old_stamp[back] = stamp[row]
            old_rule[back] = rules[row]
            for position in range(proof.shape[1]):
                old_proof[back, position] = proof[row, position]
            back += 1
            if stamp[row] != GHOST:  # a ghost's own proof holds, and rows may rest on it
                rules[row] = rule_id
                for position in range(depth):
                    proof[row, position] = proofs[at, position]
            stamp[row] = tick
        at += 1
    return at, size, new, back


@njit(cache=True, nogil=True)
def link_rows(rows, position, rule_id, rules, stamp, proof, first, use, following, before):  # type: ignore[no-untyped-def]
    """Enter rows that `rule_id` derived into the list of children of the row their proof names at `position`."""
    for row in rows:
        if rules[row] != rule_id or stamp[row] == GONE:
            continue
        parent = proof[row, position]
        head = first[parent, use]
        following[row, position] = head
        before[row, position] = -1
        if head >= 0:
            before[head, position] = row
        first[parent, use] = row


@njit(cache=True, nogil=True)
def unlink_rows(rows, position, rule_id, rules, proof, first, use, following, before):  # type: ignore[no-untyped-def]
    for row in rows:
        if rules[row] != rule_id:
            continue
        after = following[row, position]
        ahead = before[row, position]
        if ahead >= 0:
            following[ahead, position] = after
        else:
            first[proof[row, position], use] = after
        if after >= 0:
            before[after, position] = ahead


@njit(cache=True, nogil=True)
def mark_children(parents, first, use, following, position, stamp, at, child, out, out_stamp):  # type: ignore[no-untyped-def]
    """Mark the rows whose proof rests on `parents`; returns (count, next parent, next child)."""
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


@njit(cache=True, nogil=True)
def sum_groups(groups, values, out):  # type: ignore[no-untyped-def]
    """Left-to-right sums of float values per group; the caller fixes the order."""
    for at in range(groups.size):
        out[groups[at]] += values[at]
