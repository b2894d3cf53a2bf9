"""Rows in every shape that people have them in: kept exactly, or refused with the row and the reason."""

from __future__ import annotations

import datetime as dt
import re
from collections import namedtuple
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.errors import DataError

DECLARED = "relation r(a: int, s: string). v(A, S) :- r(A, S)."
UNDECLARED = "v(A, S) :- r(A, S)."
ROWS = {(1, "x"), (2, "y")}


def loaded(program: str, rows: Any, relation: str = "r") -> hw.Database:
    db = hw.Database(hw.compile(program))
    db.apply(insert={relation: rows})
    return db


def refused(program: str, rows: Any, relation: str = "r") -> str:
    """The message of the refusal, after which nothing is there."""
    db = hw.Database(hw.compile(program))
    with pytest.raises(DataError) as problem:
        db.apply(insert={relation: rows})
    assert db.rows(relation) == db.rows("v") == set()
    return str(problem.value)


def generated() -> Any:
    yield (1, "x")
    yield (2, "y")


SHAPES = {
    "tuples": [(1, "x"), (2, "y")],
    "lists": [[1, "x"], [2, "y"]],
    "a set": {(1, "x"), (2, "y")},
    "a generator": generated,
    "dicts in any order": [{"s": "x", "a": 1}, {"a": 2, "s": "y"}],
    "named tuples": [namedtuple("N", "p q")(1, "x"), (2, "y")],
    "a structured array": np.array([(1, "x"), (2, "y")], dtype=[("a", int), ("s", "U4")]),
    "NumPy scalars": [(np.int32(1), np.str_("x")), (np.uint64(2), "y")],
    "pandas": pd.DataFrame({"a": [1, 2], "s": ["x", "y"]}),
    "pandas, columns swapped": pd.DataFrame({"s": ["x", "y"], "a": [1, 2]}),
    "pandas, an index of its own": pd.DataFrame({"a": [1, 2], "s": ["x", "y"]}, index=[7, 7]),
    "pandas categories": pd.DataFrame({"a": pd.Categorical([1, 2]), "s": pd.Categorical(["x", "y"])}),
    "pandas nullable": pd.DataFrame({"a": pd.array([1, 2], dtype="Int64"), "s": pd.array(["x", "y"], "string")}),
    "polars": pl.DataFrame({"a": [1, 2], "s": ["x", "y"]}),
    "polars, lazy": pl.LazyFrame({"s": ["x", "y"], "a": [1, 2]}),
    "polars categories": pl.DataFrame({"a": [1, 2], "s": pl.Series(["x", "y"], dtype=pl.Categorical)}),
    "an Arrow table": pa.table({"a": [1, 2], "s": ["x", "y"]}),
    "a record batch": pa.record_batch({"a": [1, 2], "s": ["x", "y"]}),
    "a stream of batches": lambda: pa.table({"a": [1, 2], "s": ["x", "y"]}).to_reader(1),
    "chunks": pa.table({"a": pa.chunked_array([[1], [], [2]]), "s": pa.chunked_array([["x", "y"]])}),
    "dictionaries": pa.table(
        {"a": pa.array([1, 2]).dictionary_encode(), "s": pa.array(["x", "y"]).dictionary_encode()}
    ),
    "large strings": pa.table({"a": [1, 2], "s": pa.array(["x", "y"], pa.large_string())}),
    "string views": pa.table({"a": [1, 2], "s": pa.array(["x", "y"], pa.string_view())}),
    "small ints": pa.table({"a": pa.array([1, 2], pa.int8()), "s": ["x", "y"]}),
    "unsigned ints": pa.table({"a": pa.array([1, 2], pa.uint64()), "s": ["x", "y"]}),
}


