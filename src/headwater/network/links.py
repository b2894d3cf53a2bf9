"""Nodes and the links between them: what a simulated network is built on.

A `Link` joins two nodes in both directions, with the same properties each way; a network whose two directions differ
gives `Link(..., both_ways=False)` twice. A `Topology` is a value: checked when it is made, never changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.program.nearest import nearest


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two nodes.

    `latency` is in seconds, `bandwidth` in bits per second. `loss`, `reorder` and `duplicate` are chances, for each
    message: that it is lost, that it is delayed by up to one more latency (so that others overtake it), that it comes
    twice. `metrics` are numbers that programs may use as costs; the links themselves do not read them.
    """

    src: Any
    dst: Any
    latency: float = 0.010
    bandwidth: float = 10e6
    loss: float = 0.0
    reorder: float = 0.0
    duplicate: float = 0.0
    both_ways: bool = True
    metrics: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        place = f"link {self.src!r} - {self.dst!r}"
        if self.src == self.dst:
            raise ValueError(f"{place}: a link joins two different nodes")
        if not (_is_number(self.latency) and 0 <= self.latency < math.inf):
            raise ValueError(f"{place}: a latency is a number of seconds from 0 on, not {self.latency!r}")
        if not (_is_number(self.bandwidth) and self.bandwidth > 0):
            raise ValueError(f"{place}: a bandwidth is more than 0 bits per second, not {self.bandwidth!r}")
        for name in ("loss", "reorder", "duplicate"):
            chance = getattr(self, name)
            if not (_is_number(chance) and 0 <= chance < 1):
                raise ValueError(f"{place}: {name} is a chance from 0 to below 1, not {chance!r}")

    @property
    def is_reliable(self) -> bool:
        """Whether each message arrives once and in order."""
        return not (self.loss or self.reorder or self.duplicate)

    def metric(self, name: str) -> float:
        """One of the metrics; also `latency` (in milliseconds), `hops` (1), and the link's own numbers."""
        for known, value in self.metrics:
            if known == name:
                return value
        if name == "hops":
            return 1
        if name == "latency":
            return self.latency * 1000
        if name in ("bandwidth", "loss"):
            return float(getattr(self, name))
        names = [known for known, _ in self.metrics] + ["hops", "latency", "bandwidth", "loss"]
        raise ValueError(f"link {self.src!r} - {self.dst!r} has no metric {name!r}; it has {', '.join(names)}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


@dataclass(frozen=True, slots=True)
class Topology:
    """The nodes of a network and the links between them.

    Without `nodes`, they are those that the links name, in order. A node that no link reaches is an error, unless it
    is the only one: it could never take part. `places` are latitude and longitude of nodes, for maps alone.
    """

    links: tuple[Link, ...]
    nodes: tuple[Any, ...] = field(default=())
    places: Mapping[Any, tuple[float, float]] = field(default_factory=dict, compare=False)

    def __init__(
        self,
        links: Iterable[Link],
        nodes: Iterable[Any] | None = None,
        places: Mapping[Any, tuple[float, float]] | None = None,
    ) -> None:
        found = tuple(links)
        for at, link in enumerate(found):
            if not isinstance(link, Link):
                raise TypeError(f"links[{at}] is not a Link: {link!r}")
        named = dict.fromkeys(end for link in found for end in (link.src, link.dst))
        given = tuple(named) if nodes is None else tuple(nodes)
        _check_nodes(found, given, named)
        object.__setattr__(self, "links", found)
        object.__setattr__(self, "nodes", given)
        object.__setattr__(self, "places", {node: place for node, place in (places or {}).items() if node in given})

    @property
    def channels(self) -> Iterator[tuple[Any, Any, Link]]:
        """Every direction of every link: sender, receiver, link."""
        for link in self.links:
            yield link.src, link.dst, link
            if link.both_ways:
                yield link.dst, link.src, link

    def rows(self, *metrics: str, both_ways: bool = True) -> list[tuple[Any, ...]]:
        """Rows of a link relation, `(src, dst, metric, ...)`: one for each direction, or for each link as given."""
        found = []
        for src, dst, link in self.channels:
            if both_ways or src == link.src:
                found.append((src, dst, *(link.metric(name) for name in metrics)))
        return found


def _check_nodes(links: tuple[Link, ...], nodes: tuple[Any, ...], named: dict[Any, None]) -> None:
    if not nodes:
        raise ValueError("a topology has one node or more")
    known = set(nodes)
    if len(known) < len(nodes):
        twice = next(node for at, node in enumerate(nodes) if node in nodes[:at])
        raise ValueError(f"node {twice!r} is there twice")
    kinds = sorted({type(node).__name__ for node in nodes})
    if len(kinds) > 1 or kinds[0] not in ("str", "int"):
        raise ValueError(f"nodes are named by strings, or by ints, and all alike; these are of {', '.join(kinds)}")
    for at, link in enumerate(links):
        for end in (link.src, link.dst):
            if end not in known:
                close = nearest(str(end), [str(node) for node in nodes])
                hint = f"; did you mean {close!r}?" if close else "; add it to the nodes"
                raise ValueError(f"links[{at}] names {end!r}, which is not a node{hint}")
    alone = [node for node in nodes if node not in named]
    if alone and len(nodes) > 1:
        raise ValueError(f"no link reaches node {alone[0]!r}; add a link, or leave the node out")
    seen: dict[tuple[Any, Any], int] = {}
    for at, link in enumerate(links):
        for pair in [(link.src, link.dst)] + ([(link.dst, link.src)] if link.both_ways else []):
            if pair in seen:
                raise ValueError(
                    f"links[{at}] joins {pair[0]!r} to {pair[1]!r}, as links[{seen[pair]}] does; keep one of them"
                )
            seen[pair] = at
