"""Boxes and arrows in layers: what follows stands above what it follows from. Proofs are drawn so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwater.core.pictures.drawing import INK, LINE, MARK, QUIET, SHADE, Drawing, printable, sheet, shortened, written

_LETTERS = 44
_LETTER = 6.6  # pixels of a letter, about
_HIGH, _GAP, _STEP = 40.0, 18.0, 78.0
_SWEEPS = 6


@dataclass(frozen=True, slots=True)
class Box:
    """A box: its text, a small line below it, and the numbers of the boxes that it rests on."""

    text: str
    note: str = ""
    below: tuple[int, ...] = ()
    strong: bool = False  # a fact
    marked: bool = False  # one that decides when all ends

    @property
    def width(self) -> float:
        return _LETTER * max(len(shortened(self.text, _LETTERS)), len(shortened(self.note, _LETTERS)), 8) + 16


def draw_layers(title: str, boxes: Sequence[Box], left_out: int = 0) -> Drawing:
    """The first box on top, each one below all that rest on it, without cycles. Arrows to other boxes are dropped."""
    below = [[at for at in box.below if at < len(boxes)] for box in boxes]
    layers = _ordered(below, _depths(below))
    place: dict[int, tuple[float, float]] = {}
    widest = max(sum(boxes[at].width + _GAP for at in layer) for layer in layers)
    for depth, layer in enumerate(layers):
        x = (widest - sum(boxes[at].width + _GAP for at in layer)) / 2 + _GAP / 2
        for at in layer:
            place[at] = x, depth * _STEP
            x += boxes[at].width + _GAP
    arrows = [_arrow(boxes, place, at, child) for at, children in enumerate(below) for child in children]
    note = f"{left_out:,} more steps are not drawn" if left_out else ""
    drawn = [_drawn(boxes[at], *where) for at, where in place.items()]
    bottom = len(layers) * _STEP - (_STEP - _HIGH)
    said = [written(widest / 2, bottom + 24, note, colour=QUIET)] if note else []
    return Drawing(sheet(title, -8, -8, widest + 16, bottom + (40 if note else 16), [*arrows, *drawn, *said]), note)


def _depths(below: Sequence[Sequence[int]]) -> list[int]:
    """The longest way from the first box to each."""
    waits = [0] * len(below)
    for children in below:
        for child in children:
            waits[child] += 1
    depths = [0] * len(below)
    pending = [at for at, count in enumerate(waits) if not count]
    while pending:
        at = pending.pop()
        for child in below[at]:
            depths[child] = max(depths[child], depths[at] + 1)
            waits[child] -= 1
            if not waits[child]:
                pending.append(child)
    return depths


def _ordered(below: Sequence[Sequence[int]], depths: Sequence[int]) -> list[list[int]]:
    """Boxes by layer, each near the middle of those that it is tied to, so that few arrows cross."""
    layers: list[list[int]] = [[] for _ in range(max(depths) + 1)]
    for at, depth in enumerate(depths):
        layers[depth].append(at)
    near: list[list[int]] = [[] for _ in below]
    for at, children in enumerate(below):
        near[at] += children
        for child in children:
            near[child].append(at)
    rank = {at: place / len(layer) for layer in layers for place, at in enumerate(layer)}
    for _ in range(_SWEEPS):
        for layer in layers:
            middle = {
                at: sum(rank[other] for other in near[at]) / len(near[at]) if near[at] else rank[at] for at in layer
            }
            layer.sort(key=lambda at: (middle[at], rank[at]))
            rank.update((at, place / len(layer)) for place, at in enumerate(layer))
    return layers


def _arrow(boxes: Sequence[Box], place: dict[int, tuple[float, float]], one: int, other: int) -> str:
    (x1, y1), (x2, y2) = place[one], place[other]
    x1, x2, y1 = x1 + boxes[one].width / 2, x2 + boxes[other].width / 2, y1 + _HIGH
    bend = (y2 - y1) / 2
    curve = f"M{x1:.1f} {y1:.1f}C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"
    return f'<path d="{curve}" fill="none" stroke="{LINE}" stroke-width="1.3"/>'


def _drawn(box: Box, x: float, y: float) -> str:
    fill, edge = ("#ddf4ff" if box.strong else SHADE), (MARK if box.marked else LINE)
    middle = x + box.width / 2
    text = written(middle, y + (17 if box.note else 24), shortened(box.text, _LETTERS), colour=INK)
    note = written(middle, y + 32, shortened(box.note, _LETTERS), size=10, colour=QUIET) if box.note else ""
    frame = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{_HIGH:.0f}" rx="6" fill="{fill}" '
        f'stroke="{edge}" stroke-width="{2 if box.marked else 1}"/>'
    )
    return f"<g>{frame}{text}{note}<title>{printable(f'{box.text}  {box.note}'.strip())}</title></g>"
