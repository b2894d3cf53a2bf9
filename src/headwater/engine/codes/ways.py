"""`way_of` over whole columns: the numbers that `core.functions.ways` gives single values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.functions import ways
from headwater.core.types import Type
from headwater.engine.codes.compiling import inlined, kernel
from headwater.engine.codes.symbols import Codes, Symbols, code_floats
from headwater.engine.codes.term_values import Mask, Value, both

Digests = npt.NDArray[np.uint64]

_MULTIPLIER = np.uint64(ways.MULTIPLIER)
_SHIFT = np.uint64(ways.SHIFT)
_OF_TEXT = np.uint64(ways.OF_TEXT)
_HALF = np.uint64(32)
_ONE = np.uint64(1)


def ways_of(symbols: Symbols, args: list[Value], size: int) -> Value:
    """A number for each binding, from its values."""
    digests = np.full(size, len(args), dtype=np.uint64)
    ok: Mask | None = None
    for arg in args:
        _mix_into(digests, _digests(arg, symbols))
        ok = both(ok, arg.ok)
    _mix_into(digests, digests >> _HALF)
    return Value((digests >> _ONE).view(np.int64), Type.INT, ok)


def _digests(value: Value, symbols: Symbols) -> Digests:
    """What of each value is digested. Where there is no value, the digest means nothing."""
    found = _of_symbols(value.codes, symbols) if value.type.is_symbolic else _of_numbers(value)
    null = value.nulls
    return found if null is None else np.where(null, np.uint64(ways.OF_NULL), found)


def _of_numbers(value: Value) -> Digests:
    if value.type is Type.FLOAT:
        return code_floats(value.codes).view(np.uint64)
    return np.ascontiguousarray(value.codes, dtype=np.int64).view(np.uint64)


def _of_symbols(codes: Codes, symbols: Symbols) -> Digests:
    values = [symbols.values[code] for code in codes.tolist()]
    try:
        return _of_texts(pa.array(values, type=pa.large_string()))
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return np.fromiter((ways.digest(value) for value in values), dtype=np.uint64, count=len(values))


def _of_texts(texts: pa.Array) -> Digests:
    _, offsets, letters = texts.buffers()
    found = np.empty(len(texts), dtype=np.uint64)
    bounds = np.frombuffer(offsets, dtype=np.int64, count=len(texts) + 1)
    data = np.frombuffer(letters, dtype=np.uint8) if letters is not None else np.zeros(0, dtype=np.uint8)
    _digest_texts(bounds, data, found)
    if texts.null_count:
        found[~texts.is_valid().to_numpy(zero_copy_only=False)] = ways.OF_NULL
    return found


@inlined
def _mixed(digest: Any, word: Any) -> Any:
    digest = (digest ^ word) * _MULTIPLIER
    return digest ^ (digest >> _SHIFT)


@kernel
def _digest_texts(bounds: Any, data: Any, found: Any) -> None:
    for text in range(found.size):
        start, end = bounds[text], bounds[text + 1]
        digest = _OF_TEXT ^ np.uint64(end - start)
        for first in range(start, end, 8):
            word = np.uint64(0)
            for at in range(min(8, end - first)):
                word |= np.uint64(data[first + at]) << np.uint64(8 * at)
            digest = _mixed(digest, word)
        found[text] = digest


@kernel
def _mix_into(digests: Any, words: Any) -> None:
    for at in range(digests.size):
        digests[at] = _mixed(digests[at], words[at])
