"""README and docs do not lie: everything on them runs, and prints what they say; their links lead somewhere."""

from __future__ import annotations

import re
import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.core.source import Source
from headwater.language.datalog.parse import parse
from headwater.language.lorel import parse_lorel
from headwater.program.check import check
from headwater.semistructured.views import translate_all
from tests.docs.fences import FENCE, PAGES, ROOT, Page, a_folder, kept

LINKING = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_everything_runs_and_prints_what_the_page_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    with a_folder():
        page = Page(text)
        assert page.updated() == text
    assert page.ran >= 1


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_program_on_the_page_compiles(path: Path) -> None:
    for kind, name, body in FENCE.findall(path.read_text(encoding="utf-8")):
        if kind == "datalog":
            assert check(parse(Source(path.name, body))).rules
        if kind == "lorel" and not name:
            tree = parse_lorel(Source(path.name, body))
            assert tree.statements
            views = [replace(view, name=str(at)) for at, view in enumerate(tree.views)]
            assert all(view.rules for view in translate_all(views))


@pytest.mark.parametrize("path", LINKING, ids=lambda path: path.stem)
def test_links_lead_to_files_and_headings(path: Path) -> None:
    for target, anchor in LINK.findall(path.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            found = path.parent / target if target else path
            assert found.exists(), target
            if anchor and found.suffix == ".md":
                assert anchor[1:] in anchors(found), f"{target}{anchor}"


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_program_on_the_front_page_is_the_one_that_runs() -> None:
    programs = [body for kind, _, body in FENCE.findall((ROOT / "README.md").read_text("utf-8")) if kind == "datalog"]
    assert [body for body in programs if body in (ROOT / "examples" / "routes.dl").read_text("utf-8")] == programs


def test_the_picture_shows_what_the_examples_give() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "routes_picture.py"))
    assert drawn["picture"]() == (ROOT / "docs" / "routes.svg").read_text(encoding="utf-8")


def test_a_page_that_lies_is_found() -> None:
    with a_folder():
        assert (
            Page("```python\nprint(1)\n```\n\n```text\n2\n```\n").updated()
            == "```python\nprint(1)\n```\n\n```text\n1\n```\n"
        )
    assert kept("a\n...\nc\n", "a\nb\nb\nc\n") == "a\n...\nc\n"
    assert kept("a\n...\nd\n", "a\nb\nc\n") == "a\nb\nc\n"
