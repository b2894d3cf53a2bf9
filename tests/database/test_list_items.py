"""What leaves a list is of its type in every position: joins, negation, unions, aggregates, arithmetic, questions."""

from __future__ import annotations

import datetime as dt
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.functions.registry import unregister
from headwater.core.types import Type, list_named, list_of
from headwater.exchange.cluster import Cluster
from headwater.exchange.sharding import choose

PATHS = """
relation link(a: int, b: int).
relation name(a: int, n: string).
path(X, Y, [X, Y]) :- link(X, Y).
hop(X, nth(P, 1)) :- path(X, Y, P).
named(X, N) :- hop(X, H), name(H, N).
missed(X, H) :- link(X, H), !hop(X, H).
"""


def opened(text: str, provenance: str = "witness", **rows: Any) -> hw.Database:
    database = hw.Database(hw.compile(text), provenance=provenance)
    database.apply(insert=rows)
    return database


@pytest.mark.parametrize("kind", ["list", "list<int>", "list<any>"])
def test_a_number_out_of_a_pattern_is_stored_as_itself(kind: str) -> None:
    database = opened(f"relation a(l: {kind}). relation r(x: int). r(V) :- a([V, _]).", a=[([7, 8],), ([70, 70],)])
    assert database.rows("r") == {(7,), (70,)}
    assert database.table("r").schema.types == [pa.int64()]
    assert database.why("r", (7,)).facts == [("a", ((7, 8),))]
    with pytest.raises(hw.DataError, match="not there"):
        database.why("r", (3,))
    database.apply(delete={"a": [([7, 8],)]})
    assert database.rows("r") == {(70,)}


@pytest.mark.parametrize("taken", ["nth(P, 1)", "last(P)", "item(P, 2)", "first(rest(P))", "first(reverse(P))"])
def test_items_join_and_are_negated_as_numbers(taken: str) -> None:
    text = PATHS.replace("nth(P, 1)", taken)
    database = opened(text, link=[(1, 2), (2, 3)], name=[(2, "b"), (3, "c")])
    assert database.rows("named") == {(1, "b"), (2, "c")}
    assert database.rows("missed") == set()
    assert "not" not in str(database.why("named", (1, "b"))).lower()


def test_a_union_with_numbers_shows_numbers() -> None:
    database = opened("q(V) :- l([V]). q(V) :- m(V).", l=[([5],), ([600],)], m=[(5,), (9,)])
    assert database.rows("q") == {(5,), (600,), (9,)}
    assert database.table("q").schema.types == [pa.int64()]


def test_sums_and_averages_of_items() -> None:
    text = "s(sum<V>) :- l([V]). a(avg<V>) :- l([V]). m(max<V>, count<V>) :- l([V])."
    database = opened(text, l=[([5],), ([6],)])
    assert (database.rows("s"), database.rows("a"), database.rows("m")) == ({(11,)}, {(5.5,)}, {(6, 2)})


def test_booleans_and_floats_leave_a_list_as_themselves() -> None:
    text = "t(X) :- l(X, [V | _]), V = true. f(X, V) :- g(X, L), V = last(L), V > 0.5. u(V) :- l(_, [V]), b(V)."
    database = opened(text, l=[(1, [True, False]), (2, [False]), (3, [True])], g=[(1, [0.25, 0.75])], b=[(True,)])
    assert database.rows("t") == {(1,), (3,)}
    assert database.rows("f") == {(1, 0.75)}
    assert database.rows("u") == {(True,)}


def test_a_pair_keeps_the_type_of_each_of_its_halves() -> None:
    text = """
    best(I, min<P>) :- offer(I, S, C), encd(C, S, P).
    from(I, S, C) :- best(I, P), decd(P, C, S).
    total(sum<C>) :- from(I, S, C).
    """
    database = opened(text, offer=[("x", "far", 5), ("x", "near", 3), ("y", "far", 4)])
    assert database.rows("from") == {("x", "near", 3), ("y", "far", 4)}
    assert database.table("from").schema.types == [pa.string(), pa.string(), pa.int64()]
    assert database.rows("total") == {(7,)}


