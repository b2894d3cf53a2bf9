"""Rows as edges of a graph: which columns are their ends, and which part of a large graph is shown."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from headwater.core.errors import DataError

NearEdge = tuple[str, str, tuple[Any, ...]]
"""Two ends as texts, and the row."""


@dataclass(frozen=True, slots=True)
class Part:
    """The nodes and edges that are shown, and how many nodes there are in all."""

    shown: list[str]
    edges: list[NearEdge]
    nodes: int
    whole: bool


def ends_of(columns: Sequence[str], fitting: Sequence[str], source: str | None, target: str | None) -> tuple[str, str]:
    """The columns with the ends: those that were named, else the first two of those that fit."""
    for name in (source, target):
        if name and name not in columns:
            raise DataError(f"there is no column `{name}`; there are {', '.join(columns)}")
    source = source or next((name for name in fitting if name != target), None)
    target = target or next((name for name in fitting if name != source), None)
    if source is None or target is None:
        raise DataError("a graph needs two columns with the ends of its edges")
    return source, target


def part_of(
    rows: Sequence[tuple[Any, ...]], at: int, to: int, around: str | None, hops: int, most: int
) -> Part:  # fmt: skip
    """At most `most` nodes: all, or those within some hops of one, or those near the busiest one."""
    edges = [
        (node_name(row[at]), node_name(row[to]), row) for row in rows if row[at] is not None and row[to] is not None
    ]
    names = dict.fromkeys(end for edge in edges for end in edge[:2])
    kept = _around(edges, around, hops, most) if around in names else dict.fromkeys(list(names)[:most])
    if around not in names and len(names) > most:
        kept = _around(edges, _busiest(edges), len(names), most)
    shown = [edge for edge in edges if edge[0] in kept and edge[1] in kept]
    whole = len(kept) == len(names) and len(shown) <= 4 * most
    return Part(list(kept), shown[: 4 * most], len(names), whole)


def steps_of(row: Sequence[Any]) -> list[tuple[str, str]]:
    """The pairs of nodes that a row leads along: its longest list, else its first two values."""
    lists = [value for value in row if isinstance(value, list | tuple)]
    along = max(lists, key=len) if lists else row[:2]
    return [(node_name(one), node_name(other)) for one, other in pairwise(along)]


def node_name(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _busiest(edges: list[NearEdge]) -> str:
    degrees: dict[str, int] = {}
    for one, other, _ in edges:
        degrees[one] = degrees.get(one, 0) + 1
        degrees[other] = degrees.get(other, 0) + 1
    return max(degrees, key=degrees.__getitem__)


def _around(edges: list[NearEdge], start: str | None, hops: int, most: int) -> dict[str, None]:
    """The nodes within so many edges of one, nearest first."""
    assert start is not None
    near: dict[str, list[str]] = {}
    for one, other, _ in edges:
        near.setdefault(one, []).append(other)
        near.setdefault(other, []).append(one)
    found, pending = {start: 0}, deque([start])
    while pending and len(found) < most:
        node = pending.popleft()
        if found[node] < hops:
            for other in near[node]:
                if other not in found and len(found) < most:
                    found[other] = found[node] + 1
                    pending.append(other)
    return dict.fromkeys(found)
