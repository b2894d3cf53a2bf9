"""The hot loops: a dozen compiled functions with fixed signatures, cached on disk.

Rows are matrices of integers (see `values`): `data[row, column]`, int32 or int64. A row's `stamp` tells
its state: positive, the round in which it came alive; zero, gone; MARKED and GHOST as in `states`. An index
maps a key to a cell, and a cell to its rows (see `index`). Tables of cells hold `~row`, so that memory fresh from
the system, all zeros, is an empty table.

Every kernel that fills a buffer stops when the buffer is full and tells where to go on, so that memory
is bounded and arrays grow outside compiled code.

They stand in one file, because numba's disk cache looks only at a kernel's own file to see whether it is out of date,
and not at the functions it inlines.
"""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import njit
from headwater.engine.store.states import GHOST

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_WORST = np.int64(np.iinfo(np.int64).max)


@njit(inline="always")
def _mix(hashed, value):
    hashed = (hashed ^ np.uint64(value)) * _MULTIPLIER
    return hashed ^ (hashed >> _SHIFT)


@njit(inline="always")
def _hash_row(matrix, row, columns):
    hashed = np.uint64(0)
    for column in columns:
        hashed = _mix(hashed, np.int64(matrix[row, column]))
    return hashed


@njit(inline="always")
def _same(keys, at, data, row, columns):
    for position in range(columns.size):
        if np.int64(keys[at, position]) != np.int64(data[row, columns[position]]):
            return False
    return True


@njit(inline="always")
def _direct_slot(keys, at, base, extent):
    """The cell of a key in a direct-addressed table, or -1 when the key lies outside it."""
    cell = np.int64(0)
    for position in range(base.size):
        offset = np.int64(keys[at, position]) - base[position]
        if offset < 0 or offset >= extent[position]:
            return np.int64(-1)
        cell = cell * extent[position] + offset
    return cell


@njit(cache=True, nogil=True)
def cells_direct(keys, base, extent, out):
    for at in range(keys.shape[0]):
        out[at] = _direct_slot(keys, at, base, extent)


@njit(cache=True, nogil=True)
def cells_hash(keys, heads, data, columns, out):
    mask = np.uint64(heads.size - 1)
    for at in range(keys.shape[0]):
        hashed = np.uint64(0)
        for position in range(columns.size):
            hashed = _mix(hashed, np.int64(keys[at, position]))
        slot = hashed & mask
        while True:
            row = ~heads[slot]
            if row < 0:
                out[at] = -1
                break
            if _same(keys, at, data, row, columns):
                out[at] = slot
                break
            slot = (slot + np.uint64(1)) & mask


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def sort_by_cell(data, size, columns, base, extent, begin, order):
    """Counting sort: `order[begin[cell]:begin[cell + 1]]` are the rows whose key has that cell, oldest first."""
    begin[:] = 0
    for row in range(size):
        cell = np.int64(0)
        for position in range(columns.size):
            cell = cell * extent[position] + (np.int64(data[row, columns[position]]) - base[position])
        begin[cell + 1] += 1
    for cell in range(1, begin.size):
        begin[cell] += begin[cell - 1]
    for row in range(size - 1, -1, -1):
        cell = np.int64(0)
        for position in range(columns.size):
            cell = cell * extent[position] + (np.int64(data[row, columns[position]]) - base[position])
        # the slots of a cell fill from its end; `begin` is put right again below
        begin[cell + 1] -= 1
        order[begin[cell + 1]] = row
    for cell in range(begin.size - 1):
        begin[cell] = begin[cell + 1]
    begin[begin.size - 1] = size


@njit(cache=True, nogil=True)
def chain_direct(data, rows, columns, heads, chain, base, extent):
    """Put rows into a chained index whose table addresses keys directly."""
    for row in rows:
        cell = np.int64(0)
        for position in range(columns.size):
            cell = cell * extent[position] + (np.int64(data[row, columns[position]]) - base[position])
        chain[row] = ~heads[cell]
        heads[cell] = ~row


@njit(cache=True, nogil=True)
def chain_hash(data, rows, columns, heads, chain, used):
    """Put rows into a chained index over a hash table; returns how many cells are now in use."""
    mask = np.uint64(heads.size - 1)
    for row in rows:
        slot = _hash_row(data, row, columns) & mask
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


