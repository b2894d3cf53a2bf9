"""The least costs of ways from a value, or between two from both of them, searched along the rows of a table."""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import inlined, kernel
from headwater.engine.store.kernels.arrays import IndexArrays
from headwater.engine.store.kernels.cells import begin_cell, key_cell, mix, next_row
from headwater.engine.store.kernels.heap import pop, push

NO_WAY = -1
CANNOT = -2  # a cost is negative, or a sum does not fit into 64 bits
_FIRST = 64  # labels; a power of two
_MOST = np.int64(2**63 - 1)


@kernel
def _slot(slots, keys, key):
    """Where a value is, or belongs, in the table of one side; and its label (-1: none)."""
    mask = np.uint64(slots.size - 1)
    slot = mix(np.uint64(0), key) & mask
    while True:
        label = np.int64(~slots[slot])
        if label < 0 or keys[label] == key:
            return np.int64(slot), label
        slot = (slot + np.uint64(1)) & mask


@kernel
def _larger(keys, costs, count):
    """Room for twice as many labels, on both sides: the tables, the values, what each costs."""
    room = 2 * keys.shape[1]
    slots = np.zeros((2, 2 * room), dtype=np.int32)
    more_keys = np.empty((2, room), dtype=np.int64)
    more_costs = np.empty((2, room), dtype=np.int64)
    for side in range(2):
        for label in range(count[side]):
            more_keys[side, label] = keys[side, label]
            more_costs[side, label] = costs[side, label]
            slot, _ = _slot(slots[side], more_keys[side], keys[side, label])
            slots[side, slot] = ~np.int32(label)
    return slots, more_keys, more_costs


@kernel
def _reach(side, there, cost, slots, keys, costs, count, heap_costs, heap_labels, waiting):
    """Take up that a value costs no more than this from one side; whether that is news. There is room for one more."""
    slot, label = _slot(slots[side], keys[side], there)
    if label < 0:
        label = count[side]
        slots[side, slot], keys[side, label] = ~np.int32(label), there
        count[side] += 1
    elif costs[side, label] <= cost:
        return False
    costs[side, label] = cost
    push(heap_costs[side], heap_labels[side], waiting[side], cost, np.int32(label))
    waiting[side] += 1
    return True


@kernel
def _next(costs, heap_costs, heap_labels, waiting):
    """Bring the least that waits on each side to its front: what has become cheaper meanwhile waits a second time."""
    for side in range(2):
        while waiting[side] > 0 and heap_costs[side, 0] != costs[side, heap_labels[side, 0]]:
            pop(heap_costs[side], heap_labels[side], waiting[side])
            waiting[side] -= 1


@kernel
def search_between(data, stamp, leaving, arriving, ends, cost_column, each, start, goal):
    """The least cost of one step or more from `start` to `goal`, or `NO_WAY` or `CANNOT`; values reached on each side.

    `leaving` and `arriving` are indexes of the rows by their first and last end, in the columns `ends`. A step costs
    what stands in `cost_column`, or `each` where that is -1. Each side goes on in the order of costs (Dijkstra); the
    one that has reached fewer values goes next, so that N(start, r) + N(goal, r') stays small, the sum that 002
    section 5.3 minimises. It ends when the two next costs together are no less than the best way found: of a cheaper
    one, a step would lead from what the first side has left behind to what the other side has, and have been seen.
    """
    key, here, only = np.empty((1, 1), dtype=np.int64), np.empty((1, 1), dtype=np.int64), np.zeros(1, dtype=np.int64)
    slots = np.zeros((2, 2 * _FIRST), dtype=np.int32)
    keys, costs = np.empty((2, _FIRST), dtype=np.int64), np.empty((2, _FIRST), dtype=np.int64)
    heap_costs, heap_labels = np.empty((2, _FIRST), dtype=np.int64), np.empty((2, _FIRST), dtype=np.int32)
    count, waiting = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    _reach(1, np.int64(goal), np.int64(0), slots, keys, costs, count, heap_costs, heap_labels, waiting)
    side, here[0, 0], cost, best = 0, start, np.int64(0), np.int64(NO_WAY)
    while True:
        index = IndexArrays(*(leaving if side == 0 else arriving))
        columns, direct, base, extent, words, begin, order, heads, chain = index
        cell = key_cell(0, here, only, only, key, data, columns, direct, base, extent, words, heads)
        place, last, linked = begin_cell(cell, begin, heads) if cell >= 0 else (np.int64(0), np.int64(0), np.int64(-1))
        while True:
            row, place, linked = next_row(place, last, linked, order, chain)
            if row < 0:
                break
            if stamp[row] <= 0:
                continue
            step = np.int64(data[row, cost_column]) if cost_column >= 0 else np.int64(each)
            if step < 0 or step > _MOST - cost:  # compiled sums are taken to fit: whether they do is asked before
                return np.int64(CANNOT), count[0], count[1]
            total = cost + step
            if best >= 0 and total >= best:
                continue
            if count[side] == keys.shape[1]:
                slots, keys, costs = _larger(keys, costs, count)
            if waiting[side] == heap_costs.shape[1]:
                heap_costs = np.concatenate((heap_costs, np.empty_like(heap_costs)), axis=1)
                heap_labels = np.concatenate((heap_labels, np.empty_like(heap_labels)), axis=1)
            there = np.int64(data[row, ends[1 - side]])
            if _reach(side, there, total, slots, keys, costs, count, heap_costs, heap_labels, waiting):
                _, other = _slot(slots[1 - side], keys[1 - side], there)
                if other >= 0 and costs[1 - side, other] > _MOST - total:
                    return np.int64(CANNOT), count[0], count[1]
                if other >= 0 and (best < 0 or total + costs[1 - side, other] < best):
                    best = total + costs[1 - side, other]
        _next(costs, heap_costs, heap_labels, waiting)
        ended = waiting[0] == 0 or waiting[1] == 0
        if ended or (best >= 0 and heap_costs[0, 0] >= best - heap_costs[1, 0]):
            return best, count[0], count[1]
        side = 0 if count[0] <= count[1] else 1
        cost, here[0, 0] = heap_costs[side, 0], keys[side, heap_labels[side, 0]]
        pop(heap_costs[side], heap_labels[side], waiting[side])
        waiting[side] -= 1


