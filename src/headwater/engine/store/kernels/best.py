"""Kernels for rules of two atoms into tables with one row per group: the best derivation of each group."""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import inlined, kernel
from headwater.engine.store.kernels.arrays import BestFound, IndexArrays, KeySource, ShortBest, Sources
from headwater.engine.store.kernels.cells import begin_cell, direct_cell, key_cell, next_row, plus, value_of

_WORST = np.int64(np.iinfo(np.int64).max)


@inlined
def _is_better(value, home, standing, best, best_left):
    """Whether a value beats what stands or was found; a group that has nothing holds the worst value there is."""
    held = best[home]
    return value < held or (value == held == _WORST and standing[home] < 0 and best_left[home] < 0)


@kernel
def join_best(
    rows, left, keys, right, right_stamp, newest, index_arrays, group_places, value_places, largest, base, extent,
    best_found,
):  # fmt: skip
    """A rule of two atoms into a table with one row per group, in one loop: the best derivation of each group.

    The head's value is a sum of columns and constants. For a group that finds better than what stands, `values` gets
    the best value found, `left` and `right` the starting row and the row met, and `touched` the group, once. Returns
    how many groups that are, or -1 when a sum does not fit into 64 bits.
    """
    key_columns, keyed, low, span, words, begin, order, heads, chain = IndexArrays(*index_arrays)
    sources, constants = KeySource(*keys)
    standing, best, best_left, best_right, touched = BestFound(*best_found)
    group_side, group_from = Sources(*group_places)
    value_side, value_from = Sources(*value_places)
    key = np.empty((1, key_columns.size), dtype=np.int64)
    group = np.empty((1, base.size), dtype=np.int64)
    met = 0
    for start in rows:
        cell = key_cell(start, left, sources, constants, key, right, key_columns, keyed, low, span, words, heads)
        if cell < 0:
            continue
        place, last, linked = begin_cell(cell, begin, heads)
        while True:
            other, place, linked = next_row(place, last, linked, order, chain)
            if other < 0:
                break
            if not 0 < right_stamp[other] <= newest:
                continue
            value = np.int64(0)
            for at in range(value_side.size):
                term = value_of(value_side[at], value_from[at], left, start, right, other)
                value, overflows = plus(value, term)
                if overflows:
                    return -1
            for at in range(base.size):
                group[0, at] = value_of(group_side[at], group_from[at], left, start, right, other)
            home = direct_cell(group, 0, base, extent)
            if largest:
                value = ~value
            if _is_better(value, home, standing, best, best_left):
                if best_left[home] < 0:
                    touched[met] = home
                    met += 1
                best[home], best_left[home], best_right[home] = value, start, other
    return met


@kernel
def join_best_short(
    rows, left, key_column, right, right_stamp, newest, any_stamp, index_arrays, carried_group, carried_weight, form,
    group_base, largest, best_found,
):  # fmt: skip
    """`join_best` for the commonest case: a key of one column, direct, a group of one column, a value that is
    the sum of a column of the starting row, one of the row met (or -1 for none) and a constant.

    With `any_stamp` all rows met are alive and old enough, and their stamps need not be looked at. Columns of the rows
    met may be given in the order of the index too (`carried_group`, `carried_weight`), where they are side by side.
    """
    index, head, found = IndexArrays(*index_arrays), ShortBest(*form), BestFound(*best_found)
    begin, order, heads, chain = index.begin, index.order, index.heads, index.chain
    standing, best, best_left, best_right, touched = found
    key_base, key_extent = index.base[0], index.extent[0]
    copies, weighs = head.group_side == 0, head.weight_column >= 0
    beside = any_stamp and (copies or carried_group.size > 0) and (not weighs or carried_weight.size > 0)
    met = 0
    for start in rows:
        cell = np.int64(left[start, key_column]) - key_base
        if cell < 0 or cell >= key_extent:
            continue
        given = np.int64(left[start, head.value_column]) if head.value_column >= 0 else np.int64(0)
        whole, overflows = plus(given, np.int64(head.constant))
        if overflows:
            return -1
        mine = np.int64(left[start, head.group_column]) if copies else np.int64(0)
        place, last, linked = begin_cell(cell, begin, heads)
        if beside:
            while place < last:
                value, overflows = plus(whole, np.int64(carried_weight[place]) if weighs else np.int64(0))
                if overflows:
                    return -1
                home = (mine if copies else np.int64(carried_group[place])) - group_base
                if largest:
                    value = ~value
                if _is_better(value, home, standing, best, best_left):
                    if best_left[home] < 0:
                        touched[met] = home
                        met += 1
                    best[home], best_left[home], best_right[home] = value, start, order[place]
                place += 1
        while True:
            other, place, linked = next_row(place, last, linked, order, chain)
            if other < 0:
                break
            if not any_stamp and not 0 < right_stamp[other] <= newest:
                continue
            value, overflows = plus(whole, np.int64(right[other, head.weight_column]) if weighs else np.int64(0))
            if overflows:
                return -1
            home = (mine if copies else np.int64(right[other, head.group_column])) - group_base
            if largest:
                value = ~value
            if _is_better(value, home, standing, best, best_left):
                if best_left[home] < 0:
                    touched[met] = home
                    met += 1
                best[home], best_left[home], best_right[home] = value, start, other
    return met