def test_lists_of_lists() -> None:
    text = "r(V) :- a([[V | _] | _]). s(sum<V>) :- a(L), M = last(L), V = nth(M, 0), known(V)."
    database = opened(text, a=[([[1, 2], [3]],), ([[4]],)], known=[(3,), (4,), (5,)])
    assert database.rows("r") == {(1,), (4,)}
    assert database.rows("s") == {(7,)}


MIXED = """
relation l(items: list<any>).
relation m(v: int).
relation words(w: string).
q(V) :- l([V | _]).
both(V) :- q(V), m(V).
word(V) :- q(V), words(V).
only_m(V) :- m(V), !q(V).
only_q(V) :- q(V), !m(V).
either(V) :- q(V).
either(V) :- m(V).
more(V + 1) :- q(V).
above(V) :- q(V), V > 1.
one(V) :- q(V), V = 1.
ints(as_int(V)) :- q(V).
truths(V) :- q(V), has_type(V, "bool").
"""
ROWS = [([1, "a"],), ([1.0],), ([True],), (["x"],), ([2, 3],), ([[1]],)]


def kinds(rows: set[tuple[Any, ...]]) -> set[str]:
    return {repr(row) for row in rows}


@pytest.mark.parametrize("provenance", ["witness", "absorption", "none"])
def test_mixed_items_meet_typed_columns_as_their_values(provenance: str) -> None:
    database = opened(MIXED, provenance, l=ROWS, m=[(1,), (5,)], words=[("x",), ("y",)])
    assert kinds(database.rows("q")) == {"(1,)", "(1.0,)", "(True,)", "('x',)", "(2,)", "((1,),)"}
    assert kinds(database.rows("both")) == {"(1,)"}
    assert kinds(database.rows("word")) == {"('x',)"}
    assert kinds(database.rows("only_m")) == {"(5,)"}
    assert kinds(database.rows("only_q")) == {"(1.0,)", "(True,)", "('x',)", "(2,)", "((1,),)"}
    assert kinds(database.rows("either")) == {*kinds(database.rows("q")), "(5,)"}
    assert kinds(database.rows("more")) == {"(2,)", "(2.0,)", "(3,)"}
    assert kinds(database.rows("above")) == {"(2,)"}
    assert kinds(database.rows("one")) == {"(1,)"}
    assert kinds(database.rows("ints")) == {"(1,)", "(2,)"}
    assert kinds(database.rows("truths")) == {"(True,)"}
    database.apply(insert={"m": [(2,)], "l": [([5],)]}, delete={"l": [([1, "a"],)]})
    assert kinds(database.rows("both")) == {"(2,)", "(5,)"}
    assert kinds(database.rows("only_m")) == {"(1,)"}
    assert kinds(database.rows("only_q")) == {"(1.0,)", "(True,)", "('x',)", "((1,),)"}
    if provenance != "none":
        assert database.why("both", (5,)).facts == [("l", ((5,),)), ("m", (5,))]


@pytest.mark.parametrize("shards", [2, 3])
def test_mixed_items_on_shards(shards: int) -> None:
    program = hw.compile(MIXED)
    alone = opened(MIXED, l=ROWS, m=[(1,), (5,)], words=[("x",), ("y",)])
    cluster = Cluster(choose(program, {}, shards), shards)
    lists = [pa.array([row[0]]) for row in ROWS if row[0] != [1, "a"]]
    cluster.apply({"m": pa.table({"v": [1, 5]}), "words": pa.table({"w": ["x", "y"]})}, {})
    for one in (pa.array([[1]]), *lists):
        cluster.apply({"l": pa.table({"items": one})}, {})
    for view in program.outputs:
        assert cluster.rows(view).schema == alone.table(view).schema
        assert sorted(cluster.rows(view).to_pylist(), key=repr) == sorted(alone.table(view).to_pylist(), key=repr)


@pytest.mark.parametrize("shards", [1, 2, 3, 5])
def test_list_columns_of_shards_without_rows(shards: int) -> None:
    program = hw.compile("relation link(a: int, b: int). path(X, [X, Y]) :- link(X, Y). pair(X, [X, s]) :- link(X, _).")
    cluster = Cluster(choose(program, {}, shards), shards)
    cluster.apply({"link": pa.table({"a": [1], "b": [2]})}, {})
    assert cluster.rows("path").to_pylist() == [{"x": 1, "c1": [1, 2]}]
    assert cluster.rows("pair").to_pylist() == [{"x": 1, "c1": ["1", "s"]}]