@njit(cache=True, nogil=True)
def expand(cells, begin, order, heads, chain, stamp, newest, at, place, row, left, right):
    """Every (key, row) pair whose row came alive no later than round `newest`, until the buffer is full.

    The rows of a cell are first those in `order` (if the index has been sorted), then those chained from
    `heads`. Returns how many pairs were written and the cursor (key, place in `order`, row in the chain) to go on
    from; place -1 means that a key has not been begun.
    """
    count = 0
    full = left.size
    total = cells.size
    is_sorted = begin.size > 0
    while at < total:
        cell = cells[at]
        if cell >= 0:
            if place == -1:
                place = np.int64(begin[cell]) if is_sorted else np.int64(0)
                row = ~heads[cell]
            if is_sorted:
                last = begin[cell + 1]
                while place < last:
                    one = order[place]
                    if 0 < stamp[one] <= newest:
                        if count == full:
                            return count, at, place, row
                        left[count] = at
                        right[count] = one
                        count += 1
                    place += 1
            while row >= 0:
                if 0 < stamp[row] <= newest:
                    if count == full:
                        return count, at, place, row
                    left[count] = at
                    right[count] = row
                    count += 1
                row = chain[row]
        place = np.int64(-1)
        at += 1
    return count, at, place, row


@njit(cache=True, nogil=True)
def exists(cells, begin, order, heads, chain, stamp, newest, out):
    """For every key some row alive with it that came no later than round `newest`, or -1."""
    is_sorted = begin.size > 0
    for at in range(cells.size):
        cell = cells[at]
        found = np.int32(-1)
        if cell >= 0:
            row = ~heads[cell]
            while row >= 0:
                if 0 < stamp[row] <= newest:
                    found = row
                    break
                row = chain[row]
            if found < 0 and is_sorted:
                for place in range(begin[cell], begin[cell + 1]):
                    one = order[place]
                    if 0 < stamp[one] <= newest:
                        found = one
                        break
        out[at] = found


@njit(inline="always")
def _find_slot(values, data, heads, direct, base, extent):
    """The cell of the table of identities where a row is or belongs, and the row in it (-1: none)."""
    width = data.shape[1]
    if direct:
        cell = np.int64(0)
        for column in range(width):
            cell = cell * extent[column] + (values[column] - base[column])
        return cell, ~heads[cell]
    mask = np.uint64(heads.size - 1)
    hashed = np.uint64(0)
    for column in range(width):
        hashed = _mix(hashed, values[column])
    slot = hashed & mask
    while True:
        row = ~heads[slot]
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
def _append(row, slot, values, tick, rule_id, data, stamp, rules, heads):
    heads[slot] = ~row
    for column in range(data.shape[1]):
        data[row, column] = values[column]
    stamp[row] = tick
    rules[row] = rule_id


@njit(inline="always")
def _remember(row, at, stamp, rules, proof, rows, old_stamp, old_rule, old_proof):
    """Write what a row that comes back was before into the `old` buffers."""
    rows[at] = row
    old_stamp[at] = stamp[row]
    old_rule[at] = rules[row]
    for position in range(proof.shape[1]):
        old_proof[at, position] = proof[row, position]


@njit(cache=True, nogil=True)
def merge_rows(
    candidates, proofs, rule_id, tick, data, stamp, rules, proof, heads, direct, base, extent, size, limit,
    back_rows, old_stamp, old_rule, old_proof,
):  # fmt: skip
    """Insert-or-find a batch of rows of a set relation.

    A row not seen before is appended; one that is gone, marked or a ghost comes back in place with its
    new proof (a ghost keeps its own, because it holds and rows may rest on it), and what it was is written to
    the `old` buffers; one that is alive is left alone. Returns (next candidate, rows stored, rows back). Stops
    early when the store is full.
    """
    depth = proofs.shape[1]
    values = np.empty(data.shape[1], dtype=np.int64)
    back = 0
    for at in range(candidates.shape[0]):
        for column in range(values.size):
            values[column] = candidates[at, column]
        slot, row = _find_slot(values, data, heads, direct, base, extent)
        if row < 0:
            if size == limit:
                return at, size, back
            row = size
            size += 1
            _append(row, slot, values, tick, rule_id, data, stamp, rules, heads)
            for position in range(depth):
                proof[row, position] = proofs[at, position]
        elif stamp[row] <= 0:
            _remember(row, back, stamp, rules, proof, back_rows, old_stamp, old_rule, old_proof)
            back += 1
            if stamp[row] != GHOST:
                rules[row] = rule_id
                for position in range(depth):
                    proof[row, position] = proofs[at, position]
            stamp[row] = tick
    return candidates.shape[0], size, back


