"""Casts with SQL's conventions: null for what cannot be read as the type asked for, texts as Spark writes them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from headwater.core.functions.mixed import is_of
from headwater.core.functions.registry import Function
from headwater.core.types import Type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TRUTH = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7  # floats that are written without an exponent


def _to_string(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return _float_text(value)
        case tuple():
            return f"[{', '.join(map(_to_string, value))}]"
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
    moment = _EPOCH + timedelta(microseconds=micros)
    fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction}"


def _to_bool(value: Any) -> bool | None:
    return _TRUTH.get(value.strip().lower()) if isinstance(value, str) else value != 0


def to_time(value: Any) -> int | None:
    """A text of ISO 8601, in UTC unless it says otherwise, or a number of seconds since 1970."""
    try:
        if not isinstance(value, str):
            return _micros(_EPOCH + timedelta(seconds=value))
        moment = datetime.fromisoformat(value.strip())
        return _micros(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _or_null(name: str, result: Type, body: Any, doc: str) -> Function:
    def total(value: Any) -> Any:
        return None if value is None else body(value)

    return Function(name, (None,), result, total, doc=doc, grows=False, sees_nulls=True, nullable=lambda _: True)


def _as_any(value: Any) -> Any:
    return value


def _as(kind: Type) -> Function:
    def taken(value: Any) -> Any:
        return value if is_of(value, kind) else None

    doc = f"the value if it is of type {kind.value}, else none"
    return Function(f"as_{kind.value}", (None,), kind, taken, doc=doc, grows=False)


def _has_type(value: Any, name: str) -> bool:
    return is_of(value, Type(name))


CASTS = (
    *map(_as, (Type.INT, Type.FLOAT, Type.BOOL, Type.STRING, Type.TIMESTAMP, Type.DURATION)),
    Function("as_any", (None,), Type.ANY, _as_any, doc="the same value, of type any", grows=False),
    Function("has_type", (None, Type.STRING), Type.BOOL, _has_type, doc="the value is of the type named", grows=False),
    Function("try_to_string", (None,), Type.STRING, _to_string, doc="as text, as Spark writes it"),
    Function("time_to_string", (Type.TIMESTAMP,), Type.STRING, _time_text, doc="a moment as text", grows=False),
    _or_null("try_to_bool", Type.BOOL, _to_bool, "true or false; null if it says neither"),
    _or_null("try_to_timestamp", Type.TIMESTAMP, to_time, "the moment of a text, or of seconds since 1970; else null"),
)
