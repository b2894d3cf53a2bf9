"""What notebooks show: it is well-formed, complete or says what is left out, and holds no markup of data."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import headwater as hw
from headwater.core.pictures.drawing import Drawing

MARKUP = "<script>alert(1)</script>\"'&\x00\x1b"
VOID = {"br", "hr", "img", "input", "progress"}
ROUTES = """
relation link(a: string, b: string, ms: int) key(a, b).
route(X, Y, P, T) :- link(X, Y, T), P = [X, Y].
route(X, Z, P, T) :- link(X, Y, T1), route(Y, Z, P2, T2), T = T1 + T2, P = concat([X], P2).
best(X, Y, min<T>) :- route(X, Y, P, T).
fastest(X, Y, P, T) :- best(X, Y, T), route(X, Y, P, T).
query fastest(From, To, Path, Ms).
"""
LINKS = [("a", "b", 1), ("b", "c", 2), ("a", "c", 9), ("c", "d", 1)]


class Reading(HTMLParser):
    """The texts and tags of a piece of HTML; fails where tags are not closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def html_of(value: Any) -> Reading:
    return Reading(value._repr_html_())


def texts_of(drawing: Drawing) -> list[str]:
    """The texts of a drawing; fails where it is not XML."""
    root = ET.fromstring(drawing.svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    return [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]


def edges_of(drawing: Drawing, width: str) -> set[str]:
    """What is said of the lines of a width."""
    lines = ET.fromstring(drawing.svg).iter("{http://www.w3.org/2000/svg}line")
    return {str(line[0].text) for line in lines if line.get("stroke-width") == width}


@pytest.fixture
def db() -> hw.Database:
    found = hw.Database(hw.compile(ROUTES))
    found.apply(insert={"link": LINKS})
    return found


def test_a_program_shows_its_text_in_colours_and_its_strata(db: hw.Database) -> None:
    found = html_of(db.program)
    assert "route(X, Z, P, T) :- link(X, Y, T1)" in found.text
    assert "recursive" in found.text
    assert found.tags.count("span") > 50
    assert "SELECT" in html_of(hw.compile("CREATE TABLE t (a INT); SELECT a FROM t", tables={})).text


def test_a_database_shows_relations_and_sizes(db: hw.Database) -> None:
    found = html_of(db)
    assert "linkrelationa: string, b: string, ms: int4" in found.text
    assert "fastestview" in found.text
    assert "MB; provenance: witness" in found.text
    assert "not given yet" in html_of(hw.Database(hw.compile(ROUTES))).text


def test_changes_show_what_came_and_went_and_count_the_rest(db: hw.Database) -> None:
    found = html_of(db.apply(delete={"link": [("a", "b", 1)]}))
    assert "fastest +2 −3" in found.text
    assert "−ab[a, b]1" in found.text
    assert "+ac[a, c]9" in found.text
    many = db.apply(insert={"link": [(f"n{at}", "a", 1) for at in range(40)]})
    assert "... and" in html_of(many).text
    assert html_of(db.apply()).tags.count("table") == 0


def test_a_proof_folds_and_is_drawn_with_every_fact(db: hw.Database) -> None:
    proof = db.why("fastest", ("a", "d", ("a", "b", "c", "d"), 4))
    found = html_of(proof)
    assert "rests on 3 facts" in found.text
    assert found.tags.count("details") >= 4
    texts = texts_of(proof.draw())
    for fact in ("link(a, b, 1)", "link(b, c, 2)", "link(c, d, 1)"):
        assert texts.count(fact) == 1
        assert fact in found.text


def test_a_long_proof_is_cut_and_says_so() -> None:
    db = hw.Database(hw.compile("reach(X, Y) :- e(X, Y).\nreach(X, Z) :- e(X, Y), reach(Y, Z)."))
    db.apply(insert={"e": [(at, at + 1) for at in range(3_000)]})
    proof = db.why("reach", (0, 3_000))
    assert "more steps are not drawn" in texts_of(proof.draw())[-1]
    assert "..." in html_of(proof).text


def test_a_blast_radius_is_a_table_and_still_a_list(db: hw.Database) -> None:
    found = db.blast_radius("link")
    assert found[0].fact == ("link", ("b", "c", 2))
    assert "link(b, c, 2)" in html_of(found).text


def test_a_relation_is_drawn_with_a_path_over_it(db: hw.Database) -> None:
    row = ("a", "d", ("a", "b", "c", "d"), 4)
    along = {"link(a, b, 1)", "link(b, c, 2)", "link(c, d, 1)"}
    for over in (row, db.why("fastest", row), [row]):
        assert edges_of(db.draw("link", over=over), "4") == along
    assert edges_of(db.draw("link"), "1.2") == along | {"link(a, c, 9)"}
    assert sorted(texts_of(db.draw("link"))) == ["a", "b", "c", "d"]
    assert db.draw("link").svg == db.draw("link").svg
    with pytest.raises(hw.DataError, match="no node `z`"):
        db.draw("link", around="z")
    with pytest.raises(hw.DataError, match="there is no column `z`"):
        db.draw("link", source="z")
    with pytest.raises(TypeError, match="`over` is a proof, a row"):
        db.draw("link", over="a")


def test_of_a_large_graph_a_part_is_drawn_and_said(tmp_path: Any) -> None:
    db = hw.Database(hw.compile("p(X, Y) :- e(X, Y)."))
    db.apply(insert={"e": [(at, at + 1) for at in range(400)]})
    drawing = db.draw("e", most=50)
    assert drawing.note == "50 of 401 nodes: those near the busiest one"
    near = db.draw("e", around="7", hops=1)
    assert sorted(texts_of(near)[:-1]) == ["6", "7", "8"]
    assert texts_of(near)[-1] == "3 of 401 nodes: those near 7"
    near.save(tmp_path / "near.svg")
    assert (tmp_path / "near.svg").read_text(encoding="utf-8") == near.svg


def test_nodes_with_latitude_and_longitude_lie_as_on_a_map() -> None:
    db = hw.Database(
        hw.compile("relation city(name: string, lat: float, lon: float).\nnear(X, Y) :- road(X, Y), city(X, _, _).")
    )
    cities = [("north", 60.0, 10.0), ("south", 40.0, 10.0), ("east", 50.0, 30.0)]
    db.apply(insert={"city": cities, "road": [("north", "south"), ("south", "east")]})
    root = ET.fromstring(db.draw("road").svg)
    names = [str(each.text) for each in root.iter("{http://www.w3.org/2000/svg}text")]
    dots = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    at = {name: (float(dot.get("cx", 0)), float(dot.get("cy", 0))) for name, dot in zip(names, dots, strict=True)}
    assert at["north"][1] < at["east"][1] < at["south"][1]
    assert at["east"][0] > at["north"][0] == at["south"][0]


def test_values_with_markup_are_text_everywhere() -> None:
    db = hw.Database(hw.compile("v(X, Y) :- r(X, Y).\nw(X, Y) :- v(X, Y)."))
    changes = db.apply(insert={"r": [(MARKUP, "b")]})
    proof = db.why("w", (MARKUP, "b"))
    for value in (changes, proof, db.blast_radius("r")):
        found = html_of(value)
        assert "script" not in found.tags
        assert "<script>alert(1)</script>" in found.text
    for drawing in (proof.draw(), db.draw("r")):
        assert any("<script>" in text for text in texts_of(drawing))
