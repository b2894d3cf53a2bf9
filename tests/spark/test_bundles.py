"""Rows on their way to the shards: what arrives is the net effect of what was sent, in its order."""

from __future__ import annotations

import pyarrow as pa

import headwater as hw
from headwater.core.types import Type
from headwater.exchange.sharding import choose
from headwater.spark.inputs.bundles import EVERYWHERE, Arrived, arrive, bundle
from headwater.spark.inputs.contract import Input

PROGRAM = hw.compile("relation link(x: int, y: int). reach(X, Y) :- link(X, Y).")
KINDS = (Type.INT, Type.INT)
PLAIN = Input("link", ("x", "y"), KINDS, (False, False), (0, 1))
CHANGES = Input("link", ("x", "y"), KINDS, (False, False), (0, 1), change=2)


def sent(*parts: tuple[Input, pa.Table]) -> Arrived:
    sharding = choose(PROGRAM, None, 1)
    batches = [
        bundled
        for task, (given, rows) in enumerate(parts)
        for bundled in bundle(rows.to_batches(), given, sharding, 1, task)
    ]
    return arrive(reversed(batches), sharding)


def test_rows_that_are_there_and_changes_of_one_relation_together() -> None:
    static = pa.table({"x": [1, 2], "y": [2, 3]})
    feed = pa.table({"x": [2, 5], "y": [3, 6], "c": ["delete", "insert"]})
    arrived = sent((PLAIN, static), (CHANGES, feed))
    assert arrived.inserts["link"].to_pylist() == [{"x": 1, "y": 2}, {"x": 5, "y": 6}]
    assert arrived.deletes["link"].to_pylist() == [{"x": 2, "y": 3}]
    assert arrived.rows == {"link": 4}


def test_the_last_word_on_a_row_counts() -> None:
    feed = pa.table({"x": [1, 1, 1], "y": [2, 2, 2], "c": ["insert", "delete", "insert"]})
    arrived = sent((CHANGES, feed))
    assert arrived.inserts["link"].num_rows == 1
    assert not arrived.deletes


def test_what_does_not_fit_is_set_aside_with_its_reason() -> None:
    feed = pa.table({"x": [1, None, 3], "y": [2, 2, 4], "c": ["insert", "insert", "perhaps"]})
    arrived = sent((CHANGES, feed))
    assert arrived.inserts["link"].to_pylist() == [{"x": 1, "y": 2}]
    assert [one.reason.split(":")[0] for one in arrived.rejected] == [
        "`_change_type` is 'perhaps', not one of insert, delete, update_preimage, update_postimage",
        "column `x`",
    ]


def test_static_rows_come_before_those_of_streams_whichever_task_has_them() -> None:
    sharding = choose(PROGRAM, None, 1)
    static = bundle(pa.table({"x": [2], "y": [3]}).to_batches(), PLAIN, sharding, 1, 7)
    changes = pa.table({"x": [2, 1], "y": [3, 2], "c": ["delete", "insert"]})
    feed = bundle(changes.to_batches(), CHANGES, sharding, 1, 0, "stream")
    arrived = arrive([*feed, *static], sharding)
    assert arrived.inserts["link"].to_pylist() == [{"x": 1, "y": 2}]
    assert arrived.deletes["link"].to_pylist() == [{"x": 2, "y": 3}]


def test_rows_without_columns_are_counted() -> None:
    sharding = choose(hw.compile("relation open(). shop() :- open()."), None, 1)
    rows = pa.table({"row": [True]})
    arrived = arrive(list(bundle(rows.to_batches(), Input("open", (), (), (), ()), sharding, 1, 0)), sharding)
    assert (arrived.inserts["open"].num_columns, arrived.inserts["open"].num_rows) == (0, 1)
    feed = pa.table({"c": ["insert", "delete"]})
    given = Input("open", (), (), (), (), change=0)
    arrived = arrive(list(bundle(feed.to_batches(), given, sharding, 1, 0)), sharding)
    assert (arrived.deletes["open"].num_columns, arrived.deletes["open"].num_rows) == (0, 1)
    assert not arrived.inserts


COMMITS = Input("link", ("x", "y"), KINDS, (False, False), (0, 1), change=2, version=3)
ORDERED = Input("link", ("x", "y"), KINDS, (False, False), (0, 1), change=2, order=3)


def commits(*rows: tuple[int, int, str, int]) -> pa.Table:
    return pa.table(dict(zip("xycv", map(list, zip(*rows, strict=True)), strict=True)))


def test_a_commit_deletes_before_it_inserts_wherever_its_rows_stand() -> None:
    moved = commits(  # from 1 to 2 and from 2 to 3, in one update
        (1, 0, "update_preimage", 4), (2, 0, "update_postimage", 4),
        (2, 0, "update_preimage", 4), (3, 0, "update_postimage", 4),
    )  # fmt: skip
    arrived = sent((COMMITS, moved))
    assert arrived.inserts["link"].to_pylist() == [{"x": 2, "y": 0}, {"x": 3, "y": 0}]
    assert arrived.deletes["link"].to_pylist() == [{"x": 1, "y": 0}]


