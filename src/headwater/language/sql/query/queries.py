"""Queries of any shape as relations: SELECT, VALUES, UNION, EXCEPT, INTERSECT, WITH; and subqueries in conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from sqlglot import exp

from headwater.core.alarm import Alarm
from headwater.core.render import render
from headwater.core.types import Type
from headwater.language.sql.query.generators import is_plain
from headwater.language.sql.query.lifted import lifted
from headwater.language.sql.query.select import Selects
from headwater.language.sql.query.translator import Rows
from headwater.language.sql.query.views import Views
from headwater.language.sql.scalar.scalars import Values
from headwater.language.sql.scalar.value import SqlValue, constant
from headwater.language.sql.scope.body import Body
from headwater.language.sql.scope.context import Scope, Translation
from headwater.language.sql.scope.rules import ALWAYS, Choices, FreshNames, Piece, Same, both, made, merged_names
from headwater.language.sql.scope.sources import SqlColumn, SqlTable
from headwater.language.sql.text.shape import union_parts
from headwater.language.sql.text.sql_types import widest
from headwater.language.sql.text.statements import with_views
from headwater.language.sql.text.unshown import asked_name
from headwater.language.syntax import Aggregate, Assign, Atom, Comparison, Constant, Negation, Term, Variable, Wildcard
from headwater.language.terms import body_atoms


class Queries:
    """The translator: every query of a text becomes a relation, as rules in the context."""

    def __init__(self, context: Translation) -> None:
        self.context = context
        self.text = context.text
        self.selects = Selects(self)
        self.views = Views(self, self.selects)
        self.recursive: set[str] = set()  # relations of the recursion that is being translated
        self._looking = 0  # how many queries around are only looked at, for what they borrow
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
                names = FreshNames() if outer is None else outer.names
                body = Body(self.context, scope, name, outer, names)
                return self.selects.relation(query, body, name, distinct=distinct, order=order)
            case exp.Values():
                return self._values(query, name, outer, distinct=distinct)
            case exp.Union():
                return self._union(query, scope, name, outer, distinct=distinct)
            case exp.Except() | exp.Intersect():
                return self._compared(query, scope, name, outer)
            case _:
                self.text.refuse("HW117", f"`{self.text.written(query)}` is not a query that Headwater supports", query)

    def _values(self, query: exp.Values, name: str, outer: Body | None, *, distinct: bool) -> SqlTable:
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in query.expressions]
        width = len(rows[0])
        body = Body(self.context, Scope(None), name, outer)
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

    def _union(self, query: exp.Union, scope: Scope, name: str, outer: Body | None, *, distinct: bool) -> SqlTable:
        everything = distinct or bool(query.args.get("distinct"))
        parts = union_parts(query, everything, opened=True)
        tables = []
        for number, part in enumerate(parts):
            inner = self.context.relation(f"{name}'part{number + 1}")
            tables.append(self.relation(part, scope, inner, outer=outer, distinct=everything))
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

    def _compared(self, query: exp.SetOperation, scope: Scope, name: str, outer: Body | None) -> SqlTable:
        word = "EXCEPT" if isinstance(query, exp.Except) else "INTERSECT"
        if not query.args.get("distinct"):
            hint = f"write {word}, which compares sets of rows"
            self.text.refuse("HW117", f"{word} ALL is not translated", query, hint=hint)
        left, right = (
            self.relation(part, scope, self.context.relation(f"{name}'{side}"), outer=outer, distinct=True)
            for part, side in ((query.this, "left"), (query.expression, "right"))
        )
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
        if not plain or any(query.args.get(part) for part in ("with_", "limit", "qualify")):
            return self._closed_rows(query, body, values=values)
        assert isinstance(query, exp.Select)
        inner = body.inside()
        found: list[SqlValue] = []
        if values:
            found = [value for _, value in self.read(query, inner)]
        else:
            self.selects.read(query, inner)
        atom = self.asked(inner, found, query)
        return Rows(atom.relation, tuple(found), atom.args[len(found) :])

    def read(self, query: exp.Select, body: Body) -> list[tuple[str, SqlValue]]:
        """FROM and WHERE of a plain SELECT into a body; and the names and values of its columns."""
        self.selects.read(query, body)
        reader = Values(body, self.scalar)
        return [(item.name, reader.value(item.node)) for item in self.selects.items(query, body)]

    def _closed_rows(self, query: exp.Expr, body: Body, *, values: bool) -> Rows:
        name = self.context.relation(f"{body.owner}'rows")
        table, borrowed = self.answered(query, body, name, distinct=True)
        width = len(table.columns) - len(borrowed)
        if values:
            shown = table.columns[:width]
            found = tuple(SqlValue(Constant(None, None), column.type, column.nullable) for column in shown)
            return Rows(self._bare(table), found, tuple(borrowed))
        some = self.context.relation(f"{name}'any")
        unread = (Wildcard() for _ in range(table.hidden))
        atom = Atom(
            table.relation, (*(Wildcard() for _ in range(width)), *borrowed, *unread), span=self.text.span(query)
        )
        self.context.emit(some, borrowed, [atom], ALWAYS, self.text.span(query))
        return Rows(some, (), tuple(borrowed))

    def answered(
        self, query: exp.Expr, body: Body, name: str, *, distinct: bool = False
    ) -> tuple[SqlTable, list[Variable]]:
        """A subquery as the relation `name`: its columns, then those that it borrows; and the variables of these."""
        before = self.context.marked()
        fenced = body.inside(name)
        self._looking += 1
        try:
            table = self.relation(query, body.scope, name, outer=fenced, distinct=distinct)
        finally:
            self._looking -= 1
        if not fenced.borrowed:
            return table, []
        self.context.back_to(before)
        asked = self.domain(fenced, query)
        names = {variable: asked_name(at) for at, variable in enumerate(fenced.borrowed, 1)}
        columns = [replace(found.column, name=names[key]) for key, found in fenced.borrowed.items()]
        known = self.context.define(SqlTable(asked.relation, columns, span=asked.span))
        scope = Scope(body.scope, {asked.relation.lower(): known})
        table = self.relation(lifted(query, names, asked.relation), scope, name, distinct=distinct)
        return table, [found.variable for found in fenced.borrowed.values()]

    def _bare(self, table: SqlTable) -> str:
        """The relation without its hidden columns."""
        if not table.hidden:
            return table.relation
        name = self.context.relation(f"{table.relation}'values")
        body = Body(self.context, Scope(None), name)
        source = body.add(table, "rows", None)
        self.context.emit(
            name, source.variables[: len(table.columns)], body.goals, ALWAYS, table.span, list(table.columns)
        )
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
            goals = [self.domain(inner, place), *goals]
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

    def domain(self, inner: Body, place: exp.Expr) -> Atom:
        """The values that the borrowed columns can have."""
        outer = inner.outer
        assert outer is not None
        deep = outer.outer is not None and any(name in outer.borrowed for name in inner.borrowed)
        if deep and not self._looking:
            self._refuse_borrowed(inner, place)
        name = self.context.relation(f"{inner.owner}'borrowed")
        head = [found.variable for found in inner.borrowed.values()]
        goals, choices = self._values_outside(head, outer) or (outer.goals, outer.choices)
        self.context.emit(name, head, goals, choices, self.text.span(place))
        return Atom(name, tuple(head), span=self.text.span(place))

    def _values_outside(self, borrowed: list[Variable], outer: Body) -> tuple[list[Piece], Choices] | None:
        """Inside a recursion: all values that tables outside it have for the borrowed columns, of which it takes some.

        So the subquery does not read the recursion, and may be negated. None if a column has no such table.
        """
        if not self.recursive:
            return None
        inside = self._reading(self.recursive)
        root = merged_names(outer.goals)
        atoms: dict[str, Atom] = {}
        for goal in outer.goals:
            if isinstance(goal, Atom) and goal.relation not in inside:
                for arg in goal.args:
                    if isinstance(arg, Variable):
                        atoms.setdefault(root(arg.name), goal)
        if any(root(variable.name) not in atoms for variable in borrowed):
            return None
        used: list[Piece] = list(dict.fromkeys(atoms[root(variable.name)] for variable in borrowed))
        args = [arg for goal in used if isinstance(goal, Atom) for arg in goal.args]
        bound = {root(arg.name) for arg in args if isinstance(arg, Variable)}
        equal = [goal for goal in outer.goals if isinstance(goal, Same) and root(goal.left.name) in bound]
        return [*used, *equal], ALWAYS

    def _reading(self, relations: set[str]) -> set[str]:
        """These relations, and all that read them so far."""
        found = set(relations)
        while True:
            more = {
                rule.head.relation
                for rule in self.context.rules
                if rule.head.relation not in found and any(atom.relation in found for atom, _ in body_atoms(rule))
            }
            if not more:
                return found
            found |= more

    def scalar(self, query: exp.Expr, body: Body) -> SqlValue:
        """A subquery that gives one value: an aggregate without GROUP BY has one row, others may have none or one."""
        query = _unbracketed(query)
        single = isinstance(query, exp.Select) and self.selects.grouped(query)
        if not single or any(query.args.get(part) for part in ("group", "having", "qualify", "with_", "distinct")):
            return self._only(query, body)
        assert isinstance(query, exp.Select)
        if len(query.expressions) != 1:
            self._refuse_wide(query, len(query.expressions))
        name = self.context.relation(f"{body.owner}'value")
        fenced = body.inside(name)
        before = len(self.context.rules)
        table = self.relation(query, body.scope, name, outer=fenced)
        column = table.columns[0]
        variable = body.names.variable("value")
        if not fenced.borrowed:
            body.goals.append(Atom(name, (variable, *(Wildcard() for _ in range(table.hidden))), span=table.span))
            return SqlValue(variable, column.type, column.nullable, column.is_null, column.opaque)
        del self.context.rules[before:]
        return self._borrowing_scalar(query, body, variable) or self._only(query, body)

    def _only(self, query: exp.Expr, body: Body) -> SqlValue:
        """The value of the only row, or null without one; an alarm rings where there are several."""
        name, span = self.context.relation(f"{body.owner}'value"), self.text.span(query)
        table, borrowed = self._looked_up(query, body, name) or self.answered(query, body, name)
        if len(table.columns) - len(borrowed) != 1:
            self._refuse_wide(query, len(table.columns) - len(borrowed))
        inner = Body(self.context, body.scope, name, None, body.names)
        value, *rest = inner.add(table, "rows", query).variables
        keys, one = rest[: len(borrowed)], inner.names.variable("one")
        counted = self.context.relation(f"{body.owner}'value")
        best = Aggregate("min", (value,), span=span), Aggregate("count", (one,), span=span)
        self.context.emit(counted, [*keys, *best], [*inner.goals, Assign(one, Constant(1, Type.INT))], ALWAYS, span)
        self._alarm_of_many(counted, borrowed, body, query)
        variable, many = body.names.variable("value"), Wildcard()
        column = table.columns[0]
        found = Atom(counted, (*borrowed, variable, many), span=span)
        nothing = Negation(Atom(counted, (*borrowed, Wildcard(), many), span=span), span=span)
        body.choices = both(body.choices, [[found], [nothing, Assign(variable, Constant(None, column.type))]])
        return SqlValue(variable, column.type, True, column.is_null, column.opaque)

    def _looked_up(self, query: exp.Expr, body: Body, name: str) -> tuple[SqlTable, list[Variable]] | None:
        """A plain subquery whose borrowed columns are equated with its own: it need not know which are asked for."""
        if not isinstance(query, exp.Select) or not is_plain(query):
            return None
        before = self.context.marked()
        inner = body.inside(name)
        found = self.read(query, inner)
        if len(found) != 1 or not inner.borrowed or not self._binds(inner):
            self.context.back_to(before)
            return None
        borrowed = [each.variable for each in inner.borrowed.values()]
        value = found[0][1]
        columns = [SqlColumn(found[0][0], value.type, value.nullable, value.is_null, value.opaque)]
        columns += [each.column for each in inner.borrowed.values()]
        head = [value.term, *borrowed, *inner.identity()]
        return self.context.emit(name, head, inner.goals, inner.choices, self.text.span(query), columns), borrowed

    def _alarm_of_many(self, counted: str, borrowed: list[Variable], body: Body, query: exp.Expr) -> None:
        """An alarm where a row of the query around a subquery finds several rows in it."""
        name, count = self.context.relation(f"{body.owner}'many"), body.names.variable("count")
        atom = Atom(counted, (*borrowed, Wildcard(), count))
        goals = [*(body.goals if borrowed else ()), atom, Comparison(">", count, Constant(1, Type.INT))]
        self.context.emit(name, [], goals, body.choices if borrowed else ALWAYS, self.text.span(query))
        told = self.text.problem(
            "HW835",
            "this subquery is used as a value, and has more than one row",
            query,
            note="nothing was changed",
            hint="take one of them with max(...), or with ORDER BY ... LIMIT 1; or join with the subquery in FROM",
        )
        self.context.alarms[name] = Alarm(told.code, render(told), True)

    def _refuse_wide(self, query: exp.Expr, width: int) -> NoReturn:
        message = f"a subquery that is used as a value has one column, and this one has {width}"
        self.text.refuse("HW201", message, query, hint="select one column")

    def _borrowing_scalar(self, query: exp.Select, body: Body, variable: Variable) -> SqlValue | None:
        """One value per borrowed columns: what is equated becomes the key of a group, and no group is no row.

        None if it is more than one plain aggregate.
        """
        before = self.context.marked()
        inner = body.inside()
        self.selects.read(query, inner)
        (item,) = self.selects.items(query, inner)
        node = item.node
        if len(inner.choices) != 1:
            self.context.back_to(before)
            return None
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
            value, function = constant(1, Type.INT), "count"
        elif isinstance(node, exp.AggFunc) and not isinstance(node.this, exp.Distinct | exp.Star):
            value, aggregate = self.selects.aggregate(node, Values(inner, self.scalar))
            function = aggregate.function
        else:
            self.context.back_to(before)
            return None
        goals = list(inner.goals)
        if not self._binds(inner):
            goals = [self.domain(inner, query), *goals]
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
        return SqlValue(variable, value.type, True, value.is_null and function in ("min", "max"))


def _unbracketed(query: exp.Expr) -> exp.Expr:
    while isinstance(query, exp.Subquery) and not query.args.get("with_"):
        query = query.this
    return query


def widened(name: str, given: Sequence[SqlValue | SqlColumn]) -> SqlColumn:
    """The column that holds all of these."""
    kind = widest(each.type for each in given if not each.is_null)
    nullable, is_null = any(each.nullable for each in given), all(each.is_null for each in given)
    return SqlColumn(name, kind, nullable, is_null, next((each.opaque for each in given if each.opaque), None))
