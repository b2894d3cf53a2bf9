"""The eight queries of 004, each over a few rows whose answer was worked out by hand, as its window moves."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import headwater as hw

EXAMPLES = Path(__file__).parents[2] / "examples"
START = dt.datetime(2026, 1, 1)
DAY = dt.timedelta(days=1)
HOUR = dt.timedelta(hours=1)
MINUTE = dt.timedelta(minutes=1)


def opened(name: str) -> hw.Database:
    return hw.Database(hw.compile_file(EXAMPLES / f"{name}.dl"))


def seen(db: hw.Database, view: str) -> set[tuple[Any, ...]]:
    """The rows without their time, which nobody asks for and which is not kept."""
    rows = db.rows(view)
    assert all(row[0] is None for row in rows)
    return {row[1:] for row in rows}


def at(moment: dt.datetime, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(moment, *row) for row in rows]


def test_query_1_closure() -> None:
    db = opened("transitive_closure")
    db.apply(insert={"arc": [(1, 2), (2, 3), (3, 1), (3, 4)]})
    assert db.rows("tc") == {(x, y) for x in (1, 2, 3) for y in (1, 2, 3, 4)}
    db.apply(delete={"arc": [(3, 1)]})
    assert db.rows("tc") == {(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)}


def test_query_2_employees() -> None:
    """Whoever is below a department counts once, with all below them; the window of a year moves by 90 days."""

    def ending(days: int) -> dt.datetime:
        over, step = START + (days + 365) * DAY - dt.datetime(1970, 1, 1), 90 * DAY
        return dt.datetime(1970, 1, 1) + -(-over // step) * step

    db = opened("employee_count")
    db.apply(insert={"dptEmpl": at(START, [("it", "ann"), ("it", "bob"), ("board", "it")])})
    db.advance(START + 90 * DAY)
    assert seen(db, "empCnt") == {("ann", 1), ("bob", 1), ("it", 3), ("board", 3)}
    db.apply(insert={"dptEmpl": at(START + 200 * DAY, [("it", "cid")])})
    assert ("cid", 1) not in seen(db, "empCnt"), "the window has not moved yet"
    db.advance(START + 300 * DAY)
    assert seen(db, "empCnt") == {("ann", 1), ("bob", 1), ("cid", 1), ("it", 4), ("board", 4)}
    db.apply(insert={"dptEmpl": at(START + 330 * DAY, [("it", "ann"), ("board", "it")])})
    db.advance(START + 540 * DAY)
    assert seen(db, "empCnt") == {("ann", 1), ("cid", 1), ("it", 3), ("board", 3)}
    assert db.valid_until("empCnt", (None, "it", 3)) == ending(200)


def test_query_3_sub_organisations() -> None:
    db = opened("sub_organisation")
    db.apply(insert={"subOrg": at(START, [(1, 2), (2, 3)])})
    db.apply(insert={"subOrg": at(START + DAY, [(3, 4)])})
    assert seen(db, "isSubOrg") == {(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)}
    db.apply(delete={"subOrg": at(START, [(2, 3)])})
    assert seen(db, "isSubOrg") == {(1, 2), (3, 4)}


def test_query_4_cheapest_ride() -> None:
    db = opened("cheap_rides")
    db.apply(insert={"ride": at(START, [("a", "b", 5.0), ("b", "c", 4.0)])})
    db.apply(insert={"ride": at(START + 20 * MINUTE, [("a", "c", 12.0)])})
    assert seen(db, "bestPrice") == {("a", "b", 5.0), ("b", "c", 4.0), ("a", "c", 9.0)}
    assert db.valid_until("bestPrice", (None, "a", "c", 9.0)) == START + HOUR
    changes = db.advance(START + HOUR)
    assert seen(db, "bestPrice") == {("a", "c", 12.0)}
    assert changes["bestPrice"].inserted.num_rows == 1
    assert changes["bestPrice"].deleted.num_rows == 3
    db.advance(START + 80 * MINUTE)
    assert seen(db, "bestPrice") == set()


def test_query_5_earliest_organiser() -> None:
    db = opened("earliest_organiser")
    pairs = [(1, 2), (2, 3), (7, 8), (8, 7), (3, 2), (2, 1)]
    db.apply(insert={"relateTo": at(START, pairs)})
    assert seen(db, "earliestOrg") == {(1, 1), (2, 1), (3, 1), (7, 7), (8, 7)}
    db.apply(insert={"relateTo": at(START + DAY, [(3, 7)])})
    assert seen(db, "earliestOrg") == {(1, 1), (2, 1), (3, 1), (7, 1), (8, 1)}


def test_query_6_lloyd_clustering() -> None:
    """Two groups of two points on a line: the centres move to their means, and stay there for thirty stages."""
    db = opened("lloyd_clustering")
    points = [("p1", 0, 0.0), ("p2", 0, 2.0), ("p3", 0, 10.0), ("p4", 0, 14.0)]
    db.apply(insert={"point": at(START, points), "init": at(START, [("c1", 0, 1.0), ("c2", 0, 9.0)])})
    assert seen(db, "center") == {(30, "c1", 0, 1.0), (30, "c2", 0, 12.0)}
    later = START + 30 * MINUTE
    db.apply(insert={"point": at(later, [("p4", 0, 14.0), ("p5", 0, 16.0)]), "init": at(later, [("c2", 0, 9.0)])})
    assert seen(db, "center") == {(30, "c1", 0, 1.0), (30, "c2", 0, 40 / 3)}
    db.advance(START + HOUR)
    assert seen(db, "center") == {(30, "c2", 0, 15.0)}


def test_query_7_paper_rank() -> None:
    """A paper's rank is the share it gets from each paper that cites it; one that cites has 1 of its own."""
    db = opened("paper_rank")
    db.apply(insert={"pub": at(START, [("b", "a"), ("c", "a"), ("c", "b")])})
    assert seen(db, "prank") == {("c", 1.0), ("b", 1.5), ("a", 2.0)}
    db.apply(insert={"pub": at(START + 100 * DAY, [("d", "b")])})
    assert seen(db, "prank") == {("c", 1.0), ("d", 1.0), ("b", 2.5), ("a", 3.0)}
    db.advance(START + 365 * DAY)
    assert seen(db, "prank") == {("d", 1.0), ("b", 1.0)}


def test_query_8_closure_without_a_window() -> None:
    db = opened("streaming_closure")
    db.apply(insert={"arc": at(START, [(1, 2)])})
    db.apply(insert={"arc": at(START + 5000 * DAY, [(2, 3)])})
    assert seen(db, "tc") == {(1, 2), (2, 3), (1, 3)}
    assert db.valid_until("tc", (None, 1, 3)) is None
