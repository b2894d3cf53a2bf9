"""Cheapest rides and reachable places under windows, beside loops over all pairs, with buffers as small as can be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import headwater as hw
from headwater.engine.border.soundness import refuse_unsound
from tests.engine.holding import pairs

SIZE, SLIDE = 8, 2
RIDES = f"""
stream ride(ts: int, p: int, d: int, f: int).
best(Ts, P, D, mmin<F>) :- ride(Ts, P, D, F).
best(Ts, P, D, mmin<F>) :- ride(T1, P, X, F1), best(T2, X, D, F2), F = F1 + F2, larger(Ts, T1, T2).
joined(Ts, P, D) :- ride(Ts, P, D, _).
joined(Ts, P, D) :- ride(T1, P, X, _), joined(T2, X, D), larger(Ts, T1, T2).
query best(_, P, D, F), WINDOW({SIZE}, {SLIDE}).
query joined(_, P, D), WINDOW({SIZE}, {SLIDE}).
"""
Ride = tuple[int, int, int]
Step = tuple[int, list[Ride], list[Ride]]  # how far time moves, rides that come, rides that are taken back

places = st.integers(0, 4)
fares = st.integers(0, 5).map(lambda fare: fare or 1 << 33)  # the dear ones do not fit into narrow tables
rides = st.lists(st.tuples(places, places, fares), max_size=7)
scripts = st.lists(st.tuples(st.integers(0, 3), rides, st.one_of(st.just([]), rides)), min_size=2, max_size=9)


TWO_ROWS_OF_ONE_GROUP: list[Step] = [
    (0, [(0, 0, 1)], []),
    (2, [(0, 1, 3), (2, 1, 1)], [(0, 0, 1)]),
    (0, [(2, 1, 2), (2, 2, 3)], []),
    (2, [(3, 1, 2), (1, 3, 3)], []),
    (2, [(0, 2, 3), (1, 3, 4)], [(2, 2, 3), (1, 3, 3)]),
    (0, [(2, 2, 1)], []),
]
"""A script that gave a group a second row when one of several lists was not brought up to date."""


@pytest.fixture(params=["direct", "hashed"])
def cramped(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headwater.engine.store.frontier._BUFFER", 1)
        patch.setattr("headwater.engine.rules.fused_frontier._HEAP", 1)
        patch.setattr("headwater.engine.store.compaction._WORTH_IT", 0)
        if request.param == "hashed":
            patch.setattr("headwater.engine.store.index._DIRECT_FLOOR", 0)
            patch.setattr("headwater.engine.store.index._DIRECT_CELLS_PER_ROW", 0)
        yield


def cheapest(alive: set[Ride]) -> dict[tuple[int, int], int]:
    best: dict[tuple[int, int], int] = {}
    for p, d, f in alive:
        best[p, d] = min(f, best.get((p, d), f))
    for x, p, d in product(range(5), repeat=3):
        if (p, x) in best and (x, d) in best:
            way = best[p, x] + best[x, d]
            best[p, d] = min(way, best.get((p, d), way))
    return best


class Window:
    """The rides alive, by the latest time of each."""

    def __init__(self) -> None:
        self.times: dict[Ride, int] = {}

    def alive(self, now: int) -> set[Ride]:
        """Rides whose step has come and whose end has not."""
        return {ride for ride, at in self.times.items() if _step(at) <= now < _step(at + SIZE)}


def _step(moment: int) -> int:
    return -(-moment // SLIDE) * SLIDE


@pairs(25)
@given(script=scripts)
@example(script=TWO_ROWS_OF_ONE_GROUP)
def _follows(apart: int, script: list[Step]) -> None:
    """`apart`: how far the numbers of places lie apart."""
    db, window, now = hw.Database(hw.compile(RIDES)), Window(), 0
    db.advance(0)
    for moves, coming, taken in script:
        now = _step(now + moves)  # on a step, so that nothing waits
        db.advance(now)
        db.apply(insert={"ride": _apart(now, coming, apart)}, delete={"ride": _apart(0, taken, apart)})
        for ride in taken:
            window.times.pop(ride, None)
        window.times.update(dict.fromkeys(coming, now))
        best = cheapest(window.alive(now))
        assert {row[1:] for row in db.rows("best")} == {(p * apart, d * apart, f) for (p, d), f in best.items()}
        assert {row[1:] for row in db.rows("joined")} == {(p * apart, d * apart) for p, d in best}
        refuse_unsound(db._shard)  # a group has one row


def _apart(now: int, rides: list[Ride], apart: int) -> list[tuple[int, int, int, int]]:
    return [(now, p * apart, d * apart, f) for p, d, f in rides]


@pytest.mark.parametrize("apart", [1, 500])
def test_oracle_with_every_buffer_full(cramped: None, apart: int) -> None:
    """Places far apart have frontiers by hash, and are met by number."""
    _follows(apart=apart)
