"""Which node of the old document a node of the new one is.

A node is found below the node that its parent is, by its label. An item of an array is found by its `id`; without one,
an item that is equal to an old item is that item, wherever it stands, and any other is the one at its place. An object
is never an atom. Every old node is found at most once.
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
def subtree_hashes(parent, label, place, value, found):
    """A number for everything below each node, whatever the order of members; children stand after their parents."""
    for node in range(parent.size):
        found[node] = _mix(np.uint64(1), value[node])
    for node in range(parent.size - 1, -1, -1):
        if parent[node] >= 0:
            edge = _mix(_mix(found[node], label[node]), place[node])
            found[parent[node]] += edge


@kernel
def _slot(above, label, key, mask):
    code = _mix(_mix(_mix(np.uint64(7), above), label), key)
    return (code ^ (code >> np.uint64(32))) & mask


@kernel
def _taken(above, label, key, keys, heads, following, parent, labels, atomic, node_atomic, used):
    """An old node below `above` with this label and key that is not taken yet, or -1."""
    at = heads[_slot(above, label, key, np.uint64(heads.size - 1))]
    while at:
        old = at - 1
        if (
            parent[old] == above
            and labels[old] == label
            and keys[old] == key
            and atomic[old] == node_atomic
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
def match_nodes(old, new, level_ends, order, found):
    """`found[n]`: the old node that new node n is, or -1; those of the roots are given.

    `old` and `new` are (parent, label, key, atomic, content): `key` tells members of one label apart (the id, or the
    place), `content` is the hash of an item that has no id, else 0. `order` has the new nodes by level.
    """
    parent, label, key, atomic, content = old
    new_parent, new_label, new_key, new_atomic, new_content = new
    size = 16
    while size < 2 * parent.size:
        size *= 2
    heads = np.zeros(size, dtype=np.int32)
    following = np.zeros(parent.size, dtype=np.int32)
    _chained(parent, label, key, heads, following)
    alike = np.zeros(size, dtype=np.int32)
    alike_following = np.zeros(parent.size, dtype=np.int32)
    _chained(parent, label, content, alike, alike_following)
    used = np.zeros(parent.size, dtype=np.bool_)
    for node in range(found.size):
        if found[node] >= 0:
            used[found[node]] = True
    begin = 0
    for level in range(level_ends.size):
        end = level_ends[level]
        for at in range(begin, end):  # what has not changed takes its old node before others fall back to places
            node = order[at]
            if new_parent[node] < 0 or new_content[node] == 0:
                continue
            above = found[new_parent[node]]
            if above < 0:
                continue
            same = _taken(
                above, new_label[node], new_key[node], key, heads, following, parent, label, atomic, False, used
            )
            if same < 0 or content[same] != new_content[node]:
                same = _taken(
                    above, new_label[node], new_content[node], content, alike, alike_following, parent, label, atomic,
                    False, used,
                )  # fmt: skip
            if same >= 0:
                found[node] = same
                used[same] = True
        for at in range(begin, end):
            node = order[at]
            if new_parent[node] < 0 or found[node] >= 0:
                continue
            above = found[new_parent[node]]
            if above < 0:
                continue
            same = _taken(
                above, new_label[node], new_key[node], key, heads, following, parent, label, atomic,
                new_atomic[node], used,
            )  # fmt: skip
            if same >= 0:
                found[node] = same
                used[same] = True
        begin = end
