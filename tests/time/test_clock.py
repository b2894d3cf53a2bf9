"""The clock, leases, renewal, keys, slides, late rows and what is refused."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from pathlib import Path

import pytest

import headwater as hw
from headwater.engine.rules.delta_rule import Runner

CLOSURE = """
stream link(ts: int, a: string, b: string) ttl 10.
reach(Ts, X, Y) :- link(Ts, X, Y).
reach(Ts, X, Z) :- link(T1, X, Y), reach(T2, Y, Z), larger(Ts, T1, T2).
query reach(_, X, Y).
"""


def opened(text: str = CLOSURE) -> hw.Database:
    return hw.Database(hw.compile(text))


def pairs(db: hw.Database) -> set[tuple[str, str]]:
    return {(x, y) for _, x, y in db.rows("reach")}


def test_nothing_can_be_given_before_the_time_is_known() -> None:
    db = opened("relation alive(node: string) ttl 10. up(X) :- alive(X).")
    assert not db.apply(insert={"alive": []})["up"]
    db = opened()
    assert not db.apply(insert={"link": []}, delete={"link": [(0, "a", "b")]})["reach"]
    db.apply(insert={"link": [(0, "a", "b")]})
    assert pairs(db) == {("a", "b")}


def test_renewal_extends_what_hangs_on_it() -> None:
    db = opened()
    db.apply(insert={"link": [(0, "a", "b"), (0, "b", "c")]})
    assert db.valid_until("reach", (None, "a", "c")) == 10
    changes = db.apply(insert={"link": [(6, "a", "b")]})
    assert not changes["reach"], "the same rows, for longer"
    assert db.valid_until("reach", (None, "a", "b")) == 16
    assert db.valid_until("reach", (None, "a", "c")) == 10, "the other link still ends then"
    db.apply(insert={"link": [(8, "b", "c")]})
    assert db.valid_until("reach", (None, "a", "c")) == 16
    db.advance(15)
    assert pairs(db) == {("a", "b"), ("b", "c"), ("a", "c")}
    db.advance(16)
    assert pairs(db) == {("b", "c")}


def test_an_older_row_changes_nothing_and_a_delete_takes_all_versions() -> None:
    db = opened()
    db.apply(insert={"link": [(5, "a", "b")]})
    assert not db.apply(insert={"link": [(2, "a", "b")]})["link"]
    assert db.rows("link") == {(5, "a", "b")}
    db.apply(insert={"link": [(7, "a", "b")]})
    assert db.apply(delete={"link": [(0, "a", "b")]})["reach"].deleted.num_rows == 1
    assert db.rows("link") == set()
    assert pairs(db) == set()


def test_expiry_runs_no_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """What leaves is dropped from the queues of all tables; no rule is run for it."""
    db = opened()
    nodes = [f"n{number}" for number in range(12)]
    for moment, (one, other) in enumerate(pairwise(nodes)):
        db.apply(insert={"link": [(moment, one, other)]})
    before = len(pairs(db))

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a join ran")

    for name in ("from_rows", "from_keys", "before_tail"):
        monkeypatch.setattr(Runner, name, never)
    monkeypatch.setattr("headwater.engine.rules.fused_best.FusedBest.run", never)
    changes = db.advance(14)
    assert 0 < len(pairs(db)) < before
    assert changes["reach"].deleted.num_rows == before - len(pairs(db))


def test_keyed_streams_keep_the_newest_row_of_a_key() -> None:
    db = opened(
        """
        stream link(ts: int, a: string, b: string, cost: int) key(a, b) ttl 10.
        best(X, Y, min<C>) :- link(_, X, Y, C).
        """
    )
    db.apply(insert={"link": [(1, "a", "b", 5), (1, "a", "c", 7)]})
    db.apply(insert={"link": [(4, "a", "b", 9), (3, "a", "c", 7)]})
    assert db.rows("best") == {("a", "b", 9), ("a", "c", 7)}
    db.apply(insert={"link": [(2, "a", "b", 1)]})
    assert db.rows("link") == {(4, "a", "b", 9), (3, "a", "c", 7)}, "an older row of the key comes too late"
    db.apply(delete={"link": [(4, "a", "b", 9)]})
    assert db.rows("best") == {("a", "c", 7)}


def test_with_a_slide_views_change_at_its_steps_only() -> None:
    db = opened(
        """
        stream hit(ts: int, page: string).
        hits(P) :- hit(_, P).
        query hits(P), WINDOW(10, 5).
        """
    )
    assert not db.apply(insert={"hit": [(1, "a")]})["hits"]
    assert db.advance(4)["hits"].inserted.num_rows == 0
    assert db.advance(5)["hits"].inserted.to_pylist() == [{"P": "a"}]
    db.apply(insert={"hit": [(7, "b")]})
    db.apply(delete={"hit": [(7, "b")]})
    assert db.advance(12)["hits"].deleted.num_rows == 0
    assert db.rows("hits") == {("a",)}, "until the step at or after 1 + 10"
    assert db.advance(15)["hits"].deleted.to_pylist() == [{"P": "a"}]


def test_rows_that_wait_for_a_step_survive_saving(tmp_path: Path) -> None:
    db = opened("stream hit(ts: int, p: string).\nhits(P) :- hit(_, P).\nquery hits(P), WINDOW(10, 5).")
    db.apply(insert={"hit": [(1, "a")]})
    db.save(tmp_path / "views")
    again = hw.Database.open(tmp_path / "views")
    assert again.now == 1
    again.advance(5)
    assert again.rows("hits") == {("a",)}


def test_late_rows_are_set_aside_and_counted(tmp_path: Path) -> None:
    db = opened("stream hit(ts: int, p: string) lateness 3.\nhits(P) :- hit(_, P).")
    db.apply(insert={"hit": [(10, "a")]})
    changes = db.apply(insert={"hit": [(6, "late"), (7, "on time"), (12, "b")]})
    assert [late.row for late in changes.late] == [(6, "late")]
    assert "behind the clock" in str(changes.late[0])
    assert db.rows("hits") == {("a",), ("on time",), ("b",)}
    assert db.late == {"hit": 1}
    db.save(tmp_path / "views")
    assert hw.Database.open(tmp_path / "views").late == {"hit": 1}


def test_soft_state_lives_by_the_clock() -> None:
    """A relation with a ttl and no time: its rows live from when they were last inserted."""
    db = opened("relation link(a: string, b: string) ttl 30 seconds.\nup(X, Y) :- link(X, Y).")
    with pytest.raises(hw.DataError, match="HW803"):
        db.apply(insert={"link": [("a", "b")]})
    start = dt.datetime(2026, 1, 1, 12)
    db.advance(start)
    db.apply(insert={"link": [("a", "b"), ("b", "c")]})
    db.advance(start + dt.timedelta(seconds=20))
    db.apply(insert={"link": [("a", "b")]})
    db.advance(start + dt.timedelta(seconds=30))
    assert db.rows("up") == {("a", "b")}
    assert db.valid_until("up", ("a", "b")) == start + dt.timedelta(seconds=50)


def test_soft_state_keeps_its_ends_when_the_engine_is_made_anew() -> None:
    """The first rows of a relation without types, and symbols that nobody holds any more, make it so."""
    text = "stream tick(t: int). relation l(x: string) ttl 10. relation m(x: string). p(X) :- l(X). q(Y) :- l(_), o(Y)."
    db = opened(text)
    db.advance(0)
    db.apply(insert={"l": [("a",), ("b",)]})
    db.advance(5)
    db.apply(insert={"l": [("b",)]})
    db.apply(insert={"o": [(1,)]})
    many = [(str(number),) for number in range(20_000)]
    db.apply(insert={"m": many})
    db.apply(delete={"m": many})
    assert db.rows("q") == {(1,)}
    assert (db.valid_until("p", ("a",)), db.valid_until("p", ("b",))) == (10, 15)
    assert db.now == 5


def test_facts_of_soft_state_come_with_the_first_time_that_is_told() -> None:
    db = opened("relation link(a: string) ttl 30 seconds. link(x). up(X) :- link(X). two(X, Y) :- link(X), other(Y).")
    assert db.rows("up") == set()
    start = dt.datetime(2026, 1, 1)
    db.advance(start)
    assert db.rows("up") == {("x",)}
    db.advance(start + dt.timedelta(seconds=20))
    db.apply(insert={"other": [(1,)]})
    assert db.valid_until("two", ("x", 1)) == start + dt.timedelta(seconds=30)
    db.advance(start + dt.timedelta(seconds=30))
    db.apply(insert={"link": [("y",)]})
    assert db.rows("up") == {("y",)}


def test_facts_of_soft_state_come_late_beside_those_that_are_there_from_the_start() -> None:
    db = opened("relation link(a: string) ttl 10. relation node(a: string). link(x). node(y). up(X) :- link(X).")
    assert (db.rows("up"), db.rows("node")) == (set(), {("y",)})
    db.advance(5)
    assert (db.rows("up"), db.rows("node")) == ({("x",)}, {("y",)})


def test_a_best_row_of_rows_that_stay_never_ends_beside_those_that_do() -> None:
    """A rule of two relations without time, in a view that keeps the best of rows that end."""
    db = opened(
        """
        relation link(a: int, b: int, c: int) ttl 10. relation hop(a: int, b: int, c: int).
        far(X, Y, min<C>) :- link(X, Y, C).
        far(X, Z, min<C>) :- hop(X, Y, A), hop(Y, Z, B), C = A + B.
        """
    )
    db.advance(0)
    db.apply(insert={"link": [(1, 3, 5), (1, 4, 1)], "hop": [(1, 2, 3), (2, 3, 4), (2, 5, 1)]})
    assert db.rows("far") == {(1, 3, 5), (1, 4, 1), (1, 5, 4)}
    assert db.valid_until("far", (1, 5, 4)) is None
    db.advance(10)
    assert db.rows("far") == {(1, 3, 7), (1, 5, 4)}


def test_best_rows_that_end_are_followed_by_whatever_the_rule_takes_from_them() -> None:
    """The value of a row that follows comes from the best value, from another column or from the link alone; links are
    found by one column or by two."""
    links = [(x, y, (3 * x + 5 * y) % 7) for x in range(5) for y in range(5) if x != y]
    for step in (
        "far(X, Y, A), link(Y, Z, B), C = A + B",
        "far(X, Y, _), link(Y, Z, B), C = X + B",
        "far(X, Y, _), link(Y, Z, C)",
        "far(X, Y, A), link(X, Y, B), link(Y, Z, _), C = A + B",
        "far(X, Y, A), road(X, Y, Z, B), C = A + B",
        "far(X, Y, A), path(Y, Z, B), C = A + B",
    ):
        text = f"""
            relation link(a: int, b: int, c: int) ttl 10. relation road(a: int, b: int, c: int, d: int) ttl 5.
            relation path(a: int, b: int, c: int).
            far(X, Y, min<C>) :- link(X, Y, C), X + Y < 6.
            far(X, Z, min<C>) :- {step}.
        """
        db, fresh = opened(text), hw.Database(hw.compile(text.replace(" ttl 10", "").replace(" ttl 5", "")))
        db.advance(0)
        roads = [(x, y, (x + y) % 5, 1) for x, y, c in links if c < 3]
        paths = [(x, y, more) for x, y, c in links for more in (c // 2, c)]
        for one in (db, fresh):
            one.apply(insert={"link": links, "road": roads, "path": paths})
        assert db.rows("far") == fresh.rows("far"), step
        db.advance(4)
        db.apply(insert={"link": links[::2]}, delete={"path": paths[::2]})
        db.advance(10)
        fresh.apply(delete={"link": links[1::2], "road": roads, "path": paths[::2]})
        assert db.rows("far") == fresh.rows("far"), step


def test_rows_of_a_recursion_that_end_count_for_the_guard() -> None:
    text = """
        relation link(a: int, b: int, c: int) ttl 10.
        far(X, Y, min<C>) :- link(X, Y, C).
        far(X, Z, min<C>) :- far(X, Y, A), link(Y, Z, B), C = A + B.
    """
    links = {"link": [(at, at + 1, 1) for at in range(20)]}
    for computed, stopped in ((209, True), (210, False)):
        db = hw.Database(hw.compile(text), guard=hw.Guard(computed=computed))
        db.advance(0)
        if stopped:
            with pytest.raises(hw.GuardError, match=f"made more than {computed} rows"):
                db.apply(insert=links)
        else:
            db.apply(insert=links)
        assert db.count("far") == (0 if stopped else 210)


def test_times_are_numbers_to_compute_with() -> None:
    db = opened(
        """
        stream start(t: timestamp, x: string) ttl 1 hour.
        stream end(t: timestamp, x: string) ttl 1 hour.
        took(X, D) :- start(T1, X), end(T2, X), D = T2 - T1, D > 5 minutes.
        latest(X, max<T>) :- start(T, X).
        query took(X, D).
        query latest(X, T).
        """
    )
    start = dt.datetime(2026, 1, 1)

    def after(minutes: int) -> dt.datetime:
        return start + dt.timedelta(minutes=minutes)

    db.apply(insert={"start": [(start, "a"), (start, "b")], "end": [(after(3), "a"), (after(9), "b")]})
    assert db.rows("took") == {("b", dt.timedelta(minutes=9))}
    db.apply(insert={"start": [(after(1), "b")]})
    assert db.rows("took") == {("b", dt.timedelta(minutes=8))}, "the same row, at another time"
    assert db.valid_until("took", ("b", dt.timedelta(minutes=8))) == after(61)
    assert db.rows("latest") == {("a", start), ("b", after(1))}


def test_a_bare_number_counts_as_the_time_column_does() -> None:
    start = dt.datetime(2026, 1, 1)
    db = opened("stream a(t: timestamp, x: string). p(X) :- a(_, X). query p(X), WINDOW(3000000).")
    db.apply(insert={"a": [(start, "x")]})
    assert db.valid_until("p", ("x",)) == start + dt.timedelta(seconds=3)


def test_streams_of_different_windows_and_static_relations() -> None:
    db = opened(
        """
        stream seen(ts: int, who: string, place: string) ttl 5.
        stream badge(ts: int, who: string) ttl 20.
        relation owner(place: string, whose: string).
        visit(T, X, O) :- seen(T1, X, P), badge(T2, X), owner(P, O), larger(T, T1, T2).
        query visit(T, X, O).
        """
    )
    db.apply(insert={"owner": [("hall", "city")], "badge": [(0, "ann")], "seen": [(3, "ann", "hall")]})
    assert db.rows("visit") == {(3, "ann", "city")}
    assert db.valid_until("visit", (None, "ann", "city")) == 8
    assert db.valid_until("owner", ("hall", "city")) is None
    db.apply(insert={"seen": [(18, "ann", "hall")]})
    assert db.valid_until("visit", (None, "ann", "city")) == 20
    proof = db.why("visit", (None, "ann", "city"))
    assert [node.row for node in proof.nodes() if node.decides] == [(0, "ann")]
    assert "until 20 (decides)" in str(proof)
    assert sorted(proof.facts) == [("badge", (0, "ann")), ("owner", ("hall", "city")), ("seen", (18, "ann", "hall"))]


def test_negation_sees_what_had_arrived_by_the_time_of_the_head() -> None:
    db = opened(
        """
        stream ping(ts: int, x: string) ttl 20.
        stream ack(ts: int, x: string) ttl 6.
        lost(T, X) :- ping(T, X), !ack(_, X).
        query lost(T, X).
        """
    )
    db.apply(insert={"ping": [(1, "a"), (1, "b")]})
    db.apply(insert={"ack": [(5, "a")]})
    assert db.rows("lost") == {(1, "a"), (1, "b")}, "what comes later does not change what was lost then"
    db.apply(insert={"ping": [(7, "a")]})
    assert db.rows("lost") == {(1, "b")}
    db.advance(11)
    assert db.rows("lost") == {(7, "a"), (1, "b")}, "the answer has expired"


def test_facts_of_the_program_have_a_time_too() -> None:
    db = opened("stream p(t: int, x: string) ttl 5.\np(2, a).\nq(X) :- p(_, X).")
    assert db.now == 2
    assert db.rows("q") == {("a",)}
    db.advance(7)
    assert db.rows("q") == set()


def test_the_latest_of_several_facts_tells_the_time() -> None:
    db = opened("stream p(t: int, x: string) ttl 5.\np(9, a).\np(2, b).\nq(X) :- p(_, X).")
    assert db.now == 9
    assert db.rows("q") == {("a",)}


def test_a_time_that_only_a_negation_needs_is_not_shown() -> None:
    db = opened(
        """
        stream ping(ts: int, x: string) ttl 20.
        stream ack(ts: int, x: string, by: string) ttl 20.
        answered(T, X) :- ack(T, X, _).
        lost(T, X) :- ping(T, X), !answered(_, X).
        query lost(T, X).
        query answered(_, X).
        """
    )
    db.apply(insert={"ack": [(6, "a", "p"), (4, "b", "p")], "ping": [(5, "a"), (5, "b")]})
    assert db.rows("lost") == {(5, "a")}
    assert db.rows("answered") == {(None, "a"), (None, "b")}
    changes = db.apply(insert={"ack": [(3, "a", "q")]})
    assert db.rows("lost") == set(), "it had been answered by then"
    assert not changes["answered"], "its time is another one, and nobody asked for it"
    assert db.valid_until("answered", (None, "a")) == 26
    assert db.table("answered").schema.field(0).type == "int64"


def test_explicit_deletes_and_expiry_mix() -> None:
    db = opened()
    db.apply(insert={"link": [(0, "a", "b"), (3, "b", "c"), (5, "a", "c")]})
    db.apply(delete={"link": [(5, "a", "c")]})
    assert pairs(db) == {("a", "b"), ("b", "c"), ("a", "c")}
    assert db.valid_until("reach", (None, "a", "c")) == 10
    foretold = db.without({"link": [(0, "b", "c")]})
    assert foretold["reach"].deleted.num_rows == 2
    db.advance(10)
    assert pairs(db) == {("b", "c")}


@pytest.mark.parametrize(
    ("text", "moment", "message"),
    [
        (CLOSURE, 3, "time does not go back"),
        (CLOSURE, "soon", "is not a valid time"),
        (CLOSURE, None, "is not a valid time"),
        ("p(X) :- q(X).", 5, "has no time"),
    ],
)
def test_moments_that_the_clock_does_not_take(text: str, moment: object, message: str) -> None:
    db = opened(text)
    if "stream" in text:
        db.advance(5)
    with pytest.raises(hw.DataError, match=message):
        db.advance(moment)
    assert db.now == (5 if "stream" in text else None)


@pytest.mark.parametrize("time", [2**62, 2**63 - 1])
def test_moments_beyond_the_end_of_time_are_refused(time: int) -> None:
    db = opened()
    with pytest.raises(hw.DataError, match=r"time goes up to 2\*\*62 - 1"):
        db.apply(insert={"link": [(time, "a", "b")]})
    with pytest.raises(hw.DataError, match=r"time goes up to 2\*\*62 - 1"):
        db.advance(time)
    changes = db.apply(insert={"link": [(3, "a", "b"), (time, "b", "c")]}, strict=False)
    assert [one.row for one in changes.rejected] == [(time, "b", "c")]
    assert pairs(db) == {("a", "b")}
    assert db.now == 3


def test_rows_of_the_last_moment_are_there() -> None:
    db = opened()
    db.apply(insert={"link": [(2**62 - 1, "a", "b")]})
    assert pairs(db) == {("a", "b")}
    assert db.valid_until("reach", (None, "a", "b")) is None, "no clock gets to its end"


def test_an_end_after_the_year_9999_is_never() -> None:
    db = opened("stream seen(ts: timestamp, x: string) ttl 30 seconds. p(X) :- seen(_, X).")
    db.apply(insert={"seen": [(dt.datetime.max, "a")]})
    assert db.valid_until("p", ("a",)) is None
    assert "until" not in str(db.why("p", ("a",)))


def test_the_first_moment_is_on_a_step_or_before_one() -> None:
    db = opened("stream seen(ts: int, x: string). p(X) :- seen(_, X). query p(X), WINDOW(9, 3).")
    first = -(2**63)
    step = -(first // -3) * 3
    db.apply(insert={"seen": [(first, "a")]})
    assert db.rows("p") == set()
    assert step > first
    db.advance(step)
    assert db.rows("p") == {("a",)}
    db.advance(step + 9)
    assert db.rows("p") == set()


def test_a_fact_that_ends_at_zero_decides() -> None:
    db = opened()
    db.apply(insert={"link": [(-10, "a", "b"), (-4, "b", "c")]})
    assert "link(-10, a, b)  until 0 (decides)" in str(db.why("reach", (None, "a", "c")))


def test_time_that_would_go_back_is_told_as_people_write_it() -> None:
    db = opened("stream seen(ts: timestamp, x: string) ttl 30 seconds. p(X) :- seen(_, X).")
    db.advance(dt.datetime(2026, 1, 1, 11, 30))
    with pytest.raises(hw.DataError, match="it is 2026-01-01 11:30:00 already, not 2026-01-01 00:00:00"):
        db.advance(dt.datetime(2026, 1, 1))


def test_a_failed_transaction_leaves_the_clock_alone() -> None:
    db = opened()
    db.apply(insert={"link": [(1, "a", "b")]})
    with pytest.raises(KeyboardInterrupt):
        db.apply(insert={"link": [(50, "b", "c")]}, cancelled=lambda: True)
    assert db.now == 1
    assert pairs(db) == {("a", "b")}
    db.advance(11)
    assert pairs(db) == set()


def test_of_rows_of_one_key_and_one_time_the_last_one_counts() -> None:
    text = "stream link(t: int, a: string, cost: int) key(a). best(X, C) :- link(_, X, C)."
    db = opened(text)
    db.apply(insert={"link": [(4, "a", 9)]})
    changes = db.apply(insert={"link": [(4, "a", 7)]})
    assert changes["best"].deleted.to_pylist() == [{"x": "a", "c": 9}]
    assert db.rows("link") == {(4, "a", 7)}
    db.apply(insert={"link": [(4, "a", 1), (4, "a", 3), (4, "b", 2)]})
    assert db.rows("best") == {("a", 3), ("b", 2)}
    together = opened(text)
    together.apply(insert={"link": [(4, "a", 9), (4, "a", 7), (3, "a", 8)]})
    assert together.rows("link") == {(4, "a", 7)}


def test_a_fact_of_the_program_outlives_the_rows_that_renewed_it() -> None:
    db = opened("stream p(t: int, x: string) ttl 5.\np(2, a).\nq(X) :- p(_, X).\nn(count<X>) :- p(_, X).")
    db.apply(insert={"p": [(4, "a"), (4, "b")]})
    assert db.rows("p") == {(4, "a"), (4, "b")}
    db.apply(delete={"p": [(4, "a"), (4, "b")]})
    assert (db.rows("p"), db.rows("q"), db.rows("n")) == ({(2, "a")}, {("a",)}, {(1,)})
    assert db.valid_until("q", ("a",)) == 7
    db.apply(delete={"p": [(2, "a")]})
    assert db.rows("q") == {("a",)}, "what the program states cannot be deleted"
    db.advance(7)
    assert (db.rows("p"), db.rows("q")) == (set(), set())


def test_a_fact_of_the_program_that_waits_for_a_step_cannot_be_deleted() -> None:
    db = opened("stream p(t: int, x: string).\np(1, a).\nq(X) :- p(_, X).\nquery q(X), WINDOW(8, 3).")
    db.apply(delete={"p": [(1, "a")]})
    db.apply(insert={"p": [(2, "a")]})
    db.advance(3)
    assert db.rows("q") == {("a",)}
    db.apply(delete={"p": [(2, "a")]})
    assert (db.rows("q"), db.valid_until("q", ("a",))) == ({("a",)}, 9)
    db.advance(9)
    assert db.rows("q") == set()


def test_one_row_for_a_large_table_that_was_opened(tmp_path: Path) -> None:
    """Its lists are not made for one row: that row is placed by sorting."""
    text = "relation link(x: int, y: int, c: int) ttl 10. d(X, Y, min<C>) :- link(X, Y, C). "
    program = hw.compile(text + "d(X, Z, min<C>) :- d(X, Y, A), link(Y, Z, B), C = A + B.")
    links, more = [(at, at + 1, 2) for at in range(15)], [(3, 9, 1)]
    db, fresh = hw.Database(program), hw.Database(program)
    for each in (db, fresh):
        each.advance(0)
    db.apply(insert={"link": links})
    db.save(tmp_path / "kept")
    db = hw.Database.open(tmp_path / "kept")
    db.apply(insert={"link": more})
    fresh.apply(insert={"link": [*links, *more]})
    assert db.rows("d") == fresh.rows("d")
    assert (0, 15, 19) in db.rows("d")


@pytest.mark.parametrize("facts", ["seen(0, a). seen(1, a).", "seen(1, a). seen(0, a)."])
def test_of_several_facts_of_one_row_the_newest_comes_back(facts: str) -> None:
    db = hw.Database(hw.compile(f"stream seen(ts: int, x: string) ttl 7. {facts} there(T, X) :- seen(T, X)."))
    db.advance(2)
    db.apply(insert={"seen": [(2, "a")]})
    assert db.rows("there") == {(2, "a")}
    db.apply(delete={"seen": [(2, "a")]})
    assert db.rows("seen") == db.rows("there") == {(1, "a")}
    assert db.valid_until("there", (None, "a")) == 8
