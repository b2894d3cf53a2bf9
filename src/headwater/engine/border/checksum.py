"""A checksum of an array, at the speed of memory: what makes it affordable to check a saved shard whole.

Every step is a bijection of the sum so far, so a change within any one word of eight bytes is noticed for sure, and any
other damage but once in 2**64. It guards against broken disks and cut files, not against forgers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.engine.codes.compiling import inlined, kernel

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def checksum(array: npt.NDArray[Any]) -> int:
    """The sum of an array's bytes; it depends on their order, and on how many there are."""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    whole = raw.size & ~7
    return int(_checksum(raw[:whole].view(np.uint64), raw[whole:]))


@inlined
def _mix(mixed, word):
    mixed = (mixed ^ word) * _MULTIPLIER
    return mixed ^ (mixed >> _SHIFT)


@kernel
def _checksum(words, rest):
    # four sums side by side, because one would wait for each of its multiplications
    a = b = c = d = _MULTIPLIER
    fours = words.size // 4 * 4
    for at in range(0, fours, 4):
        a = _mix(a, words[at])
        b = _mix(b, words[at + 1])
        c = _mix(c, words[at + 2])
        d = _mix(d, words[at + 3])
    for at in range(fours, words.size):
        a = _mix(a, words[at])
    for byte in rest:
        a = _mix(a, np.uint64(byte))
    mixed = np.uint64(8 * words.size + rest.size)
    for one in (a, b, c, d):  # each goes through a step of its own: equal damage to two of them must not cancel out
        mixed = _mix(_mix(mixed, one), _MULTIPLIER)
    return mixed
