"""What one call of `apply` does: deletes before inserts, keys, facts of the program, and what comes out of it."""

from __future__ import annotations

import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.errors import DataError

EDGES = "relation edge(src: string, dst: string). "
CLOSURE = EDGES + "reach(X, Y) :- edge(X, Y). reach(X, Z) :- edge(X, Y), reach(Y, Z). "
LINKS = "relation link(src: string, dst: string, cost: int) key(src, dst). v(S, D, C) :- link(S, D, C). "


def opened(text: str, **rows: list[tuple[object, ...]]) -> hw.Database:
    db = hw.Database(hw.compile(text))
    db.apply(insert=rows)
    return db


def pairs(table: pa.Table) -> set[tuple[object, ...]]:
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_deletes_come_before_inserts() -> None:
    db = opened(CLOSURE, edge=[("a", "b")])
    changes = db.apply(insert={"edge": [("a", "b")]}, delete={"edge": [("a", "b")]})
    assert db.rows("edge") == {("a", "b")}
    assert not changes["edge"]
    assert not changes["reach"]
    changes = db.apply(insert={"edge": [("b", "c")]}, delete={"edge": [("b", "c")]})
    assert pairs(changes["edge"].inserted) == {("b", "c")}


def test_a_row_given_twice_counts_once() -> None:
    db = opened("relation e(a: int, b: int). n(A, count<B>) :- e(A, B). ")
    changes = db.apply(insert={"e": [(1, 1), (1, 1), (1, 2)]})
    assert changes["e"].inserted.num_rows == 2
    assert db.rows("n") == {(1, 2)}
    db.apply(delete={"e": [(1, 1), (1, 1)]})
    assert db.rows("n") == {(1, 1)}


def test_what_changes_nothing_reports_nothing() -> None:
    db = opened(CLOSURE, edge=[("a", "b")])
    for transaction in (
        {"insert": {"edge": [("a", "b")]}},
        {"delete": {"edge": [("x", "y")]}},
        {"insert": {"edge": []}},
        {"insert": None, "delete": {}},
    ):
        changes = db.apply(**transaction)  # type: ignore[arg-type]
        assert not any(changes[name] for name in ("edge", "reach"))


def test_the_last_word_on_a_key_wins() -> None:
    db = opened(LINKS, link=[("a", "b", 1), ("a", "b", 2), ("a", "c", 9)])
    assert db.rows("v") == {("a", "b", 2), ("a", "c", 9)}
    assert not db.apply(insert={"link": [("a", "b", 2)]})["link"]
    changes = db.apply(insert={"link": [("a", "b", 3)]})
    assert pairs(changes["v"].deleted) == {("a", "b", 2)}
    assert pairs(changes["v"].inserted) == {("a", "b", 3)}
    assert not db.apply(delete={"link": [("a", "b", 2)]})["link"], "another value is another row"
    assert not db.apply(insert={"link": [("a", "b", 7), ("a", "b", 3)]})["link"]
    changes = db.apply(insert={"link": [("a", "b", 4)]}, delete={"link": [("a", "b", 3)]})
    assert (changes["link"].inserted.num_rows, changes["link"].deleted.num_rows) == (1, 1)
    assert db.rows("v") == {("a", "b", 4), ("a", "c", 9)}


def test_a_fact_of_the_program_stays() -> None:
    db = opened(CLOSURE + "edge(p, q).")
    assert db.rows("reach") == {("p", "q")}
    assert not db.apply(delete={"edge": [("p", "q")]})["edge"]
    assert not db.apply(insert={"edge": [("p", "q")]})["edge"]
    assert not db.apply(delete={"edge": [("p", "q")]})["edge"]
    assert db.rows("reach") == {("p", "q")}


@pytest.mark.parametrize("way", ["insert", "delete"])
def test_views_cannot_be_written_to(way: str) -> None:
    db = opened(CLOSURE, edge=[("a", "b")])
    with pytest.raises(DataError, match="`reach` is derived by rules; change the base relations it follows from"):
        db.apply(**{way: {"reach": [("a", "b")], "edge": [("c", "d")]}})  # type: ignore[arg-type]
    assert db.rows("edge") == {("a", "b")}


def test_a_relation_that_is_not_there_is_named_with_the_nearest() -> None:
    db = opened(CLOSURE)
    with pytest.raises(DataError, match="there is no relation `egde`; did you mean `edge`"):
        db.apply(insert={"egde": [("a", "b")]})
    for ask in (db.rows, db.table, db.count, lambda name: db.why(name, ()), lambda name: db.apply()[name]):
        with pytest.raises(KeyError, match="there is no relation `raech`; did you mean `reach`"):
            ask("raech")


def test_a_view_that_no_query_needs_says_so() -> None:
    db = opened(CLOSURE + "two(X) :- edge(X, Y), edge(Y, X). query two(X).")
    with pytest.raises(KeyError, match="no query needs it"):
        db.rows("reach")


