"""Kernels over the lists of groups (see `frontier`), and which versions of rows are needless."""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import inlined, kernel
from headwater.engine.store.kernels.arrays import FrontierShape, GroupLists, IndexArrays, TableArrays
from headwater.engine.store.kernels.cells import begin_cell, mix, next_row
from headwater.engine.store.states import GONE

_NEVER = np.iinfo(np.int64).min
_LATE = np.iinfo(np.int64).max


@inlined
def _home(group, first, direct, base, extent):
    """The cell at which the search for a group begins; if cells are addressed directly, it is its own."""
    if direct:
        cell = np.int64(0)
        for position in range(group.size):
            cell = cell * extent[position] + (group[position] - base[position])
        return cell
    hashed = np.uint64(0)
    for position in range(group.size):
        hashed = mix(hashed, group[position])
    return np.int64(hashed & np.uint64(first.size - 1))


@inlined
def find_group(group, first, data, columns, direct, base, extent):
    """The cell of a group: where its list begins, or would."""
    if direct:
        return _home(group, first, direct, base, extent)
    mask = np.uint64(first.size - 1)
    slot = np.uint64(_home(group, first, direct, base, extent))
    while True:
        row = ~first[slot]
        if row < 0:
            return np.int64(slot)
        same = True
        for position in range(group.size):
            if np.int64(data[row, columns[position]]) != group[position]:
                same = False
                break
        if same:
            return np.int64(slot)
        slot = (slot + np.uint64(1)) & mask


@inlined
def _read_group(group, data, row, columns):
    for position in range(columns.size):
        group[position] = data[row, columns[position]]


@inlined
def place_in_list(cell, rank, lease, first, following, data, stamp, value_column, lease_column, largest, direct):
    """Where a row belongs in the list of its group, which rises by lease and, as nothing in it is needless, gets worse.

    Returns whether the row is not needless, the row it comes after (-1: none), and the first row behind that one.
    """
    before = np.int32(-1)
    row = ~first[cell]
    if (not direct or value_column < 0) and row >= 0 and stamp[row] <= 0:
        row = np.int32(-1)  # it only keeps the place of its group
    while row >= 0:
        held = np.int64(data[row, value_column]) if value_column >= 0 else np.int64(0)
        if largest:
            held = ~held
        if np.int64(data[row, lease_column]) >= lease:
            return held > rank, before, row
        if held >= rank:
            break
        before = row
        row = following[row]
    return True, before, row


@kernel
def keep_frontier(order, group, value, identity, time, lease, limit, keep):
    """Which rows nothing else makes needless; `order` goes by group, value (best first), identity, and within an
    identity by lease (latest first) and time (earliest first).

    A row is needless when another of its identity is no later and ends no earlier, or when `limit` better values of its
    group have rows that end no earlier.
    """
    ends = np.empty(limit, dtype=np.int64)  # of the better values, the latest leases, in falling order
    known = 0
    last = _NEVER  # the latest lease of the value at hand
    earliest = _LATE  # the earliest time of the identity at hand
    before = np.int64(-1)
    for row in order:
        new_group = before < 0 or group[row] != group[before]
        new_value = new_group or value[row] != value[before]
        if new_value:
            if new_group:
                known = 0
            else:
                at = known if known < limit else limit - 1
                if known < limit or last > ends[limit - 1]:
                    while at > 0 and ends[at - 1] < last:
                        ends[at] = ends[at - 1]
                        at -= 1
                    ends[at] = last
                    known = min(known + 1, limit)
            last = _NEVER
        if new_value or identity[row] != identity[before]:
            earliest = _LATE
        before = row
        if time[row] < earliest:
            earliest = time[row]
            last = max(last, lease[row])
            keep[row] = known < limit or lease[row] > ends[limit - 1]
        else:
            keep[row] = False


@kernel
def not_needless(values, leases, cells, index_arrays, stamp, data, head_shape, keep):
    """Which rows offered are not needless beside the rows of their groups that are alive: `keep` gets the answers.

    For tables that keep one value per group: a row is needless if one that is no worse ends no earlier.
    """
    index, shape = IndexArrays(*index_arrays), FrontierShape(*head_shape)
    begin, order, heads, chain = index.begin, index.order, index.heads, index.chain
    for at in range(cells.size):
        keep[at] = True
        if cells[at] < 0:
            continue
        place, last, linked = begin_cell(cells[at], begin, heads)
        while True:
            row, place, linked = next_row(place, last, linked, order, chain)
            if row < 0:
                break
            if stamp[row] > 0 and data[row, shape.lease] >= leases[at]:
                value = data[row, shape.value]
                if value >= values[at] if shape.largest else value <= values[at]:
                    keep[at] = False
                    break


