"""Values as integers: how a row of a user's data becomes a row of a matrix, and back.

Ints, timestamps (microseconds) and durations stand for themselves; a bool is 0 or 1; a float is its bits,
turned so that the order of the integers is the order of the floats; a string, a list or a value of type `any` is a
symbol, a dense number handed out in order of arrival. Equal values have equal codes and, symbols apart, codes
compare as the values do.

Null has a code of its own in every type: symbol 0, -1 among the bools, and elsewhere the smallest int64, which
orders before every other value. No other value has that code where nulls can be.

A number, once given, keeps its meaning until its value is forgotten, which may happen when nothing has the number any
more. It is then given to another value, so that a table of symbols is as long as it was at its fullest.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.functions.mixed import widened
from headwater.core.types import Type

Codes = npt.NDArray[np.int64]

NULL = -(2**63)
_JUDGED = 64
_TEXTS = frozenset({str})
_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
FORGOTTEN = object()
"""In the place of a value that was forgotten: no list, and not to be compared with any value."""


class Symbols:
    """Strings, lists and mixed values by number; null is number 0. Lists are tuples of plain Python values."""

    __slots__ = ("_free", "_numbers", "values")

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self._free = array("q")  # numbers of values that were forgotten, the largest first
        self.number(None)
        for value in values:
            self.number(value)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """About how many bytes they take, judged by a few of them."""
        step = len(self.values) // _JUDGED + 1
        some = [value for value in self.values[::step] if value is not FORGOTTEN]
        return self.held * sum(map(_weight, some)) // len(some)

    @property
    def held(self) -> int:
        """How many values there are, without those that were forgotten."""
        return len(self._numbers)

    def forget(self, numbers: Iterable[int]) -> None:
        """Give back the values of numbers that nothing has any more; none of them is null, or was forgotten."""
        for number in numbers:
            del self._numbers[_identity(self.values[number])]
            self.values[number] = FORGOTTEN
            self._free.append(number)
        self._numbers = dict(self._numbers)  # a dict keeps the room of what was deleted
        while self.values[-1] is FORGOTTEN:
            self.values.pop()
        free = np.sort(np.frombuffer(self._free, np.int64)) if self._free else np.zeros(0, np.int64)
        self._free = array("q", free[free < len(self.values)][::-1].tobytes())

    def number(self, value: Any) -> int:
        key = value if type(value) is str else _identity(value)
        found = self._numbers.get(key)
        if found is None and self._free:
            found = self._numbers[key] = self._free.pop()
            self.values[found] = value
        elif found is None:
            found = self._numbers[key] = len(self.values)
            self.values.append(value)
        return found

    def numbers(self, words: list[str]) -> list[int]:
        """As `number`, for many texts, each of them once."""
        found: list[Any] = list(map(self._numbers.get, words))
        new = found.count(None)
        if new:
            own = range(len(self.values), len(self.values) + new)
            fresh = words
            if new == len(words):
                found = list(own)
            else:
                fresh = [word for word, number in zip(words, found, strict=True) if number is None]
                left = iter(own)
                found = [next(left) if number is None else number for number in found]
            self._numbers.update(zip(fresh, own, strict=True))
            self.values += fresh
        return found

    def find(self, value: Any) -> int:
        """The number of a value that may never have been seen (then -1)."""
        return self._numbers.get(value if type(value) is str else _identity(value), -1)


class SymbolsAside(Symbols):
    """The numbers of another table of symbols, which stays as it is; values that it lacks get numbers of their own."""

    __slots__ = ("_known",)

    def __init__(self, known: Symbols) -> None:
        self._known = known
        self.values = []
        self._numbers = {}
        self._free = array("q")

    def __len__(self) -> int:
        return len(self._known) + len(self.values)

    def number(self, value: Any) -> int:
        found = self._known.find(value)
        return found if found >= 0 else len(self._known) + super().number(value)

    def numbers(self, words: list[str]) -> list[int]:
        return [self.number(word) for word in words]

    def find(self, value: Any) -> int:
        found = self._known.find(value)
        own = super().find(value) if found < 0 else -1
        return found if own < 0 else len(self._known) + own


def _weight(value: Any) -> int:
    """Bytes of a value, of what it is found by, and of its place."""
    if type(value) is tuple:
        return 320 + 150 * len(value)
    return 170 + (len(value) if type(value) is str else 0)


def _identity(value: Any) -> Any:
    """A key under which `1`, `1.0` and `True` differ, also deep inside lists."""
    if isinstance(value, tuple):
        return value if _TEXTS.issuperset(map(type, value)) else tuple(map(_identity, value))
    if type(value) is str:
        return value
    if value != value:
        return "float", None  # one NaN, equal to itself, as in a column of floats, and to no list
    return type(value).__name__, value


def float_codes(values: npt.NDArray[np.float64]) -> Codes:
    """Order-preserving codes; -0.0 becomes 0.0, and there is one NaN."""
    clean = values + 0.0
    if np.isnan(clean).any():
        clean = np.where(np.isnan(clean), np.float64("nan"), clean)
    bits: Codes = np.ascontiguousarray(clean).view(np.int64)
    return bits ^ ((bits >> 63) & _SIGN)


def code_floats(codes: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.float64]:
    wide = np.ascontiguousarray(codes, dtype=np.int64)
    bits: npt.NDArray[np.int64] = wide ^ ((wide >> 63) & _SIGN)
    return bits.view(np.float64)


def code_of_float(value: float) -> int:
    if value != value:
        value = float("nan")
    (bits,) = struct.unpack("<q", struct.pack("<d", value + 0.0))
    return int(bits if bits >= 0 else bits ^ 0x7FFFFFFFFFFFFFFF)


def null_code(kind: Type) -> int:
    if kind.is_symbolic:
        return 0
    return -1 if kind is Type.BOOL else NULL


def encode(value: Any, kind: Type, symbols: Symbols) -> int:
    """The code of one well-typed value, or of null."""
    if value is None:
        return null_code(kind)
    if kind.is_symbolic:
        return symbols.number(widened(value, kind) if kind.has_floats else value)
    if kind is Type.FLOAT:
        return code_of_float(float(value))
    return int(value)


def find_code(value: Any, kind: Type, symbols: Symbols) -> int:
    """Like `encode`, but learns nothing: an unseen symbol is -1, which no row holds."""
    return symbols.find(widened(value, kind)) if kind.is_symbolic else encode(value, kind, symbols)


def encode_all(values: Iterable[Any], kind: Type, symbols: Symbols) -> Codes:
    """Codes of well-typed Python values, one by one: for facts and for results of functions."""
    return np.fromiter((encode(value, kind, symbols) for value in values), dtype=np.int64)


def decode(codes: npt.NDArray[np.integer[Any]], kind: Type, symbols: Symbols, *, nullable: bool) -> list[Any]:
    """Python values of a column of codes; `nullable` where one of them may be null (a symbol always may)."""
    if kind.is_symbolic:
        values = symbols.values
        return [values[code] for code in codes.tolist()]
    if nullable:
        null = null_code(kind)
        plain = decode(codes, kind, symbols, nullable=False)
        return [None if code == null else value for code, value in zip(codes.tolist(), plain, strict=True)]
    if kind is Type.FLOAT:
        return code_floats(codes).tolist()
    if kind is Type.BOOL:
        return [bool(code) for code in codes.tolist()]
    return codes.tolist()
