"""Routing: which shard owns a row, by the value of its location.

The hash is the same everywhere, in every run, and whatever type a column has: 1 in a column of ints, 1.0 in one of
floats and 1 among values of unknown type are owned by one shard, so that rules which carry one into the other stay
local.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.types import Type
from headwater.engine.codes.symbols import NULL, Symbols, code_floats, code_of_float, float_codes, null_code

Hashes = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
_NULL = float(NULL)  # nulls live where this number would, whatever the type of their column


class Owners:
    """The owners of values among several shards; each symbol is hashed once."""

    __slots__ = ("_hashes", "_known", "_symbols", "shards")

    def __init__(self, symbols: Symbols, shards: int) -> None:
        self.shards = shards
        self._symbols = symbols
        self._hashes: Hashes = np.zeros(0, dtype=np.uint64)
        self._known = np.zeros(0, dtype=np.bool_)

    def of(self, column: npt.NDArray[np.integer[Any]], kind: Type) -> Numbers:
        """The owner of each row, by the codes of its location."""
        if self.shards == 1:
            return np.zeros(column.shape[0], dtype=np.int64)
        if not kind.is_symbolic:
            return owners(hash_numbers(column, kind), self.shards)
        self._learn(column)
        return owners(self._hashes[column], self.shards)

    def _learn(self, column: npt.NDArray[np.integer[Any]]) -> None:
        if len(self._symbols) > self._known.size:
            capacity = max(16, 2 * len(self._symbols))
            self._hashes = np.concatenate([self._hashes, np.zeros(capacity - self._hashes.size, dtype=np.uint64)])
            self._known = np.concatenate([self._known, np.zeros(capacity - self._known.size, dtype=np.bool_)])
        fresh = column[~self._known[column]]
        if fresh.size:
            distinct = np.unique(fresh)
            values = self._symbols.values
            self._hashes[distinct] = hash_values(values[code] for code in distinct.tolist())
            self._known[distinct] = True


def owners(hashes: Hashes, shards: int) -> Numbers:
    return (hashes % np.uint64(shards)).astype(np.int64)


def hash_numbers(codes: npt.NDArray[np.integer[Any]], kind: Type) -> Hashes:
    """Hashes of a column that is not symbolic."""
    floats = code_floats(codes) if kind is Type.FLOAT else codes.astype(np.float64)
    if kind in (Type.FLOAT, Type.BOOL):  # elsewhere the code of null is that number
        floats = np.where(codes == null_code(kind), _NULL, floats)
    return _mixed(float_codes(floats).view(np.uint64))


def hash_values(values: Iterable[Any]) -> Hashes:
    """Hashes of Python values, one by one: strings, lists, and numbers whose type is only known at run time."""
    return _mixed(np.fromiter((_fingerprint(value) for value in values), dtype=np.uint64))


def _fingerprint(value: Any) -> int:
    if value is None:
        value = _NULL
    if isinstance(value, int | float):
        return code_of_float(float(value)) & 0xFFFFFFFFFFFFFFFF
    return zlib.crc32(_spelt(value))


def _spelt(value: Any) -> bytes:
    """Bytes that differ where values do."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, tuple):
        parts = [_spelt(item) for item in value]
        return b"".join(b"%d:%b" % (len(part), part) for part in parts)
    return b"#%d" % _fingerprint(value)


def _mixed(bits: Hashes) -> Hashes:
    """Spread what differs in any bit over all bits (the finaliser of splitmix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
