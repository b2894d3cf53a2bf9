"""How many bytes rows take in a message: the format of `network.simulator.wire.message`, value by value.

A message is a header of an IP and a UDP packet (28 bytes), and for each table a number, a sign and a count; then the
rows, each value with one byte for its type. Sizes are computed for columns of codes at once; nothing is written, as
nothing but the size is of interest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.types import Type
from headwater.engine.codes.symbols import Symbols
from headwater.network.simulator.wire.message import put_value

HEADER = 28
PART = 4  # table, sign, and how many rows: most often one byte each, and two for the count

Sizes = npt.NDArray[np.int64]
_SEVENS = (1 << (7 * np.arange(1, 10, dtype=np.int64))) - 1  # the largest numbers of one byte, of two, ...


class RowSizes:
    """Sizes of rows; those of symbols are remembered."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._known: Sizes = np.zeros(0, dtype=np.int64)

    def of(self, codes: npt.NDArray[np.integer[Any]], types: tuple[Type, ...], columns: tuple[int, ...]) -> Sizes:
        """Bytes of each row in these columns."""
        total = np.zeros(codes.shape[0], dtype=np.int64)
        for at in columns:
            total += self._column(codes[:, at], types[at])
        return total

    def _column(self, codes: npt.NDArray[np.integer[Any]], kind: Type) -> Sizes:
        if kind.is_symbolic:
            self._learn()
            return self._known[codes]
        if kind is Type.BOOL:
            return np.ones(codes.shape[0], dtype=np.int64)
        if kind is Type.FLOAT:
            return np.full(codes.shape[0], 9, dtype=np.int64)
        wide = codes.astype(np.int64)
        zigzag = (wide << 1) ^ (wide >> 63)
        return 2 + np.searchsorted(_SEVENS, zigzag.view(np.uint64).astype(np.float64)).astype(np.int64)

    def _learn(self) -> None:
        known, values = self._known.size, self._symbols.values
        if known < len(values):
            new = np.fromiter((_size(value) for value in values[known:]), dtype=np.int64)
            self._known = np.concatenate([self._known, new])


def _size(value: Any) -> int:
    out = bytearray()
    put_value(out, value)
    return len(out)