@pytest.mark.parametrize("program", [DECLARED, UNDECLARED], ids=["declared", "undeclared"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_same_rows(program: str, shape: str) -> None:
    given = SHAPES[shape]
    rows = loaded(program, given() if callable(given) else given).rows("v")
    assert rows == ROWS
    assert {tuple(map(type, row)) for row in rows} == {(int, str)}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_deletes_what_tuples_inserted(shape: str) -> None:
    db = loaded(DECLARED, [*ROWS, (3, "z")])
    given = SHAPES[shape]
    db.apply(delete={"r": given() if callable(given) else given})
    assert db.rows("v") == {(3, "z")}


@pytest.mark.parametrize(
    "rows",
    [[], {}.values(), pd.DataFrame({"a": [], "s": []}), pa.table({"a": pa.array([], pa.int64()), "s": pa.nulls(0)})],
    ids=["list", "view", "pandas", "arrow"],
)
def test_no_rows_teach_nothing(rows: Any) -> None:
    db = loaded(UNDECLARED, rows)
    db.apply(insert={"r": [(1, "x")]})
    assert db.rows("v") == {(1, "x")}


@pytest.mark.parametrize(
    "given", [None, 3, "ab", b"ab", {"a": [1], "s": ["x"]}, pd.Series([1]), pl.Series([1])], ids=repr
)
def test_what_is_no_rows_at_all(given: Any) -> None:
    assert "where rows of `r` should be; give a list of tuples" in refused(DECLARED, given)


def test_rows_come_by_relation() -> None:
    with pytest.raises(DataError, match="rows come by relation"):
        hw.Database(hw.compile(DECLARED)).apply(insert=[("r", (1, "x"))])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ((1,), r"1 values for 2 columns \(a, s\)"),
        ((1, "x", 2), r"3 values for 2 columns \(a, s\)"),
        ({"a": 1}, "no value for s"),
        ({"a": 1, "s": "x", "z": 2}, "unknown column z"),
        ("ab", "not a tuple or dict"),
        (7, "not a tuple or dict"),
        ((None, "x"), "column `a`: a null does not fit"),
        ((pd.NA, "x"), "column `a`: a null does not fit"),
        ((1, None), "column `s`: a null does not fit"),
        ((True, "x"), "column `a`: True is not a valid int"),
        ((1.0, "x"), r"column `a`: 1\.0 is not a valid int"),
        (("1", "x"), "column `a`: '1' is not a valid int"),
        ((Decimal(1), "x"), "is not a valid int"),
        ((2**63, "x"), "does not fit into 64 bits"),
        ((-(2**63) - 1, "x"), "does not fit into 64 bits"),
        ((1, b"x"), "column `s`: b'x' is not a valid string"),
        ((1, 2), "column `s`: 2 is not a valid string"),
        ((1, "\ud800"), "is not valid Unicode text"),
    ],
    ids=repr,
)
def test_a_row_that_does_not_fit_is_named_with_its_reason(row: Any, reason: str) -> None:
    message = refused(DECLARED, [(1, "good"), row])
    assert "r, row 2: " in message
    assert re.search(reason, message)
    db = hw.Database(hw.compile(DECLARED))
    changes = db.apply(insert={"r": [(1, "good"), row]}, strict=False)
    assert db.rows("v") == {(1, "good")}
    assert [(one.relation, one.position) for one in changes.rejected] == [("r", 1)]


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"a": pa.array([1, 2**64 - 1], pa.uint64()), "s": ["x", "y"]}),
        pa.table({"a": [1, None], "s": ["x", "y"]}),
        pa.table({"a": [1, 2], "s": pa.array(["x", None]).dictionary_encode()}),
        pa.table({"a": [1, 2], "s": pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["x", None]))}),
        pd.DataFrame({"a": [1, 2], "s": ["x", None]}),
        pd.DataFrame({"a": [1, 2], "s": ["x", 3]}),
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "s": ["x", "y"]}),
        pl.DataFrame({"a": [1, None], "s": ["x", "y"]}),
    ],
    ids=range(8),
)
@pytest.mark.parametrize("program", [DECLARED, UNDECLARED], ids=["declared", "undeclared"])
def test_bad_rows_of_a_frame_are_set_aside_one_by_one(program: str, table: Any) -> None:
    assert "r, row 2: " in refused(program, table)
    db = hw.Database(hw.compile(program))
    changes = db.apply(insert={"r": table}, strict=False)
    assert db.rows("v") == {(1, "x")}
    assert [one.position for one in changes.rejected] == [1]


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"a": [1]}),
        pa.table({"a": [1], "s": ["x"], "z": [2]}),
        pa.Table.from_arrays([pa.array([1]), pa.array(["x"])], names=["a", "a"]),
        pa.table({"s": [1], "other": ["x"]}),
        pd.DataFrame(),
    ],
    ids=["too few", "too many", "twice", "in another place", "none"],
)
def test_other_columns_are_an_error_even_if_bad_rows_are_set_aside(table: Any) -> None:
    db = hw.Database(hw.compile(DECLARED))
    with pytest.raises(DataError, match=r"`r\(a, s\)`"):
        db.apply(insert={"r": table}, strict=False)


def test_columns_with_foreign_names_go_by_position() -> None:
    assert loaded(DECLARED, pa.table({"left": [1, 2], "right": ["x", "y"]})).rows("v") == ROWS


def test_an_undeclared_relation_takes_its_column_names_from_the_first_data() -> None:
    db = loaded("v(X, Y) :- edge(X, Y).", pd.DataFrame({"src": ["a"], "dst": ["b"]}), "edge")
    assert db.table("edge").column_names == ["src", "dst"]
    db.apply(insert={"edge": pd.DataFrame({"dst": ["c"], "src": ["b"]})})
    db.apply(insert={"edge": [{"dst": "d", "src": "c"}]})
    db.apply(insert={"edge": [("d", "e")]})
    assert db.rows("v") == {("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")}
    with pytest.raises(DataError, match="no value for src"):
        db.apply(insert={"edge": [{"dst": "d", "source": "c"}]})


