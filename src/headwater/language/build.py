"""Makes syntax nodes out of what the grammar recognises, with spans into the text as written.

What the grammar is too coarse to refuse is refused here, by a diagnostic and a stand-in node, so
that one statement can report several mistakes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, TypeAlias

from lark import Token, Transformer

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.lines import Lines
from headwater.language.tree import (
    Aggregate,
    Atom,
    Binary,
    Call,
    ColumnDeclaration,
    Comparison,
    Constant,
    Declaration,
    Duration,
    Goal,
    Head,
    Include,
    Kind,
    ListTerm,
    Negation,
    Query,
    Rule,
    Statement,
    Term,
    Variable,
    Wildcard,
    Window,
)
from headwater.language.units import UNITS, duration

Children: TypeAlias = list[Any]

TYPE_NAMES = {
    "int": Type.INT,
    "integer": Type.INT,
    "long": Type.INT,
    "bigint": Type.INT,
    "float": Type.FLOAT,
    "double": Type.FLOAT,
    "real": Type.FLOAT,
    "string": Type.STRING,
    "str": Type.STRING,
    "text": Type.STRING,
    "bool": Type.BOOL,
    "boolean": Type.BOOL,
    "timestamp": Type.TIMESTAMP,
    "time": Type.TIMESTAMP,
    "duration": Type.DURATION,
    "interval": Type.DURATION,
    "list": Type.LIST,
    "address": Type.ADDRESS,
}

_OPERATORS = {":=": "=", "==": "=", "=<": "<=", "≤": "<=", "≥": ">=", "<>": "!=", "≠": "!="}
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_LARGEST = 2**63 - 1
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "'": "'"}


class Builder(Transformer[Token, list[Statement | Include]]):
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

    # Statements

    def rule(self, children: Children) -> list[Statement]:
        label, head, goals = children
        start = self._start(label) if label is not None else head.span.start
        end = goals[-1].span.end if goals else head.span.end
        name = _name(label.rstrip(":").rstrip()) if label is not None else None
        return [Rule(head, tuple(goals or ()), name, span=self._lines.span(start, end))]

    def declaration(self, children: Children) -> list[Statement]:
        kind, (name, columns, end), *options = children
        key: tuple[str, ...] | None = None
        ttl: Duration | int | None = None
        for option in options:
            if isinstance(option, tuple):
                key, end = option
            else:
                ttl = option
        span = self._between(kind, end)
        return [Declaration(Kind(kind.lower()), name, columns, key, ttl, span=span)]

    def declarations(self, children: Children) -> list[Statement]:
        return children

    def block(self, children: Children) -> Declaration:
        written, (name, columns, end) = children
        if written is not None:
            kind = Kind(written.lower())
        else:
            timed = bool(columns) and columns[0].type is Type.TIMESTAMP
            kind = Kind.STREAM if timed else Kind.RELATION
        first = columns[0].span.start if columns else end.start_pos + self._offset
        start = self._start(written) if written is not None else first
        return Declaration(kind, name, columns, span=self._lines.span(start, self._end(end)))

    def query(self, children: Children) -> list[Statement]:
        word, atom, window = children
        end = (window or atom).span.end
        return [Query(atom, window, span=self._lines.span(self._start(word), end))]

    def include_file(self, children: Children) -> list[Include]:
        word, path, labels, _ = children
        return [Include(self._unescape(path), labels or (), span=self._between(word, path))]

    def include_labels(self, children: Children) -> list[Include]:
        word, labels, end = children
        return [Include(None, labels, span=self._between(word, end))]

    def labels(self, children: Children) -> tuple[str, ...]:
        return tuple(_name(label) for label in children)

    # Declarations

    def signature(self, children: Children) -> tuple[str, tuple[ColumnDeclaration, ...], Token]:
        name, columns, end = children
        return _name(name), tuple(columns or ()), end

    def columns(self, children: Children) -> Children:
        return children

    def column(self, children: Children) -> ColumnDeclaration:
        name, word = children
        found = TYPE_NAMES.get(word.lower())
        if found is None:
            close = get_close_matches(word.lower(), TYPE_NAMES, 1)
            self._report(
                "HW109",
                f"there is no type `{word}`",
                self._at(word),
                note="the types are " + ", ".join(type_.value for type_ in Type),
                hint=f"did you mean `{close[0]}`?" if close else None,
            )
        return ColumnDeclaration(_name(name), found or Type.STRING, span=self._between(name, word))

    def key(self, children: Children) -> tuple[tuple[str, ...], Token]:
        _, names, end = children
        return tuple(_name(name) for name in names), end

    def column_names(self, children: Children) -> Children:
        return children

    def ttl(self, children: Children) -> Duration | int:
        extent: Duration | int = children[1]
        return extent

    def window(self, children: Children) -> Window:
        word, size, slide, end = children
        return Window(size, slide, span=self._between(word, end))

    def extent(self, children: Children) -> Duration | int:
        number = children[0]
        if len(children) > 1:
            return self._duration(number, children[1])
        if not number.isdigit():
            self._report(
                "HW110", f"`{number}` needs a unit of time", self._at(number), hint=f"as in `{number} seconds`"
            )
            return 0
        value = self._integer(number)
        return value if value is not None else 0

    # Heads and goals

    def head(self, children: Children) -> Head:
        name, args, end = children
        return Head(_name(name), tuple(args or ()), span=self._between(name, end or name))

    def head_args(self, children: Children) -> Children:
        return children

    def aggregate(self, children: Children) -> Aggregate:
        name, _, args, end = children
        span = self._between(name, end)
        limit: int | None = None
        match args:
            case [Constant(value=int() as first, type=Type.INT), (*items,)] | [
                Constant(value=int() as first, type=Type.INT),
                *items,
            ] if items:
                limit = first
                args = items
            case [[*items]]:
                args = items
            case _:
                pass
        if any(isinstance(arg, list) for arg in args):
            self._report("HW101", "a group of values stands alone in an aggregate", span, hint="as in `mcount<(K, N)>`")
            args = []
        return Aggregate(_name(name), tuple(args), limit, span=span)

    def aggregate_args(self, children: Children) -> Children:
        return children

    def group(self, children: Children) -> Children:
        return children[:-1]

    def goals(self, children: Children) -> Children:
        return children

    def holds(self, children: Children) -> Goal:
        mark, term = children
        return self._atom(mark, term)

    def negated(self, children: Children) -> Goal:
        word, mark, term = children
        atom = self._atom(mark, term)
        return Negation(atom, span=self._lines.span(self._start(word), term.span.end))

    def negated_comparison(self, children: Children) -> Goal:
        word, left, operator, right = children
        opposite = _OPPOSITE[_OPERATORS.get(operator, str(operator))]
        span = self._lines.span(self._start(word), right.span.end)
        self._report("HW111", "a comparison is negated by its opposite", span, hint=f"write `{opposite}` instead")
        return Comparison(opposite, left, right, span=span)

    def comparison(self, children: Children) -> Comparison:
        left, operator, right = children
        op = _OPERATORS.get(operator, str(operator))
        return Comparison(op, left, right, span=self._lines.span(left.span.start, right.span.end))

    def atom(self, children: Children) -> Atom:
        name, args, end = children
        return Atom(_name(name), tuple(args or ()), span=self._between(name, end or name))

    # Terms

    def terms(self, children: Children) -> Children:
        return children

    def arithmetic(self, children: Children) -> Term:
        """Folds `A + B * C - D` to the left, products before sums."""
        sums: list[Any] = [children[0]]
        for op, operand in zip(children[1::2], children[2::2], strict=True):
            if op in "*/%":
                sums[-1] = self._binary(sums[-1], op, operand)
            else:
                sums += [op, operand]
        term: Term = sums[0]
        for op, operand in zip(sums[1::2], sums[2::2], strict=True):
            term = self._binary(term, op, operand)
        return term

    def _binary(self, left: Any, op: Token, right: Any) -> Binary:
        return Binary(str(op), left, right, span=self._lines.span(left.span.start, right.span.end))

    def negative(self, children: Children) -> Term:
        minus, term = children
        begin, end = term.span.start, term.span.end
        span = self._lines.span(self._start(minus), end)
        match term:
            case Constant(value=bool() | str()):
                pass
            case Constant(value=int() | float() as value):
                self._too_large.pop(begin, None)
                return replace(term, value=-value, span=span)
            case Constant(value=Duration(microseconds)):
                return replace(term, value=Duration(-microseconds), span=span)
            case _:
                pass
        return Binary("-", Constant(0, Type.INT, span=span), term, span=span)

    def bracketed(self, children: Children) -> Term:
        term: Term = children[0]
        return term

    def variable(self, children: Children) -> Variable:
        (token,) = children
        return Variable(str(token), span=self._at(token))

    def wildcard(self, children: Children) -> Wildcard:
        return Wildcard(span=self._at(children[0]))

    def number(self, children: Children) -> Constant:
        (token,) = children
        if not token.isdigit():
            return Constant(float(token), Type.FLOAT, span=self._at(token))
        value = self._integer(token)
        return Constant(0 if value is None else value, Type.INT, span=self._at(token))

    def duration(self, children: Children) -> Constant:
        number, unit = children
        return Constant(self._duration(number, unit), Type.DURATION, span=self._between(number, unit))

    def string(self, children: Children) -> Constant:
        (token,) = children
        return Constant(self._unescape(token), Type.STRING, span=self._at(token))

    def name(self, children: Children) -> Constant | ListTerm:
        (token,) = children
        span = self._at(token)
        match str(token):
            case "true" | "false":
                return Constant(token == "true", Type.BOOL, span=span)
            case "nil":
                return ListTerm((), span=span)
            case written:
                return Constant(_name(written), Type.STRING, span=span)

    def located(self, children: Children) -> Term:
        mark, term = children
        span = self._lines.span(self._start(mark), term.span.end)
        match term:
            case Variable() | Constant():
                return replace(term, location=True, span=span)
            case Wildcard():
                return replace(term, span=span)
            case _:
                self._report("HW116", "`@` marks a variable or a constant", span)
                return Wildcard(span=span)

    def call(self, children: Children) -> Call:
        name, args, end = children
        return Call(_name(name), tuple(args or ()), span=self._between(name, end))

    def list_term(self, children: Children) -> ListTerm:
        begin, items, end = children
        return ListTerm(tuple(items or ()), span=self._between(begin, end))

    def split_list(self, children: Children) -> ListTerm:
        begin, items, tail, end = children
        return ListTerm(tuple(items), tail, span=self._between(begin, end))

    # What several of them need

    def _atom(self, mark: Token | None, term: Term) -> Atom:
        assert term.span is not None
        begin = term.span.start
        span = self._lines.span(self._start(mark) if mark is not None else begin, term.span.end)
        match term:
            case Call(function, args):
                return Atom(function, args, mark is not None, span=span)
            case Constant(value=str() as name, location=False) if self._lines.source.text[begin] not in "\"'":
                return Atom(name, (), mark is not None, span=span)
            case _:
                negated = span.source.text.startswith("-", span.start)
                self._report(
                    "HW111",
                    "this is a value, not a goal",
                    span,
                    note="a goal is a relation, a comparison, or a negated relation",
                    hint="a negated relation is written `!p(X)`"
                    if negated
                    else "compare it, as in `X = ...`, or remove it",
                )
                return Atom("", (), span=span)

    def _duration(self, number: Token, unit: Token) -> Duration:
        found = duration(str(number), str(unit))
        if found is None and unit.lower() in UNITS:
            self._report("HW108", f"`{number} {unit}` is more time than 64 bits can count", self._between(number, unit))
        elif found is None:
            close = get_close_matches(unit.lower(), UNITS, 1)
            self._report(
                "HW110",
                f"there is no unit of time `{unit}`",
                self._at(unit),
                note="the units are ms, seconds, minutes, hours, days, weeks, months (30 days) and years (365 days)",
                hint=f"did you mean `{close[0]}`?" if close else None,
            )
        return found or Duration(0)

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
        body = token[1:-1]
        if "\\" not in body:
            return str(body)
        return _ESCAPE.sub(lambda found: self._escaped(token, found), body)

    def _escaped(self, token: Token, found: re.Match[str]) -> str:
        letters = found[1]
        if letters in _ESCAPES:
            return _ESCAPES[letters]
        code = int(letters[1:], 16) if len(letters) > 1 else None
        if code is not None and code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            return chr(code)
        start = self._start(token) + 1 + found.start()
        self._report(
            "HW107",
            f"there is no escape `{found[0]}`",
            self._lines.span(start, start + len(found[0])),
            note=r"""the escapes are \n \t \r \0 \\ \" \' \uXXXX and \UXXXXXXXX""",
            hint=r"a backslash itself is written `\\`",
        )
        return ""

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


def _name(token: str) -> str:
    return token[1:-1] if token.startswith("`") else str(token)
