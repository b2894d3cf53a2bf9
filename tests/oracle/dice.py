"""Chance: every random program, row and script is a function of one seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """The few throws that generators need."""

    __slots__ = ("_random",)

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def pick(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def picks(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """So many options, repeats allowed."""
        return [self.pick(options) for _ in range(self.number(least, most))]

    def number(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def chance(self, percent: int) -> bool:
        return self._random.randrange(100) < percent

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self._random.sample(items, len(items))

    def seed(self) -> int:
        return self._random.getrandbits(32)