def test_iterating_changes_gives_the_queried_views_and_names_give_any() -> None:
    db = hw.Database(hw.compile(CLOSURE + "two(X) :- reach(X, X). query two(X). query reach(X, Y)."))
    changes = db.apply(insert={"edge": [("a", "b"), ("b", "a")]})
    assert list(changes) == list(db.program.outputs) == ["two", "reach"]
    assert len(changes) == 2
    assert pairs(changes["edge"].inserted) == {("a", "b"), ("b", "a")}
    assert "edge" in changes
    assert "raech" not in changes
    assert repr(changes) == "Changes(two: +2 -0, reach: +4 -0)"


def test_changes_have_the_schema_of_the_view_also_when_empty() -> None:
    text = """relation r(i: int, f: float, s: string, b: bool, t: timestamp, d: duration).
              v(I, F, S, B, T, D) :- r(I, F, S, B, T, D)."""
    db = hw.Database(hw.compile(text))
    row = (1, 0.5, "x", True, "2024-01-01", 5)
    schema = db.table("v").schema
    assert [str(kind) for kind in schema.types[:4]] == ["int64", "double", "string", "bool"]
    assert [str(kind) for kind in schema.types[4:]] == ["timestamp[us]", "duration[us]"]
    for changes in (db.apply(), db.apply(insert={"r": [row]}), db.apply(), db.apply(delete={"r": [row]})):
        assert changes["v"].inserted.schema == changes["v"].deleted.schema == db.table("v").schema == schema


def test_rows_that_came_and_rows_that_went_are_different_rows() -> None:
    db = opened(CLOSURE, edge=[("a", "b"), ("b", "c"), ("a", "c")])
    changes = db.apply(insert={"edge": [("a", "d"), ("d", "c")]}, delete={"edge": [("a", "b"), ("a", "c")]})
    came, went = pairs(changes["reach"].inserted), pairs(changes["reach"].deleted)
    assert (came, went) == ({("a", "d"), ("d", "c")}, {("a", "b")})


def test_changes_stay_what_they_were() -> None:
    """They are read when asked for, perhaps after later transactions."""
    db = hw.Database(hw.compile("v(X, Y) :- r(X, Y). w(X) :- v(X, _), !z(X)."))
    first = db.apply(insert={"r": [(1, "a")]})
    db.apply(insert={"z": [(1,)]}, delete={"r": [(1, "a")]})
    db.apply(insert={"r": [(2, "b")]})
    assert pairs(first["v"].inserted) == {(1, "a")}
    assert pairs(first["w"].inserted) == {(1,)}


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("reach(a, X)", {("a", "b"), ("a", "c")}),
        ("reach(X, X)", {("c", "c")}),
        ('reach(X, "c")', {("a", "c"), ("b", "c"), ("c", "c")}),
        ("reach(nowhere, X)", set()),
        ("reach(a, X). query reach(X, X)", {("a", "b"), ("a", "c"), ("c", "c")}),
        ("reach(_, _)", {("a", "b"), ("a", "c"), ("b", "c"), ("c", "c")}),
    ],
)
def test_a_query_filters_rows_and_changes(query: str, shown: set[tuple[str, str]]) -> None:
    db = hw.Database(hw.compile(f"{CLOSURE} query {query}."))
    edges = [("a", "b"), ("b", "c"), ("c", "c")]
    changes = db.apply(insert={"edge": edges})
    assert db.rows("reach") == pairs(db.table("reach")) == pairs(changes["reach"].inserted) == shown
    assert db.count("reach") == len(shown)
    assert pairs(db.without({"edge": edges})["reach"].deleted) == shown
    assert pairs(db.apply(delete={"edge": edges})["reach"].deleted) == shown


def test_constants_of_every_type_filter() -> None:
    text = """relation r(f: float, t: timestamp, d: duration, b: bool). v(F, T, D, B) :- r(F, T, D, B).
              query v(1, "2024-01-01 00:00:00", 1 hour, true)."""
    db = hw.Database(hw.compile(text))
    hour = 3_600_000_000
    db.apply(insert={"r": [(1.0, "2024-01-01", hour, True), (1.0, "2024-01-01", hour, False), (2, 0, hour, True)]})
    assert db.count("v") == 1


def test_a_compiled_program_is_asked_for() -> None:
    with pytest.raises(TypeError, match=r"write Database\(compile\(text\)\)"):
        hw.Database(CLOSURE)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the modes are"):
        hw.Database(hw.compile(CLOSURE), provenance="all")


def test_of_rows_with_one_key_in_a_batch_the_last_one_wins_whatever_their_order() -> None:
    db = hw.Database(hw.compile("relation p(a: int, b: string, v: int) key(a, b).\nq(A, B, V) :- p(A, B, V).\n"))
    rows = [(at * 7 % 5, "xy"[at * 3 % 2], at) for at in range(200)]
    db.apply(insert={"p": rows})
    assert db.rows("q") == {(a, b, v) for (a, b), v in {(a, b): v for a, b, v in rows}.items()}
