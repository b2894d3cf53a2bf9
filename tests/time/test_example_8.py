"""004, Example 8 and Figure 2: what a slide costs, in rows, against computing each window anew.

The example walks from P1 to P3 over rides of one unit each: A to C at time 0, A to B and B to C at 1, C to D and C to E
at 2, in a window of 3. It counts the rows that each method produces, and leaves out the two that lead from B beyond
C; so does `drawn`.
"""

from __future__ import annotations

import headwater as hw

WINDOWED = """
stream ride(ts: int, pickup: string, drop: string, fare: int).
bestPrice(Ts, P, D, mmin<F>) <- ride(Ts, P, D, F).
bestPrice(Ts, P, D, mmin<F>) <- ride(Ts1, P, P2, F1), bestPrice(Ts2, P2, D, F2), F = F1 + F2, largest(Ts, Ts1, Ts2).
query bestPrice(_, P, D, C), WINDOW(3).
"""
ALL_WAYS = """
relation ride(pickup: string, drop: string, fare: int).
way(P, D, F) <- ride(P, D, F).
way(P, D, F) <- ride(P, P2, F1), way(P2, D, F2), F = F1 + F2.
"""
RIDES = [(0, "A", "C", 1), (1, "A", "B", 1), (1, "B", "C", 1), (2, "C", "D", 1), (2, "C", "E", 1)]

Way = tuple[str, str, int]


def drawn(ways: set[Way]) -> set[Way]:
    """The rows that the figure draws."""
    return {way for way in ways if way[0] != "B" or way[2] == 1}


def kept(db: hw.Database) -> set[Way]:
    """All rows in the index: those that are best now, and those that can become so when others end."""
    store = db._shard.stores["bestPrice'kept"]
    symbols = db._shard.symbols.values
    return {(symbols[p], symbols[d], int(f)) for p, d, f, _ in store.data[store.alive()].tolist()}


def simple(now: int) -> set[Way]:
    """The rows that are produced when the window is computed from nothing."""
    db = hw.Database(hw.compile(ALL_WAYS))
    db.apply(insert={"ride": [ride[1:] for ride in RIDES if now - 3 < ride[0] <= now]})
    return db.rows("way")


def test_rows_produced_at_each_snapshot() -> None:
    db = hw.Database(hw.compile(WINDOWED))
    db.apply(insert={"ride": RIDES[:1]})
    db.apply(insert={"ride": RIDES[1:3]})
    first = kept(db)
    assert first == {("A", "C", 1), ("A", "B", 1), ("B", "C", 1), ("A", "C", 2)}, "two ways to C, of different ends"

    db.apply(insert={"ride": RIDES[3:]})
    second = kept(db)
    produced = {("C", "D", 1), ("C", "E", 1), ("A", "D", 2), ("A", "D", 3), ("A", "E", 2), ("A", "E", 3)}
    assert drawn(second - first) == produced
    assert len(drawn(second - first)) == 6
    assert len(drawn(simple(2))) == 10
    assert {row[1:] for row in db.rows("bestPrice")} >= {("A", "C", 1), ("A", "D", 2), ("A", "E", 2)}

    db.advance(3)
    third = kept(db)
    assert third < second, "a slide with no new rides produces nothing"
    assert second - third == {("A", "C", 1), ("A", "D", 2), ("A", "E", 2)}
    assert len(drawn(simple(3))) == 7
    assert {row[1:] for row in db.rows("bestPrice")} >= {("A", "C", 2), ("A", "D", 3), ("A", "E", 3)}


def test_row_of_time_0_is_gone_at_time_3() -> None:
    """004, Example 1."""
    db = hw.Database(hw.compile(WINDOWED))
    db.apply(insert={"ride": RIDES})
    assert (0, "A", "C", 1) in db.rows("ride")
    db.advance(3)
    assert db.rows("ride") == set(RIDES[1:])