def test_a_mixed_item_that_does_not_fit_is_refused() -> None:
    database = opened("relation l(l: list<any>). relation m(v: int). m(V) :- l([V]).", l=[([1],)])
    with pytest.raises(hw.EvaluationError) as refused:
        database.apply(insert={"l": [([2],), (["a"],)]})
    message = str(refused.value)
    assert message.startswith("error[HW810]: 'a' does not fit column `v` of `m` (type int)")
    assert "m('a')" in message
    assert "has_type" in message
    assert "rule: m(V) :- l(" in message
    assert (database.rows("m"), database.rows("l")) == ({(1,)}, {((1,),)})


def test_an_int_out_of_a_mixed_list_is_a_float_in_a_column_of_floats() -> None:
    text = "relation l(l: list<any>). relation m(v: float). m(V) :- l([V, _])."
    database = opened(text, l=[([1, "a"],), ([2.5, "b"],)])
    assert kinds(database.rows("m")) == {"(1.0,)", "(2.5,)"}
    database.apply(delete={"l": [([1, "a"],)]})
    assert kinds(database.rows("m")) == {"(2.5,)"}


def test_what_is_known_not_to_fit_is_refused_before_any_data() -> None:
    with pytest.raises(hw.ProgramError, match="HW407"):
        hw.compile("relation l(l: list<string>). relation r(x: int). r(V) :- l([V]).")
    with pytest.raises(hw.ProgramError, match="HW402"):
        hw.compile("relation l(l: list<string>). relation m(l: list<int>). r(L) :- l(L), m(L).")
    with pytest.raises(hw.ProgramError, match=r"HW406.*\n(.*\n)*.*to_float"):
        hw.compile("relation l(l: list<any>). s(sum<V>) :- l([V]).")


def test_rows_keeps_lists_apart_that_python_takes_for_equal() -> None:
    database = opened("relation l(l: list<any>). r(L) :- l(L).", l=[([1],), ([1.0],), ([True],)])
    for name in ("l", "r"):
        assert kinds(database.rows(name)) == {"((1,),)", "((1.0,),)", "((True,),)"}
        assert ((True,),) in database.rows(name)
        assert ((2,),) not in database.rows(name)
        assert sorted(database.table(name).column(0).to_pylist()) == [["1"], ["1.0"], ["true"]]
    database.apply(delete={"l": [([1.0],)]})
    assert kinds(database.rows("r")) == {"((1,),)", "((True,),)"}


def test_the_first_data_tell_what_a_bare_list_holds() -> None:
    database = hw.Database(hw.compile("relation l(l: list). r(V) :- l([V | _])."))
    database.apply(insert={"l": [([],)]})
    database.apply(insert={"l": [([1],), ([],)]})
    assert database.rows("r") == {(1,)}
    assert database.table("r").schema.types == [pa.int64()]
    changes = database.apply(insert={"l": [(["a"],), ([2],)]}, strict=False)
    assert [one.reason for one in changes.rejected] == [
        "column `l`: ['a'] is not a valid list<int>: 'a' is not a valid int"
    ]
    assert database.rows("r") == {(1,), (2,)}


def test_lists_of_several_types_in_the_first_data_are_mixed() -> None:
    database = opened("r(V) :- l([V | _]).", l=[([1, "a"],), (["b"],)])
    assert kinds(database.rows("r")) == {"(1,)", "('b',)"}
    assert database.apply(insert={"l": [([2.5],)]}).rejected == ()


def test_ints_among_the_floats_of_a_list_are_floats() -> None:
    database = opened("r(V) :- l([V | _]). j(V) :- r(V), m(V).", l=[([1, 2.5],), ([3.5],)], m=[(1.0,), (2.0,)])
    assert kinds(database.rows("r")) == {"(1.0,)", "(3.5,)"}
    assert kinds(database.rows("l")) == {"((1.0, 2.5),)", "((3.5,),)"}
    assert kinds(database.rows("j")) == {"(1.0,)"}
    assert database.why("j", (1.0,)).facts == [("l", ((1.0, 2.5),)), ("m", (1.0,))]


