"""Spec files: cases of text in and text out.

    === what the case shows
    the text that goes in
    ---
    the text that must come out

`HEADWATER_UPDATE_SPECS=1 pytest tests/program` writes what the checks say now into the files, for a person to read.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

SPECS = Path(__file__).parent / "specs"
UPDATE = bool(os.environ.get("HEADWATER_UPDATE_SPECS"))


class Case(NamedTuple):
    path: Path
    title: str
    given: str
    expected: str


def named(case: Case) -> str:
    return f"{case.path.stem}: {case.title}"


def cases(folder: str) -> list[Case]:
    found = [case for path in paths(folder) for case in read_cases(path)]
    assert found, f"no specs in {folder}"
    return found


def paths(folder: str) -> list[Path]:
    return sorted((SPECS / folder).glob("*.spec"))


def read_cases(path: Path) -> list[Case]:
    _, *blocks = ("\n" + path.read_text(encoding="utf-8")).split("\n=== ")
    found = []
    for block in blocks:
        title, _, rest = block.partition("\n")
        given, _, expected = rest.partition("\n---\n")
        found.append(Case(path, title, given, expected.rstrip("\n")))
    return found


def settle(case: Case, outcome: Callable[[str], str]) -> None:
    """Compare a case with what comes out, or write it down when updating."""
    given = outcome(case.given).rstrip("\n")
    if UPDATE:
        updated = [
            Case(each.path, each.title, each.given, given if each.title == case.title else each.expected)
            for each in read_cases(case.path)
        ]
        text = "\n".join(f"=== {each.title}\n{each.given}\n---\n{each.expected}\n" for each in updated)
        case.path.write_text(text, encoding="utf-8")
    else:
        assert given == case.expected
