"""A number for the way by which a row came: 63 bits of a digest over values.

`way_of` tells apart rows that are equal in all columns that are seen, and rows on a search for cycles. Two ways of a
million share a number with a probability of 10^-7. The engine computes the same numbers over whole columns, so what is
digested is fixed: an int by its value, a float by its bits, a text by its bytes in words of eight, all else as Python
writes it. The number is the same on every machine and in every process.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any

MULTIPLIER = 0x9E3779B97F4A7C15
SHIFT = 29
OF_NULL = 0x5851F42D4C957F2D
OF_TEXT = 0x2545F4914F6CDD1D
_WORD = (1 << 64) - 1


def way_of(*steps: Any) -> int:
    """The number of a way, from the values along it."""
    found = len(steps)
    for step in steps:
        found = _mixed(found, digest(step))
    return _mixed(found, found >> 32) >> 1


def digest(value: Any) -> int:
    """64 bits of one value."""
    if value is None:
        return OF_NULL
    if isinstance(value, bool | int):
        return int(value) & _WORD
    if isinstance(value, float):
        number = float("nan") if value != value else value + 0.0
        return int.from_bytes(struct.pack("<d", number), "little")
    if isinstance(value, str):
        return _of_text(value.encode())
    return int.from_bytes(hashlib.blake2b(repr(value).encode(), digest_size=8).digest(), "little")


def _of_text(text: bytes) -> int:
    found = OF_TEXT ^ len(text)
    for at in range(0, len(text), 8):
        found = _mixed(found, int.from_bytes(text[at : at + 8], "little"))
    return found


def _mixed(found: int, word: int) -> int:
    found = ((found ^ word) * MULTIPLIER) & _WORD
    return found ^ (found >> SHIFT)
