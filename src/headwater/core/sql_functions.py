"""Functions with SQL's conventions: positions count from 1, patterns match as LIKE does, and what has no value is null.

Timestamps come as microseconds since 1970, in UTC.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Any

from headwater.core.functions import Function
from headwater.core.logic import wider
from headwater.core.types import Type

_INT, _FLOAT, _STRING, _BOOL, _LIST, _TIME = (
    Type.INT,
    Type.FLOAT,
    Type.STRING,
    Type.BOOL,
    Type.LIST,
    Type.TIMESTAMP,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400_000_000
_MOST_DIGITS = 400  # more than any float has, before or behind the point
_EXACT = Context(prec=2 * _MOST_DIGITS + 50)


def _or_null(body: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with null where an argument is null or there is no value."""

    def total(*values: Any) -> Any:
        if None in values:
            return None
        try:
            found = body(*values)
        except (ValueError, ZeroDivisionError, OverflowError, TypeError, re.error):
            return None
        return None if isinstance(found, float) and not math.isfinite(found) else found

    return total


def _partial(
    name: str, params: tuple[Type | None, ...], result: Type | None, body: Callable[..., Any], doc: str, **more: Any
) -> Function:
    more.setdefault("grows", False)
    return Function(name, params, result, _or_null(body), doc=doc, sees_nulls=True, nullable=lambda _: True, **more)


def _plain(
    name: str, params: tuple[Type | None, ...], result: Type | None, body: Callable[..., Any], doc: str, **more: Any
) -> Function:
    more.setdefault("grows", False)
    return Function(name, params, result, body, doc=doc, **more)


def _some(choose: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    def of_those_there(*values: Any) -> Any:
        there = [value for value in values if value is not None]
        return choose(there) if there else None

    return of_those_there


# Numbers


def _quotient(left: float, right: float) -> int:
    if isinstance(left, int) and isinstance(right, int):
        found = abs(left) // abs(right)
        return found if (left < 0) == (right < 0) else -found
    return math.trunc(left / right)


def _remainder(left: float, right: float) -> float:
    if isinstance(left, int) and isinstance(right, int):
        found = abs(left) % abs(right)
        return -found if left < 0 else found
    return math.fmod(left, right)


def _round_half_up(value: float, digits: int = 0) -> float:
    """Of the number as it is written, as Spark does it: 2.675 is a half, though its double lies below."""
    if digits > _MOST_DIGITS or (isinstance(value, int) and digits >= 0) or not math.isfinite(value):
        return value
    if digits < -_MOST_DIGITS:
        return type(value)(0)
    found = Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _EXACT)
    return type(value)(found)


def _sign(value: float) -> float:
    return float((value > 0) - (value < 0))


def _whole(value: Any) -> int:
    if isinstance(value, str):
        text = value.strip()
        return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else math.trunc(float(text))
    return math.trunc(value)


def _number(value: Any) -> float:
    return float(value.strip() if isinstance(value, str) else value)


# Texts


