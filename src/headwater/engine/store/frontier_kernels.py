"""The kernels that tell which versions of rows are best, or can become best when others end."""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import njit
from headwater.engine.store.states import GHOST, GONE

_NEVER = np.iinfo(np.int64).min
_LATE = np.iinfo(np.int64).max
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
NEEDLESS, STOPPED, FAILED, TOO_WIDE = np.int32(-1), np.int32(-2), np.int32(-3), np.int32(-4)
DONE = np.int32(0)
STEPS = 1 << 16  # rows after which somebody must be given the chance to say stop


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def not_needless(
    values, leases, cells, begin, order, heads, chain, stamp, data, value_column, lease_column, largest, keep
):
    """Which rows offered are not needless beside the rows of their groups that are alive: `keep` tells.

    For tables that keep one value per group: a row is needless if one that is no worse ends no earlier.
    """
    is_sorted = begin.size > 0
    for at in range(cells.size):
        keep[at] = True
        cell = cells[at]
        if cell < 0:
            continue
        place = np.int64(begin[cell]) if is_sorted else np.int64(0)
        last = np.int64(begin[cell + 1]) if is_sorted else np.int64(0)
        row = ~heads[cell]
        while True:
            if row >= 0:
                one = row
                row = chain[row]
            elif place < last:
                one = order[place]
                place += 1
            else:
                break
            if stamp[one] > 0 and data[one, lease_column] >= leases[at]:
                value = data[one, value_column]
                if value >= values[at] if largest else value <= values[at]:
                    keep[at] = False
                    break


@njit(inline="always")
def _home(group, first, direct, base, extent):
    """The cell at which the search for a group begins; if cells are addressed directly, it is its own."""
    if direct:
        cell = np.int64(0)
        for position in range(group.size):
            cell = cell * extent[position] + (group[position] - base[position])
        return cell
    hashed = np.uint64(0)
    for position in range(group.size):
        hashed = (hashed ^ np.uint64(group[position])) * _MULTIPLIER
        hashed ^= hashed >> _SHIFT
    return np.int64(hashed & np.uint64(first.size - 1))


@njit(inline="always")
def _find(group, first, data, columns, direct, base, extent):
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


@njit(inline="always")
def _before(cell, rank, lease, first, following, data, stamp, value_column, lease_column, largest, direct):
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


