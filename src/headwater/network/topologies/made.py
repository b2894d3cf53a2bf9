"""Networks from dice: transit-stub (000), the overlay on it (002), random graphs (003), and full meshes.

Guarantees: connected; no link twice; the same network for the same parameters and seed.
"""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass, replace
from itertools import combinations

from headwater.network.links import Link, Topology
from headwater.network.topology import MOST, TransitStub, links

BANDWIDTH = 10e6


def transit_stub(shape: TransitStub) -> Topology:
    """Latencies of 50, 10 and 2 ms, and 10 Mbps everywhere (000, section 7.1)."""
    rows = links(shape)
    return Topology(
        [Link(src, dst, ms / 1000, BANDWIDTH) for src, dst, ms in rows if src < dst] if rows else [],
        None if rows else [f"t{domain}.{at}" for domain in range(shape.domains) for at in range(shape.transit)],
    )


@dataclass(frozen=True, slots=True)
class Overlay:
    """The shape of an overlay (002, section 6.1)."""

    nodes: int = 100
    neighbours: int = 4
    below: TransitStub = TransitStub()  # the network that it stands on
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.neighbours < self.nodes:
            raise ValueError(f"{self.neighbours} neighbours each need more than {self.nodes} nodes")
        if self.nodes * self.neighbours > MOST:
            raise ValueError(f"{self.nodes * self.neighbours:,} links; at most {MOST:,} will do")
        if not self.below.stubs * self.below.stub_size:
            raise ValueError("the network below has no stub nodes to stand on")


def overlay(shape: Overlay) -> Topology:
    """Nodes on stub nodes; each picks neighbours at random (002, section 6.1).

    The latency of a link is that of the cheapest way below. Metrics: `hops` (1), `latency` in ms, `reliability` (the
    cost of losses: -1000 ln(1 - loss), where the loss grows with the latency), `random` (1 to 100).
    The links themselves lose nothing. Links go both ways; two nodes that pick each other share one.
    """
    dice = random.Random(shape.seed)
    below = links(replace(shape.below, seed=shape.seed))
    stubs = sorted({src for src, _, _ in below if src.startswith("s")})
    names = [f"n{at}" for at in range(shape.nodes)]
    hosts = dict(zip(names, _dealt(dice, stubs, shape.nodes), strict=True))
    ways = {host: _distances(below, host) for host in set(hosts.values())}
    pairs: set[tuple[str, str]] = set()
    for at, name in enumerate(names):
        others = dice.sample(names[:at] + names[at + 1 :], shape.neighbours)
        pairs |= {(min(name, other), max(name, other)) for other in others}
    _join(dice, names, pairs)
    made = []
    for src, dst in sorted(pairs):
        ms = ways[hosts[src]].get(hosts[dst], 0) or 1  # two nodes on one stub node are a millisecond apart
        loss = min(0.5, ms / 1000 * dice.uniform(0.5, 1.5))
        metrics = (("reliability", round(-1000 * math.log(1 - loss), 3)), ("random", float(dice.randint(1, 100))))
        made.append(Link(src, dst, ms / 1000, BANDWIDTH, metrics=metrics))
    return Topology(made, names)


def random_graph(
    nodes: int = 1000, count: int = 3000, seed: int = 0, latency: tuple[float, float] = (2, 50)
) -> Topology:
    """A connected graph with so many links at random (003, section 5.4); latencies in ms between two bounds."""
    possible = nodes * (nodes - 1) // 2
    if nodes < 2 or not nodes - 1 <= count <= possible:
        raise ValueError(f"{nodes:,} nodes are connected by {nodes - 1:,} to {possible:,} links, not {count:,}")
    if count > MOST:
        raise ValueError(f"{count:,} links; at most {MOST:,} will do")
    dice = random.Random(seed)
    names = [f"n{at}" for at in range(nodes)]
    pairs: set[tuple[str, str]] = set()
    order = dice.sample(names, nodes)
    for at in range(1, nodes):
        pairs.add(_ordered(order[at], order[dice.randrange(at)]))
    if count * 3 > possible:
        rest = sorted({_ordered(*pair) for pair in combinations(names, 2)} - pairs)
        pairs.update(dice.sample(rest, count - len(pairs)))
    while len(pairs) < count:
        one, other = dice.sample(names, 2)
        pairs.add(_ordered(one, other))
    shortest, longest = latency
    return Topology(
        [
            Link(
                src, dst, dice.uniform(shortest, longest) / 1000, BANDWIDTH, metrics=(("random", dice.randint(1, 100)),)
            )
            for src, dst in sorted(pairs)
        ],
        names,
    )


def mesh(nodes: int, seed: int = 0, latency: tuple[float, float] = (2, 50)) -> Topology:
    """Every node can talk to every other, as over the Internet: what Chord runs on."""
    return random_graph(nodes, nodes * (nodes - 1) // 2, seed, latency)


def _ordered(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _dealt(dice: random.Random, stubs: list[str], count: int) -> list[str]:
    """So many stub nodes, each as often as any other, in random order."""
    dealt: list[str] = []
    while len(dealt) < count:
        dealt += dice.sample(stubs, len(stubs))
    return dealt[:count]


def _distances(rows: list[tuple[str, str, int]], start: str) -> dict[str, int]:
    onward: dict[str, list[tuple[str, int]]] = {}
    for src, dst, ms in rows:
        onward.setdefault(src, []).append((dst, ms))
    done: dict[str, int] = {}
    pending = [(0, start)]
    while pending:
        far, node = heapq.heappop(pending)
        if node not in done:
            done[node] = far
            for other, ms in onward.get(node, []):
                heapq.heappush(pending, (far + ms, other))
    return done


def _join(dice: random.Random, names: list[str], pairs: set[tuple[str, str]]) -> None:
    """Add a link wherever random choices have left the overlay in pieces."""
    piece = {name: name for name in names}

    def root(name: str) -> str:
        while piece[name] != name:
            piece[name] = piece[piece[name]]
            name = piece[name]
        return name

    for one, other in sorted(pairs):
        piece[root(one)] = root(other)
    for name in names[1:]:
        if root(name) != root(names[0]):
            pairs.add(_ordered(name, dice.choice([other for other in names if root(other) == root(names[0])])))
            piece[root(name)] = root(names[0])
