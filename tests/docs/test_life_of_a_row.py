"""docs/life-of-a-row.md does not lie: its files and functions exist, and an inserted row calls them in its order."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from types import FrameType

import pytest

import headwater
from tests.docs.fences import ROOT

SOURCE = ROOT / "src" / "headwater"
PAGE = (ROOT / "docs" / "life-of-a-row.md").read_text(encoding="utf-8")
SPINE = {"engine/shard.py"}
MOST_FILES = {"An inserted row": 14, "A streamed row": 22}
STEP = re.compile(r"^\d+\. `([\w/]+\.py)`((?:,? `[\w.]+`)+)", re.MULTILINE)
RULES = "reachable(X, Y) :- link(X, Y). reachable(X, Z) :- link(X, Y), reachable(Y, Z)."


@dataclass(frozen=True, slots=True)
class Step:
    file: str
    functions: tuple[str, ...]


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def walk(title: str) -> list[Step]:
    return [Step(file, tuple(re.findall(r"`([\w.]+)`", rest))) for file, rest in STEP.findall(section(title))]


@pytest.mark.parametrize("title", MOST_FILES)
def test_every_file_and_function_exists(title: str) -> None:
    steps = walk(title)
    assert len(steps) > 10
    assert [(step.file, name) for step in steps for name in step.functions if name not in functions(step.file)] == []


@pytest.mark.parametrize(("title", "most"), MOST_FILES.items())
def test_the_walk_is_short_and_comes_back_to_the_spine_only(title: str, most: int) -> None:
    files = [step.file for step in walk(title)]
    assert len(set(files)) <= most
    assert {file for file in files if files.count(file) > 1} <= SPINE


def test_the_inserted_row_calls_the_functions_in_this_order() -> None:
    called = calls_of_an_insert()
    at = 0
    for step in walk("An inserted row"):
        for name in step.functions:
            assert (step.file, name) in called[at:], f"{step.file} {name} is not called after the step before"
            at = called.index((step.file, name), at)


def test_the_page_names_every_other_file_that_runs() -> None:
    on_the_way = {step.file for step in walk("An inserted row")}
    beside = set(re.findall(r"`([\w/]+\.py)`", section("Files that run as well")))
    assert {file for file, _ in calls_of_an_insert()} - on_the_way == beside


def functions(file: str) -> set[str]:
    """Functions of a file, and methods as `Class.method`."""
    found = set()
    for node in ast.parse((SOURCE / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return found


def calls_of_an_insert() -> list[tuple[str, str]]:
    """What runs when one row is inserted into a database that has run before."""
    db = headwater.Database(headwater.compile(RULES))
    db.apply(insert={"link": [("a", "b"), ("b", "c")]})
    called: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(str(SOURCE)):
            called.append((file.removeprefix(f"{SOURCE}/"), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        db.apply(insert={"link": [("c", "d")]})
    finally:
        sys.setprofile(before)
    assert ("c", "d") in db.rows("reachable")
    return called
