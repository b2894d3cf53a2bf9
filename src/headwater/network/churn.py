"""Chord while nodes come and go: a ring under churn, and how many lookups are answered rightly meanwhile.

    ring = churned_ring(nodes=16, session=60.0, churn=60.0, quiet=40.0, seed=0)
    ring.answered, ring.right, ring.right_when_quiet

Nodes join one after the other, then each stays for `session` seconds on average, and away for half of that; after
`churn` seconds of this nobody comes or goes any more. All the time, once a second, a node that is there looks a random
key up. An answer is right if it names the first node at or after the key, of those that were there when it was asked
or when it was answered. Node 0 begins the ring and stays.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

from headwater.network.protocols import event_protocol
from headwater.network.rapidnet import EventSimulation
from headwater.network.scenario import RING, positions
from headwater.network.topologies import mesh

JOINING = 2.0  # seconds between two nodes, at the start
SETTLING = 20.0  # seconds after the last of them
PATIENCE = 5.0  # for an answer


@dataclass(slots=True)
class ChurnedRing:
    """A simulation under way: its nodes, who was there when, and what was asked."""

    simulation: EventSimulation
    places: dict[str, int]
    churn_ends: float
    ends: float
    turns: list[tuple[float, str, bool]] = field(default_factory=list)
    asked: list[tuple[float, str, int]] = field(default_factory=list)

    def there(self, time: float) -> set[str]:
        """The nodes that are there at a time."""
        found: set[str] = set()
        for moment, node, up in sorted(self.turns):
            if moment <= time:
                (found.add if up else found.discard)(node)
        return found

    def owner(self, key: int, nodes: set[str]) -> str:
        """The first node at or after a key."""
        order = sorted((self.places[node], node) for node in nodes)
        return order[bisect_left(order, (key, "")) % len(order)][1]

    def outcomes(self, since: float, until: float) -> tuple[int, int, int]:
        """Of the lookups of a time: how many there were, were answered, were answered rightly."""
        answers: dict[int, Any] = {row[2]: row for row in self.simulation.rows("owner")}
        asked = answered = right = 0
        for number, (time, node, key) in enumerate(self.asked):
            if not since <= time < until or node not in self.there(time + PATIENCE):
                continue
            asked += 1
            answer = answers.get(number)
            if answer is not None and answer[5] <= time + PATIENCE:
                answered += 1
                right += answer[3] in {self.owner(key, self.there(moment)) for moment in (time, answer[5])}
        return asked, answered, right

    @property
    def churn_begins(self) -> float:
        return JOINING * (len(self.places) - 1) + SETTLING


def churned_ring(
    *, nodes: int = 16, session: float = 60.0, churn: float = 60.0, quiet: float = 40.0, seed: int = 0
) -> ChurnedRing:
    """A ring that has been through churn, and has been quiet for a while."""
    if nodes < 2 or min(session, churn, quiet) <= 0:
        raise ValueError("a ring has two nodes or more, and its times are longer than 0 seconds")
    dice = random.Random(seed)
    topology = mesh(nodes, seed)
    simulation = EventSimulation(event_protocol("chord_ring"), topology, seed=seed)
    places = dict(zip(topology.nodes, positions(topology.nodes), strict=True))
    begins = JOINING * (nodes - 1) + SETTLING
    ring = ChurnedRing(simulation, places, begins + churn, begins + churn + quiet)
    first, *others = topology.nodes
    marks = topology.nodes[:3]
    simulation.at(
        0.0,
        insert={
            "node": list(places.items()),
            "landmark": [(node, mark) for node in topology.nodes for mark in marks if node != mark],
            "create": [(first,)],
        },
    )
    ring.turns.append((0.0, first, True))
    for at, node in enumerate(others):
        simulation.stop(0.0, node)
        up, time = False, JOINING * (at + 1)
        while time < ring.churn_ends:
            up = not up
            (simulation.start if up else simulation.stop)(time, node)
            ring.turns.append((time, node, up))
            stay = dice.expovariate(1 / (session if up else session / 2))
            time = max(time, begins) + stay if up else time + stay
    _ask(ring, dice, begins)
    simulation.run(until=ring.ends)
    return ring


def _ask(ring: ChurnedRing, dice: random.Random, begins: float) -> None:
    time = begins
    while time < ring.ends - PATIENCE:
        node, key = dice.choice(sorted(ring.there(time))), dice.randrange(RING)
        ring.simulation.at(time, insert={"ask": [(node, key, len(ring.asked))]})
        ring.asked.append((time, node, key))
        time += 1.0
