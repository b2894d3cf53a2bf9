"""The texts of a store's symbols as bytes: so documents are compared with stored ones without an object per value.

Promise: they follow the symbols, which only grow. A number is kept for each text: equal texts have equal numbers, so
that texts with different numbers differ; whether two with the same number are equal, their bytes say. Serves "replace a
document" of benchmarks/documents.md: 0.7 ms of looking symbols up become 0.1 ms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.engine.codes.symbols import Symbols
from headwater.semistructured.reading import kernels
from headwater.semistructured.store.contents import Ints


@dataclass(frozen=True, slots=True)
class TextBytes:
    """Texts as one array of bytes, where each begins and ends, and a number for each."""

    offsets: Ints
    data: npt.NDArray[np.uint8]
    numbers: Ints


class SymbolTexts:
    """The texts of symbols by their codes; what is no text counts as an empty one."""

    __slots__ = ("_data", "_known", "_numbers", "_offsets", "symbols")

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self._known = 0
        self._offsets: Ints = np.zeros(1, dtype=np.int64)
        self._data: npt.NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        self._numbers: Ints = np.zeros(0, dtype=np.int64)

    def now(self) -> TextBytes:
        """Those of all symbols that there are."""
        if self._known < len(self.symbols):
            self._take_in(self.symbols.values[self._known :])
        return TextBytes(self._offsets[: self._known + 1], self._data, self._numbers[: self._known])

    def _take_in(self, words: list[Any]) -> None:
        new = [word.encode("utf-8", "surrogatepass") if type(word) is str else b"" for word in words]
        ends = np.cumsum(np.fromiter(map(len, new), dtype=np.int64, count=len(new)))
        known, used, size = self._known, int(self._offsets[self._known]), self._known + len(new)
        self._offsets = _roomy(self._offsets, known + 1, size + 1)
        self._numbers = _roomy(self._numbers, known, size)
        self._data = _roomy(self._data, used, used + int(ends[-1]))
        self._offsets[known + 1 : size + 1] = used + ends
        self._data[used : used + int(ends[-1])] = np.frombuffer(b"".join(new), dtype=np.uint8)
        kernels.number_texts(self._offsets[known : size + 1], self._data, self._numbers[known:size])
        self._known = size

    @property
    def nbytes(self) -> int:
        """Bytes that they take, room that is not used yet included."""
        return int(self._offsets.nbytes + self._data.nbytes + self._numbers.nbytes)


def _roomy(array: npt.NDArray[Any], used: int, needed: int) -> npt.NDArray[Any]:
    """The array, or one with room for a quarter more than needed, so that it rarely moves."""
    if needed <= array.size:
        return array
    grown = np.empty(needed + needed // 4, dtype=array.dtype)
    grown[:used] = array[:used]
    return grown


def text_bytes(texts: pa.LargeStringArray) -> TextBytes:
    """The same of an Arrow array; a null is an empty text."""
    _, places, held = texts.buffers()
    offsets = np.frombuffer(places, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(held, dtype=np.uint8) if held is not None else np.zeros(0, dtype=np.uint8)
    numbers = np.empty(len(texts), dtype=np.int64)
    kernels.number_texts(offsets, data, numbers)
    return TextBytes(offsets, data, numbers)
