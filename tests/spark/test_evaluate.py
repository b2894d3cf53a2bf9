"""`evaluate`: a program's views over DataFrames, with their types, for any number of shards."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.functions import udf

import headwater as hw
from headwater import spark as hws

CLOSURE = "reach(X, Y) :- link(X, Y). reach(X, Z) :- link(X, Y), reach(Y, Z)."
LINKS = [(1, 2), (2, 3), (3, 4), (4, 2), (5, 1)]


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def closure() -> list[tuple[int, int]]:
    reached = set(LINKS)
    while more := {(x, z) for x, y in LINKS for w, z in reached if y == w} - reached:
        reached |= more
    return sorted(reached)


@pytest.mark.parametrize("shards", [None, 1, 2, 3, 8])
def test_the_same_view_for_any_number_of_shards(spark: Any, shards: int | None) -> None:
    links = spark.createDataFrame(LINKS, "a int, b int").repartition(3)
    views = hws.evaluate(hw.compile(CLOSURE), {"link": links}, shards=shards)
    assert rows(views["reach"]) == closure()


@pytest.mark.parametrize("shards", [2, 3])
def test_shards_exchange_rows_in_shuffles(spark: Any, shards: int) -> None:
    program = hw.compile(
        "relation link(x: int, y: int). low(X, min<X>) :- link(X, _). low(Y, min<Y>) :- link(_, Y)."
        "low(Y, min<L>) :- link(X, Y), low(X, L). low(X, min<L>) :- link(X, Y), low(Y, L)."
    )
    chain = [(at, at + 1) for at in range(30)] + [(50, 51)]
    links = spark.createDataFrame(chain, "x int, y int")
    views = hws.evaluate(program, {"link": links}, shards=shards, exchange="shuffle")
    assert rows(views["low"]) == sorted([(at, 0) for at in range(31)] + [(50, 50), (51, 50)])


def test_types_are_kept(spark: Any) -> None:
    program = hw.compile(
        "all(S, I, F, B, T, Y, D, L) :- base(S, I, F, B, T, Y, D, L)."
        "lists(P, Q, M) :- base(S, I, F, B, T, Y, D, L), P = [S, S], Q = f_append(L, I), M = [S, I]."
    )
    moment, span = dt.datetime(2026, 1, 31, 12, 0, 0, 7), dt.timedelta(days=1, microseconds=5)
    row = ("ü", 7, 0.5, True, moment, dt.date(2026, 1, 31), span, [1, 2])
    schema = "s string, i smallint, f float, b boolean, t timestamp, y date, d interval day to second, l array<int>"
    views = hws.evaluate(program, {"base": spark.createDataFrame([row], schema)})
    assert views["all"].schema.simpleString() == (
        "struct<s:string,i:bigint,f:double,b:boolean,t:timestamp,y:date,d:interval day to second,l:array<bigint>>"
    )
    assert rows(views["all"]) == [row]
    assert views["lists"].schema.simpleString() == "struct<p:array<string>,q:array<bigint>,m:array<string>>"
    assert rows(views["lists"]) == [(["ü", "ü"], [1, 2, 7], ["ü", "7"])]


def test_items_of_arrays_are_of_their_type(spark: Any) -> None:
    program = hw.compile(
        "relation link(a: int, b: int). relation name(a: int, n: string). relation seen(path: list, ok: list<bool>)."
        "path(X, [X, Y]) :- link(X, Y). hop(X, nth(P, 1)) :- path(X, P)."
        "named(X, N) :- hop(X, H), name(H, N). missed(X, H) :- link(X, H), !hop(X, H)."
        "met(V, O) :- seen([V | _], [O | _]), name(V, _). total(sum<V>, avg<V>) :- seen([V | _], _)."
        "pair(X, min<P>) :- link(X, Y), name(Y, N), encd(N, Y, P). nearest(X, Y, N) :- pair(X, P), decd(P, N, Y)."
    )
    frames = {
        "link": spark.createDataFrame([(1, 2), (1, 3), (2, 3)], "a int, b int"),
        "name": spark.createDataFrame([(2, "b"), (3, "a")], "a int, n string"),
        "seen": spark.createDataFrame([([2, 70], [True]), ([9], [False])], "path array<int>, ok array<boolean>"),
    }
    views = hws.evaluate(program, frames, shards=2)
    assert views["path"].schema.simpleString() == "struct<x:bigint,p:array<bigint>>"
    assert views["nearest"].schema.simpleString() == "struct<x:bigint,y:bigint,n:string>"
    assert rows(views["named"]) == [(1, "a"), (1, "b"), (2, "a")]
    assert rows(views["missed"]) == []
    assert rows(views["met"]) == [(2, True)]
    assert rows(views["total"]) == [(11, 5.5)]
    assert rows(views["nearest"]) == [(1, 3, "a"), (2, 3, "a")]


def test_timestamps_without_zone_stay_without(spark: Any) -> None:
    program = hw.compile("later(T) :- at(T).")
    moment = dt.datetime(2026, 1, 31, 12)
    views = hws.evaluate(program, {"at": spark.createDataFrame([(moment,)], "t timestamp_ntz")})
    assert views["later"].schema.simpleString() == "struct<t:timestamp_ntz>"
    assert rows(views["later"]) == [(moment,)]


def test_views_go_on_in_spark(spark: Any) -> None:
    links = spark.createDataFrame(LINKS, "a int, b int")
    reach = hws.evaluate(hw.compile(CLOSURE), {"link": links}, shards=1)["reach"]
    assert reach.where("x = 5").join(links, reach.y == links.a).count() == 4
    assert len(reach.take(2)) == 2
    together = hws.evaluate(hw.compile(CLOSURE), {"link": links}, shards=3)["reach"].coalesce(1)
    assert rows(together) == closure()
    assert reach.groupBy("x").count().where("x = 1").collect()[0]["count"] == 3


def test_a_query_gives_what_it_asks_for(spark: Any) -> None:
    program = hw.compile(CLOSURE + " query reach(5, Y).")
    views = hws.evaluate(program, {"link": spark.createDataFrame(LINKS, "a int, b int")}, shards=2)
    assert rows(views["reach"]) == [(5, 1), (5, 2), (5, 3), (5, 4)]


def test_facts_and_empty_inputs(spark: Any) -> None:
    program = hw.compile("link(1, 2). link(2, 3). " + CLOSURE + " any() :- reach(1, 3).")
    views = hws.evaluate(program, {}, shards=2)
    assert rows(views["reach"]) == [(1, 2), (1, 3), (2, 3)]
    assert views["any"].count() == 1
    views = hws.evaluate(hw.compile(CLOSURE), {"link": spark.createDataFrame([], "a int, b int")})
    assert rows(views["reach"]) == []


@pytest.mark.parametrize("shards", [1, 2])
def test_a_relation_without_columns(spark: Any, shards: int) -> None:
    program = hw.compile("relation open(). relation shop(x: int). buy(X) :- shop(X), open().")
    shops = spark.createDataFrame([(1,), (2,)], "x int")
    some = shops.select().limit(1)
    assert rows(hws.evaluate(program, {"open": some, "shop": shops}, shards=shards)["buy"]) == [(1,), (2,)]
    none = shops.select().limit(0)
    assert rows(hws.evaluate(program, {"open": none, "shop": shops}, shards=shards)["buy"]) == []


def test_columns_by_name_and_position(spark: Any) -> None:
    program = hw.compile("relation link(src: string, dst: string). reach(X, Y) :- link(X, Y).")
    by_name = spark.createDataFrame([(9, "b", "a")], "weight int, dst string, SRC string")
    assert rows(hws.evaluate(program, {"link": by_name})["reach"]) == [("a", "b")]
    by_place = spark.createDataFrame([("a", "b")], "here string, there string")
    assert rows(hws.evaluate(program, {"link": by_place})["reach"]) == [("a", "b")]


def test_columns_by_position_may_be_called_anything(spark: Any) -> None:
    for names in ("src, src", "`a.b`, `x``y`", "y, z", "_insert, _order"):
        first, second = names.split(", ")
        given = spark.sql(f"select true as {first}, false as {second}")
        assert rows(hws.evaluate(hw.compile(CLOSURE), {"link": given}, shards=1)["reach"]) == [(True, False)], names


def test_the_users_functions_reach_the_workers(spark: Any) -> None:
    import pyarrow.compute as pc

    @hw.register("shout", ("string",), "string")
    def shout(words: pa.Array) -> pa.Array:
        return pc.utf8_upper(words)

    program = hw.compile("relation word(w: string). loud(L) :- word(W), L = shout(W).")
    assert rows(hws.evaluate(program, {"word": spark.createDataFrame([("ah",)], "w string")})["loud"]) == [("AH",)]


@pytest.mark.parametrize(
    ("schema", "values", "message"),
    [
        ("a int, b int, c int", (1, 2, 3), "3 columns"),
        ("a int, b map<string,int>", (1, {}), "explode it into rows"),
        ("a int, b decimal(9,2)", (1, None), "cast it to double"),
        ("a int, b int, _change_type string", (1, 2, "insert"), "evaluate takes rows that are there"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_at_once(spark: Any, schema: str, values: Any, message: str) -> None:
    with pytest.raises(hw.DataError, match=message):
        hws.evaluate(hw.compile(CLOSURE), {"link": spark.createDataFrame([values], schema)})


def test_every_base_relation_is_given_or_optional(spark: Any) -> None:
    links = spark.createDataFrame(LINKS, "src int, dst int")
    nodes = spark.createDataFrame([(1,), (5,)], "id int")
    joined = "reach(X, Y) :- link(X, Y), node(X), !closed(X)."
    with pytest.raises(hw.DataError, match=r"HW806.*`node`(.|\n)*HW806.*`closed`"):
        hws.evaluate(joined, {"link": links})
    given = {"link": links, "node": nodes}
    assert rows(hws.evaluate(joined, given, optional=["closed"])["reach"]) == [(1, 2), (5, 1)]
    assert rows(hws.evaluate(f"relation closed(x: int) optional. {joined}", given)["reach"]) == [(1, 2), (5, 1)]
    empty = spark.createDataFrame([], "id int")
    assert rows(hws.evaluate(joined, {**given, "closed": empty})["reach"]) == [(1, 2), (5, 1)]
    with pytest.raises(hw.UnknownRelation, match=r"HW807.*`nodes`; did you mean `node`\?"):
        hws.evaluate(joined, {**given, "closed": empty, "nodes": nodes})
    with pytest.raises(hw.DataError, match=r"HW806.*`lnk`.*did you mean `link`, which is given\?(.|\n)*HW807.*`link`"):
        hws.evaluate("SELECT src FROM lnk", {"link": links})
    with pytest.raises(hw.UnknownRelation, match=r"HW807.*`node`"):
        hws.evaluate("SELECT src FROM link", given)


def test_unknown_and_derived_relations(spark: Any) -> None:
    links = spark.createDataFrame(LINKS, "a int, b int")
    with pytest.raises(hw.UnknownRelation, match="did you mean `link`"):
        hws.evaluate(hw.compile(CLOSURE), {"lnk": links})
    with pytest.raises(hw.DataError, match="derived"):
        hws.evaluate(hw.compile(CLOSURE), {"reach": links})
    with pytest.raises(hw.DataError, match=r"a list is given for `link`, where a DataFrame .* spark.createDataFrame"):
        hws.evaluate(hw.compile(CLOSURE), {"link": LINKS})
    with pytest.raises(
        hw.DataError, match="is a stream; evaluate takes rows that are there, and maintain takes streams"
    ):
        hws.evaluate(hw.compile(CLOSURE), {"link": spark.readStream.format("rate").load()})
    with pytest.raises(ValueError, match="no exchange 'pigeon'"):
        hws.evaluate(hw.compile(CLOSURE), {"link": links}, exchange="pigeon")


def test_a_null_is_refused_with_its_row(spark: Any) -> None:
    links = spark.createDataFrame([(1, None)], "a int, b int")
    with pytest.raises(hw.DataError, match=r"\Aerror\[HW801\]: 1 row\(s\) do not fit.*\n.*column `b`: a null does not"):
        hws.evaluate(hw.compile(CLOSURE), {"link": links}, shards=1)


def test_a_shard_without_memory_is_told_as_what_it_is(spark: Any) -> None:
    dice = random.Random(1)
    links = spark.createDataFrame([(dice.randrange(900), dice.randrange(900)) for _ in range(2700)], "a int, b int")
    with pytest.raises(hw.GuardError, match=r"\Aerror\[HW906\]: not enough memory on shard [01]: `reach`"):
        hws.evaluate(hw.compile(CLOSURE), {"link": links}, shards=2, guard=hw.Guard(memory=3_000_000))


def test_a_module_that_workers_lack_is_named(spark: Any) -> None:
    @udf("int")
    def lost(number: int) -> int:
        import numpy_of_another_machine  # noqa: F401

        return number

    links = spark.createDataFrame([(1, 2)], "a int, b int").select("a", lost("b").alias("b"))
    with pytest.raises(hw.HeadwaterError, match=r"\Aerror\[HW907\]: a Python worker of Spark cannot import") as told:
        hws.evaluate(hw.compile(CLOSURE), {"link": links}, shards=1)
    assert isinstance(told.value.__cause__, PySparkException)


def test_what_a_gang_refuses_is_told_at_once(spark: Any) -> None:
    """As what it is, and without trying again."""
    program = hw.compile("reach(X, Y) :- link(X, Y). reach(X, Z) :- reach(X, Y), reach(Y, Z).")
    links = spark.createDataFrame([(1, 2), (1, None)], "a int, b int")
    with pytest.raises(hw.DataError, match="column `b`: a null does not fit"):
        hws.evaluate(program, {"link": links}, shards=2, exchange="gang")


@pytest.mark.parametrize(("shards", "guard"), [(1, 1_000), (2, 5)])
def test_the_guard_stops_what_never_ends(spark: Any, shards: int, guard: int) -> None:
    program = hw.compile("relation start(n: int). up(N) :- start(N). up(M) :- up(N), M = N + 1.")
    numbers = spark.createDataFrame([(0,)], "n int")
    with pytest.raises(hw.GuardError, match=rf"HW901.*more than {guard:,} r"):
        hws.evaluate(program, {"start": numbers}, shards=shards, exchange="shuffle", guard=guard)["up"].collect()


@pytest.mark.parametrize("shards", [0, -1, 1_000_000, "2"])
def test_a_number_of_shards_that_cannot_be_is_refused(spark: Any, shards: Any) -> None:
    links = spark.createDataFrame([(1, 2)], "x int, y int")
    with pytest.raises(ValueError, match=r"shards is a number from 1 to 10,000"):
        hws.evaluate("r(X, Y) :- link(X, Y).", {"link": links}, shards=shards)
