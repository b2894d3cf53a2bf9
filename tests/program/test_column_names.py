"""What the columns of views are called: as a query says, else as the rules do."""

from __future__ import annotations

import pytest

import headwater as hw

COSTS = "relation uses(whole: string, part: string, n: int)."


def named(text: str, view: str) -> list[str]:
    return hw.Database(hw.compile(f"{COSTS}\n{text}")).table(view).column_names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v(X, Y) :- uses(X, Y, _). query v(Part, InUse).", ["Part", "InUse"]),
        ("v(X, Y) :- uses(X, Y, _). query v(Part, _).", ["Part", "Y"]),
        ('v(X, Y) :- uses(X, Y, _). query v("a", Part).', ["X", "Part"]),
        ("v(X, Y) :- uses(X, Y, _). query v(Part, _). query v(Whole, Inner).", ["Part", "Inner"]),
        ("v(X, Y) :- uses(X, Y, _). query v(X, X).", ["X", "c1"]),
        ("v(X, Y) :- uses(X, Y, _). query v(Ab, AB).", ["Ab", "c1"]),
        ("v(X, Y) :- uses(X, Y, _).", ["x", "y"]),
        ("v(X, min<N>) :- uses(X, _, N).", ["x", "n"]),
        ("v(X, count<Y>) :- uses(X, Y, _).", ["x", "count"]),
        ("v(X, sum<N>) :- uses(X, _, N). query v(_, _).", ["x", "sum"]),
        ("v(X, sum<N>) :- uses(X, _, N). query v(Whole, Total).", ["Whole", "Total"]),
        ("relation v(a: string, b: string). v(X, Y) :- uses(X, Y, _). query v(Part, Other).", ["a", "b"]),
    ],
)
def test_columns_are_called_as_the_query_calls_them(text: str, expected: list[str]) -> None:
    assert named(text, "v") == expected


def test_a_base_relation_keeps_its_names() -> None:
    assert named("v(X) :- uses(X, _, _). query uses(A, B, C). query v(X).", "uses") == ["whole", "part", "n"]


def test_the_names_of_changes_are_those_of_the_view() -> None:
    db = hw.Database(hw.compile(f"{COSTS} v(X, sum<N>) :- uses(X, _, N). query v(Whole, Total)."))
    changes = db.apply(insert={"uses": [("car", "wheel", 4), ("car", "door", 5)]})
    assert changes["v"].inserted.to_pylist() == [{"Whole": "car", "Total": 9}]
