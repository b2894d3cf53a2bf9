"""Reads spec files: cases of text in and text out.

=== what the case shows
the text that goes in
---
the text that must come out
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SPECS = Path(__file__).parent.parent / "specs" / "language"


@dataclass(frozen=True)
class Case:
    path: Path
    title: str
    given: str
    expected: str

    def __str__(self) -> str:
        return f"{self.path.stem}: {self.title}"


def cases(pattern: str) -> list[Case]:
    found = [case for path in sorted(SPECS.glob(pattern)) for case in read_cases(path)]
    assert found, f"no spec matches {pattern}"
    return found


def read_cases(path: Path) -> list[Case]:
    _, *blocks = ("\n" + path.read_text(encoding="utf-8")).split("\n=== ")
    read = []
    for block in blocks:
        title, _, rest = block.partition("\n")
        given, _, expected = rest.partition("\n---\n")
        read.append(Case(path, title, given, expected.rstrip("\n")))
    return read
