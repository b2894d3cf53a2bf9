"""Which node of the old document a node of the new one is, and what has changed.

A node is found below the node that its parent is, by its label. An item of an array is found by its `id`. Items without
one are found in three turns: those that are equal to the old item at their place, those that are equal to one
elsewhere, and then the others by their places. An object is never an atom. Every old node is found at most once.
"""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.compiling import kernel

_ODD = np.uint64(0x9E3779B97F4A7C15)
_PRIME = np.uint64(0xBF58476D1CE4E5B9)


@kernel
def _mix(code, more):
    mixed = (code ^ np.uint64(more)) * _PRIME
    return (mixed ^ (mixed >> np.uint64(29))) * _ODD


@kernel
def number_texts(offsets, data, numbers):
    """A number for each text; equal texts have equal ones."""
    for text in range(numbers.size):
        code = np.uint64(0xCBF29CE484222325)
        for at in range(offsets[text], offsets[text + 1]):
            code = (code ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
        numbers[text] = np.int64(_mix(code, 5))


@kernel
def _described(nodes, named, ids):
    """A key that tells nodes of one parent and label apart: their id or place; and for items without an id a number for
    all that is below them, whatever the order of members, else 0. Children stand after their parents."""
    parent, label, place, kind, text = nodes
    key = np.empty(parent.size, dtype=np.int64)
    below = np.empty(parent.size, dtype=np.uint64)
    with_id = np.zeros(parent.size, dtype=np.bool_)
    for node in range(parent.size):
        below[node] = _mix(_mix(np.uint64(1), kind[node]), text[node])
        key[node] = (np.int64(place[node]) << 1) | 1 if place[node] >= 0 else -1
    for node in range(parent.size - 1, -1, -1):
        above = parent[node]
        if above < 0:
            continue
        below[above] += _mix(_mix(below[node], label[node]), place[node])
        if label[node] == named and place[node] < 0 and (kind[node] == ids[0] or kind[node] == ids[1]):
            with_id[above] = True
            if place[above] >= 0:
                key[above] = text[node] << 1
    content = np.zeros(parent.size, dtype=np.int64)
    for node in range(parent.size):
        if kind[node] < 0 and place[node] >= 0 and not with_id[node]:
            content[node] = np.int64(below[node] | np.uint64(1))
    return key, content


@kernel
def _by_level(parent):
    """The nodes in the order of their levels, and where each level ends."""
    depth = np.zeros(parent.size, dtype=np.int32)
    deepest = 0
    for node in range(parent.size):
        if parent[node] >= 0:
            depth[node] = depth[parent[node]] + 1
            deepest = max(deepest, depth[node])
    ends = np.zeros(deepest + 2, dtype=np.int64)
    for node in range(parent.size):
        ends[depth[node] + 1] += 1
    for level in range(deepest + 1):
        ends[level + 1] += ends[level]
    order = np.empty(parent.size, dtype=np.int32)
    for node in range(parent.size):
        order[ends[depth[node]]] = node
        ends[depth[node]] += 1
    return order, ends[: deepest + 1]


@kernel
def by_parent(parent, order):
    """The nodes that have a parent, those of one parent side by side, else in their order."""
    begins = np.zeros(parent.size + 1, dtype=np.int32)
    for node in range(parent.size):
        if parent[node] >= 0:
            begins[parent[node] + 1] += 1
    for node in range(parent.size):
        begins[node + 1] += begins[node]
    for node in range(parent.size):
        if parent[node] >= 0:
            order[begins[parent[node]]] = node
            begins[parent[node]] += 1


@kernel
def _slot(above, label, key, mask):
    code = _mix(_mix(_mix(np.uint64(7), above), label), key)
    return (code ^ (code >> np.uint64(32))) & mask


@kernel
def _taken(above, label, key, keys, heads, following, parent, labels, kinds, atomic, used):
    """An old node below `above` with this label and key that is not taken yet, or -1."""
    at = heads[_slot(above, label, key, np.uint64(heads.size - 1))]
    while at:
        old = at - 1
        if (
            parent[old] == above
            and labels[old] == label
            and keys[old] == key
            and (kinds[old] >= 0) == atomic
            and not used[old]
        ):
            return old
        at = following[old]
    return -1


@kernel
def _chained(parent, label, keys, heads, following):
    """Chain the old nodes by their parent, label and key, so that the first comes first."""
    mask = np.uint64(heads.size - 1)
    for old in range(parent.size - 1, -1, -1):
        if parent[old] >= 0:
            slot = _slot(parent[old], label[old], keys[old], mask)
            following[old] = heads[slot]
            heads[slot] = old + 1


@kernel
def match_nodes(old, new, named, ids, found):
    """`found[n]`: the old node that new node n is, or -1; those of the roots are given.

    `old` and `new` are (parent, label, place, kind, number of the text); the kind of an object is below 0. `named` is
    the label of ids, which are of the kinds `ids`. Where different texts have one number, nodes that differ may be
    found to be one node, which then has changed.
    """
    parent, label, _, kind, _ = old
    new_parent, new_label, _, new_kind, _ = new
    key, content = _described(old, named, ids)
    new_key, new_content = _described(new, named, ids)
    size = 16
    while size < 2 * parent.size:
        size *= 2
    heads, alike = np.zeros(size, dtype=np.int32), np.zeros(size, dtype=np.int32)
    following, alike_following = np.zeros(parent.size, dtype=np.int32), np.zeros(parent.size, dtype=np.int32)
    _chained(parent, label, key, heads, following)
    _chained(parent, label, content, alike, alike_following)
    used = np.zeros(parent.size, dtype=np.bool_)
    for node in range(found.size):
        if found[node] >= 0:
            used[found[node]] = True
    order, ends = _by_level(new_parent)
    begin = 0
    for level in range(ends.size):
        for turn in range(3):  # at its place and equal, elsewhere and equal, at its place
            for at in range(begin, ends[level]):
                node = order[at]
                if new_parent[node] < 0 or found[node] >= 0 or (turn < 2 and new_content[node] == 0):
                    continue
                above = found[new_parent[node]]
                if above < 0:
                    continue
                if turn == 1:
                    same = _taken(
                        above, new_label[node], new_content[node], content, alike, alike_following, parent, label, kind,
                        False, used,
                    )  # fmt: skip
                else:
                    same = _taken(
                        above, new_label[node], new_key[node], key, heads, following, parent, label, kind,
                        new_kind[node] >= 0, used,
                    )  # fmt: skip
                    if turn == 0 and same >= 0 and content[same] != new_content[node]:
                        same = -1
                if same >= 0:
                    found[node] = same
                    used[same] = True
        begin = ends[level]


@kernel
def _is_same_text(offsets, data, one, new_offsets, new_data, other):
    begin, new_begin = offsets[one], new_offsets[other]
    size = offsets[one + 1] - begin
    same = size == new_offsets[other + 1] - new_begin
    at = 0
    while same and at < size:
        same = data[begin + at] == new_data[new_begin + at]
        at += 1
    return same


@kernel
def compare_nodes(old, new, texts, codes, new_texts, found, oid, first, oids, coming, going, changed, gone):
    """What the nodes found say: the ids of the new nodes, new ones from `first` on, and how many there are of those;
    which of their edges come, which atoms have another value, which edges to old nodes go, and which old nodes.

    `old` and `new` are as for `match_nodes`, `texts` and `new_texts` the bytes (offsets, data) that their numbers
    stand for: those of old nodes by their codes.
    """
    parent, _, place, kind, text = old
    new_parent, _, new_place, new_kind, new_text = new
    offsets, data = texts
    new_offsets, new_data = new_texts
    gone[:] = True
    for old_node in range(parent.size):
        going[old_node] = parent[old_node] >= 0
    fresh = 0
    for node in range(found.size):
        same = found[node]
        above = new_parent[node]
        if same < 0:
            oids[node] = first + fresh
            fresh += 1
            coming[node] = above >= 0
            changed[node] = new_kind[node] >= 0
            continue
        oids[node] = oid[same]
        gone[same] = False
        held = above >= 0 and parent[same] == found[above] and place[same] == new_place[node]
        coming[node] = above >= 0 and not held
        if held:
            going[same] = False
        changed[node] = new_kind[node] >= 0 and (
            kind[same] != new_kind[node]
            or text[same] != new_text[node]
            or not _is_same_text(offsets, data, codes[same], new_offsets, new_data, node)
        )
    return fresh
