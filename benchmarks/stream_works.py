"""The works of `streams.py`: queries of 004 with and without time, and rows shaped like the paper's data.

Every row has a time of its own, one after the other, so that a window of `size` holds `size` rows. The rows come from a
fixed seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

Row = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """`paper`: how many times faster than computing anew the paper's index was (004, Figures 6 and 7)."""

    name: str
    stream: str
    view: str
    timed: str
    plain: str
    rows: Callable[[Random], Iterator[Row]]
    slide: int
    slides: int  # of a window
    paper: str = "2.6x to 14.9x over all queries"

    @property
    def size(self) -> int:
        return self.slide * self.slides


def organisations(dice: Random) -> Iterator[Row]:
    """Trees of organisations as in LUBM: universities, departments, groups; new ones are founded all the time."""
    tree: list[int] = [0]
    number = 1
    while True:
        if len(tree) > 60:
            tree = [number]
            number += 1
        yield dice.choice(tree[-20:]), number
        tree.append(number)
        number += 1


def rides(dice: Random) -> Iterator[Row]:
    """Taxi rides between the 801 census tracts of a city; most are short, fares go by distance and chance."""
    while True:
        start = dice.randrange(801)
        end = (start + 1 + int(dice.expovariate(0.05))) % 801
        if start != end:
            distance = min(abs(start - end), 801 - abs(start - end))
            yield start, end, 300 + 40 * distance + dice.randrange(400)


def followers(dice: Random) -> Iterator[Row]:
    """Who follows whom: a few are followed by many, most by a few."""
    while True:
        yield dice.randrange(60_000), min(int(dice.paretovariate(0.8)), 60_000) - 1


def citations(dice: Random) -> Iterator[Row]:
    """Papers cite a dozen earlier ones, most of them years old: several windows back, as in high-energy physics."""
    paper = 20_000
    while True:
        for _ in range(dice.randrange(2, 24)):
            yield paper, max(0, paper - 1 - int(dice.expovariate(0.0003)))
        paper += 1


WORKS = (
    Work(
        "Q3",
        "subOrg",
        "isSubOrg",
        """stream subOrg(ts: int, org: int, sub: int).
        isSubOrg(Ts, X, Y) <- subOrg(Ts, X, Y).
        isSubOrg(Ts, X, Z) <- subOrg(Ts1, X, Y), isSubOrg(Ts2, Y, Z), largest(Ts, Ts1, Ts2).
        query isSubOrg(_, X, Z), WINDOW({size}, {slide}).""",
        """relation subOrg(org: int, sub: int).
        isSubOrg(X, Y) <- subOrg(X, Y).
        isSubOrg(X, Z) <- subOrg(X, Y), isSubOrg(Y, Z).
        query isSubOrg(X, Z).""",
        organisations,
        slide=2_000,
        slides=20,
    ),
    Work(
        "Q4",
        "ride",
        "bestPrice",
        """stream ride(ts: int, pickup: int, drop: int, fare: int).
        bestPrice(Ts, P, D, mmin<F>) <- ride(Ts, P, D, F).
        bestPrice(Ts, P, D, mmin<F>) <- ride(Ts1, P, P2, F1), bestPrice(Ts2, P2, D, F2), F = F1 + F2,
            largest(Ts, Ts1, Ts2).
        query bestPrice(_, P, D, C), WINDOW({size}, {slide}).""",
        """relation ride(pickup: int, drop: int, fare: int).
        bestPrice(P, D, mmin<F>) <- ride(P, D, F).
        bestPrice(P, D, mmin<F>) <- ride(P, P2, F1), bestPrice(P2, D, F2), F = F1 + F2.
        query bestPrice(P, D, C).""",
        rides,
        slide=60,
        slides=10,
    ),
    Work(
        "Q5",
        "relateTo",
        "earliestOrg",
        """stream relateTo(ts: int, x: int, y: int).
        earliestOrg(Ts, X, mmin<X>) <- relateTo(Ts, X, _).
        earliestOrg(Ts, Y, mmin<V>) <- earliestOrg(Ts1, X, V), relateTo(Ts2, X, Y), largest(Ts, Ts1, Ts2).
        query earliestOrg(_, Y, T), WINDOW({size}, {slide}).""",
        """relation relateTo(x: int, y: int).
        earliestOrg(X, mmin<X>) <- relateTo(X, _).
        earliestOrg(Y, mmin<V>) <- earliestOrg(X, V), relateTo(X, Y).
        query earliestOrg(Y, T).""",
        followers,
        slide=2_000,
        slides=40,
    ),
    Work(
        "Q7",
        "pub",
        "prank",
        """stream pub(ts: int, paper: int, cited: int).
        ref(Ts, P, count<R>) <- pub(Ts, P, R).
        prank(Ts, P, V) <- ref(Ts, P, R), V = 1.0.
        prank(Ts, P, sum<V>) <- prank(Ts1, C, W), pub(Ts2, C, P), ref(Ts3, C, R), V = W / R,
            largest(Ts, Ts1, Ts2, Ts3).
        query prank(_, P, S), WINDOW({size}, {slide}).""",
        """relation pub(paper: int, cited: int).
        ref(P, count<R>) <- pub(P, R).
        prank(P, V) <- ref(P, R), V = 1.0.
        prank(P, sum<V>) <- prank(C, W), pub(C, P), ref(C, R), V = W / R.
        query prank(P, S).""",
        citations,
        slide=1_000,
        slides=10,
    ),
)
