"""What a recursive aggregate keeps under a window: the rows that are best or can become so, and no other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import headwater as hw
from tests.engine.holding import pairs

WINDOW = 12
RIDES = f"""
stream ride(ts: int, p: string, d: string, f: int).
best(Ts, P, D, mmin<F>) :- ride(Ts, P, D, F).
best(Ts, P, D, mmin<F>) :- ride(T1, P, X, F1), best(T2, X, D, F2), F = F1 + F2, larger(Ts, T1, T2).
query best(_, P, D, F), WINDOW({WINDOW}).
"""
NODES = "abcd"
Ride = tuple[int, str, str, int]
Way = tuple[str, str, int, int]  # from, to, fare and the moment it ends

rides = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from(NODES), st.sampled_from(NODES), st.integers(1, 5)),
    min_size=1,
    max_size=9,
)


def frontier(alive: list[Ride]) -> set[Way]:
    """All ways that no other makes needless: none is as cheap and lasts as long, and better in one of the two.

    A way that goes round in a circle is dearer and lasts no longer than without it, so the search may forget
    what is needless as it goes.
    """
    ways: set[Way] = set()
    found = {(p, d, f, t + WINDOW) for t, p, d, f in alive}
    while True:
        everyone = ways | found
        kept = {one for one in everyone if not any(_needless(one, other) for other in everyone)}
        if kept == ways:
            return ways
        ways = kept
        found = {
            (p, e, f + g, min(t + WINDOW, until)) for t, p, d, f in alive for start, e, g, until in ways if start == d
        }


def _needless(one: Way, other: Way) -> bool:
    return one != other and one[:2] == other[:2] and other[2] <= one[2] and other[3] >= one[3]


def kept(db: hw.Database) -> list[Way]:
    store = db._shard.stores["best'kept"]
    symbols = db._shard.symbols.values
    return [(symbols[p], symbols[d], int(f), int(until)) for p, d, f, until in store.data[store.alive()].tolist()]


@pairs(60)
@given(rides)
def test_oracle_what_can_become_best_is_kept_and_nothing_else(rides: list[Ride]) -> None:
    db = hw.Database(hw.compile(RIDES))
    newest: dict[tuple[str, str, int], int] = {}
    for ride in rides:
        db.apply(insert={"ride": [ride]})
        newest[ride[1:]] = max(ride[0], newest.get(ride[1:], 0))
        alive = [(t, *row) for row, t in newest.items() if t + WINDOW > db.now]
        rows = kept(db)
        assert len(rows) == len(set(rows))
        assert set(rows) == frontier(alive)
        ends = {one: one[3] for one in rows}
        for p, d, f in {row[1:] for row in db.rows("best")}:
            assert db.valid_until("best", (None, p, d, f)) == max(
                until for *way, until in ends if tuple(way) == (p, d, f)
            )
