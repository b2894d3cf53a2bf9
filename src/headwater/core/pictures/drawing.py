"""A finished drawing: SVG text that notebooks show and that can be written to a file."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from os import PathLike
from pathlib import Path

FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif"
INK, QUIET, LINE, PAPER, SHADE, NODE, MARK = "#1b1f24", "#57606a", "#8c959f", "#ffffff", "#eef1f5", "#0969da", "#bc4c00"


class Drawing:
    """A picture as SVG: `.svg` is its text, notebooks show it, `save` writes it to a file."""

    def __init__(self, svg: str, note: str = "") -> None:
        """`note` says what the drawing leaves out."""
        self.svg = svg
        self.note = note

    def save(self, path: str | PathLike[str]) -> None:
        """Write the drawing to an .svg file."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Drawing({len(self.svg):,} letters of SVG{f'; {self.note}' if self.note else ''})"

    def _repr_svg_(self) -> str:
        return self.svg


def sheet(title: str, left: float, top: float, width: float, height: float, parts: Iterable[str]) -> str:
    """An SVG document that holds these parts, drawn on white, so that it reads the same on a dark page."""
    frame = f"{left:.1f} {top:.1f} {width:.1f} {height:.1f}"
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{frame}" width="{width:.0f}" height="{height:.0f}" ',
            f'role="img" aria-label="{escape(title)}" style="max-width:100%;height:auto" font-family="{FONT}">',
            f"<title>{escape(title)}</title>",
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{PAPER}"/>',
            *parts,
            "</svg>",
        ]
    )


def written(x: float, y: float, text: str, *, size: int = 12, colour: str = INK, anchor: str = "middle") -> str:
    """A text at a place."""
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}"'
    return f'<text {place} fill="{colour}" text-anchor="{anchor}">{printable(text)}</text>'


def shortened(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def printable(text: str) -> str:
    """A text that XML can hold: without control characters and lone surrogates, its markup escaped."""
    kept = "".join(
        letter if letter.isprintable() or letter in "\n\t" else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
    return escape(kept)
