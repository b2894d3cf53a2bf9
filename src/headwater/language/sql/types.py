"""SQL's types as Headwater's, and the type that holds the values of several."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.core.types import Type

_NAMES = {
    Type.INT: ("tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long", "int64", "int32"),
    Type.FLOAT: ("float", "real", "double", "decimal", "dec", "numeric", "float64"),
    Type.STRING: ("string", "varchar", "char", "text"),
    Type.BOOL: ("boolean", "bool"),
    Type.TIMESTAMP: ("timestamp", "timestamp_ntz", "timestamp_ltz", "timestamptz", "timestampntz"),
    Type.DURATION: ("interval", "duration"),
    Type.LIST: ("array", "list"),
    Type.ADDRESS: ("address",),
}
_TYPES = {name: kind for kind, names in _NAMES.items() for name in names}


def type_named(name: str) -> Type | None:
    return _TYPES.get(name.lower())


def widest(kinds: Iterable[Type | None]) -> Type | None:
    """The type of a column that gets values of these types; None where they do not go together."""
    found = set(kinds)
    if found == {Type.INT, Type.FLOAT}:
        return Type.FLOAT
    return found.pop() if len(found) == 1 else None
