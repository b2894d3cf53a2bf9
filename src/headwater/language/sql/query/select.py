"""One SELECT as rules: its FROM and WHERE as a body, its list as a head, its groups as aggregates.

Without DISTINCT, the head keeps what identifies the rows of its sources, in hidden columns. An aggregate ranges over
the distinct bindings of its body: the rows of FROM, each copy of a row by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.sql.query.conditions import Conditions, holds
from headwater.language.sql.query.joins import Joins
from headwater.language.sql.query.translator import Translator
from headwater.language.sql.scalar.scalars import Values
from headwater.language.sql.scalar.value import SqlValue, constant
from headwater.language.sql.scope.body import AT, Body, column_at
from headwater.language.sql.scope.rules import ALWAYS, Choices, FreshNames, Piece, made, merged_names
from headwater.language.sql.scope.sources import SqlColumn, SqlTable
from headwater.language.sql.text.parsed import NotTranslated
from headwater.language.sql.text.shape import conjuncts
from headwater.language.syntax import Aggregate, Assign, Atom, Call, Constant, Negation, Term, Variable, Wildcard

AGGREGATES: dict[type[exp.Expr], str] = {
    kind: kind.__name__.lower() for kind in (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
}
_ONLY_IN_RECURSION = frozenset({"mmin", "mmax", "mcount", "msum"})


@dataclass(frozen=True, slots=True)
class Item:
    """One column of the result."""

    name: str
    node: exp.Expr
    place: exp.Expr


@dataclass(slots=True)
class Branch:
    """What a SELECT gives: its columns' values, and the pieces of the body that make them."""

    items: list[Item]
    values: list[SqlValue]
    goals: list[Piece]
    choices: Choices
    identity: list[Variable]
    span: Span | None
    extra: list[SqlValue] = field(default_factory=list)  # values of ORDER BY that are not shown


