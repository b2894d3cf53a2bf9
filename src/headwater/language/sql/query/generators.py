"""Generators in a FROM as rules: the places of what they give are counted, and each place has its item.

    FROM t, unnest(t.tags) AS u(tag)

    places(Tags, 1) :- t(Tags), length(Tags) >= 1.
    places(Tags, J) :- places(Tags, I), J := 2 * I,     J <= length(Tags).
    places(Tags, J) :- places(Tags, I), J := 2 * I + 1, J <= length(Tags).
    ... t(Tags), places(Tags, I), Tag := item(Tags, I) ...

Every place follows from its half, so that a million of them take twenty rounds. Numbers and times are counted in the
same way, by how many there are. The rules are ordinary ones: they are maintained, and may be part of a recursion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from headwater.core.functions.time_functions import DAY
from headwater.core.source import Span
from headwater.core.types import Type
from headwater.core.widening import item_of
from headwater.language.sql.query.groups import aggregates_in
from headwater.language.sql.query.translator import Translator
from headwater.language.sql.scalar import times
from headwater.language.sql.scalar.scalars import Values
from headwater.language.sql.scalar.value import SqlValue, called, constant
from headwater.language.sql.scope.body import Body
from headwater.language.sql.scope.context import Translation
from headwater.language.sql.scope.rules import ALWAYS, Choices, Piece, both, present
from headwater.language.sql.scope.sources import FromItem, SqlColumn, SqlTable
from headwater.language.sql.text.generators import Generator
from headwater.language.syntax import (
    Assign,
    Atom,
    Binary,
    Call,
    Comparison,
    Condition,
    Constant,
    Duration,
    Negation,
    Term,
    Variable,
    Wildcard,
)

_ONE, _TWO = Constant(1, Type.INT), Constant(2, Type.INT)


class Generators:
    """The generators of one body, whose sources so far they may read."""

    def __init__(self, body: Body, translator: Translator) -> None:
        self.body = body
        self.translator = translator
        self.values = Values(body, translator.scalar)
        self.context = body.context
        self.text = body.context.text

    def add(self, found: Generator, node: exp.Expr) -> None:
        """One more source of the body: what a generator gives for each of its rows."""
        span = self.text.span(node)
        place = self.body.names.variable("place")
        if found.items is not None:
            key, count, item = self._of_items(found.items, place, span)
        else:
            key, count, item = self._of_numbers(found, place, node, span)
        if self.body.borrowed:
            self.body.goals.insert(0, self.translator.domain(self.body, node))
        goals = [*self.body.goals, *([present(key, span)] if count.nullable else [])]
        counted = places(self.context, self.body.owner, key, count.term, goals, self.body.choices, span)
        variable = self.body.names.variable(found.columns[-1 if found.first else 0] or "item")
        position = self.body.names.variable("position") if found.position is not None else None
        some: list[Piece] = [Atom(counted, (key, place), span=span), _is(variable, item.term)]
        none: list[Piece] = [_is(variable, Constant(None, item.type)), _is(place, Constant(0, Type.INT))]
        if position is not None:
            shift = Constant(1 - (found.position or 0), Type.INT)
            some.append(_is(position, Binary("-", place, shift)))
            none.append(_is(position, Constant(None, Type.INT)))
        ways: Choices = [some]
        if found.outer:
            empty = Condition(Call("is_null", (key,)))
            nothing = Comparison("<=", count.term, Constant(0, Type.INT))
            ways += [[nothing, *([present(key, span)] if count.nullable else []), *none]]
            ways += [[empty, *none]] if count.nullable else []
        self._show(found, variable, position, place, item, node)
        if len(ways) == 1:
            self.body.goals += ways[0]
        else:
            self.body.choices = both(self.body.choices, ways)

    def _show(
        self,
        found: Generator,
        variable: Variable,
        position: Variable | None,
        place: Variable,
        item: SqlValue,
        node: exp.Expr,
    ) -> None:
        shown = [(variable, SqlColumn("", item.type, item.nullable or found.outer, item.is_null, item.opaque))]
        if position is not None:
            shown.insert(0 if found.first else 1, (position, SqlColumn("", Type.INT, found.outer)))
        if len(found.columns) != len(shown):
            message = f"{len(found.columns)} names for {len(shown)} columns"
            self.text.refuse("HW201", message, node, hint="name every column once, or none")
        columns = [
            SqlColumn(name, column.type, column.nullable, column.is_null, column.opaque)
            for name, (_, column) in zip(found.columns, shown, strict=True)
        ]
        alias = found.alias or found.columns[-1]
        table = SqlTable(f"{self.body.owner}'generated", columns, hidden=1, key=(len(columns),))
        variables = [*(each for each, _ in shown), place]
        self.body.sources.append(FromItem(alias, table, variables, self.text.span(node)))

    def _of_items(self, node: exp.Expr, place: Variable, span: Span | None) -> tuple[Variable, SqlValue, SqlValue]:
        items = self.values.value(node)
        if items.type is not None and not items.is_list:
            message = f"`{self.text.written(node)}` is no list, and has no items"
            self.text.refuse("HW404", message, node, hint="split(text, ',') makes a list of a text")
        key = self._variable(items, "items", span)
        known = SqlValue(key, items.type, items.nullable)
        kind = None if items.type is None else item_of(items.type)
        item = called("item", [known, SqlValue(place, Type.INT, False)], kind, span, nullable=False)
        return key, called("length", [known], Type.INT, span), SqlValue(item.term, kind, True)

    def _of_numbers(
        self, found: Generator, place: Variable, node: exp.Expr, span: Span | None
    ) -> tuple[Variable, SqlValue, SqlValue]:
        assert found.start is not None
        assert found.end is not None
        start, end = self.values.value(found.start), self.values.value(found.end)
        months = None if found.step is None else times.months(found.step)
        if found.step is None and start.type is Type.DATE:
            found_step = constant(DAY, Type.DURATION)
        elif months is not None:
            found_step = constant(months, Type.INT)
        else:
            found_step = constant(1, Type.INT) if found.step is None else self.values.value(found.step)
        moments = all(each.type is not None and each.type.is_moment for each in (start, end))
        wanted = Type.DURATION if moments and months is None else Type.INT
        if not (moments or start.type is end.type is Type.INT) or found_step.type is not wanted:
            message = f"`{self.text.written(node)}` counts neither whole numbers nor times"
            hint = "give whole numbers, or two times of one type and an INTERVAL"
            self.text.refuse("HW404", message, node, hint=hint)
        both_ways = found.both_ways and found.step is None
        name = "month_steps" if months is not None else "count_steps"
        flags = [constant(int(found.closed), Type.INT), constant(int(both_ways), Type.INT)]
        count = called(name, [start, end, found_step, *flags], Type.INT, span, nullable=True)
        key = self._variable(count, "many", span)
        known = SqlValue(key, Type.INT, True)
        return key, known, self._number(start, end, found_step, place, both_ways, months, span)

    def _number(
        self,
        start: SqlValue,
        end: SqlValue,
        step: SqlValue,
        place: Variable,
        both_ways: bool,
        months: int | None,
        span: Span | None,
    ) -> SqlValue:
        """The number or time at a place."""
        before: Term = Binary("-", place, _ONE, span=span)
        if months is not None:
            shift = Binary("*", before, Constant(months, Type.INT), span=span)
            return replace(times.months_later(start, shift, span), nullable=False)
        if both_ways:
            minus, plus = Constant(-1, Type.INT), Constant(1, Type.INT)
            before = Binary("*", before, Call("if", (Call("is_less", (end.term, start.term)), minus, plus)), span=span)
        added = Binary("*", before, step.term, span=span)
        found = SqlValue(Binary("+", start.term, added, span=span), start.type, False)
        if start.type is not Type.DATE:
            return found
        return times.day_of(found, span) if _is_whole_days(step) else replace(found, type=Type.TIMESTAMP)

    def _variable(self, value: SqlValue, name: str, span: Span | None) -> Variable:
        if isinstance(value.term, Variable):
            return value.term
        variable = self.body.names.variable(name)
        self.body.goals.append(Assign(variable, value.term, span=span))
        return variable


def _is_whole_days(step: SqlValue) -> bool:
    size = step.term.value if isinstance(step.term, Constant) else None
    micros = size.microseconds if isinstance(size, Duration) else size
    return isinstance(micros, int) and micros % DAY == 0


class Laterals:
    """LATERAL subqueries of one body, whose sources so far they may read."""

    def __init__(self, body: Body, translator: Translator) -> None:
        self.body = body
        self.translator = translator
        self.context = body.context
        self.text = body.context.text

    def add(self, node: exp.Expr, *, outer: bool) -> None:
        """One more source of the body: the rows of a subquery for each of its rows; `outer`: nulls for none."""
        query = node.this
        while isinstance(query, exp.Subquery):
            query = query.this
        if not outer and isinstance(query, exp.Select) and is_plain(query):
            self._inline(query, node)
        else:
            self._joined(query, node, outer=outer)

    def _inline(self, query: exp.Select, node: exp.Expr) -> None:
        """The goals of a plain SELECT stand beside those of the body."""
        inner = self.body.inside()
        columns, variables = [], []
        for name, value in self.translator.read(query, inner):
            variable = self.body.names.variable(name)
            inner.goals.append(_is(variable, value.term))
            columns.append(SqlColumn(name, value.type, value.nullable, value.is_null, value.opaque))
            variables.append(variable)
        identity = inner.identity()
        self.body.goals += inner.goals
        self.body.choices = both(self.body.choices, inner.choices)
        key = tuple(range(len(columns), len(columns) + len(identity)))
        self._show(node, columns, [*variables, *identity], key)

    def _joined(self, query: exp.Expr, node: exp.Expr, *, outer: bool) -> None:
        """The subquery as a relation, joined by the columns that it borrows."""
        span = self.text.span(node)
        name = self.context.relation(f"{self.body.owner}'lateral")
        table, borrowed = self.translator.answered(query, self.body, name)
        width = len(table.columns) - len(borrowed)
        columns = [replace(column, nullable=column.nullable or outer) for column in table.columns[:width]]
        variables = [self.body.names.variable(column.name) for column in columns]
        hidden = [self.body.names.variable("hidden") for _ in range(table.hidden)]
        some: list[Piece] = [Atom(name, (*variables, *borrowed, *hidden), span=span)]
        ways: Choices = [some]
        if outer:
            asked = Atom(name, (*(Wildcard() for _ in columns), *borrowed, *(Wildcard() for _ in hidden)), span=span)
            kinds = [*(column.type for column in columns), *(None for _ in hidden)]
            pairs = zip((*variables, *hidden), kinds, strict=True)
            nulls = [_is(variable, Constant(None, kind)) for variable, kind in pairs]
            ways.append([Negation(asked, span=span), *nulls])
        if len(ways) == 1:
            self.body.goals += some
        else:
            self.body.choices = both(self.body.choices, ways)
        self._show(node, columns, [*variables, *hidden], None)

    def _show(
        self, node: exp.Expr, columns: list[SqlColumn], variables: list[Variable], key: tuple[int, ...] | None
    ) -> None:
        alias = node.args.get("alias")
        names = [] if alias is None else [each.name for each in alias.args.get("columns") or ()]
        if names and len(names) != len(columns):
            message = f"{len(names)} names for {len(columns)} columns"
            self.text.refuse("HW201", message, node, hint="name every column once, or none")
        shown = [replace(column, name=name) for name, column in zip(names or _names(columns), columns, strict=True)]
        hidden = len(variables) - len(columns)
        table = SqlTable(f"{self.body.owner}'lateral", shown, hidden=hidden, key=key)
        source = FromItem(node.alias or "lateral", table, variables, self.text.span(node))
        self.body.sources.append(source)


def _names(columns: list[SqlColumn]) -> list[str]:
    return [column.name for column in columns]


def is_lateral(node: exp.Expr) -> bool:
    """Whether it is a LATERAL subquery."""
    return isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery)


def is_plain(query: exp.Select) -> bool:
    """Whether its rows are those of its FROM and WHERE."""
    more = ("with_", "distinct", "group", "having", "qualify", "limit", "offset")
    if any(query.args.get(part) for part in more):
        return False
    return not any(aggregates_in(item) or item.find(exp.Window) for item in query.expressions)


def places(
    context: Translation,
    owner: str,
    key: Variable,
    count: Term,
    goals: Sequence[Piece],
    choices: Choices,
    span: Span | None,
) -> str:
    """The relation of every key and its places, counted from 1."""
    name = context.relation(f"{owner}'places")
    some = Comparison(">=", count, _ONE, span=span)
    context.emit(name, [key, _ONE], [*goals, some], choices, span)
    place, later = Variable("Place'"), Variable("Later'")
    doubled: Term = Binary("*", _TWO, place)
    for following in (doubled, Binary("+", doubled, _ONE)):
        bound = Comparison("<=", later, count)
        steps: list[Piece] = [Atom(name, (key, place), span=span), Assign(later, following), bound]
        context.emit(name, [key, later], steps, ALWAYS, span)
    return name


def _is(variable: Variable, term: Term) -> Comparison:
    """A column has this value; a condition may have made one variable of it and another column, so it may be known."""
    return Comparison("=", variable, term)
