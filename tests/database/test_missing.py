"""Base relations that nobody has fed: `Database.missing`, and the warning at the first read of what rests on them."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import headwater as hw

JOINED = "reach(X, Y) :- link(X, Y), node(X). pair(X, Y) :- link(X, Y). query reach(X, Y). query pair(X, Y)."
SQL = "SELECT l.src FROM link l WHERE l.src NOT IN (SELECT id FROM blocked);"


def database(text: str) -> hw.Database:
    return hw.Database(hw.compile(text))


def quiet(db: hw.Database, *views: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for view in views:
            db.rows(view)
            db.table(view)
            db.count(view)


def test_a_relation_that_nobody_fed_is_missing_and_warned_of_once() -> None:
    db = database(JOINED)
    assert db.missing == ("link", "node")
    db.apply(insert={"link": [("a", "b")]})
    assert db.missing == ("node",)
    quiet(db, "pair", "link", "node")
    with pytest.warns(
        hw.MissingInputWarning, match=r"`reach` rests on `node`.*relation node\(\.\.\.\) optional"
    ) as told:
        assert db.rows("reach") == set()
    assert (len(told), told[0].filename) == (1, __file__)
    quiet(db, "reach")
    db.apply(insert={"node": [("a",)]})
    assert (db.missing, db.rows("reach")) == ((), {("a", "b")})


@pytest.mark.parametrize("read", ["rows", "table", "count"])
def test_every_way_to_read_a_view_warns(read: str) -> None:
    db = database(JOINED)
    with pytest.warns(hw.MissingInputWarning, match="`link` and `node`"):
        getattr(db, read)("reach")
    db = database(JOINED)
    db.apply(insert={"link": [("a", "b")]})
    with pytest.warns(hw.MissingInputWarning, match="`node`"):
        db.why_not("reach", ("a", "b"))


def test_no_rows_are_rows_enough_facts_and_optional_relations_too() -> None:
    db = database(JOINED)
    db.apply(insert={"link": [], "node": []})
    assert db.missing == ()
    quiet(db, "reach")
    db = database(JOINED + "node(a). relation link(a: string, b: string) optional.")
    assert db.missing == ()
    quiet(db, "reach")


def test_what_was_refused_or_only_deleted_is_missing_still() -> None:
    db = database("relation p(x: int). q(X) :- p(X).")
    with pytest.raises(hw.DataError):
        db.apply(insert={"p": [("one",)]})
    db.apply(delete={"p": [(1,)]})
    assert db.missing == ("p",)
    db.apply(insert={"p": [("one",)]}, strict=False)
    assert db.missing == ()


def test_only_what_an_output_rests_on_is_missing() -> None:
    db = database("relation unread(x: int). q(X) :- p(X), !r(X). s(X) :- t(X). query q(X).")
    assert db.missing == ("p", "r")


def test_sql_tables_are_missing_too() -> None:
    db = hw.Database(hw.compile(SQL))
    assert set(db.missing) == {"link", "blocked"}
    db.apply(insert={"link": [{"src": "a"}]})
    with pytest.warns(hw.MissingInputWarning, match="`blocked`"):
        db.rows(db.program.outputs[0])


def test_a_saved_database_knows_what_is_missing(tmp_path: Path) -> None:
    db = database(JOINED)
    db.apply(insert={"link": [("a", "b")]})
    db.save(tmp_path / "db")
    opened = hw.Database.open(tmp_path / "db")
    assert opened.missing == ("node",)
    opened.apply(insert={"node": []})
    opened.save(tmp_path / "db")
    assert hw.Database.open(tmp_path / "db").missing == ()
