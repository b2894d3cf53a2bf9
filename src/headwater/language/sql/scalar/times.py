"""Dates and moments of SQL as terms."""

from __future__ import annotations

import re

from sqlglot import exp

from headwater.core.functions.time_functions import DAY
from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.sql.scalar.value import SqlValue, constant
from headwater.language.sql.text.parsed import SqlText
from headwater.language.syntax import Binary, Call, Constant, Term

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_CODES = frozenset("YmdHMSyfjbBaAIp")


def as_date(value: SqlValue, span: Span | None) -> SqlValue:
    """The day of a moment, or of a text that spells one; null if it spells none."""
    if value.type is Type.DATE:
        return value
    if isinstance(value.term, Constant) and isinstance(value.term.value, int) and value.type is Type.TIMESTAMP:
        return constant(value.term.value - value.term.value % DAY, Type.DATE, span)
    nullable = value.nullable or value.type is not Type.TIMESTAMP
    return day_of(SqlValue(_moment(value, span), Type.TIMESTAMP, nullable), span)


def day_of(value: SqlValue, span: Span | None) -> SqlValue:
    """The date of a moment."""
    return SqlValue(Call("date_of", (value.term,), span=span), Type.DATE, value.nullable)


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


def months_later(given: SqlValue, count: Term, span: Span | None) -> SqlValue:
    """So many months later: a date stays one."""
    if given.type is Type.DATE:
        return SqlValue(Call("add_months", (given.term, count), span=span), Type.DATE, True)
    later = Call("time_later", (Constant("MONTH", Type.STRING), count, _moment(given, span)), span=span)
    return SqlValue(later, None if given.is_null else Type.TIMESTAMP, True, given.is_null)


def days_later(date: SqlValue, days: SqlValue, sign: str, span: Span | None) -> SqlValue | None:
    """A date so many days later or earlier; None if it is no date, or no number of days."""
    if date.type is not Type.DATE or days.type is not Type.INT or sign not in "+-":
        return None
    number = days.term if sign == "+" else Binary("-", Constant(0, Type.INT), days.term, span=span)
    call = Call("date_add", (date.term, number), span=span)
    return SqlValue(call, Type.DATE, date.nullable or days.nullable)


def converted(text: SqlText, node: exp.Expr, given: SqlValue, span: Span | None) -> SqlValue:
    """`to_date`, `to_timestamp`, `unix_timestamp`, `from_unixtime` and `date_format` of a value."""
    pattern = node.args.get("format")
    match node:
        case exp.TsOrDsToDate() if pattern is None or (given.type is not None and given.type.is_moment):
            return as_date(given, span)
        case exp.TsOrDsToDate():
            return as_date(SqlValue(_parsed(text, given, pattern, span), Type.TIMESTAMP), span)
        case exp.StrToTime():
            return SqlValue(_parsed(text, given, pattern, span), Type.TIMESTAMP, True)
        case exp.StrToUnix():
            moment = _parsed(text, given, pattern, span) if given.type is Type.STRING else given.term
            return SqlValue(Call("unix_timestamp", (moment,), span=span), Type.INT, True)
        case exp.UnixToStr():
            moment = Call("try_to_timestamp", (given.term,), span=span)
            return SqlValue(Call("format_time", (moment, _pattern(text, pattern)), span=span), Type.STRING, True)
        case _:
            call = Call("format_time", (_moment(given, span), _pattern(text, pattern)), span=span)
            return SqlValue(call, Type.STRING, True)


def _moment(value: SqlValue, span: Span | None) -> Term:
    return (
        value.term
        if value.type is not None and value.type.is_moment
        else Call("try_to_timestamp", (value.term,), span=span)
    )


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