@njit(cache=True, nogil=True)
def sum_groups(groups, values, out):
    """Left-to-right sums of float values per group; the caller fixes the order."""
    for at in range(groups.size):
        out[groups[at]] += values[at]


@njit(inline="always")
def _cell_of(start, left, key_from, constants, key, right, key_columns, direct, base, extent, heads):
    """The cell of the index that a starting row leads to, or -1."""
    for position in range(key_columns.size):
        column = key_from[position]
        key[0, position] = np.int64(left[start, column]) if column >= 0 else constants[position]
    if direct:
        return _direct_slot(key, 0, base, extent)
    mask = np.uint64(heads.size - 1)
    hashed = np.uint64(0)
    for position in range(key_columns.size):
        hashed = _mix(hashed, key[0, position])
    slot = hashed & mask
    while True:
        head = ~heads[slot]
        if head < 0:
            return np.int64(-1)
        if _same(key, 0, right, head, key_columns):
            return np.int64(slot)
        slot = (slot + np.uint64(1)) & mask


@njit(cache=True, nogil=True)
def join_merge(
    rows, left, key_from, constants, right, key_columns, right_direct, right_base, right_extent, begin, order,
    right_heads, chain, right_stamp, newest, head_side, head_from, left_proof, left_slots, right_slot, rule_id, tick,
    data, stamp, rules, proof, heads, direct, base, extent, size, limit, all_alive, at, place, linked, back_rows,
    old_stamp, old_rule, old_proof,
):  # fmt: skip
    """The last atom of a rule in one loop: probe an index with the starting rows and merge the head rows found.

    `left_proof` has, for each starting row, the rows that a proof names at `left_slots`.

    Keys come from columns of the starting rows (`key_from`) or, where that is -1, from `constants`; head columns
    from the starting row, the row met, or (`head_side` 2) a constant. Goes on from starting row `at` and the cursor
    (`place`, `linked`) of `expand`; returns where it stopped (`at` past the end when done), rows stored, rows back.
    With `all_alive` the head holds no row that could come back, and stamps of rows found need not be looked at.
    """
    key = np.empty((1, key_columns.size), dtype=np.int64)
    values = np.empty(data.shape[1], dtype=np.int64)
    is_sorted = begin.size > 0
    back = 0
    full = back_rows.size
    last = np.int64(0)
    while at < rows.size:
        start = rows[at]
        cell = _cell_of(
            start,
            left,
            key_from,
            constants,
            key,
            right,
            key_columns,
            right_direct,
            right_base,
            right_extent,
            right_heads,
        )
        if cell >= 0:
            if place == -1:
                place = np.int64(begin[cell]) if is_sorted else np.int64(0)
                linked = ~right_heads[cell]
            last = np.int64(begin[cell + 1]) if is_sorted else np.int64(0)
            while True:
                if place < last:
                    other = order[place]
                elif linked >= 0:
                    other = linked
                else:
                    break
                if 0 < right_stamp[other] <= newest:
                    for column in range(values.size):
                        side = head_side[column]
                        if side == 0:
                            values[column] = np.int64(left[start, head_from[column]])
                        elif side == 1:
                            values[column] = np.int64(right[other, head_from[column]])
                        else:
                            values[column] = head_from[column]
                    home, row = _find_slot(values, data, heads, direct, base, extent)
                    if row < 0:
                        if size == limit:
                            return at, place, linked, size, back
                        row = np.int32(size)
                        size += 1
                        _append(row, home, values, tick, rule_id, data, stamp, rules, heads)
                        for slot in range(left_slots.size):
                            proof[row, left_slots[slot]] = left_proof[at, slot]
                        proof[row, right_slot] = other
                    elif not all_alive and stamp[row] <= 0:
                        if back == full:
                            return at, place, linked, size, back
                        _remember(row, back, stamp, rules, proof, back_rows, old_stamp, old_rule, old_proof)
                        back += 1
                        if stamp[row] != GHOST:
                            rules[row] = rule_id
                            for slot in range(left_slots.size):
                                proof[row, left_slots[slot]] = left_proof[at, slot]
                            proof[row, right_slot] = other
                        stamp[row] = tick
                if place < last:
                    place += 1
                else:
                    linked = chain[linked]
        place = np.int64(-1)
        at += 1
    return at, place, linked, size, back


