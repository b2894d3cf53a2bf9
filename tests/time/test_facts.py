"""Facts that a program states itself, in relations whose rows have a time or a lifetime."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import headwater as hw
from headwater.engine.driver import drive
from headwater.exchange.member import Member
from headwater.exchange.sharding import choose
from headwater.exchange.wire import ship

WAITS = """
relation visit(who: string) ttl 5.
known(X) :- visit(X).
known("root").
query known(X).
"""


def test_a_fact_of_a_view_over_rows_that_expire_is_saved_before_any_time_is_known(tmp_path: Path) -> None:
    database = hw.Database(hw.compile(WAITS))
    database.save(tmp_path / "early")
    opened = hw.Database.open(tmp_path / "early")
    opened.advance(1)
    opened.apply(insert={"visit": []})
    assert opened.rows("known") == {("root",)}


def test_a_fact_returns_after_compaction_when_the_version_that_replaced_it_is_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headwater.engine.store.compaction._WORTH_IT", 0)
    database = hw.Database(hw.compile("stream e(ts: int, x: int).\ne(0, 6).\nnear(X) :- e(_, X).\n"))
    for moment in range(1, 6):
        database.apply(insert={"e": [(moment, 6)]})
    database.apply(delete={"e": [(5, 6)]})
    assert database.rows("near") == {(6,)}
    assert database.rows("e") == {(0, 6)}


def test_rows_are_late_behind_the_facts_of_the_program() -> None:
    """Facts come first, also on a shard that is given its first rows in the transaction that states them."""
    program = hw.compile('stream e(ts: int, x: string) lateness 0.\ne(3, "b").\nseen(X) :- e(_, X).\n')
    rows = [(1, "a"), (4, "c")]
    database = hw.Database(program)
    assert len(database.apply(insert={"e": rows}).late) == 1
    member = Member(choose(program, None, 1), 0, 1)
    given = pa.table({"ts": [ts for ts, _ in rows], "x": [x for _, x in rows]})
    outcome = drive(member.transaction({"e": given}, {}, now=4, first=True), lambda shipped: ship([shipped])[0])
    assert outcome.late["e"].to_pylist() == [{"ts": 1, "x": "a"}]
    assert {(row["x"],) for row in member.rows("seen").to_pylist()} == database.rows("seen") == {("b",), ("c",)}
