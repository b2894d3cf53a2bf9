"""The spec files of the rewrites: cases of text in, text out.

A case is `== what it shows`, a program, a line `--`, and the program after the one rewrite that the file is named for,
or `unchanged` where it must not fire. `python -m tests.rewrite.spec_cases` writes what the rewrites give now into the
files, for a person to read over.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headwater.core.source import Source
from headwater.language.datalog.parse import parse
from headwater.program.check import check
from headwater.program.model import Program
from headwater.program.text import print_program
from headwater.rewrite.demand.magic_sets import magic_sets
from headwater.rewrite.rules import (
    ALONE_RULES,
    ENDLESS_RULES,
    LEASE_RULES,
    LINK_RULES,
    NETWORK_RULES,
    RULES,
    TIME_RULES,
)

FOLDER = Path(__file__).parents[1] / "specs" / "rewrite"
OPTIONAL = {rule.__name__: rule for rule in (*RULES, *LINK_RULES, *ALONE_RULES, *NETWORK_RULES)}
TIMED = {rule.__name__: rule for rule in TIME_RULES + LEASE_RULES + ENDLESS_RULES}
REWRITES = OPTIONAL | TIMED
BEFORE = {"bound_columns": magic_sets}
"""What a rewrite starts from, where that is no program that a user can write."""


@dataclass(frozen=True)
class Case:
    rewrite: str
    title: str
    text: str
    expected: str

    def program(self) -> Program:
        program = compiled(self.text)
        return BEFORE[self.rewrite](program) if self.rewrite in BEFORE else program

    def rewritten(self) -> Program:
        return REWRITES[self.rewrite](self.program())

    def outcome(self) -> str:
        before, after = self.program(), self.rewritten()
        return "unchanged" if after == before else print_program(after).strip()


def compiled(text: str) -> Program:
    return check(parse(Source("<text>", text)))


def cases(rewrite: str) -> list[Case]:
    found = []
    for block in (FOLDER / f"{rewrite}.spec").read_text().split("\n== ")[1:]:
        title, rest = block.split("\n", 1)
        text, _, expected = rest.partition("\n--\n")
        found.append(Case(rewrite, title.strip(), text.strip(), expected.strip()))
    return found


def all_cases() -> list[Case]:
    """Of the rewrites that a program can do without."""
    return [case for rewrite in OPTIONAL for case in cases(rewrite)]


def timed_cases() -> list[Case]:
    """Of the rewrites that say what time means."""
    return [case for rewrite in TIMED for case in cases(rewrite)]


def update() -> None:
    for rewrite in REWRITES:
        path = FOLDER / f"{rewrite}.spec"
        head = path.read_text().split("\n== ")[0].strip()
        parts = [f"== {case.title}\n\n{case.text}\n\n--\n\n{case.outcome()}\n" for case in cases(rewrite)]
        path.write_text("\n".join([head + "\n", *parts]))


if __name__ == "__main__":
    update()
