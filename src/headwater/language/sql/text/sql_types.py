"""SQL's types as Headwater's, and the type that holds the values of several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from headwater.core.types import Type, list_of
from headwater.core.widening import item_of
from headwater.core.widening import widest as items_of_all

_NAMES = {
    Type.INT: ("tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long", "int64", "int32"),
    Type.FLOAT: ("float", "real", "double", "float64"),
    Type.STRING: ("string", "varchar", "char", "text"),
    Type.BOOL: ("boolean", "bool"),
    Type.TIMESTAMP: ("timestamp", "timestamp_ntz", "timestamp_ltz", "timestamptz", "timestampntz"),
    Type.DATE: ("date",),
    Type.DURATION: ("interval", "duration"),
    Type.LIST: ("array", "list"),
    Type.ADDRESS: ("address",),
}
_TYPES = {name: kind for kind, names in _NAMES.items() for name in names}


_DECIMALS = frozenset({"decimal", "dec", "numeric"})
_MOST_DIGITS = 18  # that every integer of 64 bits can have
FIXES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(_DECIMALS, "take DOUBLE, or BIGINT for a number of the smallest unit, such as cents"),
        "binary": "take STRING, with hex or base64 in it",
        "map": "take a table of keys and values",
        "struct": "take a column per field",
        "variant": "take a column per field",
    }
)  # what to write instead of a type that no column has


def type_named(name: str, parameters: Sequence[object] = ()) -> Type | None:
    """The type of this name; a DECIMAL is an integer if it has no digits behind the point."""
    if name.lower() in _DECIMALS:
        digits = [int(text) if (text := str(one)).isdigit() else _MOST_DIGITS + 1 for one in parameters]
        whole = len(digits) < 2 or digits[1] == 0
        return Type.INT if whole and (not digits or digits[0] <= _MOST_DIGITS) else None
    return _TYPES.get(name.lower())


def widest(kinds: Iterable[Type | None]) -> Type | None:
    """The type of a column that gets values of these types; None where they do not go together."""
    found = set(kinds)
    if found == {Type.INT, Type.FLOAT}:
        return Type.FLOAT
    if found == {Type.DATE, Type.TIMESTAMP}:
        return Type.TIMESTAMP
    if len(found) > 1 and all(kind is not None and kind.is_list for kind in found):
        return list_of(items_of_all(item_of(kind) for kind in found))
    return found.pop() if len(found) == 1 else None
