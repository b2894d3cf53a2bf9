"""Kernels over the cells of indexes: find them, fill them, read their rows."""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import kernel
from headwater.engine.store.kernels.arrays import IndexArrays
from headwater.engine.store.kernels.cells import begin_cell, direct_cell, hash_cell, mix, next_row, row_cell


@kernel
def cells_direct(keys, base, extent, out):
    for at in range(keys.shape[0]):
        out[at] = direct_cell(keys, at, base, extent)


@kernel
def cells_hash(keys, heads, data, columns, out):
    for at in range(keys.shape[0]):
        slot, row = hash_cell(keys, at, heads, data, columns)
        out[at] = slot if row >= 0 else -1


@kernel
def search_ordered(keys, data, size, out):
    """The row equal to each key, or -1, in rows that lie in ascending order."""
    width = data.shape[1]
    for at in range(keys.shape[0]):
        low, high = 0, size
        while low < high:
            middle = (low + high) // 2
            less = False
            for column in range(width):
                value = np.int64(data[middle, column])
                if value != keys[at, column]:
                    less = value < keys[at, column]
                    break
            if less:
                low = middle + 1
            else:
                high = middle
        out[at] = low
        for column in range(width):
            if low == size or np.int64(data[low, column]) != keys[at, column]:
                out[at] = -1
                break


@kernel
def sort_by_cell(data, size, columns, base, extent, begin, order):
    """Counting sort: `order[begin[cell]:begin[cell + 1]]` are the rows whose key has that cell, oldest first."""
    begin[:] = 0
    for row in range(size):
        begin[row_cell(data, row, columns, base, extent) + 1] += 1
    for cell in range(1, begin.size):
        begin[cell] += begin[cell - 1]
    for row in range(size - 1, -1, -1):
        cell = row_cell(data, row, columns, base, extent)
        # the slots of a cell fill from its end; `begin` is put right again below
        begin[cell + 1] -= 1
        order[begin[cell + 1]] = row
    for cell in range(begin.size - 1):
        begin[cell] = begin[cell + 1]
    begin[begin.size - 1] = size


@kernel
def chain_direct(data, rows, columns, heads, chain, base, extent):
    """Put rows into a chained index whose table addresses keys directly."""
    for row in rows:
        cell = row_cell(data, row, columns, base, extent)
        chain[row] = ~heads[cell]
        heads[cell] = ~row


@kernel
def chain_hash(data, rows, columns, heads, chain, used):
    """Put rows into a chained index over a hash table; returns how many cells are now in use."""
    mask = np.uint64(heads.size - 1)
    for row in rows:
        hashed = np.uint64(0)
        for column in columns:
            hashed = mix(hashed, np.int64(data[row, column]))
        slot = hashed & mask
        while True:
            head = ~heads[slot]
            if head < 0:
                chain[row] = -1
                heads[slot] = ~row
                used += 1
                break
            same = True
            for column in columns:
                if data[head, column] != data[row, column]:
                    same = False
                    break
            if same:
                chain[row] = head
                heads[slot] = ~row
                break
            slot = (slot + np.uint64(1)) & mask
    return used


@kernel
def expand(cells, index_arrays, stamp, newest, at, place, linked, left, right):
    """Every (key, row) pair whose row came alive no later than round `newest`, until the buffer is full.

    The rows of a cell are first those in `order` (if the index has been sorted), then those chained from
    `heads`. Returns how many pairs were written and the cursor (key, place in `order`, row in the chain) to go on
    from; place -1 means that a key has not been begun.
    """
    index = IndexArrays(*index_arrays)
    begin, order, heads, chain = index.begin, index.order, index.heads, index.chain
    count = 0
    while at < cells.size:
        cell = cells[at]
        if cell >= 0:
            first, last, head = begin_cell(cell, begin, heads)
            if place == -1:
                place, linked = first, head
            while True:
                here, link = place, linked
                row, place, linked = next_row(place, last, linked, order, chain)
                if row < 0:
                    break
                if 0 < stamp[row] <= newest:
                    if count == left.size:
                        return count, at, here, link
                    left[count] = at
                    right[count] = row
                    count += 1
        place = -1
        at += 1
    return count, at, place, linked


@kernel
def count_met(cells, index_arrays, stamp, newest):
    """How many pairs `expand` would give."""
    index = IndexArrays(*index_arrays)
    begin, order, heads, chain = index.begin, index.order, index.heads, index.chain
    count = 0
    for at in range(cells.size):
        if cells[at] >= 0:
            place, last, linked = begin_cell(cells[at], begin, heads)
            while True:
                row, place, linked = next_row(place, last, linked, order, chain)
                if row < 0:
                    break
                if 0 < stamp[row] <= newest:
                    count += 1
    return count


@kernel
def any_until(stamp, size, newest):
    """Whether any of the first rows is alive and came no later than round `newest`."""
    for row in range(size):  # noqa: SIM110
        if 0 < stamp[row] <= newest:
            return True
    return False


@kernel
def exists(cells, index_arrays, stamp, newest, out):
    """For every key some row alive with it that came no later than round `newest`, or -1."""
    index = IndexArrays(*index_arrays)
    begin, order, heads, chain = index.begin, index.order, index.heads, index.chain
    for at in range(cells.size):
        out[at] = -1
        if cells[at] < 0:
            continue
        place, last, linked = begin_cell(cells[at], begin, heads)
        while True:  # what came last is looked at first
            if linked >= 0:
                row, linked = linked, np.int64(chain[linked])
            elif place < last:
                row, place = np.int64(order[place]), place + 1
            else:
                break
            if 0 < stamp[row] <= newest:
                out[at] = row
                break


@kernel
def sum_groups(groups, values, out):
    """Left-to-right sums of float values per group; the caller fixes the order."""
    for at in range(groups.size):
        out[groups[at]] += values[at]
