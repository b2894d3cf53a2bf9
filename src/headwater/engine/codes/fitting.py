"""One value of a user's data: which type it shows, and what the engine keeps of it.

An int fits a float column that can hold it exactly; nothing else is converted, except that moments and spans of
time are kept to the microsecond. Nulls fit where a column lets them in, which its declaration says.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np

from headwater.core.functions.time_functions import DAY
from headwater.core.types import Type, list_of
from headwater.core.widening import widest

_INT64 = range(-(2**63), 2**63)
_NEVER_MISSING = frozenset({str, int, float, bool})
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
MOMENTS = range((dt.datetime.min - _EPOCH) // _MICROSECOND, (dt.datetime.max - _EPOCH) // _MICROSECOND + 1)
"""The timestamps that can be kept: those that Python has a datetime for."""


def type_of(value: Any) -> Type | None:
    """The type that a value shows, a list without what it holds; None: there is none for it."""
    if isinstance(value, bool | np.bool_):
        return Type.BOOL
    if isinstance(value, dt.timedelta | np.timedelta64):  # NumPy's is an integer to isinstance
        return Type.DURATION
    if isinstance(value, int | np.integer):
        return Type.INT
    if isinstance(value, float | np.floating):
        return Type.FLOAT
    if isinstance(value, str):
        return Type.STRING
    if isinstance(value, list | tuple | np.ndarray):
        return Type.LIST
    if isinstance(value, dt.datetime | np.datetime64):
        return Type.TIMESTAMP
    return Type.DATE if isinstance(value, dt.date) else None


def is_null(value: Any) -> bool:
    """Whether this is a null: Python's, or NaT or NA of NumPy and pandas."""
    return value is None or (type(value) not in _NEVER_MISSING and _is_missing(value, type_of(value)))


def fit(value: Any, kind: Type, *, nullable: bool = False) -> Any:
    """The value as the engine keeps it, or ValueError with the reason why it does not fit."""
    found = type_of(value)
    if value is None or _is_missing(value, found):
        if nullable:
            return None
        raise ValueError("a null does not fit")
    match kind:
        case Type.INT if found is Type.INT:
            return _whole(value)
        case Type.FLOAT if found is Type.FLOAT:
            return float(value)
        case Type.FLOAT if found is Type.INT:
            return _exact_float(value)
        case Type.STRING | Type.ADDRESS if found is Type.STRING:
            return _text(value)
        case Type.BOOL if found is Type.BOOL:
            return bool(value)
        case Type.ANY if found is not None:
            return _tuple(value)
        case Type.TIMESTAMP:
            return _moment(value, found)
        case Type.DATE if found in (Type.DATE, Type.TIMESTAMP, Type.STRING):
            return _day(value, found)
        case Type.DURATION if found is Type.DURATION:
            return _whole(_span(value) // _MICROSECOND)
        case Type.DURATION if found is Type.INT:
            return _whole(value)
    if kind.is_list and found is Type.LIST:
        return _list(value, kind)
    raise ValueError(f"{shown(value)} is not a valid {kind.value}")


def list_type_of(value: Any) -> Type:
    """The type that a list shows, by all its items."""
    return list_of(widest(list_type_of(item) if type_of(item) is Type.LIST else type_of(item) for item in value))


def _list(value: Any, kind: Type) -> tuple[Any, ...]:
    items = value.tolist() if isinstance(value, np.ndarray) else value
    if kind.parts and len(items) != len(kind.parts):
        raise ValueError(f"{shown(value)} is not a valid {kind.value}: it has {len(items)} items")
    if not kind.parts and kind.items in (None, Type.ANY):
        return tuple(_tuple(item) for item in items)
    try:
        return tuple(fit(item, kind.part(at) or Type.ANY) for at, item in enumerate(items))
    except ValueError as problem:
        raise ValueError(f"{shown(value)} is not a valid {kind.value}: {problem}") from None


def _is_missing(value: Any, found: Type | None) -> bool:
    """Whether this is a null of NumPy or pandas: NaT, or NA."""
    if found in (Type.TIMESTAMP, Type.DURATION):
        return bool(value != value)
    return found is None and type(value).__name__ == "NAType"


def shown(value: Any, most: int = 60) -> str:
    """A value as messages quote it, cut if it is long."""
    text = repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."


def _whole(value: Any) -> int:
    number = int(value)
    if number not in _INT64:
        raise ValueError(f"{shown(value)} does not fit into 64 bits")
    return number


def _exact_float(value: Any) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if number == float("inf") or int(number) != int(value):
        raise ValueError(f"{shown(value)} has more digits than a float holds")
    return number


def _text(value: str) -> str:
    """The text itself, also of a kind of string that has more to it; half a surrogate pair is none."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{shown(value)} is not valid Unicode text") from None
    return str.__str__(value)


def _tuple(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(_tuple(item) for item in value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _whole(value)
    if isinstance(value, float):
        return float(value)
    raise ValueError(f"a list may not hold {shown(value)}")


def _moment(value: Any, found: Type | None) -> int:
    """Microseconds since 1970 in UTC, from a datetime, a date, an ISO text or a number of microseconds."""
    if found is Type.STRING:
        value = _from_iso(value, "timestamp (write 2026-01-31T12:00:00)")
    if found is Type.DATE:
        value = dt.datetime.combine(value, dt.time())
    if isinstance(value, dt.datetime):
        try:
            aware = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
        except OverflowError:
            raise ValueError(f"{shown(value)} lies outside the years 1 to 9999") from None
        return (aware - _EPOCH) // _MICROSECOND
    if isinstance(value, np.datetime64):
        number = int(value.astype("datetime64[us]").astype(np.int64))
    elif found is Type.INT:
        number = int(value)
    else:
        raise ValueError(f"{shown(value)} is not a valid timestamp")
    if number not in MOMENTS:
        raise ValueError(f"{shown(value)} lies outside the years 1 to 9999")
    return number


def _day(value: Any, found: Type | None) -> int:
    """The moment at which a day begins, from a date, its ISO text or the moment itself."""
    if found is Type.STRING:
        value = _from_iso(value, "date (write 2026-01-31)")
    moment = _moment(value, Type.TIMESTAMP if found is Type.STRING else found)
    if moment % DAY:
        raise ValueError(f"{shown(value)} is a moment inside a day, not a date")
    return moment


def _from_iso(text: str, wanted: str) -> dt.datetime:
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{shown(text)} is not a valid {wanted}") from None


def _span(value: Any) -> dt.timedelta:
    if isinstance(value, np.timedelta64):
        return dt.timedelta(microseconds=int(value.astype("timedelta64[us]").astype(np.int64)))
    assert isinstance(value, dt.timedelta)
    return value
