"""How every kernel gets from a key to a cell, and from a cell to its rows: inlined into the kernels that use it.

A key leads to its cell directly, by numbers of its values (see `numbering`), or by hash. The numbers of all columns are
in one array, `words`, which is empty where there are none. It begins with three entries per column: where its table of
numbers starts (0: offsets are taken instead), the mask of that table, and how many values have a number. The table is
hashed; each of its cells is a value and its number plus one.
"""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import inlined

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@inlined
def mix(hashed, value):
    hashed = (hashed ^ np.uint64(value)) * _MULTIPLIER
    return hashed ^ (hashed >> _SHIFT)


@inlined
def direct_cell(keys, at, base, extent):
    """The cell of a key in a direct-addressed table, or -1 when the key lies outside it."""
    cell = np.int64(0)
    for position in range(base.size):
        offset = np.int64(keys[at, position]) - base[position]
        if offset < 0 or offset >= extent[position]:
            return np.int64(-1)
        cell = cell * extent[position] + offset
    return cell


@inlined
def number_of(words, position, value):
    """The number of a value in a column that has numbers, or -1."""
    start, mask = words[3 * position], np.uint64(words[3 * position + 1])
    slot = mix(np.uint64(0), value) & mask
    entry = start + 2 * np.int64(slot)
    while words[entry + 1] != 0 and words[entry] != value:
        slot = (slot + np.uint64(1)) & mask
        entry = start + 2 * np.int64(slot)
    return words[entry + 1] - 1


@inlined
def enter_number(words, position, value, extent):
    """The number of a value, which it is given if it has none; -1 if there are no more."""
    start, mask = words[3 * position], np.uint64(words[3 * position + 1])
    slot = mix(np.uint64(0), value) & mask
    entry = start + 2 * np.int64(slot)
    while words[entry + 1] != 0 and words[entry] != value:
        slot = (slot + np.uint64(1)) & mask
        entry = start + 2 * np.int64(slot)
    if words[entry + 1] == 0 and words[3 * position + 2] < extent:
        words[3 * position + 2] += 1
        words[entry] = value
        words[entry + 1] = words[3 * position + 2]
    return words[entry + 1] - 1


@inlined
def numbered_cell(keys, at, base, extent, words):
    """As `direct_cell`, by numbers."""
    cell, inside = np.int64(0), True
    for position in range(base.size):
        offset = np.int64(keys[at, position]) - base[position]
        if words[3 * position] > 0:
            offset = number_of(words, position, np.int64(keys[at, position]))
        inside = inside and 0 <= offset < extent[position]
        cell = cell * extent[position] + offset
    return cell if inside else np.int64(-1)


@inlined
def row_cell(data, row, columns, base, extent):
    """The cell of a row whose key surely lies inside a direct-addressed table."""
    cell = np.int64(0)
    for position in range(columns.size):
        cell = cell * extent[position] + (np.int64(data[row, columns[position]]) - base[position])
    return cell


@inlined
def hash_cell(keys, at, heads, data, columns):
    """The cell of a hash table where a key is or belongs, and a row with it (-1: none)."""
    mask = np.uint64(heads.size - 1)
    hashed = np.uint64(0)
    for position in range(columns.size):
        hashed = mix(hashed, np.int64(keys[at, position]))
    slot = hashed & mask
    while True:
        row = np.int64(~heads[slot])
        if row < 0:
            return np.int64(slot), row
        same = True
        for position in range(columns.size):
            if np.int64(data[row, columns[position]]) != np.int64(keys[at, position]):
                same = False
                break
        if same:
            return np.int64(slot), row
        slot = (slot + np.uint64(1)) & mask


@inlined
def find_row(values, data, heads, direct, base, extent, words):
    """The cell of the table of identities where a row is or belongs, and the row in it (-1: none).

    The cell is -1 where a value of a new row has no number and there are no more.
    """
    width = data.shape[1]
    if direct:
        cell = np.int64(0)
        for column in range(width):
            cell = cell * extent[column] + (values[column] - base[column])
        return cell, np.int64(~heads[cell])
    if words.size > 0:
        cell, inside = np.int64(0), True
        for column in range(width):
            offset = values[column] - base[column]
            if words[3 * column] > 0:
                offset = enter_number(words, column, values[column], extent[column])
            inside = inside and offset >= 0
            cell = cell * extent[column] + offset
        return (cell, np.int64(~heads[cell])) if inside else (np.int64(-1), np.int64(-1))
    mask = np.uint64(heads.size - 1)
    hashed = np.uint64(0)
    for column in range(width):
        hashed = mix(hashed, values[column])
    slot = hashed & mask
    while True:
        row = np.int64(~heads[slot])
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


@inlined
def key_cell(start, left, sources, constants, key, right, columns, direct, base, extent, words, heads):
    """The cell of the index that a starting row leads to, or -1.

    It takes the arrays of the index one by one: read by their names, they made the join of points-to a fifth slower.
    """
    for position in range(columns.size):
        column = sources[position]
        key[0, position] = np.int64(left[start, column]) if column >= 0 else constants[position]
    if direct:
        return direct_cell(key, 0, base, extent)
    if words.size > 0:
        return numbered_cell(key, 0, base, extent, words)
    cell, row = hash_cell(key, 0, heads, right, columns)
    return cell if row >= 0 else np.int64(-1)


@inlined
def begin_cell(cell, begin, heads):
    """The cursor at the first row of a cell: its place in `order`, the end of the cell there, the row in the chain."""
    linked = np.int64(~heads[cell])
    if begin.size > 0:
        return np.int64(begin[cell]), np.int64(begin[cell + 1]), linked
    return np.int64(0), np.int64(0), linked


@inlined
def next_row(place, last, linked, order, chain):
    """The row at the cursor (-1: the cell has no more), and the cursor behind it."""
    if place < last:
        return np.int64(order[place]), place + 1, linked
    if linked >= 0:
        return linked, place, np.int64(chain[linked])
    return np.int64(-1), place, linked


@inlined
def value_of(side, column, left, start, right, other):
    """A value that comes from the starting row, the row met, or is a constant."""
    if side == 0:
        return np.int64(left[start, column])
    if side == 1:
        return np.int64(right[other, column])
    return np.int64(column)


@inlined
def plus(value, term):
    """A sum, and whether it does not fit into 64 bits."""
    total = value + term
    return total, ((value ^ total) & (term ^ total)) < 0
