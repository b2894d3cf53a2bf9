"""Spec files of views over documents: the rules of a view, its errors and warnings, and what an update means to it."""

from __future__ import annotations

import re

import pytest

from headwater.core.errors import ProgramError
from headwater.core.render import render
from headwater.core.source import Source
from headwater.language.datalog.printer import print_statement
from headwater.language.lorel import parse_lorel
from headwater.semistructured.views import KnownNames, compile_views, explain_update
from tests.semistructured.figure1 import EDGES, view_of
from tests.spec_file import SPECS, Case, cases, named, paths, settle

KNOWN = KnownNames({"Guide"}, {edge[1] for edge in EDGES})
TOUCHED = {"Guide": {1}, "r": {2, 3, 4}, "e": {9, 10, 13}, "x": {5, 7, 11}, "y": {15, 17}, "n": {14}, "i": {15}}


def rules_of(text: str) -> str:
    return "\n".join(print_statement(rule) for view in compile_views(text).views for rule in view.rules)


def told(text: str) -> str:
    try:
        found = compile_views(Source("view.lorel", text), KNOWN if "Restaurant" in text else None)
    except ProgramError as problem:
        return str(problem)
    return "\n".join(map(render, found.warnings)) or "ok"


def maintenance(text: str) -> str:
    tree = parse_lorel(text)
    (view,), (update,) = tree.views, tree.updates
    if view.name != "FavoriteEntrees":
        return explain_update(view, update)
    return explain_update(view, update, TOUCHED, {9})


@pytest.mark.parametrize("case", cases("semistructured/rules"), ids=named)
def test_a_view_has_the_rules_specified(case: Case) -> None:
    settle(case, rules_of)


@pytest.mark.parametrize("case", cases("semistructured/errors"), ids=named)
def test_findings_are_as_specified(case: Case) -> None:
    settle(case, told)


@pytest.mark.parametrize("case", cases("semistructured/maintenance"), ids=named)
def test_an_update_means_what_is_specified(case: Case) -> None:
    settle(case, maintenance)


@pytest.mark.parametrize("path", paths("semistructured/errors"), ids=lambda path: path.stem)
def test_each_code_fires_and_holds_back(path) -> None:
    found = [case.expected for case in cases("semistructured/errors") if case.path == path]
    assert any(f"[{path.stem}]" in text for text in found), "no case where it fires"
    assert any(f"[{path.stem}]" not in text for text in found), "no case where it must not fire"


def test_every_code_of_views_has_a_spec() -> None:
    folder = SPECS.parents[1] / "src" / "headwater" / "semistructured" / "views"
    used = {code for path in folder.rglob("*.py") for code in re.findall(r'"(HW2\d\d)"', path.read_text("utf-8"))}
    assert used - {"HW261"} == {path.stem for path in paths("semistructured/errors")}


def test_the_touched_objects_are_those_of_figure_1() -> None:
    """What the specs give as RelevantOids: conditions left out, adjuncts of the one primary object only."""
    db, view = view_of(
        "define view V as A = select x from Guide.Restaurant.Name x; B = select y from Guide.#.Ingredient y;"
    )
    assert {oid for (oid,) in db.rows(view.parts[0].objects)} == TOUCHED["x"]
    assert {oid for (oid,) in db.rows(view.parts[1].objects)} == TOUCHED["y"]
