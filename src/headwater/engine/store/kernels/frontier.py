"""Kernels into tables that keep the frontier of value and lease: the rows that are best, or become so when others end.

The rows of a group are a list that rises by lease and, as nothing in it is needless, gets worse (see `frontier`). A row
that comes takes its place in the list of its group; rows that it makes needless leave it: they become ghosts and are
reported with the stamps they had, except those that came in this very run (from `fresh` on), which are not known
elsewhere yet: their numbers are used again (`free` leads through them).

Every kernel stops when the store or a buffer is full, a code is TOO_WIDE for the store, or a sum FAILED: it does not
fit into 64 bits, or is below `least`, the code of null. `cursor` (starting row, place in `order`, row in the chain)
holds where to go on. All return DONE or why they stopped, rows stored, the free list, and how many rows were lost.

`join_frontier` and `close_frontier` are longer than a screen, and much of one is in the other: with the loop over the
rows met as one inlined function, both took twice as long.
"""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import inlined, kernel
from headwater.engine.store.kernels.arrays import (
    FrontierShape,
    GroupLists,
    HeadSide,
    IndexArrays,
    Lost,
    Offer,
    TableArrays,
)
from headwater.engine.store.kernels.cells import begin_cell, next_row, plus
from headwater.engine.store.kernels.heap import pop, push
from headwater.engine.store.kernels.lists import find_group, place_in_list
from headwater.engine.store.states import GHOST, GONE

_LATE = np.iinfo(np.int64).max
NEEDLESS, STOPPED, FAILED, TOO_WIDE = np.int32(-1), np.int32(-2), np.int32(-3), np.int32(-4)
DONE = np.int32(0)
STEPS = 1 << 16  # rows after which the caller gets the chance to stop


@inlined
def _place(
    home, rank, lease, first, following, data, stamp, value_column, lease_column, largest, direct, coming, fresh, size,
    limit, free, lost_rows, lost_stamps, lost,
):  # fmt: skip
    """Give a row offered its place in the list of its group, and take those out that it makes needless.

    Returns its number, or NEEDLESS, or STOPPED (the store or a buffer is full); and what `size`, `free` and `lost` are
    then. Rows from `fresh` on with the stamp `coming` are of this run, and their numbers are used again.
    """
    wanted, before, row = place_in_list(
        home, rank, lease, first, following, data, stamp, value_column, lease_column, largest, direct
    )
    if not wanted:
        return NEEDLESS, size, free, lost
    if free < 0 and size >= limit:
        return STOPPED, size, free, lost
    while row >= 0 and np.int64(data[row, lease_column]) <= lease:
        behind = following[row]
        if row < fresh or stamp[row] != coming:
            if lost == lost_rows.size:
                if before < 0:
                    first[home] = ~row
                else:
                    following[before] = row
                return STOPPED, size, free, lost
            lost_rows[lost] = row
            lost_stamps[lost] = stamp[row]
            lost += 1
            stamp[row] = GHOST
        else:
            stamp[row] = GONE
            following[row] = free
            free = row
        row = behind
    if free >= 0:
        new = free
        free = following[free]
    else:
        new = np.int32(size)
        size += 1
    following[new] = row
    if before < 0:
        first[home] = ~new
    else:
        following[before] = new
    return new, size, free, lost


@inlined
def _write(row, value, lease, stamped, rule_id, data, stamp, rules, value_column, lease_column):
    if value_column >= 0:
        data[row, value_column] = value
    data[row, lease_column] = lease
    stamp[row] = stamped
    rules[row] = rule_id


@inlined
def _fill(group, places, matrix, row, columns):
    for position in range(places.size):
        group[places[position]] = matrix[row, columns[position]]


@inlined
def _reach(places, matrix, row, columns, strides):
    """What some columns of a row add to the cell of a group that is addressed directly."""
    cell = np.int64(0)
    for position in range(places.size):
        cell += np.int64(matrix[row, columns[position]]) * strides[places[position]]
    return cell


