"""What is to happen in a simulation, moment by moment: events, questions, arrivals, timers of nodes, and tasks."""

from __future__ import annotations

import heapq
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from headwater.engine.border.intake import Intake
from headwater.network.nodes.post import Message
from headwater.network.nodes.questions import QuestionEvent


@dataclass(frozen=True, slots=True)
class Event:
    """Base rows that come and go at one moment, and channels that fail and work again."""

    inserts: dict[str, Intake]
    deletes: dict[str, Intake]
    cut: tuple[tuple[int, int], ...] = ()
    mended: tuple[tuple[int, int], ...] = ()


class TimerKind(Enum):
    """What a node does when its timer goes off."""

    FLUSH = "flush"  # send what was held back
    RENEW = "renew"  # let rows expire that nobody renewed, and renew those that it has sent


@dataclass(frozen=True, slots=True)
class Timer:
    """A node's timer."""

    kind: TimerKind
    node: int


@dataclass(frozen=True, slots=True)
class ScheduledTask:
    """Something that a simulation of another kind does at a moment; `waits` if the network is quiet meanwhile."""

    waits: bool = False


Happening: TypeAlias = Event | QuestionEvent | Message | Timer | ScheduledTask


@dataclass(slots=True)
class Moments:
    """What is to happen, by tick: events, questions, arrivals, timers of nodes, and tasks."""

    heap: list[tuple[int, int, Happening]] = field(default_factory=list)
    count: int = 0

    def add(self, tick: int, what: Happening) -> None:
        self.count += 1
        heapq.heappush(self.heap, (tick, self.count, what))

    def drop(self, channels: Collection[tuple[int, int]]) -> list[Message]:
        """Take out the messages that are under way on these channels."""
        lost = [
            what for _, _, what in self.heap if isinstance(what, Message) and (what.sender, what.receiver) in channels
        ]
        gone = set(map(id, lost))
        self.heap = [each for each in self.heap if id(each[2]) not in gone]
        heapq.heapify(self.heap)
        return lost

    def next(self) -> tuple[int, list[Happening]]:
        tick = self.heap[0][0]
        found = []
        while self.heap and self.heap[0][0] == tick:
            found.append(heapq.heappop(self.heap)[2])
        return tick, found