def test_dicts_teach_an_undeclared_relation_its_columns() -> None:
    db = loaded("v(X, Y) :- edge(X, Y).", [{"src": "a", "dst": "b"}, {"dst": "c", "src": "b"}], "edge")
    assert db.rows("v") == {("a", "b"), ("b", "c")}
    assert db.table("edge").column_names == ["src", "dst"]


def test_strings_of_every_kind_come_back_as_they_were() -> None:
    texts = ["", " ", "a\0b", "\n", "é", "é", "名", "🙂", "'", '"', "\\", "x" * 200_000]
    db = loaded("relation r(a: string). v(A) :- r(A).", [(text,) for text in texts])
    assert db.rows("v") == {(text,) for text in texts}
    assert set(db.table("v")["a"].to_pylist()) == set(texts)


def test_a_long_value_is_cut_in_messages() -> None:
    assert len(refused(DECLARED, [(1, 2), ("x" * 100_000, "y")])) < 2_000


def test_strings_of_numpy_are_the_strings_they_hold() -> None:
    db = loaded("relation r(a: string, b: string). v(A) :- r(A, A).", [(np.str_("x"), "x")])
    assert db.rows("v") == {("x",)}


def test_ints_reach_to_the_ends_of_64_bits() -> None:
    ends = {(-(2**63),), (2**63 - 1,), (0,), (-1,)}
    db = loaded("relation r(a: int). v(A) :- r(A).", list(ends))
    assert db.rows("v") == ends
    db.apply(delete={"r": [(-(2**63),)]})
    assert db.rows("v") == ends - {(-(2**63),)}


def test_floats_that_are_not_numbers_or_not_finite_are_values() -> None:
    db = loaded("relation r(a: float). v(A) :- r(A).", [(float("nan"),), (-float("nan"),), (float("inf"),), (-0.0,)])
    assert db.count("v") == 3
    assert str(sorted(map(str, db.rows("v")))) == "['(0.0,)', '(inf,)', '(nan,)']"
    db.apply(delete={"r": [(float("nan"),), (0.0,)]})
    assert db.rows("v") == {(float("inf"),)}


@pytest.mark.parametrize("bad", [2**53 + 1, 2**64 - 1, 10**400])
def test_an_int_fits_a_float_column_only_if_it_stays_what_it_is(bad: int) -> None:
    program = "relation r(a: float). v(A) :- r(A)."
    assert loaded(program, [(3,), (2**60,), (np.float32(0.5),)]).rows("v") == {(3.0,), (2.0**60,), (0.5,)}
    assert "has more digits than a float holds" in refused(program, [(bad,)])
    if bad < 2**64:
        kind = pa.uint64() if bad >= 2**63 else pa.int64()
        assert "has more digits than a float holds" in refused(program, pa.table({"a": pa.array([bad], kind)}))


LATER = dt.timezone(dt.timedelta(hours=2))
NOON = dt.datetime(2024, 1, 1, 12)


@pytest.mark.parametrize(
    "moment",
    [
        NOON,
        NOON.replace(tzinfo=dt.UTC),
        dt.datetime(2024, 1, 1, 14, tzinfo=LATER),
        "2024-01-01T12:00:00",
        "2024-01-01 14:00:00+02:00",
        pd.Timestamp("2024-01-01 12:00"),
        pd.Timestamp("2024-01-01 14:00", tz=LATER),
        np.datetime64("2024-01-01T12:00:00"),
        1_704_110_400_000_000,
    ],
    ids=repr,
)
def test_moments_in_every_spelling(moment: Any) -> None:
    db = loaded("relation r(a: timestamp). v(A) :- r(A).", [(moment,)])
    assert db.rows("v") == {(NOON,)}
    assert db.why("v", (moment,)).facts == [("r", (NOON,))]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
def test_moments_of_arrow(unit: str, zone: str | None) -> None:
    column = pa.array([NOON.replace(tzinfo=dt.UTC)], pa.timestamp(unit, zone))
    assert loaded("relation r(a: timestamp). v(A) :- r(A).", pa.table({"a": column})).rows("v") == {(NOON,)}


@pytest.mark.parametrize(
    "bad",
    ["soon", pd.NaT, np.datetime64("NaT"), 2**62, dt.datetime(1, 1, 1, tzinfo=LATER), 1.5, True],
    ids=repr,
)
def test_what_is_no_moment(bad: Any) -> None:
    assert "r, row 1: column `a`: " in refused("relation r(a: timestamp). v(A) :- r(A).", [(bad,)])


