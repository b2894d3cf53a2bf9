"""Links between nodes: reliable, in order, each message after a delay of its own (000, section 3.1).

A discrete-event clock: nothing happens between two deliveries. Messages of one link arrive in the order in which they
were sent; those of different links may overtake each other. The delays come from a seed, so a run can be repeated
exactly.
"""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class Delays:
    """How long a message takes, in milliseconds: anything between two bounds.

    A node looks for messages once in a `tick`, and handles all that have come together; with 0, each by itself.
    """

    shortest: float = 1.0
    longest: float = 10.0
    seed: int = 0
    tick: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.shortest <= self.longest < float("inf"):
            raise ValueError(f"delays run from 0 upwards, the shortest first, not {self.shortest} to {self.longest}")


@dataclass(slots=True)
class LinkTraffic:
    """What went over the links between different nodes."""

    messages: int = 0
    rows: int = 0
    bytes: int = 0
    provenance: int = 0  # of the bytes, those of provenance
    clock: float = 0.0  # milliseconds until the last delivery

    def since(self, before: LinkTraffic) -> LinkTraffic:
        now, then = astuple(self), astuple(before)
        return LinkTraffic(*(count - earlier for count, earlier in zip(now, then, strict=True)))


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message from one node to another, as bytes."""

    sender: int
    receiver: int
    content: bytes


class Links:
    """The messages under way, by the moment at which they arrive; `now` is the clock, in milliseconds."""

    def __init__(self, delays: Delays) -> None:
        self.now = 0.0
        self._delays = delays
        self._dice = random.Random(delays.seed)
        self._waiting: list[tuple[float, int, int, Delivery]] = []
        self._sent = 0
        self._latest: dict[tuple[int, int], float] = {}

    def send(self, delivery: Delivery) -> None:
        self._sent += 1
        heapq.heappush(self._waiting, (self._arrival(delivery), delivery.receiver, self._sent, delivery))

    def _arrival(self, delivery: Delivery) -> float:
        arrival = self.now + self._dice.uniform(self._delays.shortest, self._delays.longest)
        if self._delays.tick:
            arrival = math.ceil(arrival / self._delays.tick) * self._delays.tick
        link = delivery.sender, delivery.receiver
        self._latest[link] = arrival = max(arrival, self._latest.get(link, 0.0))
        return arrival

    def next(self) -> list[Delivery]:
        """What the next node to look finds, with the clock set to that moment; nothing: all has arrived."""
        found: list[Delivery] = []
        while self._waiting and (not found or self._waiting[0][:2] == (self.now, found[0].receiver)):
            self.now, _, _, delivery = heapq.heappop(self._waiting)
            found.append(delivery)
        return found
