"""Values of type `any`, the items of mixed lists: which type each is of, and how it is taken where a type is asked for.

A bool is no number. A date, a moment or a span of time in a mixed list is its number of microseconds, an int.
"""

from __future__ import annotations

from typing import Any

from headwater.core.functions import operators
from headwater.core.types import Type

_PYTHON = {
    **dict.fromkeys((Type.INT, Type.TIMESTAMP, Type.DATE, Type.DURATION), int),
    **dict.fromkeys((Type.STRING, Type.ADDRESS), str),
    Type.FLOAT: float,
    Type.BOOL: bool,
}


def is_of(value: Any, kind: Type | None) -> bool:
    """Whether a value is of a type; an int is no float."""
    if kind is None or kind is Type.ANY:
        return True
    if not kind.is_list:
        return type(value) is _PYTHON[kind]
    if type(value) is not tuple or (kind.parts and len(kind.parts) != len(value)):
        return False
    return kind is Type.LIST or all(is_of(item, kind.part(at)) for at, item in enumerate(value))


def widened(value: Any, kind: Type | None) -> Any:
    """A value as one of a type that it may be put into: an int where floats stand is a float, also inside lists."""
    if kind is Type.FLOAT and type(value) is int:
        return float(value)
    if kind is not None and kind.has_floats and type(value) is tuple:
        return tuple(widened(item, kind.part(at)) for at, item in enumerate(value))
    return value


def same_value(left: Any, right: Any) -> bool:
    """Whether two values of type `any` are the same: of one type, and equal."""
    if type(left) is not type(right):
        return False
    if type(left) is tuple:
        return len(left) == len(right) and all(map(same_value, left, right))
    return bool(left == right or (left != left and right != right))  # one NaN, equal to itself


class Row(tuple[Any, ...]):
    """A row of mixed values: a tuple to which 1, 1.0 and True are different, also inside lists. A set keeps all."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(same_value, self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


def compared(op: str, left: Any, right: Any) -> bool:
    """A comparison with a side of type `any`: equal is what is the same; numbers, texts and lists have an order."""
    if op in ("=", "!="):
        return same_value(left, right) is (op == "=")
    if isinstance(left, bool) is not isinstance(right, bool):
        return False
    try:
        return operators.compared(op, left, right)
    except TypeError:
        return False
