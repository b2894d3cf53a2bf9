"""Nodes and edges: edges are springs, nodes push each other away. The same graph is always drawn the same way."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from headwater.core.pictures.drawing import (
    INK,
    LINE,
    MARK,
    NODE,
    PAPER,
    QUIET,
    Drawing,
    printable,
    sheet,
    shortened,
    written,
)

Edge: TypeAlias = tuple[str, str, str]
"""Two ends, and what is said of the edge."""

_WORK = 150_000_000  # pairs of nodes that are looked at in all
_NAMED = 300  # so many nodes have names beside them
_LENGTH = 70.0  # of an edge at rest


def draw_graph(
    title: str,
    nodes: Sequence[str],
    edges: Sequence[Edge],
    *,
    over: Iterable[tuple[str, str]] = (),
    places: Mapping[str, tuple[float, float]] | None = None,
    note: str = "",
) -> Drawing:
    """Edges between nodes; those of `over` in another colour. `places` says where nodes lie: all of them, or None."""
    number = {name: at for at, name in enumerate(nodes)}
    ends = np.array([(number[one], number[other]) for one, other, _ in edges], dtype=np.int64).reshape(-1, 2)
    at = _springs(nodes, ends) if places is None else _mapped(nodes, places)
    marked = {frozenset(pair) for pair in over}
    small = len(nodes) > _NAMED
    lines = []
    for (one, other, text), (start, end) in zip(edges, ends.tolist(), strict=True):
        strong = frozenset((one, other)) in marked
        style = f'stroke="{MARK}" stroke-width="4"' if strong else f'stroke="{LINE}" stroke-width="1.2"'
        (x1, y1), (x2, y2) = at[start], at[end]
        line = f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}>'
        lines.append((strong, f"{line}<title>{printable(text)}</title></line>"))
    lines.sort(key=lambda line: line[0])
    dots = [_dot(name, x, y, small) for name, (x, y) in zip(nodes, at.tolist(), strict=True)]
    (left, top), (right, bottom) = (at.min(axis=0), at.max(axis=0)) if len(nodes) else (np.zeros(2), np.zeros(2))
    width, height = max(right - left, 120.0), max(bottom - top, 60.0)
    said = [written(left + width / 2, bottom + 44, note, colour=QUIET)] if note else []
    parts = [*(text for _, text in lines), *dots, *said]
    return Drawing(sheet(title, left - 60, top - 32, width + 120, height + (88 if note else 64), parts), note)


def _dot(name: str, x: float, y: float, small: bool) -> str:
    dot = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3 if small else 6}" fill="{NODE}" stroke="{PAPER}"/>'
    text = "" if small else written(x, y - 10, shortened(name, 22), colour=INK)
    return f"<g>{dot}{text}<title>{printable(name)}</title></g>"


def _mapped(nodes: Sequence[str], places: Mapping[str, tuple[float, float]]) -> np.ndarray:
    """Latitude and longitude as a flat map, 800 pixels wide."""
    at = np.array([places[name] for name in nodes], dtype=np.float64).reshape(-1, 2)
    middle = np.cos(np.radians(at[:, 0].mean())) if len(nodes) else 1.0
    flat = np.column_stack([at[:, 1] * max(middle, 0.05), -at[:, 0]])
    spread = (flat.max(axis=0) - flat.min(axis=0)).max() if len(nodes) else 0.0
    return flat * (800 / spread if spread > 0 else 1.0)


def _springs(nodes: Sequence[str], ends: np.ndarray) -> np.ndarray:
    """Start from a place that depends on the name alone, then let springs and pushes come to rest."""
    count = len(nodes)
    dice = np.array([zlib.crc32(name.encode("utf-8", "replace")) for name in nodes], dtype=np.uint64)
    angle, radius = (dice % 3600) / 3600 * 2 * np.pi, 40 + (dice >> np.uint64(12)) % 1000 / 1000 * 30 * np.sqrt(count)
    at = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    ties = ends[ends[:, 0] != ends[:, 1]]
    steps = int(np.clip(_WORK / max(count * count, 1), 40, 400))
    for step in range(steps):
        apart = at[:, None, :] - at[None, :, :]
        far = np.maximum((apart**2).sum(axis=2), 1.0)
        push = (apart / far[:, :, None]).sum(axis=1) * 1_100 - at * 0.01
        along = at[ties[:, 1]] - at[ties[:, 0]]
        length = np.maximum(np.hypot(along[:, 0], along[:, 1]), 0.1)
        pull = along * ((length - _LENGTH) * 0.12 / length)[:, None]
        np.add.at(push, ties[:, 0], pull)
        np.add.at(push, ties[:, 1], -pull)
        size = np.maximum(np.hypot(push[:, 0], push[:, 1]), 1e-9)
        at += push * np.minimum(1.0, (2 + 30 * (1 - step / steps)) / size)[:, None]
    return at