def test_later_commits_count_whichever_task_has_them() -> None:
    later = commits((1, 2, "delete", 12), (3, 4, "insert", 12))
    earlier = commits((1, 2, "insert", 9), (3, 4, "delete", 9))
    arrived = sent((COMMITS, later), (COMMITS, earlier))
    assert arrived.inserts["link"].to_pylist() == [{"x": 3, "y": 4}]
    assert arrived.deletes["link"].to_pylist() == [{"x": 1, "y": 2}]


def test_rows_without_an_order_come_before_those_with_one() -> None:
    static = pa.table({"x": [2, 3], "y": [3, 4]})
    for given in (ORDERED, COMMITS):
        arrived = sent((PLAIN, static), (given, commits((2, 3, "delete", 1))))
        assert arrived.inserts["link"].to_pylist() == [{"x": 3, "y": 4}]
        assert arrived.deletes["link"].to_pylist() == [{"x": 2, "y": 3}]


def test_columns_may_have_any_names() -> None:
    """Also those that we give to what stands beside them."""
    sharding = choose(hw.compile("relation flag(_insert: bool, _order: int). up(X, Y) :- flag(X, Y)."), None, 1)
    kinds = (Type.BOOL, Type.INT)
    given = Input("flag", ("_insert", "_order"), kinds, (False, False), (0, 1))
    rows = pa.table({"_insert": [True, False], "_order": [2, 1]})
    arrived = arrive(list(bundle(rows.to_batches(), given, sharding, 1, 0)), sharding)
    assert arrived.inserts["flag"].to_pylist() == rows.to_pylist()
    assert not arrived.deletes
    feed = pa.table([[True, False], [2, 1], ["delete", "insert"]], names=["_insert", "_order", "c"])
    changes = Input("flag", given.names, kinds, (False, False), (0, 1), change=2)
    arrived = arrive(list(bundle(feed.to_batches(), changes, sharding, 1, 0)), sharding)
    assert arrived.inserts["flag"].to_pylist() == [{"_insert": False, "_order": 1}]
    assert arrived.deletes["flag"].to_pylist() == [{"_insert": True, "_order": 2}]


def test_text_that_is_no_utf8_is_set_aside() -> None:
    sharding = choose(hw.compile("relation tag(s: string, l: list). named(S, L) :- tag(S, L)."), None, 1)
    given = Input("tag", ("s", "l"), (Type.STRING, Type.LIST), (False, False), (0, 1), change=2)
    garbled = pa.array([b"a", b"\xff!", b"c", b"d"]).view(pa.string())
    lists = pa.ListArray.from_arrays([0, 1, 2, 3, 4], pa.array([b"a", b"b", b"\xfe", b"d"]).view(pa.string()))
    directions = pa.array([b"insert", b"insert", b"insert", b"\xfd"]).view(pa.string())
    feed = pa.table([garbled, lists, directions], names=["s", "l", "c"])
    arrived = arrive(list(bundle(feed.to_batches(), given, sharding, 1, 0)), sharding)
    assert arrived.inserts["tag"].to_pylist() == [{"s": "a", "l": ["a"]}]
    assert [(one.reason.partition(", not one of")[0], one.row) for one in arrived.rejected] == [
        ("`_change_type` is None", '{"s": "d", "l": ["d"], "_change_type": "\\\\xfd"}'),
        ("column `l`: its text is not in UTF-8", '{"s": "c", "l": ["\\\\xfe"], "_change_type": "insert"}'),
        ("column `s`: its text is not in UTF-8", '{"s": "\\\\xff!", "l": ["b"], "_change_type": "insert"}'),
    ]


def test_a_time_that_is_too_far_is_set_aside() -> None:
    sharding = choose(hw.compile("stream call(at: int, x: int). seen(X) :- call(_, X). query seen(X)."), None, 1)
    given = Input("call", ("at", "x"), KINDS, (False, False), (0, 1), time=0)
    rows = pa.table({"at": [2**62 - 1, 2**62, 2**63 - 1], "x": [1, 2, 3]})
    arrived = arrive(list(bundle(rows.to_batches(), given, sharding, 1, 0)), sharding)
    assert arrived.inserts["call"].to_pylist() == [{"at": 2**62 - 1, "x": 1}]
    assert [one.reason for one in arrived.rejected] == ["column `at`: time goes up to 2**62 - 1"] * 2


def test_a_shard_gets_the_rows_that_it_owns_and_what_all_hold() -> None:
    rows = pa.table({"x": list(range(40)), "y": [x % 3 for x in range(40)]})
    sharding = choose(PROGRAM, None, 3, kinds=("exchange",))
    owned = [part["link"].column("x").to_pylist() for part in sharding.route_changes({"link": rows}, 3)]
    assert sorted(x for part in owned for x in part) == list(range(40))
    records = list(bundle(rows.to_batches(), PLAIN, sharding, 3, 0))
    shards = [record.column("shard").to_pylist() for record in records]
    assert shards == [[0], [1], [2]]
    for (shard,), record in zip(shards, records, strict=True):
        arrived = arrive([record], sharding)
        assert arrived.inserts["link"].column("x").to_pylist() == owned[shard]
    everywhere = choose(PROGRAM, None, 3, kinds=("decomposed",))
    (record,) = bundle(rows.to_batches(), PLAIN, everywhere, 3, 0)
    assert record.column("shard").to_pylist() == [EVERYWHERE]
    assert arrive([record], everywhere).inserts["link"].num_rows == 40
