"""The built-in functions: paths, lists, numbers, strings.

Each works on Python values (a list is a tuple) and returns None where it has no value. Paths follow
002 and 003: `concatPath` joins a link and a path, in either order, at the node they share.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from headwater.core.functions.casts import CASTS
from headwater.core.functions.function import Function, item_type, plain
from headwater.core.functions.logic import LOGIC, OF_PRESENT, alike, never, of_present
from headwater.core.functions.sizes import check_text
from headwater.core.functions.sort_keys import SORT_KEYS
from headwater.core.functions.sql_functions import SQL_FUNCTIONS
from headwater.core.functions.time_functions import TIME_FUNCTIONS
from headwater.core.functions.windows import WINDOWS
from headwater.core.types import Type, list_of, list_with
from headwater.core.widening import item_of, widest

_INT, _FLOAT, _STRING, _BOOL, _LIST = Type.INT, Type.FLOAT, Type.STRING, Type.BOOL, Type.LIST
_LIST_OF_ANY = list_of(Type.ANY)


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def concat_path(left: Any, right: Any) -> tuple[Any, ...] | None:
    """Two paths (a link is a path of two nodes) joined at the node they share.

    A link may be given in either direction, because links are bidirectional (002, section 2.1); a single
    node is simply put in front or behind. Paths that do not meet have no concatenation.
    """
    if not isinstance(left, tuple) or not isinstance(right, tuple):
        return _tuple(left) + _tuple(right)
    if not left or not right:
        return left or right
    if same_item(left[-1], right[0]):
        return left + right[1:]
    if len(left) == 2 and same_item(left[0], right[0]):
        return (left[1], *right)
    if len(right) == 2 and same_item(left[-1], right[1]):
        return (*left, right[0])
    return None


def _concat(*parts: Any) -> Any:
    if all(isinstance(part, tuple) for part in parts):
        return tuple(item for part in parts for item in part)
    if any(isinstance(part, tuple) for part in parts):
        return None
    return "".join(_to_string(part) for part in parts)


def _distance(*values: Any) -> float | None:
    """Euclidean: between two lists of coordinates, or between (x1, y1) and (x2, y2)."""
    first, second = values if len(values) == 2 else (values[:2], values[2:])
    first, second = _tuple(first), _tuple(second)
    if len(first) != len(second) or not all(isinstance(value, int | float) for value in first + second):
        return None
    return math.dist(first, second)


def _nth(items: tuple[Any, ...], index: int) -> Any:
    return items[index] if 0 <= index < len(items) else None


def _append(items: tuple[Any, ...], item: Any) -> tuple[Any, ...]:
    return (*items, item)


def _drop(items: tuple[Any, ...], count: int) -> tuple[Any, ...] | None:
    return items[count:] if 0 <= count <= len(items) else None


def _to_int(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _to_float(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _to_string(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(_to_string(item) for item in value) + "]"
    return str(value)


def ring_position(value: Any) -> int:
    """Where a value stands on a ring of 65,536 positions (Chord): the same for the same text, on every machine."""
    return int.from_bytes(hashlib.sha1(_to_string(value).encode(), usedforsecurity=False).digest()[:2], "big")


def _real(compute: Callable[..., float]) -> Callable[..., float | None]:
    """A real function that has no value where it is undefined or too large."""

    def partial(*values: float) -> float | None:
        try:
            result = compute(*values)
        except (ValueError, OverflowError, ZeroDivisionError):
            return None
        return result if isinstance(result, float) and math.isfinite(result) else None

    return partial


def _whole(compute: Callable[[float], int]) -> Callable[[float], int | None]:
    return lambda value: compute(value) if math.isfinite(value) else None


def _round(value: float, digits: int | None = None) -> float | None:
    if not math.isfinite(value):
        return None
    return round(value) if digits is None else round(float(value), digits)  # an int would be rounded by 10^digits


def _mod(left: float, right: float) -> float | None:
    return left % right if right else None


def _substr(text: str, start: int, count: int | None = None) -> str | None:
    if start < 0 or (count is not None and count < 0):
        return None
    return text[start:] if count is None else text[start : start + count]


def _split(text: str, separator: str) -> tuple[str, ...]:
    return tuple(text.split(separator)) if separator else tuple(text)


def _replaced(text: str, old: str, new: str) -> str:
    check_text("replace", len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


def _wider(types: tuple[Type | None, ...]) -> Type | None:
    """The type that holds every argument: float beside int, address beside string."""
    if None in types and Type.FLOAT not in types:
        return None
    return alike(types)


def _at_end(place: int) -> Callable[[tuple[Type | None, ...]], Type | None]:
    """The type of the first (0) or the last item (-1)."""

    def typing(types: tuple[Type | None, ...]) -> Type | None:
        whole = types[0]
        return whole.part(place) if whole is not None and whole.is_list else whole

    return typing


def _rest_type(types: tuple[Type | None, ...]) -> Type | None:
    whole = types[0]
    if whole is None or whole is Type.ANY:
        return whole and _LIST_OF_ANY
    return list_with(whole.parts[1:]) if whole.parts else whole


def _same_items(types: tuple[Type | None, ...]) -> Type | None:
    """A list that may have lost some of its items, or have them in another order; a string stays one."""
    whole = types[0]
    return list_of(item_of(whole)) if whole is not None and whole.is_list else whole


def _path_type(types: tuple[Type | None, ...]) -> Type:
    """Of nodes and paths, one after the other."""
    return list_of(widest(item_of(each) if each is not None and each.is_list else each for each in types))


def _append_type(types: tuple[Type | None, ...]) -> Type:
    return list_of(widest((item_of(types[0]), types[1])))


def _concat_type(types: tuple[Type | None, ...]) -> Type | None:
    if any(each is not None and each.is_list for each in types):
        return list_of(widest(item_of(each) for each in types if each is None or each.is_list or each is Type.ANY))
    if Type.ANY in types:
        return Type.ANY
    return None if None in types else Type.STRING


def same_item(left: Any, right: Any) -> bool:
    """Whether two items are equal: numbers are by their value, and a bool is no number."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same_item, left, right))
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)


