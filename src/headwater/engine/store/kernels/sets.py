"""Kernels that write to tables that keep all rows: merge, join and merge in one loop, and pull marked rows."""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import inlined, kernel
from headwater.engine.store.kernels.arrays import (
    Before,
    Identities,
    IndexArrays,
    KeySource,
    Sources,
    TableArrays,
    Witness,
)
from headwater.engine.store.kernels.cells import (
    begin_cell,
    enter_number,
    find_row,
    key_cell,
    next_row,
    number_of,
    value_of,
)
from headwater.engine.store.states import GHOST


@inlined
def _append(row, cell, values, tick, rule, table, known):
    known.heads[cell] = ~np.int32(row)
    for column in range(table.data.shape[1]):
        table.data[row, column] = values[column]
    table.stamp[row] = tick
    table.rules[row] = rule


@inlined
def _remember(row, at, table, before):
    """Write down what a row that comes back was before."""
    before.rows[at] = row
    before.stamps[at] = table.stamp[row]
    before.rules[at] = table.rules[row]
    for position in range(table.witness.shape[1]):
        before.witnesses[at, position] = table.witness[row, position]


@kernel
def merge_rows(candidates, witnesses, rule, tick, table_arrays, identities, size, limit, before_arrays):
    """Insert-or-find a batch of rows of a set relation.

    A row not seen before is appended; one that is gone, marked or a ghost comes back in place with its new witness (a
    ghost keeps its own, because it holds and rows may rest on it), and `before` gets what it was; one that is alive is
    left alone. Returns (next candidate, rows stored, rows back). Stops early when the store is full.
    """
    table, known, before = TableArrays(*table_arrays), Identities(*identities), Before(*before_arrays)
    data, stamp = table.data, table.stamp
    cells, direct, base, extent, words = known
    values = np.empty(data.shape[1], dtype=np.int64)
    back = 0
    for at in range(candidates.shape[0]):
        for column in range(values.size):
            values[column] = candidates[at, column]
        cell, row = find_row(values, data, cells, direct, base, extent, words)
        changed = True
        if row < 0:
            if size == limit or cell < 0:
                return at, size, back
            row = size
            size += 1
            _append(row, cell, values, tick, rule, table, known)
        elif stamp[row] <= 0:
            _remember(row, back, table, before)
            back += 1
            changed = stamp[row] != GHOST
            stamp[row] = tick
        else:
            changed = False
        if changed:
            table.rules[row] = rule
            for position in range(witnesses.shape[1]):
                table.witness[row, position] = witnesses[at, position]
    return candidates.shape[0], size, back


@inlined
def _derive(row, at, other, rule, witness, table):
    """A row's witness: its rule, the rows that starting row `at` stands for, and the row met."""
    table.rules[row] = rule
    for slot in range(witness.slots.size):
        table.witness[row, witness.slots[slot]] = witness.left[at, slot]
    table.witness[row, witness.met] = other


@inlined
def _come(row, cell, values, at, other, rule, tick, witness, table, known):
    """Have a head row come that was never there.

    It is a straight line, as is `_come_back`: with several ways out of an inlined function that writes to named arrays,
    numba counts references in the loop around it, which then took three times as long.
    """
    _append(row, cell, values, tick, rule, table, known)
    _derive(row, at, other, rule, witness, table)


@inlined
def _come_back(row, at, other, rule, tick, witness, table, before, back):
    _remember(row, back, table, before)
    if table.stamp[row] != GHOST:
        _derive(row, at, other, rule, witness, table)
    table.stamp[row] = tick


@kernel
def join_merge(
    rows, left, keys, right, right_stamp, newest, index_arrays, head_places, witness_arrays, rule, tick, table_arrays,
    identities, size, limit, all_alive, at, place, linked, before_arrays,
):  # fmt: skip
    """The last atom of a rule in one loop: probe an index with the starting rows and merge the head rows found.

    Goes on from starting row `at` and the cursor (`place`, `linked`) of `expand`; returns where it stopped (`at` past
    the end when done), rows stored, rows back. With `all_alive` the head holds no row that could come back, and stamps
    of rows found need not be looked at.
    """
    key_columns, keyed, low, span, key_words, begin, order, heads, chain = IndexArrays(*index_arrays)
    sources, constants = KeySource(*keys)
    sides, columns = Sources(*head_places)
    witness, table, known = Witness(*witness_arrays), TableArrays(*table_arrays), Identities(*identities)
    before = Before(*before_arrays)
    key = np.empty((1, key_columns.size), dtype=np.int64)
    data, stamp = table.data, table.stamp
    cells, direct, base, extent, words = known
    values = np.empty(data.shape[1], dtype=np.int64)
    back = 0
    while at < rows.size:
        start = rows[at]
        cell = key_cell(start, left, sources, constants, key, right, key_columns, keyed, low, span, key_words, heads)
        if cell >= 0:
            first, last, head = begin_cell(cell, begin, heads)
            if place == -1:
                place, linked = first, head
            while True:
                here, link = place, linked
                if place < last:  # `next_row`, written out: the call made the join of points-to a sixth slower
                    other = np.int64(order[place])
                    place += 1
                elif linked >= 0:
                    other = linked
                    linked = np.int64(chain[linked])
                else:
                    break
                if not 0 < right_stamp[other] <= newest:
                    continue
                for column in range(values.size):
                    values[column] = value_of(sides[column], columns[column], left, start, right, other)
                home, row = find_row(values, data, cells, direct, base, extent, words)
                if row < 0:
                    if size == limit or home < 0:
                        return at, here, link, size, back
                    _come(size, home, values, at, other, rule, tick, witness, table, known)
                    size += 1
                elif not all_alive and stamp[row] <= 0:
                    if back == before.rows.size:
                        return at, here, link, size, back
                    _come_back(row, at, other, rule, tick, witness, table, before, back)
                    back += 1
        place = -1
        at += 1
    return at, place, linked, size, back


