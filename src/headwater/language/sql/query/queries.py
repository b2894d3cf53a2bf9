"""Queries of any shape as relations: SELECT, VALUES, UNION, EXCEPT, INTERSECT, WITH; and subqueries in conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from sqlglot import exp

from headwater.core.types import Type
from headwater.language.sql.query.select import Selects
from headwater.language.sql.query.translator import Rows
from headwater.language.sql.query.views import Views
from headwater.language.sql.scalar.scalars import Values
from headwater.language.sql.scalar.value import SqlValue, constant
from headwater.language.sql.scope.body import Body
from headwater.language.sql.scope.context import Scope, Translation
from headwater.language.sql.scope.rules import ALWAYS, Piece, Same, both, made
from headwater.language.sql.scope.sources import SqlColumn, SqlTable
from headwater.language.sql.text.shape import union_parts
from headwater.language.sql.text.sql_types import widest
from headwater.language.sql.text.statements import with_views
from headwater.language.syntax import Aggregate, Assign, Atom, Constant, Negation, Term, Variable, Wildcard


class Queries:
    """The translator: every query of a text becomes a relation, as rules in the context."""

    def __init__(self, context: Translation) -> None:
        self.context = context
        self.text = context.text
        self.selects = Selects(self)
        self.views = Views(self, self.selects)
        self.recursive: set[str] = set()  # relations of the recursion that is being translated
        self._databases: dict[str, str] = {}  # what stands before the name of each table

    # Names

    def named(self, node: exp.Table, scope: Scope) -> SqlTable:
        """The view or table of this name; an undeclared table is one of the user's."""
        name = node.name
        found = scope.find(name)
        if found is not None:
            return found
        key = name.lower()
        self._one_database(node, key)
        if key not in self.context.tables:
            self.context.taken.add(key)
            self.context.tables[key] = SqlTable(
                name, [], hidden=1, open=True, base=True, span=self.text.span(node.this)
            )
        return self.context.tables[key]

    def _one_database(self, node: exp.Table, key: str) -> None:
        """A table goes by its own name, so that two databases cannot both have one of that name here."""
        database = ".".join(part.name for part in node.parts[:-1]).lower()
        first = self._databases.setdefault(key, database)
        if database != first:
            note = "a table goes by its own name, without that of its database"
            hint = "give the tables names of their own; on Spark, hws.sql tells them apart"
            self.text.refuse("HW231", f"`{node.name}` is a table of two databases here", node, note=note, hint=hint)

    # Relations

    def relation(
        self,
        query: exp.Expr,
        scope: Scope,
        name: str,
        *,
        outer: Body | None = None,
        distinct: bool = False,
        order: Sequence[exp.Expr] = (),
    ) -> SqlTable:
        """A query as the relation `name`. Its caller sees to the LIMIT that an outermost one may have."""
        clause = query.args.get("with_")
        if clause is not None:
            scope = self.views.scope(with_views(self.text, clause), scope, owner=name)
        match query:
            case exp.Subquery():
                return self.relation(query.this, scope, name, outer=outer, distinct=distinct, order=order)
            case exp.Select():
                body = Body(self.context, scope, name, outer)
                return self.selects.relation(query, body, name, distinct=distinct, order=order)
            case exp.Values():
                return self._values(query, name, distinct=distinct)
            case exp.Union():
                return self._union(query, scope, name, distinct=distinct)
            case exp.Except() | exp.Intersect():
                return self._compared(query, scope, name)
            case _:
                self.text.refuse("HW117", f"`{self.text.written(query)}` is not a query that Headwater supports", query)

    def _values(self, query: exp.Values, name: str, *, distinct: bool) -> SqlTable:
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in query.expressions]
        width = len(rows[0])
        body = Body(self.context, Scope(None), name)
        values = Values(body, self.scalar)
        kinds: list[list[SqlValue]] = [[] for _ in range(width)]
        for number, row in enumerate(rows):
            if len(row) != width:
                message = f"this row has {len(row)} values, the first one {width}"
                self.text.refuse("HW201", message, query.expressions[number])
            found = [values.value(node) for node in row]
            for column, value in zip(kinds, found, strict=True):
                column.append(value)
            head: list[Term | Aggregate] = [value.term for value in found]
            if not distinct:
                head.append(Constant(number, Type.INT))
            self.context.rules += made(name, head, [], ALWAYS, self.text.span(query.expressions[number]))
        columns = [widened(f"col{at + 1}", column) for at, column in enumerate(kinds)]
        return self.context.define(SqlTable(name, columns, hidden=0 if distinct else 1, span=self.text.span(query)))

    # UNION, EXCEPT, INTERSECT

    def _union(self, query: exp.Union, scope: Scope, name: str, *, distinct: bool) -> SqlTable:
        everything = distinct or bool(query.args.get("distinct"))
        parts = union_parts(query, everything, opened=True)
        tables = []
        for number, part in enumerate(parts):
            inner = self.context.relation(f"{name}'part{number + 1}")
            tables.append(self.relation(part, scope, inner, distinct=everything))
        self._same_width(tables, parts)
        same_place = zip(*(table.columns for table in tables), strict=True)
        columns = [widened(column[0].name, column) for column in same_place]
        hidden = 0 if everything else 1 + sum(table.hidden for table in tables)
        before = 0
        for number, (table, part) in enumerate(zip(tables, parts, strict=True)):
            body = Body(self.context, scope, name)
            source = body.add(table, "part", part)
            shown = source.variables[: len(table.columns)]
            kept = source.variables[len(table.columns) :]
            head: list[Term | Aggregate] = list(shown)
            if not everything:
                pad = [Constant(None, None) for _ in range(hidden - 1)]
                head += [Constant(number, Type.INT), *pad[:before], *kept, *pad[before + len(kept) :]]
                before += len(kept)
            else:
                body.goals = [Atom(table.relation, (*shown, *(Wildcard() for _ in kept)), span=source.span)]
            self.context.rules += made(name, head, body.goals, ALWAYS, self.text.span(part))
        return self.context.define(SqlTable(name, columns, hidden, span=self.text.span(query)))

    def _compared(self, query: exp.SetOperation, scope: Scope, name: str) -> SqlTable:
        word = "EXCEPT" if isinstance(query, exp.Except) else "INTERSECT"
        if not query.args.get("distinct"):
            hint = f"write {word}, which compares sets of rows"
            self.text.refuse("HW117", f"{word} ALL is not translated", query, hint=hint)
        left = self.relation(query.this, scope, self.context.relation(f"{name}'left"), distinct=True)
        right = self.relation(query.expression, scope, self.context.relation(f"{name}'right"), distinct=True)
        self._same_width([left, right], [query.this, query.expression])
        body = Body(self.context, scope, name)
        variables = body.add(left, "left", query.this).variables[: len(left.columns)]
        span = self.text.span(query)
        asked = Atom(right.relation, (*variables, *(Wildcard() for _ in range(right.hidden))), span=span)
        goal: Piece = Negation(asked, span=span) if word == "EXCEPT" else asked
        return self.context.emit(name, variables, [*body.goals, goal], ALWAYS, span, list(left.columns))

    def _same_width(self, tables: list[SqlTable], parts: list[exp.Expr]) -> None:
        for table, part in zip(tables, parts, strict=True):
            if len(table.columns) != len(tables[0].columns):
                message = f"this part has {len(table.columns)} columns, the first one {len(tables[0].columns)}"
                self.text.refuse("HW201", message, part, hint="select the same number of columns in every part")

    # Subqueries in conditions and as values

    def rows(self, query: exp.Expr, body: Body, *, values: bool) -> Rows:
        """A subquery of EXISTS or IN as a relation over its values and the columns it borrows."""
        query = _unbracketed(query)
        plain = isinstance(query, exp.Select) and not self.selects.grouped(query)
        if not plain or query.args.get("with_") or query.args.get("limit"):
            return self._closed_rows(query, body, values=values)
        assert isinstance(query, exp.Select)
        inner = body.inside()
        self.selects.read(query, inner)
        found: list[SqlValue] = []
        if values:
            reader = Values(inner, self.scalar)
            found = [reader.value(item.node) for item in self.selects.items(query, inner)]
        atom = self.asked(inner, found, query)
        return Rows(atom.relation, tuple(found), atom.args[len(found) :])

    def _closed_rows(self, query: exp.Expr, body: Body, *, values: bool) -> Rows:
        name = self.context.relation(f"{body.owner}'rows")
        fenced = body.inside(name)
        table = self.relation(query, body.scope, name, outer=fenced, distinct=True)
        if fenced.borrowed:
            self._refuse_borrowed(fenced, query)
        if values:
            found = tuple(SqlValue(Constant(None, None), column.type, column.nullable) for column in table.columns)
            return Rows(self._bare(table, found), found, ())
        some = self.context.relation(f"{name}'any")
        atom = Atom(table.relation, tuple(Wildcard() for _ in range(table.arity)), span=self.text.span(query))
        self.context.emit(some, [], [atom], ALWAYS, self.text.span(query))
        return Rows(some, (), ())

    def _bare(self, table: SqlTable, values: tuple[SqlValue, ...]) -> str:
        """The relation without its hidden columns."""
        if not table.hidden:
            return table.relation
        name = self.context.relation(f"{table.relation}'values")
        body = Body(self.context, Scope(None), name)
        source = body.add(table, "rows", None)
        self.context.emit(name, source.variables[: len(values)], body.goals, ALWAYS, table.span, list(table.columns))
        return name

    def _refuse_borrowed(self, body: Body, query: exp.Expr) -> NoReturn:
        names = ", ".join(f"`{found.column.name}`" for found in body.borrowed.values())
        message = f"this subquery uses {names} of the query around it in a way that is not translated"
        self.text.refuse("HW117", message, query, hint="write it as a join, or with EXISTS over a plain SELECT")

    def asked(self, inner: Body, values: list[SqlValue], place: exp.Expr) -> Atom:
        """A subquery's body as a relation over its values and the columns it borrows, ready to be asked."""
        borrowed: list[Term] = [found.variable for found in inner.borrowed.values()]
        name = self.context.relation(f"{inner.owner}'rows")
        head: list[Term | Aggregate] = [*(value.term for value in values), *borrowed]
        span = self.text.span(place)
        goals, choices = inner.goals, inner.choices
        if not self._binds(inner):
            goals = [self._domain(inner, place), *goals]
        self.context.emit(name, head, goals, choices, span)
        return Atom(name, (*(value.term for value in values), *borrowed), span=span)

    def _binds(self, inner: Body) -> bool:
        """Whether every borrowed column is equated with a column of the subquery's own, in every way to hold."""
        own = {variable.name for source in inner.sources for variable in source.variables}
        for name in inner.borrowed:
            for choice in inner.choices:
                pairs = [
                    {goal.left.name, goal.right.name} for goal in (*inner.goals, *choice) if isinstance(goal, Same)
                ]
                if not any(name in pair and pair & own for pair in pairs):
                    return False
        return True

    def _domain(self, inner: Body, place: exp.Expr) -> Atom:
        """The values that the borrowed columns can have."""
        outer = inner.outer
        assert outer is not None
        if outer.outer is not None and any(name in outer.borrowed for name in inner.borrowed):
            self._refuse_borrowed(inner, place)
        name = self.context.relation(f"{inner.owner}'asked")
        head = [found.variable for found in inner.borrowed.values()]
        self.context.emit(name, head, outer.goals, outer.choices, self.text.span(place))
        return Atom(name, tuple(head), span=self.text.span(place))

    def scalar(self, query: exp.Expr, body: Body) -> SqlValue:
        """A subquery that gives one value: an aggregate without GROUP BY, perhaps per value of a borrowed column."""
        query = _unbracketed(query)
        single = isinstance(query, exp.Select) and self.selects.grouped(query) and not query.args.get("group")
        if not single or not isinstance(query, exp.Select) or len(query.expressions) != 1:
            hint = "select one aggregate, such as max(...), or join with the subquery in FROM"
            self.text.refuse("HW117", "this subquery may give more than one value", query, hint=hint)
        name = self.context.relation(f"{body.owner}'value")
        fenced = body.inside(name)
        before = len(self.context.rules)
        table = self.relation(query, body.scope, name, outer=fenced)
        column = table.columns[0]
        variable = body.names.variable("value")
        if not fenced.borrowed:
            body.goals.append(Atom(name, (variable, *(Wildcard() for _ in range(table.hidden))), span=table.span))
            return SqlValue(variable, column.type, column.nullable, column.date)
        del self.context.rules[before:]
        return self._borrowing_scalar(query, body, variable)

    def _borrowing_scalar(self, query: exp.Select, body: Body, variable: Variable) -> SqlValue:
        """One value per borrowed columns: what is equated becomes the key of a group, and no group is no row."""
        inner = body.inside()
        self.selects.read(query, inner)
        if query.args.get("having") is not None or len(inner.choices) != 1:
            self._refuse_borrowed(inner, query)
        (item,) = self.selects.items(query, inner)
        node = item.node
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
            value, function = constant(1, Type.INT), "count"
        elif isinstance(node, exp.AggFunc) and not isinstance(node.this, exp.Distinct | exp.Star):
            value, aggregate = self.selects.aggregate(node, Values(inner, self.scalar))
            function = aggregate.function
        else:
            self._refuse_borrowed(inner, query)
        goals = list(inner.goals)
        if not self._binds(inner):
            goals = [self._domain(inner, query), *goals]
        argument = inner.names.variable("value")
        goals.append(Assign(argument, value.term))
        name = self.context.relation(f"{body.owner}'value")
        borrowed: list[Term] = [found.variable for found in inner.borrowed.values()]
        span = self.text.span(query)
        self.context.emit(name, [*borrowed, Aggregate(function, (argument,), span=span)], goals, ALWAYS, span)
        found = Atom(name, (*borrowed, variable), span=span)
        nothing = Negation(Atom(name, (*borrowed, Wildcard()), span=span), span=span)
        empty = Constant(0, Type.INT) if function == "count" else Constant(None, value.type)
        body.choices = both(body.choices, [[found], [nothing, Assign(variable, empty)]])
        if function == "count":
            return SqlValue(variable, Type.INT, False)
        return SqlValue(variable, value.type, True, value.date and function in ("min", "max"))


def _unbracketed(query: exp.Expr) -> exp.Expr:
    while isinstance(query, exp.Subquery) and not query.args.get("with_"):
        query = query.this
    return query


def widened(name: str, given: Sequence[SqlValue | SqlColumn]) -> SqlColumn:
    """The column that holds all of these."""
    kind = widest(each.type for each in given if not each.is_null)
    return SqlColumn(name, kind, any(each.nullable for each in given), all(each.date for each in given))