def _holds(whole: Any, part: Any) -> bool:
    """Whether a list holds an item, or a text a part."""
    if isinstance(whole, str):
        return part in whole
    return any(same_item(item, part) for item in whole) if part in whole else False


def _round_type(types: tuple[Type | None, ...]) -> Type | None:
    return Type.FLOAT if len(types) == 2 else Type.INT


def _best(name: str, choose: Callable[..., Any], doc: str) -> Function:
    params: tuple[Type | None, ...] = (None, None) if name in ("larger", "smaller") else (None,)
    more: dict[str, Any] = {"variadic": len(params) == 1, "typing": _wider, "output_first": True, "alike": 0}
    return plain(name, params, None, lambda *values: choose(values), doc, **more)


_SEES_NULLS: Mapping[str, Any] = {"sees_nulls": True, "nullable": never}

_ALL = (
    plain("is_null", (None,), _BOOL, lambda value: value is None, "true if it is null", **_SEES_NULLS),
    plain("is_not_null", (None,), _BOOL, lambda value: value is not None, "true if it is not null", **_SEES_NULLS),
    plain("coalesce", (None,), None, of_present(lambda given: given[0]), "the first non-null argument", **OF_PRESENT),
    Function(
        "concatPath", (None, None), _LIST, concat_path, "a link and a path joined, in either order", typing=_path_type
    ),
    plain("inPath", (_LIST, None), _BOOL, _holds, "true if the path contains the node"),
    Function("concat", (None,), None, _concat, "lists or strings joined", variadic=True, typing=_concat_type),
    Function("append", (_LIST, None), _LIST, _append, "the list with an item added at the end", typing=_append_type),
    Function("encd", (None, None), _LIST, lambda *pair: pair, "a pair that sorts by its first value", typing=list_with),
    plain("member", (None, _LIST), _BOOL, lambda item, items: _holds(items, item), "true if the item is in the list"),
    plain("length", (None,), _INT, len, "the number of items of a list or characters of a string"),
    plain("size", (None,), _INT, len, "the same as length"),
    plain("first", (_LIST,), None, lambda items: _nth(items, 0), "first item", typing=_at_end(0)),
    plain("last", (_LIST,), None, lambda items: items[-1] if items else None, "last item", typing=_at_end(-1)),
    plain("rest", (_LIST,), _LIST, lambda items: _drop(items, 1), "all items except the first", typing=_rest_type),
    plain("drop", (_LIST, _INT), _LIST, _drop, "the list without its first n items", typing=_same_items),
    plain("nth", (_LIST, _INT), None, _nth, "the item at a position, from 0", typing=item_type),
    plain("reverse", (None,), None, lambda value: value[::-1], "a list or string in reverse order", typing=_same_items),
    _best("larger", max, "the larger of two"),
    _best("largest", max, "the largest of all"),
    _best("smaller", min, "the smaller of two"),
    _best("smallest", min, "the smallest of all"),
    Function("distance", (None, None), _FLOAT, _distance, "Euclidean distance of two lists or four numbers", also=(4,)),
    plain("abs", (_FLOAT,), None, abs, "the absolute value"),
    plain("floor", (_FLOAT,), _INT, _whole(math.floor), "the largest integer that is not larger"),
    plain("ceil", (_FLOAT,), _INT, _whole(math.ceil), "the smallest integer that is not smaller"),
    plain("round", (_FLOAT, _INT), None, _round, "rounded to an integer or to digits", also=(1,), typing=_round_type),
    Function("sqrt", (_FLOAT,), _FLOAT, _real(math.sqrt), "square root"),
    Function("pow", (_FLOAT, _FLOAT), _FLOAT, _real(math.pow), "the first argument to the power of the second"),
    Function("exp", (_FLOAT,), _FLOAT, _real(math.exp), "e to the power of the argument"),
    Function("log", (_FLOAT,), _FLOAT, _real(math.log), "natural logarithm"),
    plain("mod", (_FLOAT, _FLOAT), None, _mod, "the remainder, with the sign of the divisor", typing=_wider),
    plain("to_int", (None,), _INT, _to_int, "as an integer, rounded towards zero"),
    plain("to_float", (None,), _FLOAT, _to_float, "as a float"),
    Function("to_string", (None,), _STRING, _to_string, "as text"),
    plain("ring_position", (None,), _INT, ring_position, "the first 16 bits of the SHA-1 of its text"),
    plain("upper", (_STRING,), _STRING, str.upper, "in upper case"),
    plain("lower", (_STRING,), _STRING, str.lower, "in lower case"),
    plain("trim", (_STRING,), _STRING, lambda text: text.strip(" "), "without spaces at both ends"),
    plain(
        "substr", (_STRING, _INT, _INT), _STRING, _substr, "the part at a position (from 0), with a length", also=(2,)
    ),
    plain("starts_with", (_STRING, _STRING), _BOOL, str.startswith, "true if the first starts with the second"),
    plain("ends_with", (_STRING, _STRING), _BOOL, str.endswith, "true if the first ends with the second"),
    plain("contains", (None, None), _BOOL, _holds, "true if the string or list contains the second argument"),
    Function("replace", (_STRING, _STRING, _STRING), _STRING, _replaced, "every occurrence replaced"),
    plain("split", (_STRING, _STRING), list_of(_STRING), _split, "the parts between separators"),
)

BUILTINS: Mapping[str, Function] = MappingProxyType(
    {
        function.name: function
        for function in (*_ALL, *LOGIC, *SORT_KEYS, *SQL_FUNCTIONS, *TIME_FUNCTIONS, *CASTS, *WINDOWS)
    }
)

GOAL_NAMES = frozenset({"encd", "decd"})
"""Goals that pair two values and take a pair apart: `encd(A, B, Pair)`, `decd(Pair, A, B)`."""