@kernel
def join_short(
    rows, left, key_column, right, right_stamp, newest, index_arrays, ends, witness_arrays, rule, tick, table_arrays,
    identities, size, limit, all_alive, at, place, linked, before_arrays, numbers,
):  # fmt: skip
    """`join_merge` for the commonest case: a key of one column, a head of one or two, both direct.

    `ends` are side and column of the head's first and last column. `numbers` are the words of the index and of the
    table of identities where one of them has any, else None: numba leaves out what it is not asked for.
    """
    first_side, first_from, second_side, second_from = ends
    index, witness, before = IndexArrays(*index_arrays), Witness(*witness_arrays), Before(*before_arrays)
    table, known = TableArrays(*table_arrays), Identities(*identities)
    values = np.empty(2, dtype=np.int64)
    stamp, cells = table.stamp, known.heads
    back = 0
    begin, order, heads, chain = index.begin, index.order, index.heads, index.chain
    is_pair = table.data.shape[1] == 2
    key_base, key_extent = index.base[0], index.extent[0]
    first_base = known.base[0]
    second_base = known.base[1] if is_pair else np.int64(0)
    second_extent = known.extent[1] if is_pair else np.int64(1)
    if numbers is not None:
        key_words, words = numbers
        keyed = key_words.size > 0 and key_words[0] > 0
        first_numbered = words.size > 0 and words[0] > 0
        second_numbered = words.size > 0 and is_pair and words[3] > 0
        first_extent, copied = known.extent[0], first_side == 0
        mine = np.int64(0)
    while at < rows.size:
        start = rows[at]
        cell = np.int64(left[start, key_column]) - key_base
        if numbers is not None:
            if keyed:
                cell = number_of(key_words, 0, np.int64(left[start, key_column]))
            if first_numbered and copied:  # once for all rows met
                mine = enter_number(words, 0, np.int64(left[start, first_from]), first_extent)
        if 0 <= cell < key_extent:
            front, last, head = begin_cell(cell, begin, heads)
            if place == -1:
                place, linked = front, head
            while True:
                here, link = place, linked
                other, place, linked = next_row(place, last, linked, order, chain)
                if other < 0:
                    break
                if not 0 < right_stamp[other] <= newest:
                    continue
                first = np.int64(left[start, first_from] if first_side == 0 else right[other, first_from])
                second = np.int64(0)
                if is_pair:
                    second = np.int64(left[start, second_from] if second_side == 0 else right[other, second_from])
                home = (first - first_base) * second_extent + (second - second_base)
                if numbers is not None:
                    line, column = first - first_base, second - second_base
                    if first_numbered:
                        line = mine if copied else enter_number(words, 0, first, first_extent)
                    if second_numbered:
                        column = enter_number(words, 1, second, second_extent)
                    if line < 0 or column < 0:
                        return at, here, link, size, back
                    home = line * second_extent + column
                row = np.int64(~cells[home])
                if row < 0:
                    if size == limit:
                        return at, here, link, size, back
                    values[0], values[1] = first, second
                    _come(size, home, values, at, other, rule, tick, witness, table, known)
                    size += 1
                elif not all_alive and stamp[row] <= 0:
                    if back == before.rows.size:
                        return at, here, link, size, back
                    _come_back(row, at, other, rule, tick, witness, table, before, back)
                    back += 1
        place = -1
        at += 1
    return at, place, linked, size, back


@kernel
def close_merge(
    rows, keys, right, right_stamp, newest, index_arrays, head_places, slots, met, rule, tick, table_arrays, identities,
    size, limit, all_alive, place, linked, before_arrays, most, rounds,
):  # fmt: skip
    """`join_merge` from rows of the head itself, and on from those that come, while no round has more than `most` rows.

    Returns the rows that are still to start, the cursor of the first of them, rows stored, rows back, and whether it
    stopped because a buffer is full. After so many `rounds` it stops as well.
    """
    back_rows, back_stamps, back_rules, back_witnesses = before_arrays
    back, full = 0, False
    while 0 < rows.size <= most and rounds > 0:
        at, place, linked, stored, revived = join_merge(
            rows, table_arrays[0], keys, right, right_stamp, newest, index_arrays, head_places,
            (rows.reshape(-1, 1), slots, met), rule, tick, table_arrays, identities, size, limit, all_alive, 0, place,
            linked, (back_rows[back:], back_stamps[back:], back_rules[back:], back_witnesses[back:]),
        )  # fmt: skip
        left = rows.size - at
        full = left > 0
        after = np.empty(left + stored - size + revived, dtype=np.int32)
        after[:left] = rows[at:]
        for new in range(stored - size):
            after[left + new] = size + new
        after[left + stored - size :] = back_rows[back : back + revived]
        rows, size, back = after, stored, back + revived
        rounds -= 1
        if full:
            break
    return rows, place, linked, size, back, full


