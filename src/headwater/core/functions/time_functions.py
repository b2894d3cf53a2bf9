"""Functions over moments, with SQL's conventions. Moments come as microseconds since 1970, in UTC.

A date is the moment at which its day begins. Patterns of time are strftime's.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from headwater.core.functions.casts import micros_of, moment_of
from headwater.core.functions.function import Function, partial, plain
from headwater.core.types import Type

_INT, _STRING, _TIME, _DATE = Type.INT, Type.STRING, Type.TIMESTAMP, Type.DATE
DAY = 86_400_000_000
_LENGTHS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": DAY,
    "WEEK": 7 * DAY,
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
UNITS = frozenset({*_LENGTHS, *_MONTHS})


def _part(name: str, of: Callable[[datetime], int], doc: str) -> Function:
    return plain(name, (_TIME,), _INT, lambda micros: of(moment_of(micros)), doc)


def _truncated(unit: str, micros: int) -> int | None:
    day = moment_of(micros).replace(hour=0, minute=0, second=0, microsecond=0)
    if unit.upper() in ("SECOND", "MINUTE", "HOUR"):
        return micros - micros % _LENGTHS[unit.upper()]
    match unit.lower():
        case "year" | "yyyy" | "yy":
            return micros_of(day.replace(month=1, day=1))
        case "quarter":
            return micros_of(day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1))
        case "month" | "mon" | "mm":
            return micros_of(day.replace(day=1))
        case "week":
            return micros_of(day - timedelta(days=day.weekday()))
        case "day" | "dd":
            return micros_of(day)
        case _:
            return None


def _day_of_week(moment: datetime) -> int:
    """1 is Sunday."""
    return (moment.weekday() + 1) % 7 + 1


def _months_later(moment: datetime, months: int) -> datetime:
    """The same day so many months later; the last of a month that is too short."""
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    return moment.replace(year=year, month=month + 1, day=min(moment.day, calendar.monthrange(year, month + 1)[1]))


def _add_days(micros: int, days: int) -> int:
    return micros_of(moment_of(micros - micros % DAY) + timedelta(days=days))


def _add_months(micros: int, months: int) -> int:
    return micros_of(_months_later(moment_of(micros - micros % DAY), months))


def _last_day(micros: int) -> int:
    day = moment_of(micros - micros % DAY)
    return micros_of(day.replace(day=calendar.monthrange(day.year, day.month)[1]))


def _later(unit: str, count: int, micros: int) -> int:
    if unit in _LENGTHS:
        return micros_of(moment_of(micros) + timedelta(microseconds=count * _LENGTHS[unit]))
    return micros_of(_months_later(moment_of(micros), count * _MONTHS[unit]))


def _count_steps(start: int, end: int, step: int, closed: int, both_ways: int) -> int | None:
    """How many of start, start + step, ... lie before the end; None for a step of nothing."""
    if both_ways and end < start:
        step = -step
    if step == 0:
        return None
    return max(0, (end - start + (closed if step > 0 else -closed) + step - (1 if step > 0 else -1)) // step)


def _month_steps(start: int, end: int, months: int, closed: int, both_ways: int) -> int | None:
    """The same for steps of months, which are not of one length."""
    if both_ways and end < start:
        months = -months
    if months == 0:
        return None
    first, last = moment_of(start), moment_of(end)
    apart = (last.year - first.year) * 12 + last.month - first.month
    count = max(0, apart // months + 2)
    sign = 1 if months > 0 else -1
    while count > 0:
        reached = sign * (micros_of(_months_later(first, (count - 1) * months)) - end)
        if reached < 0 or (reached == 0 and closed):
            return count
        count -= 1
    return 0


def _parsed(text: str, pattern: str) -> int:
    return micros_of(datetime.strptime(text, pattern).replace(tzinfo=UTC))


def _written(micros: int, pattern: str) -> str:
    return moment_of(micros).strftime(pattern)


TIME_FUNCTIONS = (
    _part("year", lambda moment: moment.year, "the year"),
    _part("quarter", lambda moment: (moment.month - 1) // 3 + 1, "the quarter of the year"),
    _part("month", lambda moment: moment.month, "the month, from 1"),
    _part("day", lambda moment: moment.day, "the day of the month"),
    _part("dayofweek", _day_of_week, "the day of the week, from 1 for Sunday"),
    _part("dayofyear", lambda moment: moment.timetuple().tm_yday, "the day of the year, from 1"),
    _part("hour", lambda moment: moment.hour, "the hour"),
    _part("minute", lambda moment: moment.minute, "the minute"),
    _part("second", lambda moment: moment.second, "the second"),
    plain("unix_timestamp", (_TIME,), _INT, lambda micros: micros // 1_000_000, "seconds since 1970"),
    partial("date_trunc", (_STRING, _TIME), _TIME, _truncated, "the start of its year, month, day or hour"),
    partial("date_add", (_TIME, _INT), _DATE, _add_days, "the date n days later", grows=True),
    plain(
        "datediff", (_TIME, _TIME), _INT, lambda end, start: end // DAY - start // DAY, "days between two timestamps"
    ),
    partial("trunc_date", (_STRING, _TIME), _DATE, _truncated, "the first date of its year, month or week"),
    _part("weekofyear", lambda moment: moment.isocalendar().week, "the week, from 1 (ISO)"),
    _part("weekday", datetime.weekday, "the day of the week, from 0 for Monday"),
    partial("add_months", (_TIME, _INT), _DATE, _add_months, "the date n months later", grows=True),
    plain("date_of", (_TIME,), _DATE, lambda micros: micros - micros % DAY, "the date of a timestamp"),
    plain("last_day", (_TIME,), _DATE, _last_day, "the last day of its month"),
    partial("count_steps", (None, None, None, _INT, _INT), _INT, _count_steps, "how many steps lie between two values"),
    partial("month_steps", (_TIME, _TIME, _INT, _INT, _INT), _INT, _month_steps, "the same, in steps of n months"),
    partial("time_later", (_STRING, _INT, _TIME), _TIME, _later, "the timestamp n units of time later", grows=True),
    partial("parse_time", (_STRING, _STRING), _TIME, _parsed, "a text in a pattern as a timestamp; else null"),
    plain("format_time", (_TIME, _STRING), _STRING, _written, "a timestamp as text in a pattern"),
)
