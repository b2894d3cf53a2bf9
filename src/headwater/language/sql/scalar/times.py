"""Dates and moments of SQL as terms. A date is the timestamp at which its day begins, and is written as a date."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.syntax import Binary, Call, Constant, Term

if TYPE_CHECKING:
    from headwater.language.sql.scalar.scalars import Value, Values

DATES = frozenset({"date_add", "add_months", "last_day", "trunc_date"})  # functions whose moments are dates
_DAY = 86_400_000_000
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_CODES = frozenset("YmdHMSyfjbBaAIp")


def as_date(value: Value, span: Span | None) -> Value:
    """The day of a moment, or of a text that tells one; null if it tells none."""
    from headwater.language.sql.scalar.scalars import Value

    if value.date:
        return value
    if isinstance(value.term, Constant) and isinstance(value.term.value, int) and value.type is Type.TIMESTAMP:
        midnight = value.term.value - value.term.value % _DAY
        return Value(Constant(midnight, Type.TIMESTAMP, span=span), Type.TIMESTAMP, False, True)
    day = Constant("day", Type.STRING)
    return Value(Call("trunc_date", (day, _moment(value, span)), span=span), Type.TIMESTAMP, True, True)


def months(node: exp.Expr) -> int | None:
    """How many months an interval has that is told in months, quarters or years: no fixed span of time."""
    unit, number = node.args.get("unit"), node.this
    if not isinstance(node, exp.Interval) or unit is None or not isinstance(number, exp.Literal):
        return None
    size = _MONTHS.get(str(unit.name).upper().rstrip("S"))
    amount = re.fullmatch(r"\s*([+-]?[0-9]{1,6})\s*", str(number.this))
    return None if size is None or amount is None else size * int(amount[1])


def months_later(values: Values, node: exp.Binary, span: Span | None) -> Value | None:
    """A time so many months later or earlier; None if no months are added."""
    from headwater.language.sql.scalar.scalars import Value

    for base, shift in ((node.this, node.expression), (node.expression, node.this)):
        count = months(shift)
        if count is not None and (isinstance(node, exp.Add) or shift is node.expression):
            given = values.value(base)
            later = Constant("MONTH", Type.STRING), Constant(count if isinstance(node, exp.Add) else -count, Type.INT)
            call = Call("time_later", (*later, _moment(given, span)), span=span)
            return Value(call, Type.TIMESTAMP, True, given.date)
    return None


def days_later(date: Value, days: Value, sign: str, span: Span | None) -> Value | None:
    """A date so many days later or earlier; None if it is no date, or no number of days."""
    from headwater.language.sql.scalar.scalars import Value

    if not date.date or date.is_null or days.type is not Type.INT or sign not in "+-":
        return None
    number = days.term if sign == "+" else Binary("-", Constant(0, Type.INT), days.term, span=span)
    call = Call("date_add", (date.term, number), span=span)
    return Value(call, Type.TIMESTAMP, date.nullable or days.nullable, True)


def converted(values: Values, node: exp.Expr, span: Span | None) -> Value:
    """`to_date`, `to_timestamp`, `unix_timestamp`, `from_unixtime` and `date_format`."""
    from headwater.language.sql.scalar.scalars import Value

    if node.this is None:
        hint = "views must give the same answer for the same data; put the time into a column"
        values.text.refuse("HW117", "the time of now is no part of the data", node, hint=hint)
    inner = node.this
    while isinstance(inner, exp.TimeStrToTime):
        inner = inner.this
    given = values.value(inner)
    pattern = node.args.get("format")
    match node:
        case exp.TsOrDsToDate() if pattern is None or given.type is Type.TIMESTAMP:
            return as_date(given, span)
        case exp.TsOrDsToDate():
            return as_date(Value(_parsed(values, given, pattern, span), Type.TIMESTAMP), span)
        case exp.StrToTime():
            return Value(_parsed(values, given, pattern, span), Type.TIMESTAMP, True)
        case exp.StrToUnix():
            moment = given.term if given.type is Type.TIMESTAMP else _parsed(values, given, pattern, span)
            return Value(Call("unix_timestamp", (moment,), span=span), Type.INT, True)
        case exp.UnixToStr():
            moment = Call("try_to_timestamp", (given.term,), span=span)
            return Value(Call("format_time", (moment, _pattern(values, pattern)), span=span), Type.STRING, True)
        case _:
            call = Call("format_time", (_moment(given, span), _pattern(values, pattern)), span=span)
            return Value(call, Type.STRING, True)


def _moment(value: Value, span: Span | None) -> Term:
    return value.term if value.type is Type.TIMESTAMP else Call("try_to_timestamp", (value.term,), span=span)


def _parsed(values: Values, given: Value, pattern: exp.Expr | None, span: Span | None) -> Term:
    return Call("parse_time", (given.term, _pattern(values, pattern)), span=span)


def _pattern(values: Values, node: exp.Expr | None) -> Constant:
    """A pattern of time, as sqlglot spells Spark's in strftime's letters."""
    text = str(node.this).replace("strict", "") if isinstance(node, exp.Literal) else ""
    codes = re.findall(r"%(-?.)", text)
    plain = re.sub(r"%-?.", "", text)
    if not codes or any(code not in _CODES for code in codes) or re.search(r"[A-Za-z']", plain):
        hint = "write a pattern of yyyy, MM, dd, HH, mm and ss, with signs between them"
        values.text.refuse("HW117", "this pattern of time is not translated", node, hint=hint)
    return Constant(text, Type.STRING)
