"""Units of time: a month is 30 days and a year 365 days, always; all of them count in microseconds."""

from __future__ import annotations

import re

from headwater.language.syntax import Duration

_SECOND = 1_000_000
_DAY = 24 * 60 * 60 * _SECOND
_NAMES = {
    1: "us microsecond microseconds",
    1_000: "ms millisecond milliseconds",
    _SECOND: "s sec secs second seconds",
    60 * _SECOND: "min mins minute minutes",
    60 * 60 * _SECOND: "h hour hours",
    _DAY: "d day days",
    7 * _DAY: "week weeks",
    30 * _DAY: "month months",
    365 * _DAY: "year years",
}
UNITS = {name: size for size, names in _NAMES.items() for name in names.split()}

# The units a duration prints in when it was not written: the largest that divides it.
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