class Selects:
    """The SELECTs of a program, one at a time."""

    def __init__(self, translator: Translator) -> None:
        self.translator = translator
        self.context = translator.context
        self.text = translator.context.text

    def relation(
        self, select: exp.Select, body: Body, name: str, *, distinct: bool, order: Sequence[exp.Expr] = ()
    ) -> SqlTable:
        """The SELECT as a relation of its own; values of `order` that it does not show are hidden columns."""
        distinct = distinct or select.args.get("distinct") is not None
        branch = self._branch(select, body, order)
        columns = [
            SqlColumn(item.name, value.type, value.nullable, value.date)
            for item, value in zip(branch.items, branch.values, strict=True)
        ]
        head: list[Term | Aggregate] = [value.term for value in branch.values]
        for value in branch.extra:
            if value.term not in head:
                if distinct:
                    message = "ORDER BY a column that SELECT DISTINCT does not show"
                    self.text.refuse("HW117", message, order[0], hint="select it, too")
                head.append(value.term)
        places = tuple(head.index(value.term) for value in branch.extra)
        if not distinct:
            head += self._hidden_identity(branch)
        table = self.context.emit(name, head, branch.goals, branch.choices, branch.span, columns)
        table.order = places
        return table

    def _hidden_identity(self, branch: Branch) -> list[Variable]:
        """What identifies rows and is not shown, each of several equal columns once."""
        root = merged_names(branch.goals)
        shown = {root(value.term.name) for value in branch.values if isinstance(value.term, Variable)}
        kept = {root(variable.name): variable for variable in reversed(branch.identity)}
        return [kept[name] for name in dict.fromkeys(root(each.name) for each in branch.identity) if name not in shown]

    def into(self, select: exp.Select, body: Body, name: str, aggregates: dict[int, str]) -> list[SqlValue]:
        """The SELECT's rows as one part of a recursive relation, aggregated in its head where `aggregates` says so."""
        if self.grouped(select):
            return self._aggregated_into(select, body, name)
        branch = self._branch(select, body, ())
        head: list[Term | Aggregate] = [
            Aggregate(aggregates[at], (value.term,), span=self.text.span(branch.items[at].node))
            if at in aggregates
            else value.term
            for at, value in enumerate(branch.values)
        ]
        self.context.rules += made(name, head, branch.goals, branch.choices, branch.span)
        return branch.values

    # Reading a SELECT

    def _branch(self, select: exp.Select, body: Body, order: Sequence[exp.Expr]) -> Branch:
        self.read(select, body)
        items = self.items(select, body)
        if self.grouped(select):
            return self._groups(select, body, items, order)
        values = Values(body, self.translator.scalar)
        found = [values.value(item.node) for item in items]
        extra = [values.value(self._ordering(each, items)) for each in order]
        return Branch(items, found, body.goals, body.choices, body.identity(), self.text.span(select), extra)

    def read(self, select: exp.Select, body: Body) -> None:
        """FROM and WHERE, into the body."""
        Joins(self.translator, body).read(select)
        where = select.args.get("where")
        if where is not None:
            for condition in conjuncts(where.this):
                body.restrict(holds(condition, body, self.translator))

    def items(self, select: exp.Select, body: Body) -> list[Item]:
        """The columns of the result, with `*` written out."""
        found: list[Item] = []
        for node in select.expressions:
            bare = node.this if isinstance(node, exp.Alias) else node
            if isinstance(bare, exp.Star) or (isinstance(bare, exp.Column) and isinstance(bare.this, exp.Star)):
                found += self._star(bare, body)
            else:
                found.append(Item(item_name(node, len(found)), bare, node))
        if not found:
            self.text.refuse("HW102", "this SELECT has no columns", select, hint="name the columns after SELECT")
        return found

    def _star(self, node: exp.Expr, body: Body) -> list[Item]:
        wanted = node.table if isinstance(node, exp.Column) else ""
        sources = [source for source in body.sources if not wanted or source.alias.lower() == wanted.lower()]
        if not sources:
            self.text.refuse("HW230", f"`{wanted or '*'}` finds no table in this FROM", node)
        found = []
        for source in sources:
            if source.table.open:
                hint = f"declare it with CREATE TABLE {source.alias} (...), or name the columns"
                self.text.refuse("HW232", f"`*` needs to know the columns of `{source.alias}`", node, hint=hint)
            for at, column in enumerate(source.table.columns):
                if wanted or column.name.lower() not in source.merged:
                    made_up = column_at(source.alias, column.name, node)
                    made_up.meta[AT] = at
                    found.append(Item(column.name, made_up, made_up))
        return found

    def _ordering(self, node: exp.Expr, items: list[Item]) -> exp.Expr:
        """A name in ORDER BY or GROUP BY may be that of a result column, or its number."""
        if isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit():
            at = int(node.this) - 1
            if not 0 <= at < len(items):
                self.text.refuse("HW230", f"there is no column {node.this} in this SELECT", node)
            return items[at].node
        if isinstance(node, exp.Column) and not node.table:
            named = [item.node for item in items if item.name.lower() == node.name.lower()]
            if named:
                return named[0]
        return node

    # Groups

    def grouped(self, select: exp.Select) -> bool:
        return bool(select.args.get("group") or select.args.get("having")) or any(
            _aggregates(node) for node in select.expressions
        )

    def _keys(self, select: exp.Select, body: Body, items: list[Item]) -> list[exp.Expr]:
        group = select.args.get("group")
        if group is None:
            return []
        if group.args.get("all"):
            return [item.node for item in items if not _aggregates(item.node)]
        return [self._key(node, body, items) for node in group.expressions]

    def _key(self, node: exp.Expr, body: Body, items: list[Item]) -> exp.Expr:
        if (
            isinstance(node, exp.Column)
            and not node.table
            and any(source.table.place(node.name) is not None for source in body.sources)
        ):
            return node
        return self._ordering(node, items)

    def _groups(self, select: exp.Select, body: Body, items: list[Item], order: Sequence[exp.Expr]) -> Branch:
        """The groups as a relation of keys and aggregates, and the SELECT over it."""
        span = self.text.span(select)
        keys = self._keys(select, body, items)
        having = select.args.get("having")
        ordering = [self._ordering(each, items) for each in order]
        asked = [item.node for item in items] + ([having.this] if having is not None else []) + ordering
        calls = list(dict.fromkeys(call for node in asked for call in _aggregates(node)))
        grouped = _Grouped(self, body, keys, calls, span)
        name = grouped.emit(f"{body.owner}'groups")
        names = FreshNames() if body.outer is None else body.names  # names of the queries around it stay taken
        after = Body(self.context, body.scope, body.owner, body.outer, names)
        after.borrowed = body.borrowed
        replaced: dict[exp.Expr, SqlValue] = {}
        variables = []
        for node, value in (*zip(keys, grouped.keys, strict=True), *zip(calls, grouped.results, strict=True)):
            variable = after.names.variable(node.name if isinstance(node, exp.Column) else "value")
            variables.append(variable)
            replaced[node] = SqlValue(variable, value.type, value.nullable, value.date)
        for node in keys:  # a key may be spelt with or without its table
            if isinstance(node, exp.Column):
                for spelt in (
                    exp.column(node.name),
                    *(exp.column(node.name, table=each.alias) for each in body.sources),
                ):
                    if self._is_same(spelt, node, body):
                        replaced[spelt] = replaced[node]
        atom = Atom(name, tuple(variables), span=span)
        after.goals.append(atom)
        self._refuse_ungrouped(asked, body, replaced)
        values = Values(after, self.translator.scalar, _Replaced(replaced))
        if having is not None:
            for part in conjuncts(having.this):
                after.restrict(Conditions(values, self.translator).holds(part))
        found = [values.value(item.node) for item in items]
        extra = [values.value(node) for node in ordering]
        return Branch(items, found, after.goals, after.choices, variables[: len(keys)], span, extra)

    def _is_same(self, spelt: exp.Column, node: exp.Column, body: Body) -> bool:
        try:
            return body.column(spelt).variable == body.column(node).variable
        except NotTranslated:
            return False

    def _refuse_ungrouped(self, nodes: list[exp.Expr], body: Body, replaced: dict[exp.Expr, SqlValue]) -> None:
        own = {variable.name for source in body.sources for variable in source.variables}
        known = _Replaced(replaced)

        def look(node: exp.Expr) -> None:
            if node in known or isinstance(node, exp.Query):
                return
            if isinstance(node, exp.Column) and body.column(node).variable.name in own:
                message = f"`{self.text.written(node)}` is neither grouped nor aggregated"
                self.text.refuse("HW511", message, node, hint=f"add it to GROUP BY, or write min({node.name})")
            for child in node.iter_expressions():
                look(child)

        for node in nodes:
            look(node)

    def _aggregated_into(self, select: exp.Select, body: Body, name: str) -> list[SqlValue]:
        """GROUP BY in a part of a recursive view: its aggregates stand in the view's own head."""
        self.read(select, body)
        items = self.items(select, body)
        if select.args.get("having") is not None:
            hint = "filter rows in WHERE, or groups in a view over the recursive one"
            self.text.refuse("HW117", "HAVING inside a recursion is not translated", select.args["having"], hint=hint)
        keys = list(self._keys(select, body, items))
        for key in keys:
            if not any(self._equals(item.node, key, body) for item in items):
                message = f"`{self.text.written(key)}` is grouped by, but not selected"
                note = "inside a recursion the groups are those of the view: one row is kept for its other columns"
                hint = "select it as a column of the view, or leave it out of GROUP BY"
                self.text.refuse("HW511", message, key, note=note, hint=hint)
        values = Values(body, self.translator.scalar)
        found: list[SqlValue] = []
        head: list[Term | Aggregate] = []
        for item in items:
            if isinstance(item.node, exp.AggFunc) or _named_aggregate(item.node):
                value, aggregate = self.aggregate(item.node, values)
                head.append(aggregate)
            else:
                if not any(self._equals(item.node, key, body) for key in keys):
                    message = f"`{self.text.written(item.node)}` is neither grouped nor one aggregate"
                    hint = "inside a recursion every column is a key of GROUP BY, or one aggregate alone"
                    self.text.refuse("HW511", message, item.node, hint=hint)
                value = values.value(item.node)
                head.append(value.term)
            found.append(value)
        self.context.rules += made(name, head, body.goals, body.choices, self.text.span(select))
        return found

    def _equals(self, node: exp.Expr, key: exp.Expr, body: Body) -> bool:
        if isinstance(node, exp.Column) and isinstance(key, exp.Column):
            return self._is_same(node, key, body)
        return node == key

    def aggregate(self, node: exp.Expr, values: Values) -> tuple[SqlValue, Aggregate]:
        span = self.text.span(node)
        function = AGGREGATES.get(type(node)) or str(node.this).lower()
        given = node.expressions if isinstance(node, exp.Anonymous) else [node.this]
        if isinstance(node.this, exp.Star | exp.Distinct):
            message = f"`{self.text.written(node)}` inside a recursion is not translated"
            self.text.refuse("HW117", message, node, hint="aggregate over the recursive view, from outside")
        found = [values.value(each) for each in given]
        kind = Type.INT if "count" in function else found[-1].type
        return SqlValue(found[-1].term, kind, True, found[-1].date and kind is Type.TIMESTAMP), Aggregate(
            function, tuple(each.term for each in found), span=span
        )