@inlined
def _revive(row, other, third, slot, rule, tick, count, table, before):
    """Give a marked row its life back, with a new witness of two rows."""
    _remember(row, count, table, before)
    table.rules[row] = rule
    table.witness[row, slot] = other
    table.witness[row, 1 - slot] = third
    table.stamp[row] = tick


@kernel
def pull_pairs(
    rows, state, keys, right, right_stamp, index_arrays, last_places, last, last_stamp, last_identities, slot, rule,
    tick, table_arrays, before_arrays,
):  # fmt: skip
    """Find for each marked row a derivation by a rule of two atoms, and give it back its life with that witness.

    The first atom is looked up by columns of the row, the second is then known whole. A row given back is seen by
    the rows after it. Returns how many were; `before` gets what they were.
    """
    key_columns, keyed, low, span, key_words, begin, order, heads, chain = IndexArrays(*index_arrays)
    sources, constants = KeySource(*keys)
    sides, columns = Sources(*last_places)
    known, table, before = Identities(*last_identities), TableArrays(*table_arrays), Before(*before_arrays)
    key = np.empty((1, key_columns.size), dtype=np.int64)
    data, stamp = table.data, table.stamp
    cells, direct, base, extent, words = known
    values = np.empty(last.shape[1], dtype=np.int64)
    count = 0
    for row in rows:
        if stamp[row] != state:
            continue
        cell = key_cell(row, data, sources, constants, key, right, key_columns, keyed, low, span, key_words, heads)
        if cell < 0:
            continue
        place, end, linked = begin_cell(cell, begin, heads)
        while True:
            other, place, linked = next_row(place, end, linked, order, chain)
            if other < 0:
                break
            if right_stamp[other] <= 0:
                continue
            inside = True
            for column in range(values.size):
                values[column] = value_of(sides[column], columns[column], data, row, right, other)
                if direct:
                    inside = inside and 0 <= values[column] - base[column] < extent[column]
                elif words.size > 0 and words[3 * column] > 0:
                    inside = inside and number_of(words, column, values[column]) >= 0
                elif words.size > 0:
                    inside = inside and 0 <= values[column] - base[column] < extent[column]
            if not inside:
                continue
            _, third = find_row(values, last, cells, direct, base, extent, words)
            if third >= 0 and last_stamp[third] > 0:
                _revive(row, other, third, slot, rule, tick, count, table, before)
                count += 1
                break
    return count


@kernel
def pull_short(
    rows, state, key_column, right, right_stamp, any_stamp, index_arrays, ends, last_stamp, last_identities, slot, rule,
    tick, table_arrays, before_arrays,
):  # fmt: skip
    """`pull_pairs` for the commonest case: a key of one column, a second atom of one or two, both direct.

    With `any_stamp` all rows of the first atom are alive.
    """
    first_side, first_from, second_side, second_from = ends
    index, known = IndexArrays(*index_arrays), Identities(*last_identities)
    table, before = TableArrays(*table_arrays), Before(*before_arrays)
    begin, order, heads, chain = index.begin, index.order, index.heads, index.chain
    is_pair = known.base.size == 2
    key_base, key_extent = index.base[0], index.extent[0]
    first_base, first_extent = known.base[0], known.extent[0]
    second_base = known.base[1] if is_pair else np.int64(0)
    second_extent = known.extent[1] if is_pair else np.int64(1)
    data, stamp, cells = table.data, table.stamp, known.heads
    count = 0
    for row in rows:
        if stamp[row] != state:
            continue
        cell = np.int64(data[row, key_column]) - key_base
        if cell < 0 or cell >= key_extent:
            continue
        place, end, linked = begin_cell(cell, begin, heads)
        while True:
            other, place, linked = next_row(place, end, linked, order, chain)
            if other < 0:
                break
            if not any_stamp and right_stamp[other] <= 0:
                continue
            first = np.int64(data[row, first_from] if first_side == 0 else right[other, first_from]) - first_base
            second = np.int64(0)
            if is_pair:
                second = np.int64(data[row, second_from] if second_side == 0 else right[other, second_from])
                second -= second_base
            if first < 0 or first >= first_extent or second < 0 or second >= second_extent:
                continue
            third = np.int64(~cells[first * second_extent + second])
            if third >= 0 and last_stamp[third] > 0:
                _revive(row, other, third, slot, rule, tick, count, table, before)
                count += 1
                break
    return count
