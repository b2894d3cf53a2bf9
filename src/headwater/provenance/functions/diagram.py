"""A boolean function as the nodes of its decision diagram: what can be read off it in one pass, and its bytes.

Children come before their parents: node 0 is false, 1 is true, the last one is the root. A node tests one variable and
leads to `low` where that is false, to `high` where it is true.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

_RAW = np.dtype([("variable", "<u2"), ("low", "<u4"), ("high", "<u4")])
_WIDTHS = (np.dtype("<u1"), np.dtype("<u2"), np.dtype("<u4"))
_HEAD = struct.Struct("<BI")


@dataclass(frozen=True, slots=True)
class Diagram:
    """Variable and children of each node; the two constants test nothing and are their own children."""

    variable: list[int]
    low: list[int]
    high: list[int]

    @classmethod
    def of(cls, raw: bytes) -> Diagram:
        nodes = np.frombuffer(raw, dtype=_RAW)
        return cls(nodes["variable"].tolist(), nodes["low"].tolist(), nodes["high"].tolist())

    @property
    def root(self) -> int:
        return len(self.variable) - 1

    def support(self) -> list[int]:
        return sorted(set(self.variable[2:]))

    def holds(self, absent: Collection[int] = ()) -> bool:
        """Whether it is true where every variable is true but these."""
        at = self.root
        while at > 1:
            at = self.low[at] if self.variable[at] in absent else self.high[at]
        return at == 1

    def dual(self) -> Diagram:
        """What must fail for the function to fail: true of the complements of the sets where the function is false."""
        if self.root < 2:
            return _constant(self.root == 0)
        swap = [1, 0, *range(2, self.root + 1)]
        low = [0, 1, *(swap[node] for node in self.high[2:])]
        high = [0, 1, *(swap[node] for node in self.low[2:])]
        return Diagram(self.variable, low, high)

    def probability(self, of: Callable[[int], Any]) -> Any:
        """How probable the function is when its variables are true independently, each with its own probability."""
        if self.root < 2:
            return self.root
        chances = {number: of(number) for number in self.support()}
        found: list[Any] = [0, 1]
        for at in range(2, self.root + 1):
            chance = chances[self.variable[at]]
            found.append(found[self.low[at]] * (1 - chance) + found[self.high[at]] * chance)
        return found[-1]

    def needed(self) -> list[int]:
        """Of a function that is true where all variables are: those that each alone, once false, make it false."""
        found: list[int] = []
        at = self.root
        while at > 1:
            other = self.low[at]
            while other > 1:
                other = self.high[other]
            if other == 0:
                found.append(self.variable[at])
            at = self.high[at]
        return found

    # Bytes

    def packed(self) -> bytes:
        """Numbers of children as narrow as they fit, the constants left out."""
        count = self.root + 1
        width = 0 if count <= 1 << 8 else 1 if count <= 1 << 16 else 2
        if count <= 2:
            return _HEAD.pack(width, count)
        kind = _WIDTHS[width]
        parts = (np.array(self.low[2:], kind), np.array(self.high[2:], kind), np.array(self.variable[2:], "<u2"))
        return _HEAD.pack(width, count) + b"".join(part.tobytes() for part in parts)

    @classmethod
    def unpacked(cls, content: bytes, variables: int) -> Diagram:
        """The diagram that `packed` wrote; anything else is a ValueError."""
        if len(content) < _HEAD.size:
            raise ValueError("these bytes are no provenance: too short")
        width, count = _HEAD.unpack_from(content)
        if width > 2 or count < 1 or len(content) != _HEAD.size + max(0, count - 2) * (2 * (1 << width) + 2):
            raise ValueError("these bytes are no provenance: wrong length")
        if count <= 2:
            return _constant(count == 2)
        inner = count - 2
        kind = _WIDTHS[width]
        low = np.frombuffer(content, kind, inner, _HEAD.size).astype(np.int64)
        high = np.frombuffer(content, kind, inner, _HEAD.size + inner * kind.itemsize).astype(np.int64)
        variable = np.frombuffer(content, "<u2", inner, _HEAD.size + 2 * inner * kind.itemsize).astype(np.int64)
        at = np.arange(2, count)
        level = np.concatenate([[variables, variables], variable])
        sound = (low < at) & (high < at) & (low != high)
        if not sound.all() or not ((variable < level[low]) & (variable < level[high])).all():
            raise ValueError("these bytes are no provenance: nodes out of order")
        return cls(level.tolist(), [0, 1, *low.tolist()], [0, 1, *high.tolist()])

    def raw(self, variables: int) -> bytes:
        """The nodes as the library reads them."""
        nodes = np.empty(self.root + 1, dtype=_RAW)
        nodes["variable"], nodes["low"], nodes["high"] = self.variable, self.low, self.high
        nodes["variable"][:2] = variables
        return nodes.tobytes()


def _constant(value: bool) -> Diagram:
    return Diagram([0, 0], [0, 1], [0, 1]) if value else Diagram([0], [0], [0])
