"""The worked example of 000, Figures 2, 3 and 5: three nodes, four links, and link(C, B) fails."""

from __future__ import annotations

import headwater as hw
from tests.engine.dred import compute, delete_and_rederive
from tests.engine.opened import Opened
from tests.oracle.evaluate import evaluate
from tests.oracle.program import Row
from tests.oracle.shorthand import atom, head, program, rule

LINKS = {("A", "B"), ("B", "C"), ("C", "A"), ("C", "B")}
ALL_PAIRS = {(x, y) for x in "ABC" for y in "ABC"}
FAILING = ("C", "B")

REACHABLE = program(
    {"link": ("string", "string")},
    rule(head("reachable", "X", "Y"), atom("link", "X", "Y")),
    rule(head("reachable", "X", "Y"), atom("link", "X", "Z"), atom("reachable", "Z", "Y")),
)


def links() -> dict[str, tuple[Row, ...]]:
    return {"link": tuple(sorted(LINKS))}


def test_the_view_is_computed_in_the_steps_of_figure_2() -> None:
    computed = compute(LINKS)
    assert computed.view == ALL_PAIRS == evaluate(REACHABLE, {"link": LINKS})["reachable"]
    assert [sorted(step) for step in computed.steps] == [
        [("A", "C"), ("B", "A"), ("B", "B"), ("C", "B"), ("C", "C")],
        [("A", "A"), ("A", "B"), ("B", "C"), ("C", "A"), ("C", "B"), ("C", "C")],
        [("C", "A")],
    ]
    assert computed.shipped == 16


def test_delete_and_rederive_empties_the_view_and_fills_it_again() -> None:
    found = delete_and_rederive(LINKS, FAILING)
    assert found.deleted == ALL_PAIRS
    assert found.rederived == ALL_PAIRS
    assert found.view == evaluate(REACHABLE, {"link": LINKS - {FAILING}})["reachable"]
    assert found.shipped == 16


def test_headwater_removes_nothing_because_nothing_becomes_unreachable() -> None:
    engine = Opened(REACHABLE)
    engine.apply(links(), {})
    assert engine.rows("reachable") == ALL_PAIRS
    inserted, deleted = engine.apply({}, {"link": (FAILING,)})["reachable"]
    assert (inserted, deleted) == ([], [])
    assert engine.rows("reachable") == ALL_PAIRS
    assert ("link", FAILING) not in engine.why("reachable", FAILING)


def test_headwater_removes_what_the_next_failure_takes() -> None:
    """Without link(C, A) too, C has no way out: exactly its rows, and those that led through it, go."""
    engine = Opened(REACHABLE)
    engine.apply(links(), {})
    engine.apply({}, {"link": (FAILING,)})
    inserted, deleted = engine.apply({}, {"link": (("C", "A"),)})["reachable"]
    assert inserted == []
    assert set(deleted) == ALL_PAIRS - {("A", "B"), ("B", "C"), ("A", "C")}
    assert len(deleted) == 6


def test_what_if_foretells_both_failures() -> None:
    engine = Opened(REACHABLE)
    engine.apply(links(), {})
    inserted, deleted = engine.without({"link": (FAILING, ("C", "A"))})["reachable"]
    assert (inserted, len(deleted)) == ([], 6)
    assert engine.rows("reachable") == ALL_PAIRS


def test_the_printed_query_compiles_as_it_stands_in_the_paper() -> None:
    """Query 1, with the paper's lower-case variables in capitals."""
    db = hw.Database(hw.compile("reachable(X, Y) :- link(X, Y).\nreachable(X, Y) :- link(X, Z), reachable(Z, Y).\n"))
    db.apply(insert={"link": sorted(LINKS)})
    assert set(db.rows("reachable")) == ALL_PAIRS
