"""Chord's ring with ideal fingers: the owner of a key, and the hops of a lookup."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

BITS = 32
SIZE = 1 << BITS


class Ring:
    """Nodes on a ring of 2**32 positions."""

    def __init__(self, places: Iterable[tuple[Any, int]]) -> None:
        ordered = sorted((at % SIZE, node) for node, at in places)
        self._at = [at for at, _ in ordered]
        self._nodes = [node for _, node in ordered]
        self._index = {node: number for number, node in enumerate(self._nodes)}

    def owner(self, key: int) -> Any:
        """The first node at or after a key."""
        return self._nodes[self._after(key)]

    def _after(self, key: int) -> int:
        return bisect_left(self._at, key % SIZE) % len(self._at)

    def hops(self, start: Any, key: int) -> int:
        """Messages until a lookup by this node reaches the owner, each to the finger closest before the key."""
        here, goal, count = self._index[start], self._after(key), 0
        while here != goal:
            far = (key - self._at[here]) % SIZE
            following = (here + 1) % len(self._at)
            if (self._at[following] - self._at[here]) % SIZE >= far:
                return count + 1
            here = self._closest(here, far)
            count += 1
        return count

    def _closest(self, here: int, far: int) -> int:
        for bit in range((far - 1).bit_length() - 1, -1, -1):
            finger = self._after(self._at[here] + (1 << bit))
            gap = (self._at[finger] - self._at[here]) % SIZE
            if 0 < gap < far:
                return finger
        return (here + 1) % len(self._at)
