"""Units of time: a month is 30 days and a year 365 days, always; all of them count in microseconds."""

from __future__ import annotations

import re

from headwater.language.syntax import Duration

_MILLISECOND = 1_000
_SECOND = 1_000_000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR

UNITS = {
    "us": 1,
    "microsecond": 1,
    "microseconds": 1,
    "ms": _MILLISECOND,
    "millisecond": _MILLISECOND,
    "milliseconds": _MILLISECOND,
    "s": _SECOND,
    "sec": _SECOND,
    "secs": _SECOND,
    "second": _SECOND,
    "seconds": _SECOND,
    "min": _MINUTE,
    "mins": _MINUTE,
    "minute": _MINUTE,
    "minutes": _MINUTE,
    "h": _HOUR,
    "hour": _HOUR,
    "hours": _HOUR,
    "d": _DAY,
    "day": _DAY,
    "days": _DAY,
    "week": 7 * _DAY,
    "weeks": 7 * _DAY,
    "month": 30 * _DAY,
    "months": 30 * _DAY,
    "year": 365 * _DAY,
    "years": 365 * _DAY,
}

# The units a duration prints in when nobody wrote it: the largest that divides it.
_PRINTED = ("days", "hours", "minutes", "seconds", "milliseconds", "microseconds")
_WRITTEN = re.compile(r"([0-9]+(?:\.[0-9]+)?) ([a-z]+)")


def duration(number: str, unit: str) -> Duration | None:
    """None if there is no such unit, or if the number of microseconds leaves 64 bits."""
    size = UNITS.get(unit.lower())
    if size is None:
        return None
    amount = int(number) * size if number.isdigit() and len(number) < 20 else float(number) * size
    if amount >= 2**63:
        return None
    return Duration(round(amount), f"{number} {unit}")


def duration_text(value: Duration) -> str:
    """The text as written if it still says the same, else the largest unit that divides the amount."""
    written = _WRITTEN.fullmatch(value.text)
    if written is not None and duration(*written.groups()) == value:
        return value.text
    sign, amount = ("-", -value.microseconds) if value.microseconds < 0 else ("", value.microseconds)
    unit = next(name for name in _PRINTED if amount % UNITS[name] == 0)
    return f"{sign}{amount // UNITS[unit]} {unit}"
