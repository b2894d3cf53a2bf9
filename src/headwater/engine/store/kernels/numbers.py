"""Kernels that give dense numbers to the values of columns, and find cells by them (see `numbering`)."""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import kernel
from headwater.engine.store.kernels.cells import enter_number, mix, numbered_cell


@kernel
def distinct_values(data, size, column, table, values, most):
    """Write the values of a column to `values`, each once; returns how many there are, or one more than is looked for.

    `table` is an empty hash table. It stops where there are more than `most`, or more than there is room for.
    """
    mask = np.uint64(table.size - 1)
    count = 0
    for row in range(size):
        value = np.int64(data[row, column])
        slot = mix(np.uint64(0), value) & mask
        while table[slot] != 0 and values[table[slot] - 1] != value:
            slot = (slot + np.uint64(1)) & mask
        if table[slot] == 0:
            if count == values.size or count == most:
                return count + 1
            values[count] = value
            count += 1
            table[slot] = count
    return count


@kernel
def number_values(values, position, extent, words):
    """Give numbers to different values of a column, for which there is room."""
    for value in values:
        enter_number(words, position, value, extent[position])


@kernel
def number_rows(data, start, size, columns, base, extent, words, cells):
    """The cells of rows from `start` on, whose values are given numbers; False where there is no room for all."""
    for row in range(start, size):
        cell = np.int64(0)
        for position in range(columns.size):
            value = np.int64(data[row, columns[position]])
            offset = value - base[position]
            if words[3 * position] > 0:
                offset = enter_number(words, position, value, extent[position])
                if offset < 0:
                    return False
            cell = cell * extent[position] + offset
        cells[row - start, 0] = cell
    return True


@kernel
def cells_numbered(keys, base, extent, words, out):
    """The cell of each key, or -1."""
    for at in range(keys.shape[0]):
        out[at] = numbered_cell(keys, at, base, extent, words)


@kernel
def chain_cells(cells, start, heads, chain):
    """Put rows from `start` on into a chained index, given their cells."""
    for at in range(cells.shape[0]):
        cell = cells[at, 0]
        chain[start + at] = ~heads[cell]
        heads[cell] = ~(start + at)
