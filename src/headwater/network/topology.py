"""Transit-stub topologies: a few transit nodes in the middle, stubs of nodes around each of them (000, section 7.1).

A small Internet: transit domains for the long distances, and stub networks that each hang on one transit node. By
default one domain of 4 transit nodes with 3 stubs of 8 nodes each: 100 nodes, 200 links in both directions, 400 rows.
Latencies: 50 ms between transit nodes, 10 ms between a transit node and a stub, 2 ms within a stub.

Guarantees: connected; no link twice and none from a node to itself; the same rows for the same parameters and seed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import combinations
from typing import TypeAlias

Link: TypeAlias = tuple[str, str, int]
"""Source, destination, latency in milliseconds."""

BETWEEN_TRANSIT, TRANSIT_TO_STUB, WITHIN_STUB = 50, 10, 2
MOST = 10_000_000  # pairs of nodes among which links are drawn


class Density(Enum):
    """Links, in both directions, for each node: four link rows, or half of that."""

    DENSE = 2.0
    SPARSE = 1.0


@dataclass(frozen=True, slots=True)
class TransitStub:
    """The shape of a topology."""

    domains: int = 1
    transit: int = 4  # nodes per transit domain
    stubs: int = 3  # per transit node
    stub_size: int = 8  # nodes per stub
    density: Density = Density.DENSE
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("domains", "transit"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, not {getattr(self, name)}")
        for name in ("stubs", "stub_size"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative: {getattr(self, name)}")
        pairs = self.domains * self.transit * (self.transit + self.stubs * self.stub_size * (self.stub_size + 1)) // 2
        if pairs > MOST:
            raise ValueError(f"{self.nodes:,} nodes with {pairs:,} possible links; at most {MOST:,} will do")

    @property
    def nodes(self) -> int:
        return self.domains * self.transit * (1 + self.stubs * self.stub_size)


def with_about(links: int, density: Density = Density.DENSE, seed: int = 0) -> TransitStub:
    """The shape with about so many link rows, by more transit nodes: 25 nodes come with each (000, section 7.3)."""
    if links > MOST:
        raise ValueError(f"{links:,} links; at most {MOST:,} will do")
    transit = max(1, round(links / (2 * density.value * 25)))
    domains = -(-transit // 4)
    return TransitStub(domains, max(1, round(transit / domains)), density=density, seed=seed)


@dataclass(slots=True)
class _Draft:
    """Links in one direction while they are drawn."""

    dice: random.Random
    latency: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, node: str, other: str, latency: int) -> None:
        pair = (node, other) if node < other else (other, node)
        if node != other:
            self.latency.setdefault(pair, latency)

    def tree(self, nodes: Sequence[str], latency: int) -> None:
        """Connect nodes at random, with as few links as that takes."""
        order = self.dice.sample(nodes, len(nodes))
        for at in range(1, len(order)):
            self.add(order[at], order[self.dice.randrange(at)], latency)


def links(shape: TransitStub) -> list[Link]:
    """The rows of `link(src, dst, latency)`, each link in both directions, in a fixed order."""
    draft = _Draft(random.Random(shape.seed))
    domains = [[f"t{domain}.{at}" for at in range(shape.transit)] for domain in range(shape.domains)]
    for domain in domains:
        draft.tree(domain, BETWEEN_TRANSIT)
    for at in range(1, len(domains)):
        draft.add(draft.dice.choice(domains[at]), draft.dice.choice(domains[draft.dice.randrange(at)]), BETWEEN_TRANSIT)
    possible = [(node, other, BETWEEN_TRANSIT) for domain in domains for node, other in combinations(domain, 2)]
    for transit in (node for domain in domains for node in domain):
        for number in range(shape.stubs):
            stub = [f"s{transit[1:]}.{number}.{at}" for at in range(shape.stub_size)]
            if stub:
                draft.tree(stub, WITHIN_STUB)
                draft.add(transit, draft.dice.choice(stub), TRANSIT_TO_STUB)
                possible += [(node, other, WITHIN_STUB) for node, other in combinations(stub, 2)]
                possible += [(transit, node, TRANSIT_TO_STUB) for node in stub[: max(1, shape.stub_size // 4)]]
    wanted = round(shape.nodes * shape.density.value)
    draft.dice.shuffle(possible)
    for node, other, latency in possible:
        if len(draft.latency) >= wanted:
            break
        draft.add(node, other, latency)
    both_ways = (((node, other), (other, node)) for node, other in sorted(draft.latency))
    return [(*way, draft.latency[ways[0]]) for ways in both_ways for way in ways]
