"""Rows on their way to the shards: what arrives is the net effect of what was sent, in its order."""

from __future__ import annotations

import pyarrow as pa

import headwater as hw
from headwater.core.types import Type
from headwater.exchange.scheme import choose
from headwater.spark.bundles import Arrived, arrive, bundle
from headwater.spark.contract import Input

PROGRAM = hw.compile("relation link(x: int, y: int). reach(X, Y) :- link(X, Y).")
KINDS = (Type.INT, Type.INT)
PLAIN = Input("link", ("x", "y"), KINDS, KINDS, (False, False), (0, 1))
CHANGES = Input("link", ("x", "y"), KINDS, KINDS, (False, False), (0, 1), change=2)


def sent(*parts: tuple[Input, pa.Table]) -> Arrived:
    scheme = choose(PROGRAM, None, 1)
    batches = [
        bundled
        for task, (given, rows) in enumerate(parts)
        for bundled in bundle(rows.to_batches(), given, scheme, 1, task)
    ]
    return arrive(reversed(batches), scheme)


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
    scheme = choose(PROGRAM, None, 1)
    static = bundle(pa.table({"x": [2], "y": [3]}).to_batches(), PLAIN, scheme, 1, 7)
    changes = pa.table({"x": [2, 1], "y": [3, 2], "c": ["delete", "insert"]})
    feed = bundle(changes.to_batches(), CHANGES, scheme, 1, 0, "stream")
    arrived = arrive([*feed, *static], scheme)
    assert arrived.inserts["link"].to_pylist() == [{"x": 1, "y": 2}]
    assert arrived.deletes["link"].to_pylist() == [{"x": 2, "y": 3}]


def test_rows_without_columns_are_counted() -> None:
    scheme = choose(hw.compile("relation open(). shop() :- open()."), None, 1)
    rows = pa.table({"row": [True]})
    arrived = arrive(list(bundle(rows.to_batches(), Input("open", (), (), (), (), ()), scheme, 1, 0)), scheme)
    assert (arrived.inserts["open"].num_columns, arrived.inserts["open"].num_rows) == (0, 1)
    feed = pa.table({"c": ["insert", "delete"]})
    given = Input("open", (), (), (), (), (), change=0)
    arrived = arrive(list(bundle(feed.to_batches(), given, scheme, 1, 0)), scheme)
    assert (arrived.deletes["open"].num_columns, arrived.deletes["open"].num_rows) == (0, 1)
    assert not arrived.inserts
