"""How every kernel gets from a key to a cell, and from a cell to its rows: inlined into the kernels that use it."""

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
def find_row(values, data, heads, direct, base, extent):
    """The cell of the table of identities where a row is or belongs, and the row in it (-1: none)."""
    width = data.shape[1]
    if direct:
        cell = np.int64(0)
        for column in range(width):
            cell = cell * extent[column] + (values[column] - base[column])
        return cell, np.int64(~heads[cell])
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
def key_cell(start, left, sources, constants, key, right, columns, direct, base, extent, heads):
    """The cell of the index that a starting row leads to, or -1.

    It takes the arrays of the index one by one: read by their names, they made the join of points-to a fifth slower.
    """
    for position in range(columns.size):
        column = sources[position]
        key[0, position] = np.int64(left[start, column]) if column >= 0 else constants[position]
    if direct:
        return direct_cell(key, 0, base, extent)
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
