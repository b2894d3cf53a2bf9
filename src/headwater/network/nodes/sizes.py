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
    """Sizes of rows; those of symbols are remembered until the symbols are forgotten."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._known: npt.NDArray[np.int32] = np.zeros(64, dtype=np.int32)  # 0 is not known; with room ahead
        self._texts: dict[str, int] = {}

    def of(self, codes: npt.NDArray[np.integer[Any]], types: tuple[Type, ...], columns: tuple[int, ...]) -> Sizes:
        """Bytes of each row in these columns."""
        total = np.zeros(codes.shape[0], dtype=np.int64)
        for at in columns:
            total += self._column(codes[:, at], types[at])
        return total

    def _column(self, codes: npt.NDArray[np.integer[Any]], kind: Type) -> Sizes:
        if kind.is_symbolic:
            return self._of_symbols(codes)
        if kind is Type.BOOL:
            return np.ones(codes.shape[0], dtype=np.int64)
        if kind is Type.FLOAT:
            return np.full(codes.shape[0], 9, dtype=np.int64)
        wide = codes.astype(np.int64)
        zigzag = (wide << 1) ^ (wide >> 63)
        return 2 + np.searchsorted(_SEVENS, zigzag.view(np.uint64).astype(np.float64)).astype(np.int64)

    def _of_symbols(self, codes: npt.NDArray[np.integer[Any]]) -> Sizes:
        values, known = self._symbols.values, self._known
        if len(values) > known.size:
            self._known = np.zeros(len(values) + len(values) // 2, dtype=np.int32)
            self._known[: known.size] = known
            known = self._known
        unknown = codes[known[codes] == 0]
        if unknown.size:
            some = np.unique(unknown)
            known[some] = [self._size(values[code]) for code in some.tolist()]
        return known[codes].astype(np.int64)

    def forget(self, numbers: npt.NDArray[np.intp]) -> None:
        """These symbols are forgotten; their numbers may stand for others."""
        self._known[numbers[numbers < self._known.size]] = 0
        self._known = self._known[: len(self._symbols)].copy()

    @property
    def nbytes(self) -> int:
        return self._known.nbytes

    def _size(self, value: Any) -> int:
        """What `put_value` writes; a list of names, as paths are, is the sum of names that are known."""
        if type(value) is tuple and len(value) < 128:
            return 2 + sum(map(self._size, value))
        if type(value) is not str:
            return _written(value)
        found = self._texts.get(value)
        if found is None:
            found = self._texts[value] = _written(value)
        return found


def _written(value: Any) -> int:
    out = bytearray()
    put_value(out, value)
    return len(out)
