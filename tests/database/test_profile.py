"""`Database.profile`: what rules did, as numbers, as a table and as JSON."""

from __future__ import annotations

import json

import headwater as hw

PROGRAM = """
relation link(x: int, y: int).
reach(X, Y) :- link(X, Y).
reach(X, Z) :- reach(X, Y), link(Y, Z).
three(X, W) :- link(X, Y), link(Y, Z), link(Z, W).
"""
CHAIN = [(at, at + 1) for at in range(6)]


def test_a_new_database_has_done_nothing() -> None:
    profile = hw.Database(hw.compile(PROGRAM)).profile()
    assert profile.rules == ()
    assert "no rule has run yet" in str(profile)


def test_rows_are_counted_per_rule_and_way() -> None:
    db = hw.Database(hw.compile(PROGRAM), profile=True)
    db.apply(insert={"link": CHAIN})
    found = {(work.rule.split(" :-")[0], work.way): work for work in db.profile().rules}
    copied = found["reach(X, Y)", "when link(X, Y) comes"]
    assert (copied.runs, copied.started, copied.read, copied.made, copied.kept) == (1, 6, 6, 6, 6)
    closed = found["reach(X, Z)", "when reach(X, Y) comes"]
    assert (closed.started, closed.made, closed.kept) == (21, 15, 15)
    joined = found["three(X, W)", "when link(Z, W) comes"]
    assert (joined.started, joined.read, joined.made, joined.kept) == (6, 6 + 5 + 4, 4, 4)


def test_without_profile_compiled_loops_do_not_say_what_they_made() -> None:
    db = hw.Database(hw.compile(PROGRAM))
    db.apply(insert={"link": CHAIN})
    closed = next(work for work in db.profile().rules if work.way == "when reach(X, Y) comes")
    assert (closed.started, closed.made, closed.kept) == (21, None, 15)


def test_rounds_and_json() -> None:
    db = hw.Database(hw.compile(PROGRAM), profile=True)
    db.apply(insert={"link": CHAIN})
    db.apply(delete={"link": [(2, 3)]})
    profile = db.profile()
    rounds = [work for work in profile.rounds if work.way == "when reach(X, Y) comes"]
    assert [work.kept for work in rounds] == [5, 4, 3, 2, 1, 0]
    assert any(work.way == "to derive again by (X, Z)" for work in profile.rounds)
    read = json.loads(profile.json())
    assert read["transactions"] == profile.transactions
    assert [work["rule"] for work in read["rules"]] == [work.rule for work in profile.rules]
    assert "when reach(X, Y) comes" in str(profile)


def test_expected_stands_beside_what_was_made() -> None:
    program = "relation link(x: int, y: int). three(X, W) :- link(X, Y), link(Y, Z), link(Z, W)."
    db = hw.Database(hw.compile(program), profile=True)
    db.apply(insert={"link": [(at, (at + 7) % 2000) for at in range(2000)]})
    joined = next(work for work in db.profile().rules if work.way == "when link(Z, W) comes")
    assert joined.made == 2000
    assert joined.expected is not None
    assert 1000 < joined.expected < 4000
