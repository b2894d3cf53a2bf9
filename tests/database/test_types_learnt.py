"""Types of undeclared relations: learnt from the first rows that are kept, and from nothing else."""

from __future__ import annotations

import datetime as dt

import pytest

import headwater as hw
from headwater.core.errors import DataError, GuardError

COPY = "v(X, Y) :- r(X, Y)."
JOIN = "v(X, Y) :- a(X), b(X, Y). w(X) :- a(X), !b(X, _)."


def opened(text: str, guard: int | None = 10_000) -> hw.Database:
    return hw.Database(hw.compile(text), guard=guard)


def test_later_rows_of_another_type_are_refused_and_change_nothing() -> None:
    db = opened(COPY)
    db.apply(insert={"r": [(1, 2)]})
    with pytest.raises(DataError, match="'a' is not a valid int"):
        db.apply(insert={"r": [(5, 6), ("a", "b")]}, delete={"r": [(1, 2)]})
    assert db.rows("v") == {(1, 2)}
    changes = db.apply(insert={"r": [(5, 6), ("a", "b")]}, strict=False)
    assert db.rows("v") == {(1, 2), (5, 6)}
    assert [one.row for one in changes.rejected] == [("a", "b")]


@pytest.mark.parametrize("bad", [("a", None), (None, None), (2**70, "x"), ("a", b"x"), ("a",)], ids=repr)
@pytest.mark.parametrize("strict", [True, False])
def test_rows_that_were_not_kept_teach_no_types(bad: tuple[object, ...], strict: bool) -> None:
    db = opened(COPY)
    if strict:
        with pytest.raises(DataError):
            db.apply(insert={"r": [bad]})
    else:
        assert len(db.apply(insert={"r": [bad]}, strict=False).rejected) == 1
    db.apply(insert={"r": [(1, 2.5)]})
    assert db.rows("v") == {(1, 2.5)}


def test_a_bad_row_beside_a_good_one_does_not_decide() -> None:
    db = opened(COPY)
    db.apply(insert={"r": [(None, "a"), (1, 2)]}, strict=False)
    assert db.rows("v") == {(1, 2)}


def test_a_delete_teaches_no_types() -> None:
    db = opened(COPY)
    changes = db.apply(delete={"r": [("a", "b")]})
    assert not changes["v"]
    assert not db.without({"r": [("a", "b")]})["v"]
    db.apply(insert={"r": [(1, 2)]})
    assert db.rows("v") == {(1, 2)}
    with pytest.raises(DataError, match="is not a valid int"):
        db.apply(delete={"r": [("a", "b")]})


def test_a_transaction_that_fails_later_teaches_no_types() -> None:
    db = opened("n(X) :- s(X). n(Y) :- n(X), Y = X + 1. m(X) :- t(X).", guard=50)
    db.apply(insert={"t": [("a",)]})
    with pytest.raises(GuardError):
        db.apply(insert={"s": [(1.5,)]})
    assert (db.rows("n"), db.rows("m")) == (set(), {("a",)})
    with pytest.raises(GuardError):
        db.apply(insert={"s": [(1,)]})
    with pytest.raises(hw.ProgramError, match="HW403"):
        db.apply(insert={"s": [("text",)]})
    db.apply(insert={"t": [("b",)]})
    assert db.rows("m") == {("a",), ("b",)}


def test_ints_among_floats_are_floats() -> None:
    db = opened(COPY)
    db.apply(insert={"r": [(1, 2), (1.5, 2)]})
    assert {type(row[0]) for row in db.rows("v")} == {float}
    assert [str(kind) for kind in db.table("v").schema.types] == ["double", "int64"]


def test_a_relation_that_gets_rows_after_others_have_them() -> None:
    db = opened(JOIN)
    assert db.apply(insert={"a": [(1,), (2,)]})["w"].inserted.num_rows == 2
    assert (db.rows("v"), db.rows("w")) == (set(), {(1,), (2,)})
    changes = db.apply(insert={"b": [(1, "z")]})
    assert (db.rows("v"), db.rows("w")) == ({(1, "z")}, {(2,)})
    assert changes["w"].deleted.to_pydict() == {"x": [1]}
    assert not changes["a"]
    assert db.why("v", (1, "z")).facts == [("a", (1,)), ("b", (1, "z"))]
    db.apply(delete={"b": [(1, "z")]})
    assert (db.rows("v"), db.rows("w")) == (set(), {(1,), (2,)})


def test_a_type_that_goes_against_the_rules_is_refused_with_the_rule() -> None:
    db = opened(JOIN)
    db.apply(insert={"a": [(1,), (2,)]})
    for key in ("1", 1.0):
        with pytest.raises(hw.ProgramError, match=r"variable `X` is int and (string|float) at once"):
            db.apply(insert={"b": [(key, "z")]})
    assert (db.rows("v"), db.rows("w"), db.rows("b")) == (set(), {(1,), (2,)}, set())
    db.apply(insert={"b": [(1, "z")]})
    assert (db.rows("v"), db.rows("w")) == ({(1, "z")}, {(2,)})


def test_facts_of_the_program_fix_types() -> None:
    db = opened("r(1, a). " + COPY)
    with pytest.raises(DataError, match="is not a valid int"):
        db.apply(insert={"r": [("x", "y")]})
    db.apply(insert={"r": [(2, "y")]})
    assert db.rows("v") == {(1, "a"), (2, "y")}


MOMENT = dt.datetime(2024, 1, 1)
SPAN = dt.timedelta(hours=1)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ('v(T) :- r(T). query v("2024-01-01 00:00:00").', (MOMENT,)),
        ('v(T) :- r(T), T > "2023-01-01".', (MOMENT,)),
        ('v(T) :- r(T, "2024-01-01").', (1, MOMENT)),
        ("v(T) :- r(T). query v(1 hour).", (SPAN,)),
        ("v(T) :- r(T), T > 1 minute.", (SPAN,)),
        ("v(T) :- r(T). query v(1).", (1.0,)),
        ("v(T) :- r(T), T > 1.", (1.5,)),
        ("v(T) :- r(T, 1).", ("a", 1.0)),
    ],
)
def test_literals_follow_the_types_that_data_shows(text: str, row: tuple[object, ...]) -> None:
    db = opened(text)
    db.apply(insert={"r": [row]})
    assert db.rows("v") == {row[:1]}
