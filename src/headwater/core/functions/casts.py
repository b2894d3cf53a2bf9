"""Casts with SQL's conventions: null for what cannot be read as the type asked for, texts as Spark writes them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from headwater.core.functions.function import Function, partial, plain
from headwater.core.functions.mixed import is_of
from headwater.core.types import Type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TRUTH = {**dict.fromkeys(("t", "true", "y", "yes", "1"), True), **dict.fromkeys(("f", "false", "n", "no", "0"), False)}
_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7  # floats that are written without an exponent


def as_text(value: Any) -> str:
    """A value as Spark writes it where a text is wanted."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return _float_text(value)
        case tuple():
            return f"[{', '.join(map(as_text, value))}]"
    return str(value)


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    first, rest = str(digits[0]), "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{first}.{rest}E{len(digits) + exponent - 1}"


def _time_text(micros: int) -> str:
    moment = moment_of(micros)
    fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction}"


def _date_text(micros: int) -> str:
    return moment_of(micros).date().isoformat()


def _to_bool(value: Any) -> bool | None:
    return _TRUTH.get(value.strip().lower()) if isinstance(value, str) else value != 0


def to_time(value: Any) -> int | None:
    """A text of ISO 8601, in UTC unless it says otherwise, or a number of seconds since 1970."""
    try:
        if not isinstance(value, str):
            return micros_of(_EPOCH + timedelta(seconds=value))
        moment = datetime.fromisoformat(value.strip())
        return micros_of(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def moment_of(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def micros_of(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _as(kind: Type) -> Function:
    def taken(value: Any) -> Any:
        return value if is_of(value, kind) else None

    return plain(f"as_{kind.value}", (None,), kind, taken, f"the value if it has type {kind.value}, else no value")


def _has_type(value: Any, name: str) -> bool:
    return is_of(value, Type(name))


CASTS = (
    *map(_as, (Type.INT, Type.FLOAT, Type.BOOL, Type.STRING, Type.TIMESTAMP, Type.DATE, Type.DURATION)),
    plain("as_any", (None,), Type.ANY, lambda value: value, "the same value with type any"),
    plain("has_type", (None, Type.STRING), Type.BOOL, _has_type, "true if the value has the named type"),
    Function("try_to_string", (None,), Type.STRING, as_text, "as text, as in Spark"),
    plain("time_to_string", (Type.TIMESTAMP,), Type.STRING, _time_text, "a timestamp as text"),
    plain("date_to_string", (Type.DATE,), Type.STRING, _date_text, "a date as text"),
    plain(
        "date_to_timestamp", (Type.DATE,), Type.TIMESTAMP, lambda micros: micros, "the moment at which a date begins"
    ),
    partial("try_to_bool", (None,), Type.BOOL, _to_bool, "as a boolean; null if that fails"),
    partial(
        "try_to_timestamp", (None,), Type.TIMESTAMP, to_time, "as a timestamp, from text or Unix seconds; else null"
    ),
)
