"""Dense numbers for the values of columns that lie far apart: ids times a million, hashes, moments.

Direct addressing needs keys that lie close together. Where they do not, values are numbered in the order in which they
are met, and the numbers are addressed. Rows keep their values: numbers are known only to the table or index that made
them, which has room for some more values than there were, and is made anew when it has no more.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.engine.store import kernels

Values = npt.NDArray[np.int64]
_SAMPLE = 1 << 12
_MOST = 1 << 15  # values of a column: a larger table of them no longer fits a cache, and hashing keys is as quick
_FAR = 4  # a column is numbered if its values are at least so far apart
_SPARE = 8  # one more for so many values: numbers must not be made anew for each value that comes
_MOST_SPARE = 2.0  # cells for each that is needed, where the budget allows it


def number_columns(
    data: npt.NDArray[Any], size: int, columns: list[int], low: Values, high: Values, budget: int
) -> tuple[Values, Values, Values] | None:
    """Base, extent and words (see `kernels.cells`) of a box of at most `budget` cells around the keys in these columns
    of some rows, which lie between `low` and `high`; None if there is none, also by numbers."""
    spread = [int(top) - int(bottom) + 1 for bottom, top in zip(low, high, strict=True)]
    shown = [_at_least(data, size, column) for column in columns]
    extent = list(map(min, spread, shown))
    if math.prod(extent) > budget:
        return None
    found: dict[int, Values] = {}
    for at in range(len(spread)):
        others = math.prod(extent[:at] + extent[at + 1 :])
        extent[at] = spread[at]
        if spread[at] > _FAR * shown[at]:
            values = _distinct(data, size, columns[at], shown[at], min(budget // others, _MOST))
            if values is not None:
                found[at], extent[at] = values, values.size + values.size // _SPARE + 1
    if not found or math.prod(extent) > budget:
        return None
    slack = min(budget / math.prod(extent), _MOST_SPARE) ** (1 / len(extent))
    extent = [int(one * slack) for one in extent]
    base = np.array([0 if at in found else least for at, least in enumerate(low.tolist())], dtype=np.int64)
    sizes = np.array(extent, dtype=np.int64)
    return base, sizes, _words(found, sizes)


def _at_least(data: npt.NDArray[Any], size: int, column: int) -> int:
    """How many different values some rows of a column show: no more than it has."""
    some = np.sort(data[: size : size // _SAMPLE + 1, column])
    return 1 + int(np.count_nonzero(some[1:] != some[:-1]))


def _distinct(data: npt.NDArray[Any], size: int, column: int, expected: int, most: int) -> Values | None:
    """The different values of a column, in the order in which they are met; None if they are more than `most`."""
    room = 4 * expected
    while True:
        table = np.zeros(1 << (2 * room).bit_length(), dtype=np.int32)
        values = np.empty(room, dtype=np.int64)
        count = kernels.distinct_values(data, size, column, table, values, most)
        if count > most:
            return None
        if count <= room:
            return values[:count]
        room *= 4


def _words(found: dict[int, Values], extent: Values) -> Values:
    """The numbers of all columns, as kernels are given them."""
    slots = {at: 1 << int(2 * extent[at]).bit_length() for at in found}
    words = np.zeros(3 * extent.size + 2 * sum(slots.values()), dtype=np.int64)
    start = 3 * extent.size
    for at, values in found.items():
        words[3 * at], words[3 * at + 1] = start, slots[at] - 1
        start += 2 * slots[at]
        kernels.number_values(values, at, extent, words)
    return words