@njit(cache=True, nogil=True)
def join_short(
    rows, left, key_column, right, right_base, right_extent, begin, order, right_heads, chain, right_stamp, newest,
    first_side, first_from, second_side, second_from, left_proof, left_slots, right_slot, rule_id, tick, data, stamp,
    rules, proof, heads, base, extent, size, limit, all_alive, at, place, linked, back_rows, old_stamp, old_rule,
    old_proof,
):  # fmt: skip
    """`join_merge` for the commonest case: a key of one column, a head of one or two, both direct."""
    back = 0
    full = back_rows.size
    is_sorted = begin.size > 0
    is_pair = data.shape[1] == 2
    key_base = right_base[0]
    key_extent = right_extent[0]
    first_base = base[0]
    second_base = base[1] if is_pair else np.int64(0)
    second_extent = extent[1] if is_pair else np.int64(1)
    while at < rows.size:
        start = rows[at]
        cell = np.int64(left[start, key_column]) - key_base
        if 0 <= cell < key_extent:
            if place == -1:
                place = np.int64(begin[cell]) if is_sorted else np.int64(0)
                linked = ~right_heads[cell]
            last = np.int64(begin[cell + 1]) if is_sorted else np.int64(0)
            while True:
                if place < last:
                    other = order[place]
                elif linked >= 0:
                    other = linked
                else:
                    break
                if 0 < right_stamp[other] <= newest:
                    first = np.int64(left[start, first_from] if first_side == 0 else right[other, first_from])
                    second = np.int64(0)
                    if is_pair:
                        second = np.int64(left[start, second_from] if second_side == 0 else right[other, second_from])
                    home = (first - first_base) * second_extent + (second - second_base)
                    row = ~heads[home]
                    if row < 0:
                        if size == limit:
                            return at, place, linked, size, back
                        heads[home] = ~np.int32(size)
                        data[size, 0] = first
                        if is_pair:
                            data[size, 1] = second
                        stamp[size] = tick
                        rules[size] = rule_id
                        for slot in range(left_slots.size):
                            proof[size, left_slots[slot]] = left_proof[at, slot]
                        proof[size, right_slot] = other
                        size += 1
                    elif not all_alive and stamp[row] <= 0:
                        if back == full:
                            return at, place, linked, size, back
                        _remember(row, back, stamp, rules, proof, back_rows, old_stamp, old_rule, old_proof)
                        back += 1
                        if stamp[row] != GHOST:
                            rules[row] = rule_id
                            for slot in range(left_slots.size):
                                proof[row, left_slots[slot]] = left_proof[at, slot]
                            proof[row, right_slot] = other
                        stamp[row] = tick
                if place < last:
                    place += 1
                else:
                    linked = chain[linked]
        place = np.int64(-1)
        at += 1
    return at, place, linked, size, back


@njit(inline="always")
def _value(side, column, left, start, right, other):
    if side == 0:
        return np.int64(left[start, column])
    if side == 1:
        return np.int64(right[other, column])
    return column


@njit(cache=True, nogil=True)
def join_best(
    rows, left, key_from, constants, right, key_columns, right_direct, right_base, right_extent, begin, order,
    right_heads, chain, right_stamp, newest, group_side, group_from, value_side, value_from, largest, base,
    extent, standing, values, best_left, best_right, touched,
):  # fmt: skip
    """A rule of two atoms into a table with one row per group, in one loop: the best derivation of each group.

    The head's value is a sum of columns and constants. `standing` and `values` tell what
    stands in each group (see `standing.Standing`). For a group that finds better, `values` gets the best value found,
    `best_left` and `best_right` the starting row and the row met, and `touched` the group, once. Returns how many
    groups that are, or -1 when a sum does not fit into 64 bits.
    """
    key = np.empty((1, key_columns.size), dtype=np.int64)
    group = np.empty((1, base.size), dtype=np.int64)
    is_sorted = begin.size > 0
    met = 0
    for at in range(rows.size):
        start = rows[at]
        cell = _cell_of(
            start,
            left,
            key_from,
            constants,
            key,
            right,
            key_columns,
            right_direct,
            right_base,
            right_extent,
            right_heads,
        )
        if cell < 0:
            continue
        place = np.int64(begin[cell]) if is_sorted else np.int64(0)
        last = np.int64(begin[cell + 1]) if is_sorted else np.int64(0)
        linked = ~right_heads[cell]
        while True:
            if place < last:
                other = order[place]
                place += 1
            elif linked >= 0:
                other = linked
                linked = chain[linked]
            else:
                break
            if not 0 < right_stamp[other] <= newest:
                continue
            value = np.int64(0)
            for position in range(value_side.size):
                term = _value(value_side[position], value_from[position], left, start, right, other)
                total = value + term
                if ((value ^ total) & (term ^ total)) < 0:
                    return -1
                value = total
            for position in range(base.size):
                group[0, position] = _value(group_side[position], group_from[position], left, start, right, other)
            home = _direct_slot(group, 0, base, extent)
            if largest:
                value = ~value
            if _is_better(value, home, standing, values, best_left):
                if best_left[home] < 0:
                    touched[met] = home
                    met += 1
                values[home] = value
                best_left[home] = start
                best_right[home] = other
    return met