@kernel
def join_frontier(
    rows, cells, left, left_stamp, left_side, right, right_stamp, newest, right_side, index_arrays, group, constant,
    slot, cursor, strides, shift, group_lists, table_arrays, head_shape, offered, size, free, lost_arrays,
):  # fmt: skip
    """A rule of two atoms into a table that keeps the frontier of value and lease, in one loop.

    `cells` are those of the starting rows in the index of the rows met. The head's value is the sum of a column of
    either side (-1: none) and a constant, its lease the smaller of a column of either side; its `group`, which has
    the constants in it already, is filled in at some places from columns of the starting row and of the row met. A
    group that is addressed directly has the cell `shift` plus what these columns times their `strides` add.
    """
    left_at, left_from, left_value, left_lease = HeadSide(*left_side)
    right_at, right_from, right_value, right_lease = HeadSide(*right_side)
    _, _, _, _, _, begin, order, right_heads, chain = IndexArrays(*index_arrays)
    columns, first, following, direct, base, extent = GroupLists(*group_lists)
    data, stamp, rules, witness = TableArrays(*table_arrays)
    value_column, lease_column, largest = FrontierShape(*head_shape)
    least, rule_id, tick, fresh, limit = Offer(*offered)
    lost_rows, lost_stamps = Lost(*lost_arrays)
    narrow = data.itemsize == 4
    lost = 0
    for position in range(group.size):
        shift += group[position] * strides[position]
    at, place, linked = cursor[0], cursor[1], cursor[2]
    while at < rows.size:
        start = rows[at]
        cell = cells[at]
        if cell >= 0 and left_stamp[start] > 0:
            _fill(group, left_at, left, start, left_from)
            own = shift + _reach(left_at, left, start, left_from, strides)
            addend = constant + (np.int64(left[start, left_value]) if left_value >= 0 else np.int64(0))
            end = np.int64(left[start, left_lease]) if left_lease >= 0 else np.int64(_LATE)
            front, last, head = begin_cell(cell, begin, right_heads)
            if place == -1:
                place, linked = front, head
            while True:
                here, link = place, linked
                other, place, linked = next_row(place, last, linked, order, chain)
                if other < 0:
                    break
                if 0 < right_stamp[other] <= newest:
                    term = np.int64(right[other, right_value]) if right_value >= 0 else np.int64(0)
                    value, overflows = plus(addend, term)
                    lease = min(end, np.int64(right[other, right_lease])) if right_lease >= 0 else end
                    state = NEEDLESS
                    if overflows or value < least:
                        state = FAILED
                    elif narrow and (value != np.int32(value) or lease != np.int32(lease)):
                        state = TOO_WIDE
                    else:
                        if direct:
                            home = own + _reach(right_at, right, other, right_from, strides)
                        else:
                            _fill(group, right_at, right, other, right_from)
                            home = find_group(group, first, data, columns, direct, base, extent)
                        state, size, free, lost = _place(
                            home, ~value if largest else value, lease, first, following, data, stamp, value_column,
                            lease_column, largest, direct, tick, fresh, size, limit, free, lost_rows, lost_stamps, lost,
                        )  # fmt: skip
                    if state >= 0:
                        _fill(group, right_at, right, other, right_from)
                        for position in range(group.size):
                            data[state, columns[position]] = group[position]
                        _write(state, value, lease, tick, rule_id, data, stamp, rules, value_column, lease_column)
                        witness[state, slot] = start
                        witness[state, 1 - slot] = other
                    elif state < NEEDLESS:
                        cursor[0], cursor[1], cursor[2] = at, here, link
                        return state, size, free, lost
        place = np.int64(-1)
        at += 1
    return DONE, size, free, lost


@inlined
def _turn(row, data, value_column, lease_column, largest):
    """What tells whose turn it is: the best value, or where there is none, the latest lease goes first."""
    code = np.int64(data[row, value_column]) if value_column >= 0 else np.int64(data[row, lease_column])
    return ~code if largest or value_column < 0 else code


