"""Makes syntax nodes out of what the grammar recognises, with spans into the text as written.

What the grammar is too coarse to refuse is refused here, by a diagnostic and a stand-in node, so
that one statement can report several mistakes.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from lark import Token

from headwater.core.types import ONE_WORD, Type, list_named
from headwater.language import syntax
from headwater.language.datalog.build_terms import Children, TermBuilder, name_of

_SPELT = {
    Type.INT: "int integer long bigint",
    Type.FLOAT: "float double real",
    Type.STRING: "string str text",
    Type.BOOL: "bool boolean",
    Type.TIMESTAMP: "timestamp time",
    Type.DATE: "date",
    Type.DURATION: "duration interval",
    Type.LIST: "list",
    Type.ANY: "any",
    Type.ADDRESS: "address",
}
TYPE_NAMES = {name: kind for kind, names in _SPELT.items() for name in names.split()}

_OPERATORS = {":=": "=", "==": "=", "=<": "<=", "≤": "<=", "≥": ">=", "<>": "!=", "≠": "!="}
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Builder(TermBuilder):
    """The statements of a text, out of the terms that `TermBuilder` makes."""

    declarations = columns = kinds = column_names = head_args = aggregate_args = goals = TermBuilder.terms

    def rule(self, children: Children) -> list[syntax.Statement]:
        label, head, goals, plan = children
        start = self._start(label) if label is not None else head.span.start
        last = plan or (goals[-1] if goals else head)
        name = name_of(label.rstrip(":").rstrip()) if label is not None else None
        return [syntax.Rule(head, tuple(goals or ()), name, plan, span=self._lines.span(start, last.span.end))]

    def plan(self, children: Children) -> syntax.JoinOrder:
        word, *numbers, end = children
        return syntax.JoinOrder(tuple(map(self._place, numbers)), span=self._between(word, end))

    def _place(self, number: Token) -> int:
        """The place of a goal; 0, which none has, for what is no whole number."""
        return (self._integer(number) or 0) if number.isdigit() else 0

    def declaration(self, children: Children) -> list[syntax.Statement]:
        kind, (name, columns, end), *options = children
        key: tuple[str, ...] | None = None
        others: dict[str, Any] = {}
        for option in options:
            match option:
                case (str(word), value):
                    others[word] = value
                case _:
                    key, end = option
        span = self._between(kind, end)
        return [syntax.Declaration(syntax.Kind(kind.lower()), name_of(name), columns, key, **others, span=span)]

    def block(self, children: Children) -> syntax.Declaration:
        written, (name, columns, end) = children
        if written is not None:
            kind = syntax.Kind(written.lower())
        else:
            timed = bool(columns) and columns[0].type is Type.TIMESTAMP
            kind = syntax.Kind.STREAM if timed else syntax.Kind.RELATION
        return syntax.Declaration(kind, name_of(name), columns, span=self._between(written or name, end))

    def query(self, children: Children) -> list[syntax.Statement]:
        word, atom, window = children
        end = (window or atom).span.end
        named = {id(arg): arg.name[1:] for arg in atom.args if isinstance(arg, syntax.Variable) and arg.name[0] == "$"}
        args = tuple(replace(arg, name=named[id(arg)]) if id(arg) in named else arg for arg in atom.args)
        span = self._lines.span(self._start(word), end)
        parameters = tuple(dict.fromkeys(named.values()))
        return [syntax.Query(replace(atom, args=args), window, parameters=parameters, span=span)]

    def parameter(self, children: Children) -> syntax.Variable:
        (name,) = children
        return syntax.Variable(str(name), span=self._at(name))

    def asked(self, children: Children) -> list[syntax.Term]:
        return list(children)

    def include_file(self, children: Children) -> list[syntax.Include]:
        word, path, labels, _ = children
        return [syntax.Include(self._unescape(path), labels or (), span=self._between(word, path))]

    def include_labels(self, children: Children) -> list[syntax.Include]:
        word, labels, end = children
        return [syntax.Include(None, labels, span=self._between(word, end))]

    def labels(self, children: Children) -> tuple[str, ...]:
        return tuple(name_of(label) for label in children)

    def signature(self, children: Children) -> tuple[Token, tuple[syntax.ColumnDeclaration, ...], Token]:
        name, columns, end = children
        return name, tuple(columns or ()), end

    def column(self, children: Children) -> syntax.ColumnDeclaration:
        name, (kind, end), maybe = children
        span = self._between(name, maybe or end)
        return syntax.ColumnDeclaration(name_of(name), kind, maybe is not None, span=span)

    def kind(self, children: Children) -> tuple[Type, Token]:
        """A type, and the token it ends with."""
        word, _, parts, end = (*children, None, None)[:4]
        found = TYPE_NAMES.get(word.lower())
        if found is None:
            close = get_close_matches(word.lower(), TYPE_NAMES, 1)
            self._report(
                "HW109",
                f"there is no type `{word}`",
                self._at(word),
                note="the types are " + ", ".join(type_.value for type_ in ONE_WORD),
                hint=f"did you mean `{close[0]}`?" if close else None,
            )
        if parts is None:
            return found or Type.STRING, word
        inner = [part for part, _ in parts]
        if found is not None and found is not Type.LIST:
            hint = "only lists do: `list<int>`, `list<any>`"
            self._report("HW109", f"`{word}` holds no items", self._at(word), hint=hint)
        return list_named(inner), end

    def key(self, children: Children) -> tuple[tuple[str, ...], Token]:
        _, names, end = children
        return tuple(name_of(name) for name in names), end

    def ttl(self, children: Children) -> tuple[str, syntax.Duration | int]:
        return "ttl", children[1]

    def lateness(self, children: Children) -> tuple[str, syntax.Duration | int]:
        return "lateness", children[1]

    def optional(self, _: Children) -> tuple[str, bool]:
        return "optional", True

    def window(self, children: Children) -> syntax.Window:
        word, size, slide, end = children
        return syntax.Window(size, slide, span=self._between(word, end))

    def extent(self, children: Children) -> syntax.Duration | int:
        number = children[0]
        if len(children) > 1:
            return self._duration(number, children[1])
        if not number.isdigit():
            hint = f"as in `{number} seconds`"
            self._report("HW110", f"`{number}` needs a unit of time", self._at(number), hint=hint)
            return 0
        value = self._integer(number)
        return value if value is not None else 0

    def head(self, children: Children) -> syntax.Head:
        name, args, end = children
        return syntax.Head(name_of(name), tuple(args or ()), span=self._between(name, end or name))

    def aggregate(self, children: Children) -> syntax.Aggregate:
        name, _, args, end = children
        span = self._between(name, end)
        limit: int | None = None
        match args:
            case [syntax.Constant(value=int() as first, type=Type.INT), (*items,)] | [
                syntax.Constant(value=int() as first, type=Type.INT),
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
        return syntax.Aggregate(name_of(name), tuple(args), limit, span=span)

    def group(self, children: Children) -> Children:
        return children[:-1]

    def holds(self, children: Children) -> syntax.Goal:
        mark, term = children
        return self._atom(mark, term)

    def negated(self, children: Children) -> syntax.Goal:
        word, mark, term = children
        atom = self._atom(mark, term)
        return syntax.Negation(atom, span=self._lines.span(self._start(word), term.span.end))

    def negated_comparison(self, children: Children) -> syntax.Goal:
        word, left, operator, right = children
        opposite = _OPPOSITE[_OPERATORS.get(operator, str(operator))]
        span = self._lines.span(self._start(word), right.span.end)
        self._report("HW111", "a comparison is negated by its opposite", span, hint=f"write `{opposite}` instead")
        return syntax.Comparison(opposite, left, right, span=span)

    def comparison(self, children: Children) -> syntax.Comparison:
        left, operator, right = children
        op = _OPERATORS.get(operator, str(operator))
        return syntax.Comparison(op, left, right, span=self._lines.span(left.span.start, right.span.end))

    def atom(self, children: Children) -> syntax.Atom:
        name, args, end = children
        return syntax.Atom(name_of(name), tuple(args or ()), span=self._between(name, end or name))

    def _atom(self, mark: Token | None, term: syntax.Term) -> syntax.Atom:
        assert term.span is not None
        begin = term.span.start
        span = self._lines.span(self._start(mark) if mark is not None else begin, term.span.end)
        match term:
            case syntax.Call(function, args):
                return syntax.Atom(function, args, mark is not None, span=span)
            case syntax.Constant(value=str() as name, location=False) if self._lines.source.text[begin] not in "\"'":
                return syntax.Atom(name, (), mark is not None, span=span)
            case _:
                hint = "compare it, as in `X = ...`, or remove it"
                if span.source.text.startswith("-", span.start):
                    hint = "a negated relation is written `!p(X)`"
                note = "a goal is a relation, a comparison, or a negated relation"
                self._report("HW111", "this is a value, not a goal", span, note=note, hint=hint)
                return syntax.Atom("", (), span=span)
