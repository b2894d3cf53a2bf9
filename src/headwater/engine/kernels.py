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


@njit(inline="always")
def _find_slot(values, data, heads, direct, base, extent):  # type: ignore[no-untyped-def]
    """The cell of the table of identities where a row is or belongs, and the row in it (-1: none)."""
    width = data.shape[1]
    if direct:
        cell = np.int64(0)
        for column in range(width):
            cell = cell * extent[column] + (values[column] - base[column])
        return cell, heads[cell]
    mask = np.uint64(heads.size - 1)
    hashed = np.uint64(0)
    for column in range(width):
        hashed = _mix(hashed, values[column])
    slot = hashed & mask
    while True:
        row = heads[slot]
        if row < 0:
            return np.int64(slot), row
        same = True
        for column in range(width):
            if np.int64(data[row, column]) != values[column]:
                same = False
                break
        if same:
            return np.int64(slot), row
        slot = (slot + np.uint64(1)) & mask


@njit(inline="always")
def _append(row, slot, values, tick, rule_id, data, stamp, rules, heads):  # type: ignore[no-untyped-def]
    heads[slot] = row
    for column in range(data.shape[1]):
        data[row, column] = values[column]
    stamp[row] = tick
    rules[row] = rule_id


@njit(inline="always")
def _remember(row, at, stamp, rules, proof, rows, old_stamp, old_rule, old_proof):  # type: ignore[no-untyped-def]
    """Write what a row that comes back was before into the `old` buffers."""
    rows[at] = row
    old_stamp[at] = stamp[row]
    old_rule[at] = rules[row]
    for position in range(proof.shape[1]):
        old_proof[at, position] = proof[row, position]


@njit(cache=True, nogil=True)
def merge_rows(  # type: ignore[no-untyped-def]
    candidates, proofs, rule_id, tick, data, stamp, rules, proof, heads, direct, base, extent, size, limit,
    new_rows, back_rows, old_stamp, old_rule, old_proof,
):  # fmt: skip
    """Insert-or-find a batch of rows of a set relation.

    A row not seen before is appended; one that is gone, marked or a ghost comes back in place with its
    new proof (a ghost keeps its own, because it holds and rows may rest on it), and what it was is written to
    the `old` buffers; one that is alive is left alone. Returns (next candidate, rows stored, new rows, rows
    back). Stops early when the store is full.
    """
    depth = proofs.shape[1]
    values = np.empty(data.shape[1], dtype=np.int64)
    new = 0
    back = 0
    for at in range(candidates.shape[0]):
        for column in range(values.size):
            values[column] = candidates[at, column]
        slot, row = _find_slot(values, data, heads, direct, base, extent)
        if row < 0:
            if size == limit:
                return at, size, new, back
            row = size
            size += 1
            _append(row, slot, values, tick, rule_id, data, stamp, rules, heads)
            for position in range(depth):
                proof[row, position] = proofs[at, position]
            new_rows[new] = row
            new += 1
        elif stamp[row] <= 0:
            _remember(row, back, stamp, rules, proof, back_rows, old_stamp, old_rule, old_proof)
            back += 1
            if stamp[row] != GHOST:
                rules[row] = rule_id
                for position in range(depth):
                    proof[row, position] = proofs[at, position]
            stamp[row] = tick
    return candidates.shape[0], size, new, back


@njit(cache=True, nogil=True)
def join_merge(  # type: ignore[no-untyped-def]
    rows, left, key_from, constants, right, key_columns, right_heads, right_direct, right_base, right_extent, chain,
    right_stamp, newest, head_side, head_from, left_slot, rule_id, tick, data, stamp, rules, proof, heads, direct,
    base, extent, size, limit, at, other, new_rows, back_rows, old_stamp, old_rule, old_proof,
):  # fmt: skip
    """A rule of two atoms in one loop: probe an index with the starting rows and merge the head rows found.

    Keys come from columns of the starting rows (`key_from`) or, where that is -1, from `constants`; head columns
    from the starting row, the row met, or (`head_side` 2) a constant. Goes on from starting row `at` and row `other`
    of the chain; returns where it stopped (`at` past the end when done), rows stored, new rows, rows back.
    """
    key = np.empty((1, key_columns.size), dtype=np.int64)
    values = np.empty(data.shape[1], dtype=np.int64)
    mask = np.uint64(right_heads.size - 1)
    new = 0
    back = 0
    full = back_rows.size
    room = new_rows.size
    while at < rows.size:
        start = rows[at]
        if other == -2:
            for position in range(key_columns.size):
                column = key_from[position]
                key[0, position] = np.int64(left[start, column]) if column >= 0 else constants[position]
            if right_direct:
                cell = _direct_slot(key, 0, right_base, right_extent)
                other = right_heads[cell] if cell >= 0 else np.int32(-1)
            else:
                hashed = np.uint64(0)
                for position in range(key_columns.size):
                    hashed = _mix(hashed, key[0, position])
                slot = hashed & mask
                while True:
                    other = right_heads[slot]
                    if other < 0 or _same(key, 0, right, other, key_columns):
                        break
                    slot = (slot + np.uint64(1)) & mask
        while other >= 0:
            if 0 < right_stamp[other] <= newest:
                for column in range(values.size):
                    side = head_side[column]
                    if side == 0:
                        values[column] = np.int64(left[start, head_from[column]])
                    elif side == 1:
                        values[column] = np.int64(right[other, head_from[column]])
                    else:
                        values[column] = head_from[column]
                slot_, row = _find_slot(values, data, heads, direct, base, extent)
                if row < 0:
                    if size == limit or new == room:
                        return at, other, size, new, back
                    row = np.int32(size)
                    size += 1
                    _append(row, slot_, values, tick, rule_id, data, stamp, rules, heads)
                    proof[row, left_slot] = start
                    proof[row, 1 - left_slot] = other
                    new_rows[new] = row
                    new += 1
                elif stamp[row] <= 0:
                    if back == full:
                        return at, other, size, new, back
                    _remember(row, back, stamp, rules, proof, back_rows, old_stamp, old_rule, old_proof)
                    back += 1
                    if stamp[row] != GHOST:
                        rules[row] = rule_id
                        proof[row, left_slot] = start
                        proof[row, 1 - left_slot] = other
                    stamp[row] = tick
            other = chain[other]
        other = np.int32(-2)
        at += 1
    return at, np.int32(-2), size, new, back


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