@kernel
def list_frontiers(rows, data, stamp, lease_column, lone, group_lists):
    """Bring the lists of groups up to date with rows that may have come or gone."""
    columns, first, following, direct, base, extent = GroupLists(*group_lists)
    group = np.empty(columns.size, dtype=np.int64)
    for row in rows:
        _read_group(group, data, row, columns)
        home = find_group(group, first, data, columns, direct, base, extent)
        before = np.int32(-1)  # the row that leads to this one
        shorter = np.int32(-1)  # the last with a shorter lease
        listed = ~first[home]
        if (lone or not direct) and listed >= 0 and stamp[listed] <= 0 and following[listed] < 0:
            if stamp[row] > 0:  # the place of the group was kept by a row that is gone
                following[row] = -1
                first[home] = ~row
            continue
        while listed >= 0 and listed != row:
            if data[listed, lease_column] < data[row, lease_column]:
                shorter = listed
            before = listed
            listed = following[listed]
        if listed < 0 and stamp[row] > 0:
            if shorter < 0:
                following[row] = ~first[home]
                first[home] = ~row
            else:
                following[row] = following[shorter]
                following[shorter] = row
        elif listed == row and stamp[row] <= 0:
            if before >= 0:
                following[before] = following[row]
            elif (direct and not lone) or following[row] >= 0:
                first[home] = ~following[row]


@kernel
def list_alone(rows, data, group_lists):
    """Make lists of one row each, of rows that are all of different groups, where there are none yet."""
    columns, first, following, direct, base, extent = GroupLists(*group_lists)
    mask = np.int64(first.size - 1)
    group = np.empty(columns.size, dtype=np.int64)
    for row in rows:
        _read_group(group, data, row, columns)
        cell = _home(group, first, direct, base, extent)
        while first[cell] != 0:
            cell = (cell + 1) & mask
        first[cell] = ~row
        following[row] = -1


@kernel
def sift(size, data, stamp, head_shape, group_lists, useful):
    """Which rows alive no other of their group makes needless; the lists are scratch, and address groups directly."""
    value_column, lease_column, largest = FrontierShape(*head_shape)
    columns, first, following, direct, base, extent = GroupLists(*group_lists)
    group = np.empty(columns.size, dtype=np.int64)
    for row in range(size):
        useful[row] = False
        if stamp[row] <= 0:
            continue
        _read_group(group, data, row, columns)
        home = find_group(group, first, data, columns, direct, base, extent)
        rank = np.int64(data[row, value_column])
        if largest:
            rank = ~rank
        lease = np.int64(data[row, lease_column])
        wanted, before, behind = place_in_list(
            home, rank, lease, first, following, data, stamp, value_column, lease_column, largest, direct
        )
        if not wanted:
            continue
        while behind >= 0 and np.int64(data[behind, lease_column]) <= lease:
            useful[behind] = False
            behind = following[behind]
        useful[row] = True
        following[row] = behind
        if before < 0:
            first[home] = ~np.int32(row)
        else:
            following[before] = row


@kernel
def see_best(rows, kept, kept_stamp, kept_lists, group_lists, table_arrays, rule, tick, size, lost_rows, lost_stamps):
    """Of the groups of these rows of a table of frontiers, have `data` hold what is best now: the first of the list.

    Returns how many rows are stored then, and how many gave way; the store has space for all.
    """
    _, kept_first, _, kept_direct, kept_base, kept_extent = GroupLists(*kept_lists)
    columns, first, following, direct, base, extent = GroupLists(*group_lists)
    data, stamp, rules, witness = TableArrays(*table_arrays)
    lost = 0
    group = np.empty(columns.size, dtype=np.int64)
    for touched in rows:
        _read_group(group, kept, touched, columns)
        best = ~kept_first[find_group(group, kept_first, kept, columns, kept_direct, kept_base, kept_extent)]
        if best >= 0 and kept_stamp[best] <= 0:
            best = np.int32(-1)
        home = find_group(group, first, data, columns, direct, base, extent)
        held = ~first[home]
        if held >= 0 and stamp[held] > 0:
            same = best >= 0 and witness[held, 0] == best
            if same:
                for column in range(data.shape[1]):
                    same = same and data[held, column] == kept[best, column]
            if same:
                continue
            lost_rows[lost] = held
            lost_stamps[lost] = stamp[held]
            lost += 1
            stamp[held] = GONE
            if direct:
                first[home] = 0
        if best >= 0:
            for column in range(data.shape[1]):
                data[size, column] = kept[best, column]
            stamp[size] = tick
            rules[size] = rule
            witness[size, 0] = best
            following[size] = -1
            first[home] = ~np.int32(size)
            size += 1
    return size, lost
