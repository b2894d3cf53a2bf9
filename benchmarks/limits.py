"""What one tight compiled loop needs for each problem: the limit that a general engine is held against.

Each kernel solves its one problem and nothing else, from Arrow tables of small whole numbers; no rows are stored,
nothing is maintained, nothing can be asked afterwards. Building its adjacency lists is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from graphs import HEAVIEST, Input

Numbers = npt.NDArray[Any]

_BYTE_BITS = np.array([byte.bit_count() for byte in range(256)], dtype=np.int64)


def _column(tables: Input, name: str, column: str) -> Numbers:
    return np.asarray(tables[name][column].combine_chunks().to_numpy())


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _neighbours(src: Numbers, dst: Numbers, nodes: int) -> tuple[Numbers, Numbers]:
    """Adjacency lists: where each node's links start, and their number in the input."""
    starts = np.zeros(nodes + 1, dtype=np.int64)
    for node in src:
        starts[node + 1] += 1
    for node in range(nodes):
        starts[node + 1] += starts[node]
    at = starts[:-1].copy()
    order = np.empty(src.size, dtype=np.int64)
    for link in range(src.size):
        order[at[src[link]]] = link
        at[src[link]] += 1
    return starts, order


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _closure_bits(src: Numbers, dst: Numbers, nodes: int) -> Numbers:
    """Warshall over rows of bits."""
    words = (nodes + 63) // 64
    bits = np.zeros((nodes, words), dtype=np.uint64)
    one = np.uint64(1)
    for link in range(src.size):
        bits[src[link], dst[link] >> 6] |= one << np.uint64(dst[link] & 63)
    for middle in range(nodes):
        word, bit = middle >> 6, one << np.uint64(middle & 63)
        for node in range(nodes):
            if bits[node, word] & bit:
                for at in range(words):
                    bits[node, at] |= bits[middle, at]
    return bits


def closure(tables: Input) -> int:
    src, dst = _column(tables, "link", "src"), _column(tables, "link", "dst")
    bits = _closure_bits(src, dst, int(max(src.max(), dst.max())) + 1)
    return int(_BYTE_BITS[bits.view(np.uint8)].sum())


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _breadth_first(starts: Numbers, order: Numbers, dst: Numbers, source: int) -> int:
    seen = np.zeros(starts.size, dtype=np.bool_)
    queue = np.empty(starts.size, dtype=np.int64)
    seen[source] = True
    queue[0] = source
    head, tail = 0, 1
    while head < tail:
        node = queue[head]
        head += 1
        for at in range(starts[node], starts[node + 1]):
            other = dst[order[at]]
            if not seen[other]:
                seen[other] = True
                queue[tail] = other
                tail += 1
    return tail


def reach(tables: Input) -> int:
    src, dst = _column(tables, "link", "src"), _column(tables, "link", "dst")
    starts, order = _neighbours(src, dst, int(max(src.max(), dst.max())) + 1)
    return int(_breadth_first(starts, order, dst, int(_column(tables, "source", "node")[0])))


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _buckets(starts: Numbers, order: Numbers, dst: Numbers, weight: Numbers, source: int, heaviest: int) -> Numbers:
    """Dijkstra with a ring of buckets, one per distance."""
    nodes = starts.size - 1
    far = np.int64(1) << 60
    dist = np.full(nodes, far)
    dist[source] = 0
    ring = heaviest + 1
    first = np.full(ring, -1, dtype=np.int64)
    following = np.empty(order.size + 1, dtype=np.int64)
    entry = np.empty(order.size + 1, dtype=np.int64)
    entry[0], following[0], first[0] = source, -1, 0
    entries, waiting, now = 1, 1, 0
    while waiting:
        bucket = now % ring
        at = first[bucket]
        first[bucket] = -1
        while at >= 0:
            node = entry[at]
            at = following[at]
            waiting -= 1
            if dist[node] == now:
                for place in range(starts[node], starts[node + 1]):
                    other, cost = dst[order[place]], now + weight[order[place]]
                    if cost < dist[other]:
                        dist[other] = cost
                        entry[entries] = other
                        following[entries] = first[cost % ring]
                        first[cost % ring] = entries
                        entries += 1
                        waiting += 1
        now += 1
    return dist[dist < far]


def shortest(tables: Input) -> int:
    src, dst = _column(tables, "link", "src"), _column(tables, "link", "dst")
    starts, order = _neighbours(src, dst, int(max(src.max(), dst.max())) + 1)
    source = int(_column(tables, "source", "node")[0])
    return int(_buckets(starts, order, dst, _column(tables, "link", "weight"), source, HEAVIEST).size)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _union_find(src: Numbers, dst: Numbers, nodes: int) -> Numbers:
    root = np.arange(nodes)
    for link in range(src.size):
        a, b = src[link], dst[link]
        while root[a] != a:
            root[a] = root[root[a]]
            a = root[a]
        while root[b] != b:
            root[b] = root[root[b]]
            b = root[b]
        if a < b:
            root[b] = a
        else:
            root[a] = b
    for node in range(nodes):
        root[node] = root[root[node]]
    return root


def components(tables: Input) -> int:
    src, dst = _column(tables, "link", "src"), _column(tables, "link", "dst")
    return int(_union_find(src, dst, tables["node"].num_rows).size)


LIMITS: dict[str, Callable[[Input], int]] = {
    "closure-1k": closure,
    "closure-2k": closure,
    "reach": reach,
    "shortest": shortest,
    "components": components,
}
