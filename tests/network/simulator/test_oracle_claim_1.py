"""002's Claim 1: whatever the strategy, no message ever travels between two nodes that have no link."""

from __future__ import annotations

import random
from itertools import product

import pytest

import headwater as hw
from headwater.network.simulator.network import Network
from headwater.network.simulator.wire.links import Delays, Delivery
from tests.network.simulator.networked import WAYS

Link = tuple[str, str, int]
NAMES = "abcdefg"
PROGRAM = """
relation link(src: address, dst: address, cost: int).
reach(@S, @D) :- #link(@S, @D, _).
reach(@S, @D) :- #link(@S, @Z, _), reach(@Z, @D).
cost(@S, @D, min<C>) :- #link(@S, @D, C).
cost(@S, @D, min<C>) :- #link(@S, @Z, C1), cost(@Z, @D, C2), C = C1 + C2.
told(@D, @S) :- #link(@S, @D, _), busy(@S).
busy(@S) :- #link(@S, @D, C), C > 2.
"""


class Watched:
    """A network that notes who sends to whom."""

    def __init__(self, way: str, seed: int) -> None:
        one = WAYS[way]
        places = {name: number for number, name in enumerate(NAMES)}
        delays = Delays(0.0, 20.0, seed, tick=seed % 3)
        self.network = Network(
            hw.compile(PROGRAM), len(NAMES), one.strategy, shipping=one.shipping, delays=delays, places=places
        )
        self.pairs: set[frozenset[str]] = set()
        send = self.network._links.send

        def noted(delivery: Delivery) -> None:
            self.pairs.add(frozenset((NAMES[delivery.sender], NAMES[delivery.receiver])))
            send(delivery)

        self.network._links.send = noted  # type: ignore[method-assign]


def reachable(links: set[Link]) -> set[tuple[str, str]]:
    found = {(one, other) for one, other, _ in links}
    for middle, one, other in product(NAMES, repeat=3):
        if (one, middle) in found and (middle, other) in found:
            found.add((one, other))
    return found


def costs(links: set[Link]) -> set[Link]:
    best: dict[tuple[str, str], int] = {}
    for one, other, cost in links:
        best[one, other] = min(cost, best.get((one, other), cost))
    for middle, one, other in product(NAMES, repeat=3):
        if (one, middle) in best and (middle, other) in best:
            through = best[one, middle] + best[middle, other]
            best[one, other] = min(through, best.get((one, other), through))
    return {(*pair, cost) for pair, cost in best.items()}


def edits(seed: int) -> list[tuple[list[Link], list[Link]]]:
    """Links that come and links that go, now one by one, now several together."""
    dice = random.Random(seed)
    links: set[Link] = set()
    script = []
    for turn in range(12):
        absent = [(one, other, dice.randint(1, 4)) for one, other in product(NAMES, repeat=2) if one != other]
        come = dice.sample(absent, dice.choice((1, 2, 4)) if turn else 10)
        go = dice.sample(sorted(links), min(len(links), dice.choice((0, 1, 1, 3))))
        links = links - set(go) | set(come)
        script.append((come, go))
    return script


@pytest.mark.parametrize("way", WAYS)
def test_oracle_messages_travel_along_links(way: str) -> None:
    for seed in range(2):
        watched = Watched(way, seed)
        links: set[Link] = set()
        for come, go in edits(seed):
            before = links
            links = links - set(go) | set(come)
            watched.pairs.clear()
            watched.network.apply({"link": come}, {"link": go})
            neighbours = {frozenset((one, other)) for one, other, _ in before | links}
            assert watched.pairs <= neighbours, f"{way}, {seed}: a message between nodes without a link"
            assert watched.network.rows("reach") == reachable(links)
            assert watched.network.rows("cost") == costs(links)
            busy = {one for one, _, cost in links if cost > 2}
            assert watched.network.rows("told") == {(other, one) for one, other, _ in links if one in busy}
        for node in watched.network.nodes:
            assert not getattr(node, "_dead", None), "no node remembers the dead facts of a transaction that is over"


def test_a_death_is_told_at_all() -> None:
    """The test above would say nothing if nothing were sent when links go."""
    watched = Watched("absorption", 1)
    watched.network.apply({"link": [("a", "b", 1), ("b", "c", 1), ("c", "d", 1)]})
    watched.pairs.clear()
    watched.network.apply(delete={"link": [("c", "d", 1)]})
    assert watched.pairs == {frozenset("cd"), frozenset("bc"), frozenset("ab")}
