"""Events from dice: bursts of changed links (002, section 6.5), nodes that fail and return, partitions that heal.

The same seed gives the same events. All are in order of time, and each failure ends before `until` where there is room.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import cycle

from headwater.network.events.model import (
    LinkChanges,
    NetworkEvent,
    NodeFails,
    NodeReturns,
    Partitioned,
    PartitionHeals,
)
from headwater.network.links import Topology

MOST_EVENTS = 1_000_000


def bursts(
    topology: Topology,
    *,
    until: float,
    every: Sequence[float] = (10.0,),
    share: float = 0.1,
    most: float = 0.1,
    seed: int = 0,
) -> list[NetworkEvent]:
    """Bursts after these intervals in turn; in each, a share of the links changes its cost by up to `most` of it.

    002 has bursts every 10 s, then after 2 s and 8 s in turn: `every=(2.0, 8.0)`.
    """
    if not every or min(every) <= 0:
        raise ValueError(f"the time between bursts is more than 0 s, not {every}")
    if not (0 < share <= 1 and 0 <= most < 1):
        raise ValueError(f"a share of links above 0 and up to 1 changes by a part below 1: not {share} and {most}")
    dice = random.Random(seed)
    pairs = sorted({(min(src, dst), max(src, dst)) for src, dst, _ in topology.channels})
    count = max(1, round(share * len(pairs)))
    _bound(until / min(every) * count)
    found: list[NetworkEvent] = []
    time, waits = 0.0, cycle(every)
    while (time := time + next(waits)) < until:
        changed = dice.sample(pairs, count)
        found += [
            LinkChanges(round(time, 6), one, other, round(1 + dice.uniform(-most, most), 4)) for one, other in changed
        ]
    return found


def node_failures(
    topology: Topology, *, until: float, every: float = 10.0, away: float = 5.0, seed: int = 0
) -> list[NetworkEvent]:
    """One node fails every so many seconds and returns after `away` seconds; one that is away does not fail again."""
    if every <= 0 or away <= 0:
        raise ValueError(f"nodes fail and return after more than 0 s, not {every} and {away}")
    _bound(2 * until / every)
    dice = random.Random(seed)
    found: list[NetworkEvent] = []
    back: dict[str, float] = {}
    time = every
    while time < until:
        standing = [node for node in topology.nodes if back.get(node, 0.0) < time]
        if standing:
            node = dice.choice(standing)
            back[node] = time + away
            found += [NodeFails(round(time, 6), node), NodeReturns(round(time + away, 6), node)]
        time += every
    return sorted((event for event in found if event.time < until), key=lambda event: event.time)


def partitions(
    topology: Topology, *, until: float, every: float = 20.0, apart: float = 10.0, share: float = 0.5, seed: int = 0
) -> list[NetworkEvent]:
    """A random share of the nodes is cut off every so many seconds, for `apart` seconds."""
    if not 0 < apart < every or not 0 < share < 1:
        raise ValueError(f"a share between 0 and 1 is cut off, and healed before the next cut: not {share}, {apart}")
    _bound(until / every * len(topology.nodes))
    dice = random.Random(seed)
    found: list[NetworkEvent] = []
    time = every
    while time < until:
        cut = dice.sample(topology.nodes, max(1, round(share * len(topology.nodes))))
        found += [Partitioned(round(time, 6), tuple(sorted(cut))), PartitionHeals(round(time + apart, 6))]
        time += every
    return [event for event in found if event.time < until]


def _bound(count: float) -> None:
    if count > MOST_EVENTS:
        raise ValueError(f"{count:,.0f} events; at most {MOST_EVENTS:,} will do")