class _Replaced(dict[exp.Expr, SqlValue]):
    """Expressions that stand for a variable already, found also where only the case of names differs."""

    def __init__(self, given: dict[exp.Expr, SqlValue]) -> None:
        super().__init__({_folded(node): value for node, value in given.items()})

    def __contains__(self, node: object) -> bool:
        return isinstance(node, exp.Expr) and super().__contains__(_folded(node))

    def __getitem__(self, node: exp.Expr) -> SqlValue:
        return super().__getitem__(_folded(node))


def _folded(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Column | exp.AggFunc | exp.Func | exp.Binary | exp.Case | exp.Paren | exp.Unary):
        copy = node.copy()
        for name in copy.find_all(exp.Identifier):
            name.set("this", str(name.this).lower())
            name.set("quoted", False)
        return copy
    return node


class _Grouped:
    """The relation of groups: one rule with all plain aggregates, and one more for each DISTINCT."""

    def __init__(
        self, selects: Selects, body: Body, keys: list[exp.Expr], calls: list[exp.Expr], span: Span | None
    ) -> None:
        self.text = selects.text
        self.context = selects.context
        self.body = body
        self.span = span
        self.values = Values(body, selects.translator.scalar)
        self.keys = [self.values.value(node) for node in keys]
        self.results: list[SqlValue] = []
        self._plain: list[tuple[int, Aggregate]] = []
        self._distinct: list[tuple[int, str, SqlValue]] = []
        for at, call in enumerate(calls):
            self._take(at, call)

    def _take(self, at: int, call: exp.Expr) -> None:
        test: exp.Expr | None = None
        node = call
        if isinstance(node, exp.Filter):
            test, node = node.expression.this, node.this
        function = AGGREGATES.get(type(node))
        if function is None:
            hint = f"the aggregates are {', '.join(sorted(AGGREGATES.values()))}"
            self.text.refuse("HW217", f"`{self.text.written(node)}` is no aggregate here", node, hint=hint)
        distinct = isinstance(node.this, exp.Distinct)
        given = node.this.expressions if distinct else [node.this, *(node.expressions or [])]
        if len(given) != 1:
            message = f"`{function}` over several columns is not translated"
            self.text.refuse("HW217", message, node, hint="join them first: count(DISTINCT a || ',' || b)")
        value = constant(1, Type.INT) if isinstance(given[0], exp.Star) else self.values.value(given[0])
        if test is not None:
            truth = self.values.truth(test).term
            value = SqlValue(Call("if", (truth, value.term, Constant(None, value.type))), value.type, True, value.date)
        kind = {"count": Type.INT, "avg": Type.FLOAT}.get(function, value.type)
        date = value.date and function in ("min", "max")
        self.results.append(SqlValue(Constant(None, None), kind, function != "count", date))
        if distinct and function in ("count", "sum", "avg"):
            self._distinct.append((at, function, value))
        else:
            self._plain.append((at, Aggregate(function, (self._variable(value),), span=self.text.span(node))))

    def _variable(self, value: SqlValue) -> Term:
        """An aggregate ranges over a variable: another value gets one."""
        if isinstance(value.term, Variable):
            return value.term
        variable = self.body.names.variable("value")
        self.body.goals.append(Assign(variable, value.term, span=self.text.span(None)))
        return variable

    def emit(self, wanted: str) -> str:
        """The relation of keys and results, one row per group; without keys, one row in any case."""
        count = len(self.keys)
        keys: list[Term] = [self._variable(key) for key in self.keys]
        goals, choices = self._bindings(keys)
        parts: list[tuple[str, list[int]]] = []
        if self._plain or not self._distinct:
            name = self.context.relation(wanted)
            head: list[Term | Aggregate] = [*keys, *(aggregate for _, aggregate in self._plain)]
            self.context.emit(name, head, goals, choices, self.span)
            parts.append((name, [at for at, _ in self._plain]))
        for at, function, value in self._distinct:
            inner = self.context.relation(f"{wanted}'values")
            self.context.emit(inner, [*keys, value.term], goals, choices, self.span)
            fresh = [self.body.names.variable("key") for _ in keys]
            argument = self.body.names.variable("value")
            name = self.context.relation(wanted)
            atom = Atom(inner, (*fresh, argument), span=self.span)
            self.context.emit(
                name, [*fresh, Aggregate(function, (argument,), span=self.span)], [atom], ALWAYS, self.span
            )
            parts.append((name, [at]))
        if len(parts) == 1 and parts[0][1] == list(range(len(self.results))) and count:
            return parts[0][0]
        return self._combined(wanted, parts, count)

    def _bindings(self, keys: list[Term]) -> tuple[list[Piece], Choices]:
        """One way to hold: an aggregate must not see a row once per way."""
        if len(self.body.choices) == 1:
            return [*self.body.goals, *self.body.choices[0]], ALWAYS
        name = self.context.relation(f"{self.body.owner}'rows")
        used = [aggregate.args[0] for _, aggregate in self._plain] + [value.term for _, _, value in self._distinct]
        kept = [each for each in (*keys, *used, *self.body.identity()) if isinstance(each, Variable)]
        args = tuple(dict.fromkeys(kept))
        self.context.emit(name, args, self.body.goals, self.body.choices, self.span)
        return [Atom(name, args, span=self.span)], ALWAYS

    def _combined(self, wanted: str, parts: list[tuple[str, list[int]]], count: int) -> str:
        """Several relations of the same groups side by side; and, without keys, the row of no rows."""
        name = self.context.relation(wanted)
        keys = [self.body.names.variable("key") for _ in range(count)]
        results: dict[int, Term] = {}
        goals: list[Piece] = []
        for part, places in parts:
            variables = [self.body.names.variable("value") for _ in places]
            results.update(zip(places, variables, strict=True))
            goals.append(Atom(part, (*keys, *variables), span=self.span))
        head: list[Term | Aggregate] = [*keys, *(results[at] for at in range(len(self.results)))]
        self.context.emit(name, head, goals, ALWAYS, self.span)
        if not count:
            empty: list[Term | Aggregate] = [
                Constant(None, None) if value.nullable else Constant(0, Type.INT) for value in self.results
            ]
            nothing = Atom(parts[0][0], tuple(Wildcard() for _ in parts[0][1]), span=self.span)
            self.context.emit(name, empty, [Negation(nothing, span=self.span)], ALWAYS, self.span)
        return name


def _aggregates(node: exp.Expr) -> list[exp.Expr]:
    """The aggregates of an expression, outermost first, none inside a subquery."""
    if isinstance(node, exp.Query | exp.Window):
        return []
    if isinstance(node, exp.Filter | exp.AggFunc) or _named_aggregate(node):
        return [node]
    return [found for child in node.iter_expressions() for found in _aggregates(child)]


def item_name(node: exp.Expr, at: int) -> str:
    """The name of a column of a SELECT list: its alias, or that of the column that it shows."""
    bare = node.this if isinstance(node, exp.Alias) else node
    return node.alias or (bare.name if isinstance(bare, exp.Column) else "") or f"c{at}"


def _named_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in _ONLY_IN_RECURSION
