"""Channels: one direction of a link, with its queue, its bandwidth, and what can happen to a message on it.

A message waits until those before it are sent, takes its size over the bandwidth to be sent, and its latency to arrive.
With `in_order`, channels are a reliable transport: a lost message is sent again after a round trip, one that is late
holds back those behind it, and none comes twice. Without it they are datagrams: lost, overtaken and doubled as chance
has it. Chance comes from a seed: the same seed, the same messages.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from headwater.core.errors import StateError
from headwater.network.links import Link, Topology

_LEAST_ROUND_TRIP = 0.001


class Channels:
    """All channels of a topology, by the numbers of sender and receiver."""

    def __init__(self, topology: Topology, numbers: Mapping[Any, int], seed: int, *, in_order: bool) -> None:
        self._dice = random.Random(seed)
        self._in_order = in_order
        self.number: dict[tuple[int, int], int] = {}
        self.names: list[tuple[Any, Any]] = []
        self._links: list[Link] = []
        for src, dst, link in topology.channels:
            self.number[numbers[src], numbers[dst]] = len(self._links)
            self.names.append((src, dst))
            self._links.append(link)
        self._free = [0.0] * len(self._links)  # when the last message is sent
        self._latest = [0.0] * len(self._links)  # when the last message arrives

    def channel(self, sender: int, receiver: int, names: tuple[Any, ...]) -> int:
        """The channel between two nodes. Claim 1 of 002: there is one, or the message must not exist."""
        found = self.number.get((sender, receiver))
        if found is None:
            raise StateError(
                f"the rules send a row from node {names[sender]!r} to {names[receiver]!r}, and no link joins them; "
                "the rows of the program's link relation must be links of the topology"
            )
        return found

    def send(self, channel: int, size: int, now: float) -> tuple[list[float], int]:
        """The moments at which copies of a message arrive, and the bytes that were sent in all."""
        link = self._links[channel]
        sending = 8 * size / link.bandwidth
        self._free[channel] = sent = max(now, self._free[channel]) + sending
        if link.is_reliable:
            return [sent + link.latency], size
        if self._in_order:
            return self._reliably(channel, link, sent, sending, size)
        found = []
        copies = 2 if self._dice.random() < link.duplicate else 1
        for _ in range(copies):
            if self._dice.random() >= link.loss:
                late = self._dice.random() * link.latency if self._dice.random() < link.reorder else 0.0
                found.append(sent + link.latency + late)
        return found, size * copies

    def _reliably(self, channel: int, link: Link, sent: float, sending: float, size: int) -> tuple[list[float], int]:
        times = 1
        while self._dice.random() < link.loss:
            sent += max(2 * link.latency, _LEAST_ROUND_TRIP) + sending
            times += 1
        late = self._dice.random() * link.latency if self._dice.random() < link.reorder else 0.0
        arrival = max(sent + link.latency + late, self._latest[channel])
        self._latest[channel] = arrival
        return [arrival], size * times