@pytest.mark.parametrize("seconds", [2**60, 600_000_000_000, -600_000_000_000])
def test_moments_that_python_has_no_value_for_are_set_aside(seconds: int) -> None:
    column = pa.array([seconds, 0], pa.timestamp("s"))
    db = hw.Database(hw.compile("relation r(a: timestamp). v(A) :- r(A)."))
    changes = db.apply(insert={"r": pa.table({"a": column})}, strict=False)
    assert db.rows("v") == {(dt.datetime(1970, 1, 1),)}
    assert [one.position for one in changes.rejected] == [0]


def test_a_table_of_no_moments() -> None:
    column = pa.array([], pa.timestamp("s"))
    assert loaded("relation r(a: timestamp). v(A) :- r(A).", pa.table({"a": column})).rows("v") == set()


@pytest.mark.parametrize(
    "span", [dt.timedelta(seconds=90), pd.Timedelta(seconds=90), np.timedelta64(90, "s"), 90_000_000], ids=repr
)
def test_spans_in_every_spelling(span: Any) -> None:
    assert loaded("relation r(a: duration). v(A) :- r(A).", [(span,)]).rows("v") == {(dt.timedelta(seconds=90),)}


def test_spans_that_do_not_fit() -> None:
    assert "64 bits" in refused("relation r(a: duration). v(A) :- r(A).", [(dt.timedelta.max,)])


LISTS = "relation r(p: list). v(P, N) :- r(P), N = length(P)."


def test_lists_of_every_kind_come_back_as_tuples() -> None:
    given = [[], ["a", "b"], ("c",), [1, [2, ["x"]]], np.array([3, 4]), [np.int64(5), np.str_("y"), True, 0.5]]
    rows = loaded(LISTS, [(one,) for one in given]).rows("v")
    expected = [(), ("a", "b"), ("c",), (1, (2, ("x",))), (3, 4), (5, "y", True, 0.5)]
    assert rows == {(one, len(one)) for one in expected}


def test_lists_of_arrow() -> None:
    for kind in (pa.list_(pa.int32()), pa.large_list(pa.int64()), pa.list_(pa.int8(), 2)):
        table = pa.table({"p": pa.array([[1, 2]], kind)})
        assert loaded(LISTS, table).rows("v") == {((1, 2), 2)}
        assert loaded("v(P, N) :- r(P), N = length(P).", table).rows("v") == {((1, 2), 2)}


@pytest.mark.parametrize("bad", [[None], [2**70], ["\ud800"], [b"x"], [dt.date(2024, 1, 1), 1.5], [{}], {1}], ids=repr)
def test_what_a_list_may_not_hold(bad: Any) -> None:
    assert "r, row 1: column `p`: " in refused(LISTS, [(bad,)])


def test_relations_without_columns() -> None:
    db = hw.Database(hw.compile("relation go(). relation a(x: int). v(X) :- a(X), go(). on() :- go()."))
    db.apply(insert={"go": [()], "a": [(1,)]})
    assert (db.rows("v"), db.rows("on"), db.table("on").num_rows) == ({(1,)}, {()}, 1)
    changes = db.apply(delete={"go": [{}]})
    assert (db.rows("v"), db.rows("on"), changes["on"].deleted.num_rows) == (set(), set(), 1)


def test_names_beyond_ascii() -> None:
    db = loaded("relation größe(länge: int). v(X) :- größe(X).", [{"länge": 3}], "größe")
    assert db.rows("v") == {(3,)}


def test_a_generator_that_fails_changes_nothing() -> None:
    def failing() -> Any:
        yield (1, "x")
        raise OSError("the line is dead")

    db = loaded(DECLARED, [(7, "z")])
    with pytest.raises(OSError, match="the line is dead"):
        db.apply(insert={"r": failing()}, delete={"r": [(7, "z")]})
    assert db.rows("v") == {(7, "z")}


@pytest.mark.parametrize("bad", [{"a": 3}, {"a": 3, "s": "z", "t": 1}, "no row", (3,), (3, "z", 1)], ids=repr)
def test_rows_behind_one_that_does_not_fit_are_read(bad: Any) -> None:
    db = hw.Database(hw.compile(DECLARED))
    changes = db.apply(insert={"r": [(1, "x"), bad, (2, "y")]}, strict=False)
    assert db.rows("v") == ROWS
    assert [one.position for one in changes.rejected] == [1]


@pytest.mark.parametrize("bad", [5, b"x", 1.5, True, dt.date(2024, 1, 1)], ids=repr)
def test_what_is_no_text(bad: Any) -> None:
    assert "r, row 2: column `s`: " in refused("relation r(s: string). v(S) :- r(S).", [(bad,), (bad,)])