@njit(inline="always")
def _place(
    home, rank, lease, first, following, data, stamp, value_column, lease_column, largest, direct, coming, fresh, size,
    limit, free, lost_rows, lost_stamps, lost,
):  # fmt: skip
    """Give a row offered its place in the list of its group, and take those out that it makes needless.

    Returns its number, or NEEDLESS, or STOPPED (there is no room); and what `size`, `free` and `lost` are then. Rows
    from `fresh` on with the stamp `coming` are known to nobody yet, and their room is used again.
    """
    wanted, before, row = _before(
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


@njit(inline="always")
def _write(row, value, lease, stamped, rule_id, data, stamp, rules, value_column, lease_column):
    if value_column >= 0:
        data[row, value_column] = value
    data[row, lease_column] = lease
    stamp[row] = stamped
    rules[row] = rule_id


@njit(inline="always")
def _fill(group, places, matrix, row, columns):
    for position in range(places.size):
        group[places[position]] = matrix[row, columns[position]]


@njit(inline="always")
def _reach(places, matrix, row, columns, strides):
    """What some columns of a row add to the cell of a group that is addressed directly."""
    cell = np.int64(0)
    for position in range(places.size):
        cell += np.int64(matrix[row, columns[position]]) * strides[places[position]]
    return cell


@njit(cache=True, nogil=True)
def join_frontier(
    rows, cells, left, left_stamp, left_at, left_from, left_value, left_lease, right, begin, order, right_heads, chain,
    right_stamp, newest, right_at, right_from, right_value, right_lease, group, constant, left_slot, columns, cursor,
    strides, shift, first, following, direct, base, extent, data, stamp, rules, proof, value_column, lease_column,
    largest, least, rule_id, tick, fresh, size, limit, free, lost_rows, lost_stamps,
):  # fmt: skip
    """A rule of two atoms into a table that keeps the frontier of value and lease, in one loop (see `Frontiers`).

    `cells` are those of the starting rows in the index of the rows met. The head's value is the sum of a column of
    either side (-1: none) and a constant, its lease the smaller of a column of either side; its `group`, which has
    the constants in it already, is filled in at some places from columns of the starting row and of the row met. A
    group that is addressed directly has the cell `shift` plus what these columns times their `strides` add.

    A row that comes takes its place in the list of its group; rows that it makes needless leave it: they become ghosts
    and are told with the stamps they had, except those that came in this very run (from `fresh` on), of which nobody
    knows yet: their room is used again (`free` leads through it).

    Stops when the store or a buffer is full, a code is TOO_WIDE for the store, or a sum FAILED: it does not fit into
    64 bits, or is below `least`, whose place is taken; `cursor` (starting row, place in `order`, row in the chain)
    tells where to go on. Returns DONE or why it stopped, rows stored, the free list, and how many rows were lost.
    """
    is_sorted = begin.size > 0
    narrow = data.itemsize == 4
    lost = 0
    for position in range(group.size):
        shift += group[position] * strides[position]
    at, place, linked = cursor[0], cursor[1], np.int32(cursor[2])
    while at < rows.size:
        start = rows[at]
        cell = cells[at]
        if cell >= 0 and left_stamp[start] > 0:
            _fill(group, left_at, left, start, left_from)
            own = shift + _reach(left_at, left, start, left_from, strides)
            addend = constant + (np.int64(left[start, left_value]) if left_value >= 0 else np.int64(0))
            end = np.int64(left[start, left_lease]) if left_lease >= 0 else np.int64(_LATE)
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
                    term = np.int64(right[other, right_value]) if right_value >= 0 else np.int64(0)
                    value = addend + term
                    lease = min(end, np.int64(right[other, right_lease])) if right_lease >= 0 else end
                    state = NEEDLESS
                    if ((addend ^ value) & (term ^ value)) < 0 or value < least:
                        state = FAILED
                    elif narrow and (value != np.int32(value) or lease != np.int32(lease)):
                        state = TOO_WIDE
                    else:
                        if direct:
                            home = own + _reach(right_at, right, other, right_from, strides)
                        else:
                            _fill(group, right_at, right, other, right_from)
                            home = _find(group, first, data, columns, direct, base, extent)
                        state, size, free, lost = _place(
                            home, ~value if largest else value, lease, first, following, data, stamp, value_column,
                            lease_column, largest, direct, tick, fresh, size, limit, free, lost_rows, lost_stamps, lost,
                        )  # fmt: skip
                    if state >= 0:
                        _fill(group, right_at, right, other, right_from)
                        for position in range(group.size):
                            data[state, columns[position]] = group[position]
                        _write(state, value, lease, tick, rule_id, data, stamp, rules, value_column, lease_column)
                        proof[state, left_slot] = start
                        proof[state, 1 - left_slot] = other
                    elif state < NEEDLESS:
                        cursor[0], cursor[1], cursor[2] = at, place, linked
                        return state, size, free, lost
                if place < last:
                    place += 1
                else:
                    linked = chain[linked]
        place = np.int64(-1)
        at += 1
    return DONE, size, free, lost


@njit(inline="always")
def _push(values, rows, waiting, value, row):
    """Put a row into a heap."""
    at = waiting
    while at > 0:
        above = (at - 1) >> 1
        if values[above] <= value:
            break
        values[at] = values[above]
        rows[at] = rows[above]
        at = above
    values[at] = value
    rows[at] = row


@njit(inline="always")
def _pop(values, rows, waiting):
    """Take the least out of a heap that had `waiting` rows."""
    value, row = values[waiting - 1], rows[waiting - 1]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= waiting - 1:
            break
        if below + 1 < waiting - 1 and values[below + 1] < values[below]:
            below += 1
        if values[below] >= value:
            break
        values[at] = values[below]
        rows[at] = rows[below]
        at = below
    values[at] = value
    rows[at] = row


@njit(inline="always")
def _turn(row, data, value_column, lease_column, largest):
    """What tells whose turn it is: the best value, or where there is none, the latest lease goes first."""
    code = np.int64(data[row, value_column]) if value_column >= 0 else np.int64(data[row, lease_column])
    return ~code if largest or value_column < 0 else code


@njit(cache=True, nogil=True)
def close_frontier(
    rows, runs, heap_values, heap_rows, key_column, key_base, key_extent, left_at, left_from, adds, left_lease, right,
    begin, order, right_heads, chain, right_stamp, right_at, right_from, right_value, right_lease, group, constant,
    left_slot, columns, cursor, strides, shift, first, following, direct, base, extent, data, stamp, rules, proof,
    value_column, lease_column, largest, least, rule_id, tick, fresh, size, limit, free, lost_rows, lost_stamps,
):  # fmt: skip
    """As `join_frontier`, from rows of the table itself, and on from the rows that come, until nothing comes any more.

    The best go first, so that hardly a row is derived only to give way (Dijkstra's order, if nothing costs less than
    nothing). `runs` tells which rows share what the head copies from them: one run after the other, as none can reach
    another's groups. A row that has come and waits for its turn has the stamp `tick + 1`.
    """
    is_sorted = begin.size > 0
    narrow = data.itemsize == 4
    lost = 0
    steps = 0
    for position in range(group.size):
        shift += group[position] * strides[position]
    at, place, linked = cursor[0], cursor[1], np.int32(cursor[2])
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
                    _push(heap_values, heap_rows, waiting, turn, rows[at])
                    waiting += 1
                    at += 1
                if waiting == heap_rows.size:
                    state = STOPPED
                    break
            turn, start = heap_values[0], heap_rows[0]
            _pop(heap_values, heap_rows, waiting)
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
            addend = constant + (np.int64(data[start, value_column]) if adds else np.int64(0))
            end = np.int64(data[start, left_lease]) if left_lease >= 0 else np.int64(_LATE)
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
                new = NEEDLESS
                if right_stamp[other] > 0:
                    term = np.int64(right[other, right_value]) if right_value >= 0 else np.int64(0)
                    value = addend + term
                    lease = min(end, np.int64(right[other, right_lease])) if right_lease >= 0 else end
                    if ((addend ^ value) & (term ^ value)) < 0 or value < least:
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
                            home = _find(group, first, data, columns, direct, base, extent)
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
                        proof[new, left_slot] = start
                        proof[new, 1 - left_slot] = other
                        turn = _turn(new, data, value_column, lease_column, largest)
                        _push(heap_values, heap_rows, waiting, turn, new)
                        waiting += 1
                    elif new < NEEDLESS:
                        state = new
                        break
                if place < last:
                    place += 1
                else:
                    linked = chain[linked]
            if state != DONE:
                break
        start = np.int32(-1)
    cursor[0], cursor[1], cursor[2], cursor[3], cursor[4] = at, place, linked, waiting, start
    return state, size, free, lost


@njit(cache=True, nogil=True)
def enter_frontier(
    candidates, proofs, columns, cursor, strides, shift, first, following, direct, base, extent, data, stamp, rules,
    proof, value_column, lease_column, largest, least, rule_id, tick, fresh, size, limit, free, lost_rows, lost_stamps,
):  # fmt: skip
    """As `join_frontier`, for rows that have been joined already."""
    lost = 0
    group = np.empty(columns.size, dtype=np.int64)
    for at in range(cursor[0], candidates.shape[0]):
        for position in range(columns.size):
            group[position] = candidates[at, columns[position]]
        value = candidates[at, value_column] if value_column >= 0 else np.int64(0)
        home = _find(group, first, data, columns, direct, base, extent)
        new, size, free, lost = _place(
            home, ~value if largest else value, candidates[at, lease_column], first, following, data, stamp,
            value_column, lease_column, largest, direct, tick, fresh, size, limit, free, lost_rows, lost_stamps, lost,
        )  # fmt: skip
        if new >= 0:
            for column in range(data.shape[1]):
                data[new, column] = candidates[at, column]
            stamp[new] = tick
            rules[new] = rule_id
            for position in range(proofs.shape[1]):
                proof[new, position] = proofs[at, position]
        elif new < NEEDLESS:
            cursor[0] = at
            return new, size, free, lost
    return DONE, size, free, lost


@njit(cache=True, nogil=True)
def list_frontiers(rows, data, stamp, columns, lease_column, lone, first, following, direct, base, extent):
    """Bring the lists of groups up to date with rows that may have come or gone."""
    group = np.empty(columns.size, dtype=np.int64)
    for row in rows:
        for position in range(columns.size):
            group[position] = data[row, columns[position]]
        home = _find(group, first, data, columns, direct, base, extent)
        before = np.int32(-1)  # the row that leads to this one
        shorter = np.int32(-1)  # the last with a shorter lease
        one = ~first[home]
        if (lone or not direct) and one >= 0 and stamp[one] <= 0 and following[one] < 0:
            if stamp[row] > 0:  # the place of the group was kept by a row that is gone
                following[row] = -1
                first[home] = ~row
            continue
        while one >= 0 and one != row:
            if data[one, lease_column] < data[row, lease_column]:
                shorter = one
            before = one
            one = following[one]
        if one < 0 and stamp[row] > 0:
            if shorter < 0:
                following[row] = ~first[home]
                first[home] = ~row
            else:
                following[row] = following[shorter]
                following[shorter] = row
        elif one == row and stamp[row] <= 0:
            if before >= 0:
                following[before] = following[row]
            elif (direct and not lone) or following[row] >= 0:
                first[home] = ~following[row]


@njit(cache=True, nogil=True)
def list_alone(rows, data, columns, first, following, direct, base, extent):
    """Make lists of one row each, of rows that are all of different groups, where there are none yet."""
    mask = np.int64(first.size - 1)
    group = np.empty(columns.size, dtype=np.int64)
    for row in rows:
        for position in range(columns.size):
            group[position] = data[row, columns[position]]
        cell = _home(group, first, direct, base, extent)
        while first[cell] != 0:
            cell = (cell + 1) & mask
        first[cell] = ~row
        following[row] = -1


@njit(cache=True, nogil=True)
def sift(size, data, stamp, columns, base, extent, value_column, lease_column, largest, first, following, useful):
    """Which rows alive no other of their group makes needless; `first` and `following` are room for lists."""
    group = np.empty(columns.size, dtype=np.int64)
    for row in range(size):
        useful[row] = False
        if stamp[row] <= 0:
            continue
        for position in range(columns.size):
            group[position] = data[row, columns[position]]
        home = _find(group, first, data, columns, True, base, extent)
        rank = np.int64(data[row, value_column])
        if largest:
            rank = ~rank
        lease = np.int64(data[row, lease_column])
        wanted, before, behind = _before(
            home, rank, lease, first, following, data, stamp, value_column, lease_column, largest, True
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


@njit(cache=True, nogil=True)
def see_best(
    rows, kept, kept_stamp, kept_first, kept_direct, kept_base, kept_extent, columns, first, following, direct, base,
    extent, data, stamp, rules, proof, rule_id, tick, size, lost_rows, lost_stamps,
):  # fmt: skip
    """Of the groups of these rows of a table of frontiers, have `data` hold what is best now: the first of the list.

    Returns how many rows are stored then, and how many gave way; there is room for all.
    """
    lost = 0
    group = np.empty(columns.size, dtype=np.int64)
    for touched in rows:
        for position in range(columns.size):
            group[position] = kept[touched, columns[position]]
        best = ~kept_first[_find(group, kept_first, kept, columns, kept_direct, kept_base, kept_extent)]
        if best >= 0 and kept_stamp[best] <= 0:
            best = np.int32(-1)
        home = _find(group, first, data, columns, direct, base, extent)
        held = ~first[home]
        if held >= 0 and stamp[held] > 0:
            same = best >= 0 and proof[held, 0] == best
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
            rules[size] = rule_id
            proof[size, 0] = best
            following[size] = -1
            first[home] = ~np.int32(size)
            size += 1
    return size, lost
