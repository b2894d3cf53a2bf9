"""000, Figure 2: the network of three nodes, its view with the provenance of every row, and the link that fails."""

from __future__ import annotations

import pytest

import headwater as hw

_TEXT = "reachable(X, Y) :- link(X, Y). reachable(X, Y) :- link(X, Z), reachable(Z, Y)."
_LINKS = {"p1": ("a", "b"), "p2": ("b", "c"), "p3": ("c", "a"), "p4": ("c", "b")}
_PROVENANCE = {  # the pv column after the last step, absorbed
    ("a", "b"): ["p1"],
    ("a", "c"): ["p1 p2"],
    ("a", "a"): ["p1 p2 p3"],
    ("b", "c"): ["p2"],
    ("b", "a"): ["p2 p3"],
    ("b", "b"): ["p2 p4", "p1 p2 p3"],
    ("c", "a"): ["p3"],
    ("c", "b"): ["p4", "p1 p3"],
    ("c", "c"): ["p2 p4", "p1 p2 p3"],
}


@pytest.fixture(params=["absorption", "witness"])
def db(request: pytest.FixtureRequest) -> hw.Database:
    database = hw.Database(hw.compile(_TEXT), provenance=request.param)
    database.apply(insert={"link": list(_LINKS.values())})
    return database


@pytest.mark.parametrize("row", _PROVENANCE)
def test_provenance_row_by_row(db: hw.Database, row: tuple[str, str]) -> None:
    expected = {frozenset(("link", _LINKS[name]) for name in product.split()) for product in _PROVENANCE[row]}
    assert {frozenset(one) for one in db.witnesses("reachable", row)} == expected
    assert db.rows("reachable") == set(_PROVENANCE)


def test_deleted_link_takes_no_row_away(db: hw.Database) -> None:
    assert not db.without({"link": [("c", "b")]})["reachable"]
    assert not db.apply(delete={"link": [("c", "b")]})["reachable"]
    (witness,) = db.witnesses("reachable", ("c", "b"))
    assert set(witness) == {("link", ("c", "a")), ("link", ("a", "b"))}
