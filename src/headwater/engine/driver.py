"""Drives generators that work in rounds: each yields what it ships and is sent what it receives.

A transaction is such a generator (see `Shard.transaction`). Nothing else calls `send` on one: a lone shard, shards in
one process, a gang of workers, a recorder and a replay differ only in the function that exchanges a round. If anything
goes wrong, the generator is closed, which undoes its transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Shipped = TypeVar("Shipped")
Received = TypeVar("Received")
Packed = TypeVar("Packed")
Arrived = TypeVar("Arrived")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Ended(Generic[Result]):
    """A generator that has returned, with its value."""

    value: Result


def step(run: Generator[Shipped, Any, Result], received: Any = None) -> Shipped | Ended[Result]:
    """Carry a run on to its next round, or to its end; the first step is given nothing."""
    try:
        return run.send(received)
    except StopIteration as end:
        return Ended(end.value)


def drive(run: Generator[Shipped, Received, Result], exchange: Callable[[Shipped], Received]) -> Result:
    """Carry a run to its end."""
    try:
        shipped = step(run)
        while not isinstance(shipped, Ended):
            shipped = step(run, exchange(shipped))
        return shipped.value
    finally:
        run.close()


def drive_together(
    runs: Sequence[Generator[Shipped, Received, Result]], exchange: Callable[[Sequence[Shipped]], Sequence[Received]]
) -> list[Result]:
    """Carry several runs, which make the same number of rounds, to their ends, round by round."""
    try:
        steps = [step(run) for run in runs]
        while True:
            ended = [found.value for found in steps if isinstance(found, Ended)]
            shipped = [found for found in steps if not isinstance(found, Ended)]
            if not shipped:
                return ended
            assert not ended, "all shards make the same number of rounds"
            steps = [step(run, received) for run, received in zip(runs, exchange(shipped), strict=True)]
    finally:
        for run in runs:
            run.close()


def relay(
    run: Generator[Shipped, Received, Result], ship: Callable[[Shipped], Packed], receive: Callable[[Arrived], Received]
) -> Generator[Packed, Arrived, Result]:
    """The same run, with all that it ships and all that it receives passed through a function each."""
    try:
        shipped = step(run)
        while not isinstance(shipped, Ended):
            shipped = step(run, receive((yield ship(shipped))))
        return shipped.value
    finally:
        run.close()
