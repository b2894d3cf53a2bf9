"""The works of `streams.py`: queries of 004 with and without time, and rows shaped like the paper's data.

Every row has a time of its own, one after the other, so that a window of `size` holds `size` rows. The rows come from a
fixed seed. Windows and slides hold as many rows as the paper's did on average, by its Table I: 40,000 and 2,000 for
organisations (200,000 and 10,000 of 156M moments with 31M rows), 208,000 and 20,800 for rides (10,000 and 1,000 of 0.5M
minutes with 10.4M), 80,000 and 2,000 for followers (4M and 0.1M of 73G with 1,468M), 5,400 and 540 for citations
(100 and 10 of 6,513 days with 0.35M).
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from random import Random

Row = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """A query with and without time, and the stream that it reads."""

    name: str
    stream: str
    view: str
    timed: str
    plain: str
    rows: Callable[[Random], Iterator[Row]]
    slide: int
    slides: int  # of a window
    measured: int = 100  # slides, enough for a 99th percentile

    @property
    def columns(self) -> list[str]:
        """Names of the stream's columns, the time first."""
        declared = self.timed[self.timed.index("(") + 1 : self.timed.index(")")]
        return [column.partition(":")[0].strip() for column in declared.split(",")]


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
    """Taxi rides between the 801 census tracts of a city, laid out as a grid.

    A few tracts have most of the rides (tracts with hardly any are masked in the paper's data); fares go by distance
    and chance, in steps of a quarter.
    """
    weights = list(accumulate((place + 1) ** -2.0 for place in range(801)))
    tracts = list(range(801))
    dice.shuffle(tracts)
    while True:
        start, end = (tracts[bisect(weights, dice.random() * weights[-1])] for _ in range(2))
        if start != end:
            distance = abs(start // 29 - end // 29) + abs(start % 29 - end % 29)
            yield start, end, 325 + 75 * distance + 25 * dice.randrange(5 + 2 * distance)


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
        slide=20_800,
        slides=10,
        measured=20,
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
        slide=540,
        slides=10,
    ),
)
