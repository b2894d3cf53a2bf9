"""Dates and moments of SQL as terms. A date is the timestamp at which its day begins, and is written as a date."""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp

from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.sql.scalar.value import SqlValue, constant
from headwater.language.sql.text.parsed import SqlText
from headwater.language.syntax import Binary, Call, Constant, Term

DATES = frozenset({"date_add", "add_months", "last_day", "trunc_date"})  # functions whose moments are dates
_DAY = 86_400_000_000
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_CODES = frozenset("YmdHMSyfjbBaAIp")


def as_date(value: SqlValue, span: Span | None) -> SqlValue:
    """The day of a moment, or of a text that spells one; null if it spells none."""
    if value.date:
        return value
    if isinstance(value.term, Constant) and isinstance(value.term.value, int) and value.type is Type.TIMESTAMP:
        midnight = value.term.value - value.term.value % _DAY
        return replace(constant(midnight, Type.TIMESTAMP, span), date=True)
    day = Constant("day", Type.STRING)
    return SqlValue(Call("trunc_date", (day, _moment(value, span)), span=span), Type.TIMESTAMP, True, True)


def months(node: exp.Expr) -> int | None:
    """How many months an interval of months, quarters or years has: they are no fixed span of time."""
    unit, number = node.args.get("unit"), node.this
    if not isinstance(node, exp.Interval) or unit is None or not isinstance(number, exp.Literal):
        return None
    size = _MONTHS.get(str(unit.name).upper().rstrip("S"))
    amount = re.fullmatch(r"\s*([+-]?[0-9]{1,6})\s*", str(number.this))
    return None if size is None or amount is None else size * int(amount[1])


def months_in(node: exp.Binary) -> tuple[exp.Expr, int] | None:
    """Of a sum with an interval of months: the time that they are added to, and how many; None if it is no such sum."""
    for base, shift in ((node.this, node.expression), (node.expression, node.this)):
        count = months(shift)
        if count is not None and (isinstance(node, exp.Add) or shift is node.expression):
            return base, count if isinstance(node, exp.Add) else -count
    return None


def months_later(given: SqlValue, count: int, span: Span | None) -> SqlValue:
    later = Constant("MONTH", Type.STRING), Constant(count, Type.INT)
    return SqlValue(Call("time_later", (*later, _moment(given, span)), span=span), Type.TIMESTAMP, True, given.date)


def days_later(date: SqlValue, days: SqlValue, sign: str, span: Span | None) -> SqlValue | None:
    """A date so many days later or earlier; None if it is no date, or no number of days."""
    if not date.date or date.is_null or days.type is not Type.INT or sign not in "+-":
        return None
    number = days.term if sign == "+" else Binary("-", Constant(0, Type.INT), days.term, span=span)
    call = Call("date_add", (date.term, number), span=span)
    return SqlValue(call, Type.TIMESTAMP, date.nullable or days.nullable, True)


def converted(text: SqlText, node: exp.Expr, given: SqlValue, span: Span | None) -> SqlValue:
    """`to_date`, `to_timestamp`, `unix_timestamp`, `from_unixtime` and `date_format` of a value."""
    pattern = node.args.get("format")
    match node:
        case exp.TsOrDsToDate() if pattern is None or given.type is Type.TIMESTAMP:
            return as_date(given, span)
        case exp.TsOrDsToDate():
            return as_date(SqlValue(_parsed(text, given, pattern, span), Type.TIMESTAMP), span)
        case exp.StrToTime():
            return SqlValue(_parsed(text, given, pattern, span), Type.TIMESTAMP, True)
        case exp.StrToUnix():
            moment = given.term if given.type is Type.TIMESTAMP else _parsed(text, given, pattern, span)
            return SqlValue(Call("unix_timestamp", (moment,), span=span), Type.INT, True)
        case exp.UnixToStr():
            moment = Call("try_to_timestamp", (given.term,), span=span)
            return SqlValue(Call("format_time", (moment, _pattern(text, pattern)), span=span), Type.STRING, True)
        case _:
            call = Call("format_time", (_moment(given, span), _pattern(text, pattern)), span=span)
            return SqlValue(call, Type.STRING, True)


def _moment(value: SqlValue, span: Span | None) -> Term:
    return value.term if value.type is Type.TIMESTAMP else Call("try_to_timestamp", (value.term,), span=span)


def _parsed(text: SqlText, given: SqlValue, pattern: exp.Expr | None, span: Span | None) -> Term:
    return Call("parse_time", (given.term, _pattern(text, pattern)), span=span)


def _pattern(text: SqlText, node: exp.Expr | None) -> Constant:
    """A pattern of time, as sqlglot spells Spark's in strftime's letters."""
    pattern = str(node.this).replace("strict", "") if isinstance(node, exp.Literal) else ""
    codes = re.findall(r"%(-?.)", pattern)
    plain = re.sub(r"%-?.", "", pattern)
    if not codes or any(code not in _CODES for code in codes) or re.search(r"[A-Za-z']", plain):
        hint = "write a pattern of yyyy, MM, dd, HH, mm and ss, with signs between them"
        text.refuse("HW117", "this pattern of time is not translated", node, hint=hint)
    return Constant(pattern, Type.STRING)