@kernel
def close_frontier(
    rows, runs, heap_values, heap_rows, key_column, key_base, key_extent, left_side, right, right_stamp, right_side,
    index_arrays, group, constant, slot, cursor, strides, shift, group_lists, table_arrays, head_shape, offered, size,
    free, lost_arrays,
):  # fmt: skip
    """As `join_frontier`, from rows of the table itself, and on from the rows that come, until nothing comes any more.

    The best go first, so that hardly a row is derived only to give way (Dijkstra's order, if nothing costs less than
    nothing). `runs` tells which rows share what the head copies from them: one run after the other, as none can reach
    another's groups. A row that has come and waits for its turn has the stamp `tick + 1`.
    """
    left_at, left_from, left_value, left_lease = HeadSide(*left_side)
    right_at, right_from, right_value, right_lease = HeadSide(*right_side)
    _, _, _, _, _, begin, order, right_heads, chain = IndexArrays(*index_arrays)
    columns, first, following, direct, base, extent = GroupLists(*group_lists)
    data, stamp, rules, witness = TableArrays(*table_arrays)
    value_column, lease_column, largest = FrontierShape(*head_shape)
    least, rule_id, tick, fresh, limit = Offer(*offered)
    lost_rows, lost_stamps = Lost(*lost_arrays)
    narrow = data.itemsize == 4
    lost = 0
    steps = 0
    for position in range(group.size):
        shift += group[position] * strides[position]
    at, place, linked = cursor[0], cursor[1], cursor[2]
    waiting, start = cursor[3], np.int32(cursor[4])
    state = DONE
    while True:
        if start < 0:
            if waiting == 0:
                if at == rows.size:
                    break
                run = runs[at]
                while at < rows.size and runs[at] == run and waiting < heap_rows.size:
                    turn = _turn(rows[at], data, value_column, lease_column, largest)
                    push(heap_values, heap_rows, waiting, turn, rows[at])
                    waiting += 1
                    at += 1
                if waiting == heap_rows.size:
                    state = STOPPED
                    break
            turn, start = heap_values[0], heap_rows[0]
            pop(heap_values, heap_rows, waiting)
            waiting -= 1
            stale = stamp[start] <= 0 or _turn(start, data, value_column, lease_column, largest) != turn
            if stale or (start >= fresh and stamp[start] == tick):
                start = np.int32(-1)
                continue
            if start >= fresh:
                stamp[start] = tick
            place = np.int64(-1)
            steps += 1
            if steps > STEPS:
                state = STOPPED
                break
        cell = np.int64(data[start, key_column]) - key_base
        if 0 <= cell < key_extent:
            _fill(group, left_at, data, start, left_from)
            own = shift + _reach(left_at, data, start, left_from, strides)
            addend = constant + (np.int64(data[start, value_column]) if left_value >= 0 else np.int64(0))
            end = np.int64(data[start, left_lease]) if left_lease >= 0 else np.int64(_LATE)
            front, last, head = begin_cell(cell, begin, right_heads)
            if place == -1:
                place, linked = front, head
            while True:
                here, link = place, linked
                other, place, linked = next_row(place, last, linked, order, chain)
                if other < 0:
                    break
                new = NEEDLESS
                if right_stamp[other] > 0:
                    term = np.int64(right[other, right_value]) if right_value >= 0 else np.int64(0)
                    value, overflows = plus(addend, term)
                    lease = min(end, np.int64(right[other, right_lease])) if right_lease >= 0 else end
                    if overflows or value < least:
                        new = FAILED
                    elif narrow and (value != np.int32(value) or lease != np.int32(lease)):
                        new = TOO_WIDE
                    elif waiting == heap_rows.size:
                        new = STOPPED
                    else:
                        if direct:
                            home = own + _reach(right_at, right, other, right_from, strides)
                        else:
                            _fill(group, right_at, right, other, right_from)
                            home = find_group(group, first, data, columns, direct, base, extent)
                        new, size, free, lost = _place(
                            home, ~value if largest else value, lease, first, following, data, stamp, value_column,
                            lease_column, largest, direct, tick + 1, fresh, size, limit, free, lost_rows, lost_stamps,
                            lost,
                        )  # fmt: skip
                    if new >= 0:
                        _fill(group, right_at, right, other, right_from)
                        for position in range(group.size):
                            data[new, columns[position]] = group[position]
                        _write(new, value, lease, tick + 1, rule_id, data, stamp, rules, value_column, lease_column)
                        witness[new, slot] = start
                        witness[new, 1 - slot] = other
                        turn = _turn(new, data, value_column, lease_column, largest)
                        push(heap_values, heap_rows, waiting, turn, new)
                        waiting += 1
                    elif new < NEEDLESS:
                        state, place, linked = new, here, link
                        break
            if state != DONE:
                break
        start = np.int32(-1)
    cursor[0], cursor[1], cursor[2], cursor[3], cursor[4] = at, place, linked, waiting, start
    return state, size, free, lost


@kernel
def enter_frontier(
    candidates,
    witnesses,
    cursor,
    strides,
    shift,
    group_lists,
    table_arrays,
    head_shape,
    offered,
    size,
    free,
    lost_arrays,
):
    """As `join_frontier`, for rows that have been joined already."""
    columns, first, following, direct, base, extent = GroupLists(*group_lists)
    data, stamp, rules, witness = TableArrays(*table_arrays)
    value_column, lease_column, largest = FrontierShape(*head_shape)
    _, rule_id, tick, fresh, limit = Offer(*offered)
    lost_rows, lost_stamps = Lost(*lost_arrays)
    lost = 0
    group = np.empty(columns.size, dtype=np.int64)
    for at in range(cursor[0], candidates.shape[0]):
        for position in range(columns.size):
            group[position] = candidates[at, columns[position]]
        value = candidates[at, value_column] if value_column >= 0 else np.int64(0)
        home = find_group(group, first, data, columns, direct, base, extent)
        new, size, free, lost = _place(
            home, ~value if largest else value, candidates[at, lease_column], first, following, data, stamp,
            value_column, lease_column, largest, direct, tick, fresh, size, limit, free, lost_rows, lost_stamps, lost,
        )  # fmt: skip
        if new >= 0:
            for column in range(data.shape[1]):
                data[new, column] = candidates[at, column]
            stamp[new] = tick
            rules[new] = rule_id
            for position in range(witnesses.shape[1]):
                witness[new, position] = witnesses[at, position]
        elif new < NEEDLESS:
            cursor[0] = at
            return new, size, free, lost
    return DONE, size, free, lost