@njit(inline="always")
def _is_better(value, home, standing, values, best_left):
    """Whether a value beats what stands or was found; a group that has nothing holds the worst value there is."""
    held = values[home]
    return value < held or (value == held == _WORST and standing[home] < 0 and best_left[home] < 0)


@njit(cache=True, nogil=True)
def join_best_short(
    rows, left, key_column, right, right_base, right_extent, begin, order, right_heads, chain, carried_group,
    carried_weight, right_stamp, newest, any_stamp, group_side, group_from, value_from, weight_from, constant, base,
    largest, standing, values, best_left, best_right, touched,
):  # fmt: skip
    """`join_best` for the commonest case: a key of one column, direct, a group of one column, a value that is
    the sum of a column of the starting row, one of the row met (or -1 for none) and a constant.

    With `any_stamp` all rows met are alive and old enough, and their stamps need not be looked at. Columns of the rows
    met may be given in the order of the index too (`carried_group`, `carried_weight`), where they are side by side.
    """
    is_sorted = begin.size > 0
    key_base = right_base[0]
    key_extent = right_extent[0]
    group_base = base[0]
    beside = any_stamp and (group_side == 0 or carried_group.size > 0) and (weight_from < 0 or carried_weight.size > 0)
    met = 0
    for at in range(rows.size):
        start = rows[at]
        cell = np.int64(left[start, key_column]) - key_base
        if cell < 0 or cell >= key_extent:
            continue
        given = np.int64(left[start, value_from]) if value_from >= 0 else np.int64(0)
        whole = given + constant
        if ((given ^ whole) & (constant ^ whole)) < 0:
            return -1
        mine = np.int64(left[start, group_from]) if group_side == 0 else np.int64(0)
        place = np.int64(begin[cell]) if is_sorted else np.int64(0)
        last = np.int64(begin[cell + 1]) if is_sorted else np.int64(0)
        linked = ~right_heads[cell]
        if beside:
            while place < last:
                value = whole
                if weight_from >= 0:
                    weight = np.int64(carried_weight[place])
                    value = whole + weight
                    if ((whole ^ value) & (weight ^ value)) < 0:
                        return -1
                home = (mine if group_side == 0 else np.int64(carried_group[place])) - group_base
                if largest:
                    value = ~value
                if _is_better(value, home, standing, values, best_left):
                    if best_left[home] < 0:
                        touched[met] = home
                        met += 1
                    values[home] = value
                    best_left[home] = start
                    best_right[home] = order[place]
                place += 1
        while True:
            if place < last:
                other = order[place]
                place += 1
            elif linked >= 0:
                other = linked
                linked = chain[linked]
            else:
                break
            if not any_stamp and not 0 < right_stamp[other] <= newest:
                continue
            value = whole
            if weight_from >= 0:
                weight = np.int64(right[other, weight_from])
                value = whole + weight
                if ((whole ^ value) & (weight ^ value)) < 0:
                    return -1
            home = (mine if group_side == 0 else np.int64(right[other, group_from])) - group_base
            if largest:
                value = ~value
            if _is_better(value, home, standing, values, best_left):
                if best_left[home] < 0:
                    touched[met] = home
                    met += 1
                values[home] = value
                best_left[home] = start
                best_right[home] = other
    return met


