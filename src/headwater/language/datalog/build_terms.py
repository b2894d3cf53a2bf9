"""Makes the terms of the syntax tree: variables, constants, lists, calls and arithmetic, with their spans."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, TypeAlias

from lark import Token, Transformer

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language import escapes, syntax
from headwater.language.escapes import unescaped
from headwater.language.lines import Lines
from headwater.language.units import UNITS, duration

Children: TypeAlias = list[Any]

_LARGEST = 2**63 - 1


class TermBuilder(Transformer[Token, list[syntax.Statement | syntax.Include]]):
    """`turn_to` a text first; then each method makes the node of the grammar rule of its name."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[Diagnostic] = []
        self._lines: Lines
        self._offset = 0
        self._too_large: dict[int, Diagnostic] = {}

    def turn_to(self, lines: Lines, offset: int) -> None:
        """The next statement stands at `offset` of this text."""
        self._lines = lines
        self._offset = offset
        self.problems = []
        self._too_large = {}

    def finish(self) -> list[Diagnostic]:
        return [*self.problems, *self._too_large.values()]

    def terms(self, children: Children) -> Children:
        return children

    def arithmetic(self, children: Children) -> syntax.Term:
        """Folds `A + B * C - D` to the left, products before sums."""
        sums: list[Any] = [children[0]]
        for op, operand in zip(children[1::2], children[2::2], strict=True):
            if op in "*/%":
                sums[-1] = self._binary(sums[-1], op, operand)
            else:
                sums += [op, operand]
        term: syntax.Term = sums[0]
        for op, operand in zip(sums[1::2], sums[2::2], strict=True):
            term = self._binary(term, op, operand)
        return term

    def _binary(self, left: Any, op: Token, right: Any) -> syntax.Binary:
        return syntax.Binary(str(op), left, right, span=self._lines.span(left.span.start, right.span.end))

    def negative(self, children: Children) -> syntax.Term:
        minus, term = children
        begin, end = term.span.start, term.span.end
        span = self._lines.span(self._start(minus), end)
        match term:
            case syntax.Constant(value=bool() | str()):
                pass
            case syntax.Constant(value=int() | float() as value):
                self._too_large.pop(begin, None)
                return replace(term, value=-value, span=span)
            case syntax.Constant(value=syntax.Duration(microseconds)):
                return replace(term, value=syntax.Duration(-microseconds), span=span)
            case _:
                pass
        return syntax.Binary("-", syntax.Constant(0, Type.INT, span=span), term, span=span)

    def bracketed(self, children: Children) -> syntax.Term:
        term: syntax.Term = children[0]
        return term

    def variable(self, children: Children) -> syntax.Variable:
        (token,) = children
        return syntax.Variable(str(token), span=self._at(token))

    def wildcard(self, children: Children) -> syntax.Wildcard:
        return syntax.Wildcard(span=self._at(children[0]))

    def number(self, children: Children) -> syntax.Constant:
        (token,) = children
        if not token.isdigit():
            return syntax.Constant(float(token), Type.FLOAT, span=self._at(token))
        value = self._integer(token)
        return syntax.Constant(0 if value is None else value, Type.INT, span=self._at(token))

    def duration(self, children: Children) -> syntax.Constant:
        number, unit = children
        return syntax.Constant(self._duration(number, unit), Type.DURATION, span=self._between(number, unit))

    def string(self, children: Children) -> syntax.Constant:
        (token,) = children
        return syntax.Constant(self._unescape(token), Type.STRING, span=self._at(token))

    def name(self, children: Children) -> syntax.Constant | syntax.ListTerm:
        (token,) = children
        span = self._at(token)
        match str(token):
            case "true" | "false":
                return syntax.Constant(token == "true", Type.BOOL, span=span)
            case "nil":
                return syntax.ListTerm((), span=span)
            case "null":
                return syntax.Constant(None, None, span=span)
            case written:
                return syntax.Constant(name_of(written), Type.STRING, span=span)

    def located(self, children: Children) -> syntax.Term:
        mark, term = children
        span = self._lines.span(self._start(mark), term.span.end)
        match term:
            case syntax.Variable() | syntax.Constant():
                return replace(term, location=True, span=span)
            case syntax.Wildcard():
                return replace(term, span=span)
            case _:
                self._report("HW116", "`@` marks a variable or a constant", span)
                return syntax.Wildcard(span=span)

    def call(self, children: Children) -> syntax.Call:
        name, args, end = children
        return syntax.Call(name_of(name), tuple(args or ()), span=self._between(name, end))

    def list_term(self, children: Children) -> syntax.ListTerm:
        begin, items, end = children
        return syntax.ListTerm(tuple(items or ()), span=self._between(begin, end))

    def split_list(self, children: Children) -> syntax.ListTerm:
        begin, items, tail, end = children
        return syntax.ListTerm(tuple(items), tail, span=self._between(begin, end))

    def _duration(self, number: Token, unit: Token) -> syntax.Duration:
        found = duration(str(number), str(unit))
        if found is None and unit.lower() in UNITS:
            self._report("HW108", f"`{number} {unit}` does not fit into 64 bits", self._between(number, unit))
        elif found is None:
            close = get_close_matches(unit.lower(), UNITS, 1)
            note = "the units are ms, seconds, minutes, hours, days, weeks, months (30 days) and years (365 days)"
            hint = f"did you mean `{close[0]}`?" if close else None
            self._report("HW110", f"there is no unit of time `{unit}`", self._at(unit), note=note, hint=hint)
        return found or syntax.Duration(0)

    def _integer(self, token: Token) -> int | None:
        """The one value that fits only when negated is reported unless a minus sign turns up before it."""
        digits = token.lstrip("0") or "0"
        value = int(digits) if len(digits) < 20 else _LARGEST + 2
        if value <= _LARGEST:
            return value
        report = Diagnostic(
            "HW108",
            "this number does not fit 64 bits",
            self._at(token),
            note=f"integers range from {-_LARGEST - 1} to {_LARGEST}",
            hint="write it with a decimal point to have it as a float",
        )
        if value > _LARGEST + 1:
            self.problems.append(report)
            return None
        self._too_large[self._start(token)] = report
        return value

    def _unescape(self, token: Token) -> str:
        return unescaped(str(token[1:-1]), lambda found: self._unknown_escape(token, found))

    def _unknown_escape(self, token: Token, found: re.Match[str]) -> None:
        start = self._start(token) + 1 + found.start()
        span = self._lines.span(start, start + len(found[0]))
        self._report("HW107", f"there is no escape `{found[0]}`", span, note=escapes.NOTE, hint=escapes.HINT)

    def _report(self, code: str, message: str, span: Span, *, note: str | None = None, hint: str | None = None) -> None:
        self.problems.append(Diagnostic(code, message, span, note, hint))

    def _start(self, token: Token) -> int:
        return self._offset + (token.start_pos or 0)

    def _end(self, token: Token) -> int:
        return self._offset + (token.end_pos or 0)

    def _at(self, token: Token) -> Span:
        return self._lines.span(self._start(token), self._end(token))

    def _between(self, first: Token, last: Token) -> Span:
        return self._lines.span(self._start(first), self._end(last))


def name_of(token: str) -> str:
    return token[1:-1] if token.startswith("`") else str(token)
