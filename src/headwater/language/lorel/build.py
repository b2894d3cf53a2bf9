"""Makes the nodes of Lorel out of what the grammar recognises, with spans into the text as written.

What the grammar is too coarse to refuse is refused here, by a diagnostic and a stand-in node.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from lark import Token, Transformer

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.language import escapes
from headwater.language.escapes import unescaped
from headwater.language.lines import Lines
from headwater.language.lorel import tree

Children: TypeAlias = list[Any]

ANSWER = "Answer"
"""What a query without a name defines."""

_OPERATORS = {"≤": "<=", "≥": ">=", "<>": "!=", "≠": "!="}
_LARGEST = 2**63 - 1
_MOST_OBJECTS = 1_000_000


class LorelBuilder(Transformer[Token, Any]):
    """`turn_to` a text first; then each method makes the node of the grammar rule of its name."""

    def __init__(self) -> None:
        super().__init__()
        self._problems: list[Diagnostic] = []
        self._lines: Lines
        self._offset = 0

    def turn_to(self, lines: Lines, offset: int) -> None:
        """The next statement stands at `offset` of this text."""
        self._lines = lines
        self._offset = offset
        self._problems = []

    def finish(self) -> list[Diagnostic]:
        return self._problems

    # Statements

    def define_view(self, children: Children) -> tree.ViewDefinition:
        define, _, view, _, name, _, query = children
        part = tree.NamedQuery(name.name, query, span=self._from(name, query))
        return tree.ViewDefinition(view.name, (part,), span=self._from(define, query))

    def named_query(self, children: Children) -> tree.NamedQuery:
        name, _, query = children
        return tree.NamedQuery(name.name, query, span=self._from(name, query))

    def plain_query(self, children: Children) -> tree.ViewDefinition:
        (query,) = children
        return tree.ViewDefinition(ANSWER, (tree.NamedQuery(ANSWER, query, span=query.span),), span=query.span)

    def update(self, children: Children) -> tree.UpdateStatement:
        word, target, op, value, sources, where = children
        last = where or (sources[-1] if sources else value)
        if not target.steps or not isinstance(target.steps[-1], tree.ByLabel):
            hint = "as in `update r.Price := 5 from Guide.Restaurant r`"
            self._report("HW152", "an update names the object and the label to change", target.span, hint=hint)
        return tree.UpdateStatement(target, str(op), value, sources or (), where, span=self._from(word, last))

    def edge_update(self, children: Children) -> tree.InsertEdge | tree.DeleteEdge:
        word, parent, label, child = children
        kind = tree.InsertEdge if word.lower() == "ins" else tree.DeleteEdge
        return kind(parent.oid, label[0], child.oid)

    def value_update(self, children: Children) -> tree.ChangeValue:
        _, oid, old, new = children
        return tree.ChangeValue(oid.oid, old.value, new.value)

    # Clauses

    def query(self, children: Children) -> tree.SelectQuery:
        word, items, sources, where, adjuncts, order, limit = children
        last = items[-1]
        for clause in (sources, where, adjuncts, order, limit):
            if clause:
                last = clause[-1] if isinstance(clause, tuple) else clause
        span = self._from(word, last)
        most = self._most(limit) if limit is not None else None
        return tree.SelectQuery(items, sources or (), where, adjuncts or (), order or (), most, span=span)

    def items(self, children: Children) -> tuple[tree.SelectItem, ...]:
        return tuple(children)

    def plain_item(self, children: Children) -> tree.SelectItem:
        return tree.SelectItem(children[0], span=children[0].span)

    def labelled_item(self, children: Children) -> tree.SelectItem:
        label, operand = children
        return tree.SelectItem(operand, self._word(label), span=self._from(label, operand))

    def renamed_item(self, children: Children) -> tree.SelectItem:
        operand, _, label = children
        text = label.name if isinstance(label, tree.Identifier) else self._word(label)
        return tree.SelectItem(operand, text, span=self._from(operand, label))

    def from_clause(self, children: Children) -> tuple[tree.FromItem, ...]:
        return tuple(children[1:])

    def from_item(self, children: Children) -> tree.FromItem:
        source, _, variable = children
        return tree.FromItem(source, variable, span=self._from(source, variable or source))

    def where_clause(self, children: Children) -> tree.LorelCondition:
        condition: tree.LorelCondition = children[1]
        return condition

    def with_clause(self, children: Children) -> tuple[tree.WithItem, ...]:
        return tuple(children[1:])

    def with_item(self, children: Children) -> tree.WithItem:
        path, _, variable = children
        return tree.WithItem(path, variable, span=self._from(path, variable or path))

    def order_clause(self, children: Children) -> tuple[tree.OrderItem, ...]:
        return tuple(children[2:])

    def order_item(self, children: Children) -> tree.OrderItem:
        operand, direction = children
        descending = direction is not None and direction.lower() == "desc"
        return tree.OrderItem(operand, descending, span=self._from(operand, direction or operand))

    def limit_clause(self, children: Children) -> Token:
        number: Token = children[1]
        return number

    def _most(self, number: Token) -> int:
        """How many objects a limit allows."""
        if number.isdigit() and 0 < int(number[:20]) <= _MOST_OBJECTS:
            return int(number)
        hint = f"a whole number from 1 to {_MOST_OBJECTS}"
        self._report("HW157", "this is no number of objects", self._at(number), hint=hint)
        return 1

    # Conditions

    def any_of(self, children: Children) -> tree.AnyOf:
        return tree.AnyOf(tuple(children), span=self._from(children[0], children[-1]))

    def all_of(self, children: Children) -> tree.AllOf:
        return tree.AllOf(tuple(children), span=self._from(children[0], children[-1]))

    def not_so(self, children: Children) -> tree.NotSo:
        return tree.NotSo(children[1], span=self._from(*children))

    def exists_in(self, children: Children) -> tree.ExistsIn:
        word, variable, source, condition = children
        return tree.ExistsIn(variable, source, condition, span=self._from(word, condition or source))

    def exists(self, children: Children) -> tree.Exists:
        return tree.Exists(children[1], span=self._from(*children))

    def for_all(self, children: Children) -> tree.ForAll:
        word, variable, source, condition = children
        return tree.ForAll(variable, source, condition, span=self._from(word, condition))

    def member(self, children: Children) -> tree.MemberOf:
        item, source = children
        return tree.MemberOf(item, source, span=self._from(item, source))

    def compared(self, children: Children) -> tree.Compared:
        left, op, right = children
        written = _OPERATORS.get(str(op), str(op)).lower()
        return tree.Compared(written, left, right, span=self._from(left, right))

    def _inside(self, children: Children) -> Any:
        return children[0]

    bracketed_condition = bracketed_value = bracketed_source = step = _inside

    # Values and objects

    def total(self, children: Children) -> tree.Operand:
        value: tree.Operand = children[0]
        for op, right in zip(children[1::2], children[2::2], strict=True):
            value = tree.Arithmetic(str(op), value, right, span=self._from(value, right))
        return value

    product = total

    def number(self, children: Children) -> tree.LorelLiteral:
        digits = children[-1]
        span = self._from(children[0], digits)
        sign = -1 if len(children) > 1 and children[0] == "-" else 1
        if not digits.isdigit():
            return tree.LorelLiteral(sign * float(digits), span=span)
        value = sign * int(digits) if len(digits) < 400 else _LARGEST + 1
        if not -_LARGEST <= value <= _LARGEST:
            hint = "write it with a decimal point to have it as a real number"
            self._report("HW108", "this number does not fit 64 bits", span, hint=hint)
            value = 0
        return tree.LorelLiteral(value, span=span)

    def string(self, children: Children) -> tree.LorelLiteral:
        return tree.LorelLiteral(self._word(children[0]), span=self._at(children[0]))

    def constant(self, children: Children) -> tree.LorelLiteral:
        value = {"true": True, "false": False, "null": None}[children[0].lower()]
        return tree.LorelLiteral(value, span=self._at(children[0]))

    def aggregate(self, children: Children) -> tree.AggregateOf:
        word, source = children
        return tree.AggregateOf(word.lower(), source, span=self._from(word, source))

    def aggregate_query(self, children: Children) -> tree.AggregateOf:
        word, query = children
        return tree.AggregateOf(word.lower(), tree.Subquery(query, span=query.span), span=self._from(word, query))

    def old_value(self, children: Children) -> tree.OldValue:
        return tree.OldValue(children[1], span=self._from(*children))

    def old_path(self, children: Children) -> tree.OldPath:
        return tree.OldPath(children[1], span=self._from(*children))

    def subquery(self, children: Children) -> tree.Subquery:
        return tree.Subquery(children[0], span=children[0].span)

    def union(self, children: Children) -> tree.UnionOf:
        source, _, *objects = children
        return tree.UnionOf(source, tuple(objects), span=self._from(source, objects[-1]))

    # Paths

    def path(self, children: Children) -> tree.PathExpression:
        root, *steps = children
        return tree.PathExpression(root, tuple(steps), span=self._from(root, steps[-1] if steps else root))

    def any_path(self, children: Children) -> tree.AnyPath:
        return tree.AnyPath(span=self._at(children[0]))

    def by_label(self, children: Children) -> tree.ByLabel | tree.ByPattern:
        (text, quoted, span), places, variable = children
        if "%" in text and not quoted:
            return tree.ByPattern(text, places, variable, span=span)
        return tree.ByLabel(text, places, variable, span=span)

    def places(self, children: Children) -> tree.Places:
        first, last = children[0], children[1] or children[0]
        if len(first) > 18 or len(last) > 18:
            self._report("HW108", "this number does not fit 64 bits", self._from(first, last))
            return tree.Places(0, 0)
        if int(first) > int(last):
            hint = f"write `[{last}-{first}]`"
            self._report("HW153", "these places run backwards", self._from(first, last), hint=hint)
        return tree.Places(int(first), int(last))

    def choice(self, children: Children) -> tree.Choice:
        first, last = children[0][0], children[-1][-1]
        for step in (step for branch in children for step in branch):
            if isinstance(step, tree.ByLabel | tree.ByPattern) and step.variable is not None:
                hint = "bind it by a step of its own, as in `r.%@L`"
                self._report("HW158", "a step in brackets binds no label variable", step.variable.span, hint=hint)
        return tree.Choice(tuple(children), span=self._from(first, last))

    def branch(self, children: Children) -> tuple[tree.PathStep, ...]:
        return tuple(children)

    def repeat(self, children: Children) -> tree.Repeat:
        path, sign = children
        return tree.Repeat(path, int(sign == "+"), sign != "?", span=self._from(path, sign))

    def label(self, children: Children) -> tuple[str, bool, Span]:
        (token,) = children
        return self._word(token), token.type != "LABEL", self._at(token)

    def name(self, children: Children) -> tree.Identifier:
        (token,) = children
        return tree.Identifier(self._word(token), span=self._at(token))

    def oid(self, children: Children) -> tree.ObjectId:
        (token,) = children
        if len(token) > 19:
            self._report("HW108", "this object id does not fit 64 bits", self._at(token))
            return tree.ObjectId(0, span=self._at(token))
        return tree.ObjectId(int(token[1:]), span=self._at(token))

    # Positions and texts

    def _word(self, token: Token) -> str:
        if token.type == "QUOTED" or token[0] == "“":
            return str(token[1:-1])
        if token.type == "STRING":
            return unescaped(str(token[1:-1]), lambda found: self._unknown_escape(token, found))
        return str(token)

    def _unknown_escape(self, token: Token, found: re.Match[str]) -> None:
        start = self._start(token) + 1 + found.start()
        span = self._lines.span(start, start + len(found[0]))
        self._report("HW107", f"there is no escape `{found[0]}`", span, note=escapes.NOTE, hint=escapes.HINT)

    def _report(
        self, code: str, message: str, span: Span | None, *, note: str | None = None, hint: str | None = None
    ) -> None:
        self._problems.append(Diagnostic(code, message, span, note, hint))

    def _start(self, item: Any) -> int:
        return self._offset + (item.start_pos or 0) if isinstance(item, Token) else int(item.span.start)

    def _end(self, item: Any) -> int:
        return self._offset + (item.end_pos or 0) if isinstance(item, Token) else int(item.span.end)

    def _at(self, token: Token) -> Span:
        return self._lines.span(self._start(token), self._end(token))

    def _from(self, first: Any, last: Any, *more: Any) -> Span:
        return self._lines.span(self._start(first), self._end(more[-1] if more else last))
