"""One SELECT as rules: its FROM and WHERE as a body, its list as a head, its groups as aggregates.

Without DISTINCT, the head keeps what identifies the rows of its sources, in hidden columns. An aggregate ranges over
the distinct bindings of its body: the rows of FROM, each copy of a row by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.sql.query.conditions import Conditions, holds
from headwater.language.sql.query.groups import AGGREGATES, Grouped, Replaced, aggregates_in, is_named_aggregate
from headwater.language.sql.query.joins import Joins
from headwater.language.sql.query.translator import Translator
from headwater.language.sql.query.windows import Windows, windows_in
from headwater.language.sql.scalar.scalars import Values
from headwater.language.sql.scalar.value import SqlValue
from headwater.language.sql.scope.body import AT, Body, column_at, meant
from headwater.language.sql.scope.rules import Choices, FreshNames, Piece, made, merged_names
from headwater.language.sql.scope.sources import FromItem, SqlColumn, SqlTable
from headwater.language.sql.text.parsed import NotTranslated
from headwater.language.sql.text.shape import conjuncts
from headwater.language.sql.text.unshown import is_unshown
from headwater.language.syntax import Aggregate, Atom, Term, Variable


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
            SqlColumn(item.name, value.type, value.nullable, value.is_null, value.opaque)
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

    def branch(self, select: exp.Select, body: Body) -> Branch:
        """What a SELECT gives, for its caller to make rules of."""
        return self._branch(select, body, ())

    def _branch(self, select: exp.Select, body: Body, order: Sequence[exp.Expr]) -> Branch:
        self.read(select, body)
        items = self.items(select, body)
        if self.grouped(select):
            return self._groups(select, body, items, order)
        values = Values(body, self.translator.scalar)
        ordering = [self._ordering(each, items) for each in order]
        values = self._over(select, values, items, ordering, body.identity())
        found = [values.value(item.node) for item in items]
        extra = [values.value(each) for each in ordering]
        return Branch(items, found, body.goals, body.choices, body.identity(), self.text.span(select), extra)

    def _over(
        self, select: exp.Select, values: Values, items: list[Item], order: list[exp.Expr], identity: Sequence[Variable]
    ) -> Values:
        """Values that know the window functions of a SELECT; its QUALIFY is one more condition of the body."""
        qualify = _qualified(select, items, values.body)
        asked = [*(item.node for item in items), *order, *([] if qualify is None else [qualify])]
        calls = list(dict.fromkeys(call for node in asked for call in windows_in(node)))
        if not calls and qualify is None:
            return values
        self._refuse_in_recursion(values.body, calls)
        named = {each.this.name.lower(): each for each in select.args.get("windows") or ()}
        windows = Windows(values, identity, named)
        found: dict[exp.Expr, SqlValue] = {call: windows.value(call) for call in calls}
        known = Values(values.body, self.translator.scalar, Replaced({**values.replaced, **found}))
        if qualify is not None:
            for part in conjuncts(qualify):
                values.body.restrict(Conditions(known, self.translator).holds(part))
        return known

    def _refuse_in_recursion(self, body: Body, calls: Sequence[exp.Expr]) -> None:
        read = {goal.relation for goal in body.goals if isinstance(goal, Atom)} & self.translator.recursive
        if read and calls:
            name = min(read).partition("'")[0]
            message = f"`{name}` is read through a window function inside its own recursion"
            note = "the rows that it ranges over are known only when the recursion has ended"
            hint = "number rows in a query over the finished view"
            self.text.refuse("HW512", message, calls[0], note=note, hint=hint)

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
                found += self._changed(bare, self._star(bare, body))
            else:
                known = {item.name.lower(): item.node for item in reversed(found)}
                found.append(Item(item_name(node, len(found)), _spelt_out(bare, known, body), node))
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
                if is_unshown(column.name):
                    continue
                if wanted or column.name.lower() not in source.merged:
                    made_up = column_at(source.alias, column.name, node)
                    made_up.meta[AT] = at
                    found.append(Item(column.name, made_up, made_up))
        return found

    def _changed(self, node: exp.Expr, items: list[Item]) -> list[Item]:
        """The columns of a `*` without those behind EXCEPT, and with others in place of those behind REPLACE."""
        star = node.this if isinstance(node, exp.Column) else node
        left_out = {each.name.lower(): each for each in star.args.get("except_") or ()}
        others = {each.alias.lower(): each for each in star.args.get("replace") or ()}
        names = {item.name.lower() for item in items}
        for name, place in (left_out | others).items():
            if name not in names:
                hint = meant(name, [item.name for item in items])
                self.text.refuse("HW230", f"`*` has no column `{name}` here", place, hint=hint)
        kept = [item for item in items if item.name.lower() not in left_out]
        return [
            Item(item.name, other.this, other) if (other := others.get(item.name.lower())) is not None else item
            for item in kept
        ]

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
            aggregates_in(node) for node in select.expressions
        )

    def _keys(self, select: exp.Select, body: Body, items: list[Item]) -> list[exp.Expr]:
        group = select.args.get("group")
        if group is None:
            return []
        if group.args.get("all"):
            return [item.node for item in items if not aggregates_in(item.node)]
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
        qualify = _qualified(select, items, body)
        tests = [*([having.this] if having is not None else []), *([qualify] if qualify is not None else [])]
        asked = [*(item.node for item in items), *tests, *ordering]
        calls = list(dict.fromkeys(call for node in asked for call in aggregates_in(node)))
        grouped = Grouped(Values(body, self.translator.scalar), keys, calls, span)
        name = grouped.emit(f"{body.owner}'groups")
        names = FreshNames() if body.outer is None else body.names  # names of the queries around it stay taken
        after = Body(self.context, body.scope, body.owner, body.outer, names)
        after.borrowed = body.borrowed
        replaced: dict[exp.Expr, SqlValue] = {}
        variables = []
        for node, value in (*zip(keys, grouped.keys, strict=True), *zip(calls, grouped.results, strict=True)):
            variable = after.names.variable(node.name if isinstance(node, exp.Column) else "value")
            variables.append(variable)
            replaced[node] = replace(value, term=variable)
        after.sources = self._keyed(body, keys, replaced)
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
        values = Values(after, self.translator.scalar, Replaced(replaced))
        if having is not None:
            for part in conjuncts(having.this):
                after.restrict(Conditions(values, self.translator).holds(part))
        values = self._over(select, values, items, ordering, variables[: len(keys)])
        found = [values.value(item.node) for item in items]
        extra = [values.value(node) for node in ordering]
        return Branch(items, found, after.goals, after.choices, variables[: len(keys)], span, extra)

    def _keyed(self, body: Body, keys: list[exp.Expr], known: dict[exp.Expr, SqlValue]) -> list[FromItem]:
        """The tables of a FROM with those columns that groups are made by, for subqueries to borrow."""
        found = []
        for source in body.sources:
            own = [each.name for each in source.variables[: len(source.table.columns)]]
            shown = {}
            for node in keys:
                name = body.column(node).variable.name if isinstance(node, exp.Column) else ""
                if name in own:
                    column = source.table.columns[own.index(name)]
                    shown[column.name.lower()] = column, known[node].term
            columns = [column for column, _ in shown.values()]
            variables = [term for _, term in shown.values() if isinstance(term, Variable)]
            table = SqlTable(source.table.relation, columns, key=())
            found.append(FromItem(source.alias, table, variables, source.span, merged=source.merged))
        return found

    def _is_same(self, spelt: exp.Column, node: exp.Column, body: Body) -> bool:
        try:
            return body.column(spelt).variable == body.column(node).variable
        except NotTranslated:
            return False

    def _refuse_ungrouped(self, nodes: list[exp.Expr], body: Body, replaced: dict[exp.Expr, SqlValue]) -> None:
        own = {variable.name for source in body.sources for variable in source.variables}
        known = Replaced(replaced)

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
            if isinstance(item.node, exp.AggFunc) or is_named_aggregate(item.node):
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
        return SqlValue(found[-1].term, kind), Aggregate(function, tuple(each.term for each in found), span=span)


def _spelt_out(node: exp.Expr, known: dict[str, exp.Expr], body: Body) -> exp.Expr:
    """The value of a column with names of columns before it, where no table has that name, spelt out."""
    if isinstance(node, exp.Query) or not known:
        return node
    if isinstance(node, exp.Column) and not node.table and node.name.lower() in known:
        own = any(source.table.open or source.table.place(node.name) is not None for source in body.sources)
        return node if own else exp.Paren(this=known[node.name.lower()].copy())
    for child in list(node.iter_expressions()):
        other = _spelt_out(child, known, body)
        if other is not child:
            child.replace(other)
    return node


def _qualified(select: exp.Select, items: list[Item], body: Body) -> exp.Expr | None:
    """The condition of QUALIFY, with names of columns of the SELECT list spelt out."""
    clause = select.args.get("qualify")
    return None if clause is None else _spelt_out(clause.this, {item.name.lower(): item.node for item in items}, body)


def item_name(node: exp.Expr, at: int) -> str:
    """The name of a column of a SELECT list: its alias, or that of the column that it shows."""
    bare = node.this if isinstance(node, exp.Alias) else node
    return node.alias or (bare.name if isinstance(bare, exp.Column) else "") or f"c{at}"
