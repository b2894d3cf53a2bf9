"""Kernels that look through rows from a file before anything else may: no number in them is taken at its word."""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import inlined, kernel
from headwater.engine.store.states import GHOST, GONE

SOUND, NO_STATE, NO_RULE, NO_PARENT, DEAD_PARENT = 0, 1, 2, 3, 4
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


@kernel
def find_unsound(stamp, rules, witness, tick, ghosts, least, slots, lengths, starts, sizes, stamps):
    """The first row that cannot be, and what is wrong with it.

    `slots[rule - least]` numbers the rules that may derive rows here, -1 where none; of each, `lengths` says how many
    rows a witness names, and `starts` and `sizes` where in `stamps`, those of all tables, the rows of each atom are.
    """
    for row in range(stamp.size):
        state = stamp[row]
        if state < 0:
            if state != GHOST or not ghosts:
                return row, NO_STATE
        elif state > tick:
            return row, NO_STATE
        place = rules[row] - least
        if place < 0 or place >= slots.size or slots[place] < 0:
            return row, NO_RULE
        if state == GONE:
            continue
        slot = slots[place]
        for position in range(lengths[slot]):
            parent = witness[row, position]
            if parent < 0 or parent >= sizes[slot, position]:
                return row, NO_PARENT
            if state > 0:
                below = stamps[starts[slot, position] + parent]
                if below <= GONE and below != GHOST:
                    return row, DEAD_PARENT
    return -1, SOUND


@kernel
def find_circle(stamp, rules, witness, counts, positions, starts):
    """A row that rests on itself, directly or through others; -1: there is none.

    Of each rule, `counts` says how many rows of these tables a witness names, `positions` where, and `starts` the
    number that its table's rows begin with here.
    """
    done = np.zeros(stamp.size, dtype=np.uint8)  # 1: on the way down to here, 2: rests on nothing that rests on it
    path = np.empty(64, dtype=np.int32)
    turn = np.empty(64, dtype=np.int32)
    for start in range(stamp.size):
        if done[start]:
            continue
        if stamp[start] == GONE or _rests_on_done(start, rules, witness, counts, positions, starts, done):
            done[start] = 2  # as nearly all are: rows mostly stand behind those they rest on
            continue
        depth = 0
        path[0] = start
        turn[0] = 0
        done[start] = 1
        while depth >= 0:
            row = path[depth]
            rule = rules[row]
            if rule < 0 or turn[depth] == counts[rule]:
                done[row] = 2
                depth -= 1
                continue
            parent = witness[row, positions[rule, turn[depth]]] + starts[rule, turn[depth]]
            turn[depth] += 1
            if done[parent] == 2:
                continue
            if done[parent] == 1:
                return parent
            depth += 1
            if depth == path.size:
                path = np.concatenate((path, np.empty_like(path)))
                turn = np.concatenate((turn, np.empty_like(turn)))
            path[depth] = parent
            turn[depth] = 0
            done[parent] = 1
    return -1


@inlined
def _rests_on_done(row, rules, witness, counts, positions, starts, done):
    rule = rules[row]
    if rule >= 0:
        for at in range(counts[rule]):
            if done[witness[row, positions[rule, at]] + starts[rule, at]] != 2:
                return False
    return True


@kernel
def has_double(data, columns, stamp, alive, base, extent, seen):
    """Whether two rows (with `alive`, of those that are) are equal in these columns; `seen` has a bit for every cell of
    the box that they lie in."""
    for row in range(stamp.size):
        if alive and stamp[row] <= GONE:
            continue
        cell = np.int64(0)
        for at in range(columns.size):
            cell = cell * extent[at] + (data[row, columns[at]] - base[at])
        one = np.uint8(1 << (cell & 7))
        if seen[cell >> 3] & one:
            return True
        seen[cell >> 3] |= one
    return False


@kernel
def shared_bits(data, columns, stamp, alive, once, again):
    """Give every row a bit by a hash of these columns; `again` gets the bits that several rows have. Both have room for
    a power of two of bits."""
    last = np.uint64(8 * once.size - 1)
    for row in range(stamp.size):
        if alive and stamp[row] <= GONE:
            continue
        bit = _bit(data, row, columns, last)
        at, one = bit >> 3, np.uint8(1 << (bit & 7))
        if once[at] & one:
            again[at] |= one
        else:
            once[at] |= one


@kernel
def rows_at(data, columns, stamp, alive, again, out):
    """Write the numbers of the rows whose bit is set, as far as there is room; how many there are."""
    last = np.uint64(8 * again.size - 1)
    count = 0
    for row in range(stamp.size):
        if alive and stamp[row] <= GONE:
            continue
        bit = _bit(data, row, columns, last)
        if again[bit >> 3] & np.uint8(1 << (bit & 7)):
            if count < out.size:
                out[count] = row
            count += 1
    return count


@inlined
def _bit(data, row, columns, last):
    mixed = np.uint64(0)
    for column in columns:
        mixed = (mixed ^ np.uint64(data[row, column])) * _FACTOR
        mixed ^= mixed >> _SHIFT
    return np.int64(mixed & last)