def test_moments_stand_in_lists() -> None:
    early, late = dt.datetime(2026, 1, 31), dt.datetime(2026, 2, 1)
    database = opened(
        "last_seen(X, T) :- seen(X, L), T = last(L). same(X) :- last_seen(X, T), at(T).",
        seen=[("a", [early, late]), ("b", [early])],
        at=[(late,)],
    )
    assert database.rows("last_seen") == {("a", late), ("b", early)}
    assert database.rows("same") == {("a",)}
    assert database.rows("seen") == {("a", (early, late)), ("b", (early,))}
    assert database.table("seen").schema.types == [pa.string(), pa.list_(pa.timestamp("us"))]
    assert database.why("same", ("a",)).facts == [("seen", ("a", (early, late))), ("at", (late,))]


def test_a_saved_database_knows_what_its_lists_hold(tmp_path: Path) -> None:
    database = opened("q(V) :- l([V]). m(V) :- x([V | _]).", l=[([5],)], x=[([1, "a"],), ([True],)])
    database.save(tmp_path / "saved")
    again = hw.Database.open(tmp_path / "saved")
    assert (again.rows("q"), kinds(again.rows("m"))) == ({(5,)}, {"(1,)", "(True,)"})
    again.apply(insert={"l": [([6],)]})
    assert again.rows("q") == {(5,), (6,)}


def test_user_functions_take_and_give_lists_of_their_type() -> None:
    @hw.register("halves", ("list<int>",), "list<float>")  # type: ignore[untyped-decorator,unused-ignore]
    def halves(lists: pa.Array) -> pa.Array:
        assert lists.type == pa.list_(pa.int64())
        return pa.array([[item / 2 for item in one] for one in lists.to_pylist()])

    try:
        database = opened("r(V) :- l(L), H = halves(L), V = first(H). s(sum<V>) :- r(V).", l=[([3],), ([4, 1],)])
        assert database.rows("s") == {(3.5,)}
    finally:
        unregister("halves")


def test_queries_sort_lists_and_mixed_values() -> None:
    database = hw.Database(hw.compile("SELECT l FROM t ORDER BY l DESC LIMIT 2", tables={"t": {"l": "list<int>"}}))
    database.apply(insert={"t": [([1, 2],), ([3],), ([2, 9],)]})
    view = database.program.outputs[0]
    assert database.rows(view) == {((3,),), ((2, 9),)}
    assert database.table(view).column(0).to_pylist() == [[3], [2, 9]]


@pytest.mark.parametrize("text", ["int", "list", "list<int>", "list<list<any>>", "list<int, list<string, bool>>"])
def test_types_are_one_object_by_name(text: str) -> None:
    kind = Type(text)
    assert kind.value == text
    assert Type(text.replace(" ", "")) is kind
    assert pickle.loads(pickle.dumps(kind)) is kind


@pytest.mark.parametrize("text", ["lists", "list<>", "list<int", "list<int>>", "int<string>", "", 7, "list<" * 10_000])
def test_what_is_no_type(text: Any) -> None:
    with pytest.raises(ValueError, match="no type"):
        Type(text)


def test_lists_nested_without_end_are_mixed_at_some_depth() -> None:
    kind: Type = Type.INT
    for _ in range(20):
        kind = list_of(kind)
    assert kind.value in ("list<any>", "list<list<any>>", "list<list<list<any>>>", "list<list<list<list<any>>>>")
    assert list_named([Type.INT, Type.STRING]).value == "list<int, string>"


def test_a_number_that_is_added_up_stands_beside_no_mixed_values() -> None:
    rules = "relation l(l: list<any>). n(X, sum<V>) :- m(X, V). n(X, V) :- l([X, V])."
    with pytest.raises(hw.ProgramError, match=r"HW406.*`sum` gives a number"):
        hw.compile("relation m(x: int, v: int). " + rules)


def test_the_best_of_mixed_values_beside_others() -> None:
    text = """
    relation l(l: list<any>). relation m(x: int, v: int).
    n(X, min<V>, count<V>) :- m(X, V).
    n(X, min<V>, count<V>) :- l([X, V]), has_type(X, "int").
    """
    database = opened(text, l=[([1, 2],), ([1, "a"],), ([2, "b"],)], m=[(1, 1), (3, 5)])
    assert kinds(database.rows("n")) == {"(1, 1, 3)", "(2, 'b', 1)", "(3, 5, 1)"}
