"""Functions over moments, with SQL's conventions. Moments come as microseconds since 1970, in UTC.

A date is the moment at which its day begins. Patterns of time are strftime's.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from headwater.core.functions.registry import Function
from headwater.core.functions.sql_functions import partial, plain
from headwater.core.types import Type

_INT, _STRING, _TIME = Type.INT, Type.STRING, Type.TIMESTAMP
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400_000_000
_LENGTHS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": _DAY,
    "WEEK": 7 * _DAY,
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
UNITS = frozenset({*_LENGTHS, *_MONTHS})


def _moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def _micros(moment: datetime) -> int:
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _part(name: str, of: Callable[[datetime], int], doc: str) -> Function:
    return plain(name, (_TIME,), _INT, lambda micros: of(_moment(micros)), doc)


def _truncated(unit: str, micros: int) -> int | None:
    moment = _moment(micros)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit.lower():
        case "year" | "yyyy" | "yy":
            return _micros(day.replace(month=1, day=1))
        case "quarter":
            return _micros(day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1))
        case "month" | "mon" | "mm":
            return _micros(day.replace(day=1))
        case "week":
            return _micros(day - timedelta(days=day.weekday()))
        case "day" | "dd":
            return _micros(day)
        case "hour":
            return _micros(moment.replace(minute=0, second=0, microsecond=0))
        case "minute":
            return _micros(moment.replace(second=0, microsecond=0))
        case "second":
            return _micros(moment.replace(microsecond=0))
        case _:
            return None


def _day_of_week(moment: datetime) -> int:
    """1 is Sunday."""
    return (moment.weekday() + 1) % 7 + 1


def _months_later(moment: datetime, months: int) -> datetime:
    """The same day so many months later; the last of a month that is too short."""
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    return moment.replace(year=year, month=month + 1, day=min(moment.day, calendar.monthrange(year, month + 1)[1]))


def _add_months(micros: int, months: int) -> int:
    return _micros(_months_later(_moment(micros - micros % _DAY), months))


def _last_day(micros: int) -> int:
    day = _moment(micros - micros % _DAY)
    return _micros(day.replace(day=calendar.monthrange(day.year, day.month)[1]))


def _later(unit: str, count: int, micros: int) -> int:
    if unit in _LENGTHS:
        return micros + count * _LENGTHS[unit]
    return _micros(_months_later(_moment(micros), count * _MONTHS[unit]))


def _parsed(text: str, pattern: str) -> int:
    return _micros(datetime.strptime(text, pattern).replace(tzinfo=UTC))


def _written(micros: int, pattern: str) -> str:
    return _moment(micros).strftime(pattern)


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
    partial("date_trunc", (_STRING, _TIME), _TIME, _truncated, "the start of the year, month, day, hour it is in"),
    plain(
        "date_add",
        (_TIME, _INT),
        _TIME,
        lambda micros, days: micros - micros % _DAY + days * _DAY,
        "the day so many days later",
        grows=True,
    ),
    plain("datediff", (_TIME, _TIME), _INT, lambda end, start: end // _DAY - start // _DAY, "days between two moments"),
    partial("trunc_date", (_STRING, _TIME), _TIME, _truncated, "the date at which its year, month or week begins"),
    plain("weekofyear", (_TIME,), _INT, lambda micros: _moment(micros).isocalendar().week, "the week, from 1 (ISO)"),
    plain("weekday", (_TIME,), _INT, lambda micros: _moment(micros).weekday(), "day of the week, from 0 for Monday"),
    partial("add_months", (_TIME, _INT), _TIME, _add_months, "the day so many months later", grows=True),
    plain("last_day", (_TIME,), _TIME, _last_day, "the last day of its month"),
    partial("time_later", (_STRING, _INT, _TIME), _TIME, _later, "so many units of time later", grows=True),
    partial("parse_time", (_STRING, _STRING), _TIME, _parsed, "the moment of a text in a pattern; else null"),
    plain("format_time", (_TIME, _STRING), _STRING, _written, "a moment in a pattern"),
)