@inlined
def _label(slots, keys, count, key):
    """Where a value is, or belongs, in a table of one side; and its label (`count`: it has none yet)."""
    mask = np.uint64(slots.size - 1)
    slot = mix(np.uint64(0), key) & mask
    label = np.int64(~slots[slot])
    while label >= 0 and keys[label] != key:
        slot = (slot + np.uint64(1)) & mask
        label = np.int64(~slots[slot])
    return np.int64(slot), label if label >= 0 else count


@kernel
def search_from(data, stamp, leaving, far, cost_column, each, start, room):
    """All values that one step or more lead to from `start`, with their least costs; False first: as `CANNOT`.

    `leaving` is the index of the rows by the end that is left, `far` the column of the other. One value goes on at a
    time, the cheapest first (Dijkstra). Where all steps cost the same, that is the order in which they are reached.
    There is `room` for all rows, a power of two: memory that is not touched costs nothing, and tables that grow would
    have to be counted as used with every row.
    """
    key, here, only = np.empty((1, 1), dtype=np.int64), np.empty((1, 1), dtype=np.int64), np.zeros(1, dtype=np.int64)
    slots = np.zeros(2 * room, dtype=np.int32)
    keys, costs = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    heap_costs, heap_labels = np.empty(2 * room, dtype=np.int64), np.empty(2 * room, dtype=np.int32)
    count, waiting, gone_on = np.int64(0), np.int64(0), np.int64(0)
    columns, direct, base, extent, words, begin, order, heads, chain = IndexArrays(*leaving)
    here[0, 0], cost = start, np.int64(0)
    while True:
        cell = key_cell(0, here, only, only, key, data, columns, direct, base, extent, words, heads)
        place, last, linked = begin_cell(cell, begin, heads) if cell >= 0 else (np.int64(0), np.int64(0), np.int64(-1))
        while True:
            row, place, linked = next_row(place, last, linked, order, chain)
            if row < 0:
                break
            if stamp[row] <= 0:
                continue
            step = np.int64(data[row, cost_column]) if cost_column >= 0 else np.int64(each)
            if step < 0 or step > _MOST - cost:
                return False, keys[:0], costs[:0]
            total = cost + step
            there = np.int64(data[row, far])
            slot, label = _label(slots, keys, count, there)
            if label == count:
                slots[slot], keys[label] = ~np.int32(label), there
                count += 1
            elif costs[label] <= total:
                continue
            costs[label] = total
            if cost_column >= 0:
                push(heap_costs, heap_labels, waiting, total, np.int32(label))
                waiting += 1
        if cost_column < 0:
            if gone_on == count:
                break
            cost, here[0, 0] = costs[gone_on], keys[gone_on]
            gone_on += 1
            continue
        while waiting > 0 and heap_costs[0] != costs[heap_labels[0]]:  # what has become cheaper waits a second time
            pop(heap_costs, heap_labels, waiting)
            waiting -= 1
        if waiting == 0:
            break
        cost, here[0, 0] = heap_costs[0], keys[heap_labels[0]]
        pop(heap_costs, heap_labels, waiting)
        waiting -= 1
    return True, keys[:count], costs[:count]
