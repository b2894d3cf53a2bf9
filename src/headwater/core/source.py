"""Where a piece of program text stands, so that every later stage can point back at it.

A span never takes part in equality: two programs that differ only in layout are equal.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """One text with the name it is known by (a path, or `<text>`)."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Span:
    """The half-open range `[start, end)` of characters of a source; line and column count from 1."""

    source: Source
    start: int
    end: int
    line: int
    column: int
