"""What can be asked with, and what is refused: rows as they are written, names, limits, room."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

import headwater as hw

_CLOSURE = "reachable(X, Y) :- link(X, Y). reachable(X, Z) :- link(X, Y), reachable(Y, Z)."
_EVENTS = "relation event(at: timestamp, took: duration, weight: float, x: int). p(X) :- event(_, _, _, X)."
_EVENT = (dt.datetime(2020, 1, 1), dt.timedelta(seconds=3), 1.0, 7)

modes = pytest.mark.parametrize("provenance", ["witness", "absorption"])


def opened(text: str, provenance: str, **rows: list[tuple[Any, ...]]) -> hw.Database:
    db = hw.Database(hw.compile(text), provenance=provenance)
    db.apply(insert=rows)
    return db


@modes
def test_facts_hold_the_values_that_were_inserted(provenance: str) -> None:
    db = opened(_EVENTS, provenance, event=[_EVENT])
    assert db.critical("p", (7,)).facts == [("event", _EVENT)]
    assert db.witnesses("p", (7,)) == [[("event", _EVENT)]]
    assert [one.fact for one in db.blast_radius("event")] == [("event", _EVENT)]


@modes
@pytest.mark.parametrize("row", [_EVENT, ("2020-01-01T00:00:00", 3_000_000, 1, 7)])
def test_chances_are_found_however_a_row_is_written(provenance: str, row: tuple[Any, ...]) -> None:
    db = opened(_EVENTS, provenance, event=[_EVENT])
    assert db.probability("p", (7,), facts={"event": {row: 0.25}}) == 0.25


@modes
@pytest.mark.parametrize(
    ("row", "message"),
    [(("a",), "1 values for 2 columns"), ("ab", "not a tuple or dict"), ((1, "b"), "1 is not a valid string")],
)
def test_chances_of_rows_that_cannot_be_are_refused(provenance: str, row: Any, message: str) -> None:
    db = opened(_CLOSURE, provenance, link=[("a", "b")])
    with pytest.raises(hw.DataError, match=message):
        db.probability("reachable", ("a", "b"), facts={"link": {row: 0.5}})


@modes
def test_chances_of_rows_that_are_not_there_count_for_nothing(provenance: str) -> None:
    db = opened(_CLOSURE, provenance, link=[("a", "b")])
    assert db.probability("reachable", ("a", "b"), facts={"link": {("x", "y"): 0.5, ("a", "b"): 0.75}}) == 0.75


@modes
def test_a_name_that_is_no_name_is_refused(provenance: str) -> None:
    db = opened(_CLOSURE, provenance, link=[("a", "b")])
    for ask in (db.blast_radius, db.rows):
        with pytest.raises(hw.UnknownRelation, match="given by its name, not as None"):
            ask(None)  # type: ignore[arg-type]


@modes
def test_without_names_no_option_that_it_does_not_have(provenance: str) -> None:
    db = opened(_CLOSURE, provenance, link=[("a", "b")])
    with pytest.raises(hw.DataError, match="correct the rows") as caught:
        db.without({"link": [(1, 2)]})
    assert "strict" not in str(caught.value)


@modes
def test_all_cuts_can_be_had(provenance: str) -> None:
    db = opened(_CLOSURE, provenance, link=[("a", "b"), ("b", "c")])
    for limit in (None, 10**30):
        assert len(db.critical("reachable", ("a", "c")).cuts(limit)) == 2
        assert len(db.witnesses("reachable", ("a", "c"), limit)) == 1


@modes
def test_a_row_with_a_value_that_only_other_worlds_build_has_its_probability(provenance: str) -> None:
    text = "u(X, Y) :- q(X, Y), !r(X). p(L) :- u(X, Y), L := [X, Y]. query p(L)."
    db = opened(text, provenance, q=[("a", "b")], r=[("a",)])
    assert db.probability("p", (("a", "b"),), 0.5) == 0.25
    assert db.probability("p", (("b", "a"),), 0.5) == 0.0
