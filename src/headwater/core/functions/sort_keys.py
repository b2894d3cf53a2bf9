"""Sort keys: texts that sort as other values do, so that one column can rank rows by several.

`sort_key(a, b)` sorts by `a`, then by `b`: numbers first, then texts, lists and nulls. No key is the beginning of
another one of as many arguments, so keys may be joined. `reverse_sort_key` sorts the other way round.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from headwater.core.functions.function import plain
from headwater.core.functions.logic import never
from headwater.core.types import Type

_SIGN: Final = 1 << 63
_EXACT: Final = 1 << 53  # below this, every int is a float of its own
_ALL: Final = (1 << 64) - 1
_END: Final = "!"  # before all digits
_REVERSED: Final = str.maketrans(f"{_END}0123456789abcdef~", f"~fedcba9876543210{_END}")


def sort_key(*values: Any) -> str:
    return "".join(map(_key, values))


def _key(value: Any) -> str:
    match value:
        case None:
            return "f"
        case bool() | int() | float():
            return f"1{_number(value)}" if value == value else "2"  # a NaN is behind all numbers
        case str():
            return f"3{value.encode('utf-8', 'surrogatepass').hex()}{_END}"
        case _:
            return f"4{''.join(map(_key, value))}{_END}"


def _number(value: float) -> str:
    """The bits of a float, turned so that they sort as ints; where a float stands for several ints, also the int."""
    bits: int = struct.unpack(">Q", struct.pack(">d", float(value) + 0.0))[0]
    exact = f"{int(value) + _SIGN:017x}" if _EXACT <= abs(value) <= _SIGN else ""
    return f"{bits ^ (_ALL if bits & _SIGN else _SIGN):016x}{exact}"


def reverse_sort_key(key: str) -> str:
    return key.translate(_REVERSED)


SORT_KEYS = (
    plain(
        "sort_key", (None,), Type.STRING, sort_key, "a text that sorts as the arguments do, nulls last",
        variadic=True, sees_nulls=True, nullable=never,
    ),
    plain("reverse_sort_key", (Type.STRING,), Type.STRING, reverse_sort_key, "a sort key for the reverse order"),
)  # fmt: skip