@njit(cache=True, nogil=True)
def pull_pairs(
    rows,
    state,
    head,
    key_from,
    constants,
    right,
    key_columns,
    right_direct,
    right_base,
    right_extent,
    begin,
    order,
    right_heads,
    chain,
    right_stamp,
    last_side,
    last_from,
    last,
    last_heads,
    last_direct,
    last_base,
    last_extent,
    last_stamp,
    first_slot,
    rule_id,
    tick,
    stamp,
    rules,
    proof,
    found,
    old_rule,
    old_proof,
):
    """Find for each marked row a derivation by a rule of two atoms, and give it back its life with that proof.

    The first atom is looked up by columns of the row, the second is then known whole. A row given back is seen by
    the rows after it. Returns how many were; what their rule and proof were is in the `old` buffers.
    """
    key = np.empty((1, key_columns.size), dtype=np.int64)
    values = np.empty(last.shape[1], dtype=np.int64)
    is_sorted = begin.size > 0
    count = 0
    for at in range(rows.size):
        row = rows[at]
        if stamp[row] != state:
            continue
        cell = _cell_of(
            row, head, key_from, constants, key, right, key_columns, right_direct, right_base, right_extent, right_heads
        )
        if cell < 0:
            continue
        place = np.int64(begin[cell]) if is_sorted else np.int64(0)
        end = np.int64(begin[cell + 1]) if is_sorted else np.int64(0)
        linked = ~right_heads[cell]
        while True:
            if place < end:
                other = order[place]
                place += 1
            elif linked >= 0:
                other = linked
                linked = chain[linked]
            else:
                break
            if right_stamp[other] <= 0:
                continue
            inside = True
            for column in range(values.size):
                values[column] = _value(last_side[column], last_from[column], head, row, right, other)
                if last_direct:
                    offset = values[column] - last_base[column]
                    inside = inside and 0 <= offset < last_extent[column]
            if not inside:
                continue
            _, third = _find_slot(values, last, last_heads, last_direct, last_base, last_extent)
            if third < 0 or last_stamp[third] <= 0:
                continue
            found[count] = row
            old_rule[count] = rules[row]
            for position in range(proof.shape[1]):
                old_proof[count, position] = proof[row, position]
            count += 1
            rules[row] = rule_id
            proof[row, first_slot] = other
            proof[row, 1 - first_slot] = third
            stamp[row] = tick
            break
    return count


@njit(cache=True, nogil=True)
def pull_short(
    rows, state, head, key_column, right, right_base, right_extent, begin, order, right_heads, chain, right_stamp,
    any_stamp, first_side, first_from, second_side, second_from, last_heads, last_base, last_extent, last_stamp,
    first_slot, rule_id, tick, stamp, rules, proof, found, old_rule, old_proof,
):  # fmt: skip
    """`pull_pairs` for the commonest case: a key of one column, a second atom of one or two, both direct.

    With `any_stamp` all rows of the first atom are alive.
    """
    is_sorted = begin.size > 0
    is_pair = last_base.size == 2
    key_base = right_base[0]
    key_extent = right_extent[0]
    first_base = last_base[0]
    first_extent = last_extent[0]
    second_base = last_base[1] if is_pair else np.int64(0)
    second_extent = last_extent[1] if is_pair else np.int64(1)
    count = 0
    for at in range(rows.size):
        row = rows[at]
        if stamp[row] != state:
            continue
        cell = np.int64(head[row, key_column]) - key_base
        if cell < 0 or cell >= key_extent:
            continue
        place = np.int64(begin[cell]) if is_sorted else np.int64(0)
        end = np.int64(begin[cell + 1]) if is_sorted else np.int64(0)
        linked = ~right_heads[cell]
        while True:
            if place < end:
                other = order[place]
                place += 1
            elif linked >= 0:
                other = linked
                linked = chain[linked]
            else:
                break
            if not any_stamp and right_stamp[other] <= 0:
                continue
            first = np.int64(head[row, first_from] if first_side == 0 else right[other, first_from]) - first_base
            second = np.int64(0)
            if is_pair:
                second = np.int64(head[row, second_from] if second_side == 0 else right[other, second_from])
                second -= second_base
            if first < 0 or first >= first_extent or second < 0 or second >= second_extent:
                continue
            third = ~last_heads[first * second_extent + second]
            if third < 0 or last_stamp[third] <= 0:
                continue
            found[count] = row
            old_rule[count] = rules[row]
            for position in range(proof.shape[1]):
                old_proof[count, position] = proof[row, position]
            count += 1
            rules[row] = rule_id
            proof[row, first_slot] = other
            proof[row, 1 - first_slot] = third
            stamp[row] = tick
            break
    return count