@lru_cache(maxsize=1024)
def _like_pattern(pattern: str, escape: str, ignore_case: bool) -> re.Pattern[str]:
    out: list[str] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == escape and at + 1 < len(pattern):
            at += 1
            out.append(re.escape(pattern[at]))
        else:
            out.append({"%": ".*", "_": "."}.get(letter, re.escape(letter)))
        at += 1
    return re.compile("".join(out), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _like(text: str, pattern: str, escape: str = "\\") -> bool:
    return _like_pattern(pattern, escape, False).fullmatch(text) is not None


def _ilike(text: str, pattern: str, escape: str = "\\") -> bool:
    return _like_pattern(pattern, escape, True).fullmatch(text) is not None


def _rlike(text: str, pattern: str) -> bool:
    return re.search(pattern, text) is not None


def _substring(text: str, start: int, count: int | None = None) -> str:
    """Positions from 1, negative ones from the end; 0 is the same as 1."""
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    last = len(text) if count is None else first + max(0, count)
    return text[max(0, first) : max(0, last)]


def _padded(text: str, size: int, fill: str, *, left: bool) -> str:
    missing = size - len(text)
    if missing <= 0 or not fill:
        return text[: max(0, size)]
    padding = (fill * (missing // len(fill) + 1))[:missing]
    return padding + text if left else text + padding


def _joined(separator: str, *parts: Any) -> str:
    return separator.join(str(part) for part in parts)


def _ws(separator: str | None, *parts: Any) -> str | None:
    return None if separator is None else _joined(separator, *(part for part in parts if part is not None))


def _capitals(text: str) -> str:
    return " ".join(word[:1].upper() + word[1:].lower() for word in text.split(" "))


def _item(items: tuple[Any, ...], place: int) -> Any:
    if place == 0 or abs(place) > len(items):
        return None
    return items[place - 1] if place > 0 else items[place]


# Times


def _moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def _micros(moment: datetime) -> int:
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _part(name: str, of: Callable[[datetime], int], doc: str) -> Function:
    return _plain(name, (_TIME,), _INT, lambda micros: of(_moment(micros)), doc)


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


_SINGLE, _PAIR = (_STRING,), (_STRING, _STRING)

SQL_FUNCTIONS = (
    _partial(
        "divide", (_FLOAT, _FLOAT), _FLOAT, lambda left, right: left / right, "a quotient; null by zero", grows=True
    ),
    _partial("quotient", (None, None), _INT, _quotient, "a quotient without its fraction; null by zero"),
    _partial(
        "remainder", (None, None), None, _remainder, "what a division leaves, with the sign of the first", typing=wider
    ),
    _partial("round_half_up", (None, _INT), None, _round_half_up, "to digits, halves away from zero", also=(1,)),
    _plain("sign", (_FLOAT,), _FLOAT, _sign, "-1.0, 0.0 or 1.0"),
    _partial("try_to_int", (None,), _INT, _whole, "an integer, towards zero; null if it is none"),
    _partial("try_to_float", (None,), _FLOAT, _number, "a float; null if it is none"),
    _partial("try_sqrt", (_FLOAT,), _FLOAT, math.sqrt, "square root; null of a negative number", grows=True),
    _partial("try_log", (_FLOAT,), _FLOAT, math.log, "natural logarithm; null if there is none", grows=True),
    _partial("try_exp", (_FLOAT,), _FLOAT, math.exp, "e to the power; null if it is too large", grows=True),
    _partial("try_pow", (_FLOAT, _FLOAT), _FLOAT, math.pow, "a power; null if there is none", grows=True),
    Function(
        "greatest",
        (None,),
        None,
        _some(max),
        variadic=True,
        doc="the largest that is not null",
        typing=wider,
        grows=False,
        sees_nulls=True,
        nullable=all,
    ),
    Function(
        "least",
        (None,),
        None,
        _some(min),
        variadic=True,
        doc="the smallest that is not null",
        typing=wider,
        grows=False,
        sees_nulls=True,
        nullable=all,
    ),
    _partial("like", (_STRING, _STRING, _STRING), _BOOL, _like, "matches a pattern with % and _", also=(2,)),
    _partial("ilike", (_STRING, _STRING, _STRING), _BOOL, _ilike, "like, in capitals or not", also=(2,)),
    _partial("rlike", _PAIR, _BOOL, _rlike, "a regular expression is found in it"),
    _plain(
        "substring",
        (_STRING, _INT, _INT),
        _STRING,
        _substring,
        "from a position (from 1), so many characters",
        also=(2,),
    ),
    _plain(
        "left", (_STRING, _INT), _STRING, lambda text, count: text[: max(0, count)], "so many characters at its start"
    ),
    _plain(
        "right",
        (_STRING, _INT),
        _STRING,
        lambda text, count: text[len(text) - count :] if 0 < count <= len(text) else text if count > 0 else "",
        "so many characters at its end",
    ),
    _plain(
        "lpad",
        (_STRING, _INT, _STRING),
        _STRING,
        lambda text, size, fill=" ": _padded(text, size, fill, left=True),
        "filled up on the left to a length",
        also=(2,),
        grows=True,
    ),
    _plain(
        "rpad",
        (_STRING, _INT, _STRING),
        _STRING,
        lambda text, size, fill=" ": _padded(text, size, fill, left=False),
        "filled up on the right to a length",
        also=(2,),
        grows=True,
    ),
    _plain("ltrim", _SINGLE, _STRING, lambda text: text.lstrip(" "), "without spaces at its start"),
    _plain("rtrim", _SINGLE, _STRING, lambda text: text.rstrip(" "), "without spaces at its end"),
    _plain("repeat", (_STRING, _INT), _STRING, lambda text, count: text * max(0, count), "so many times", grows=True),
    _plain("position", _PAIR, _INT, lambda text, part: text.find(part) + 1, "where a part begins, from 1; 0: nowhere"),
    _plain("initcap", _SINGLE, _STRING, _capitals, "every word with a capital"),
    Function(
        "concat_ws",
        (_STRING, None),
        _STRING,
        _ws,
        variadic=True,
        doc="parts with a text between them, nulls left out",
        sees_nulls=True,
        nullable=lambda nulls: nulls[0],
    ),
    _partial(
        "item", (_LIST, _INT), None, _item, "item of a list (from 1; negative from its end)", typing=lambda _: None
    ),
    _part("year", lambda moment: moment.year, "the year"),
    _part("quarter", lambda moment: (moment.month - 1) // 3 + 1, "the quarter of the year"),
    _part("month", lambda moment: moment.month, "the month, from 1"),
    _part("day", lambda moment: moment.day, "the day of the month"),
    _part("dayofweek", _day_of_week, "the day of the week, from 1 for Sunday"),
    _part("dayofyear", lambda moment: moment.timetuple().tm_yday, "the day of the year, from 1"),
    _part("hour", lambda moment: moment.hour, "the hour"),
    _part("minute", lambda moment: moment.minute, "the minute"),
    _part("second", lambda moment: moment.second, "the second"),
    _plain("unix_timestamp", (_TIME,), _INT, lambda micros: micros // 1_000_000, "seconds since 1970"),
    _partial("date_trunc", (_STRING, _TIME), _TIME, _truncated, "the start of the year, month, day, hour it is in"),
    _plain(
        "date_add",
        (_TIME, _INT),
        _TIME,
        lambda micros, days: micros - micros % _DAY + days * _DAY,
        "the day so many days later",
        grows=True,
    ),
    _plain(
        "datediff", (_TIME, _TIME), _INT, lambda end, start: end // _DAY - start // _DAY, "days between two moments"
    ),
)
