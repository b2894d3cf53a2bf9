"""Views that read each other in a circle, as rules: a set that grows until nothing new follows, or a bag.

With UNION a recursion is a set. With UNION ALL it is a bag where that can be (see `bags`); else it is a set, with a
warning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from sqlglot import exp

from headwater.core.diagnostics import Diagnostic, Severity
from headwater.core.types import Type
from headwater.language.sql.query.bags import BagPart, BagRules, bag_parts, has_union_all, moves_on, why_no_bag
from headwater.language.sql.query.levels import give_levels
from headwater.language.sql.query.select import Selects, item_name
from headwater.language.sql.query.translator import Translator
from headwater.language.sql.scalar.value import SqlValue
from headwater.language.sql.scope.body import Body
from headwater.language.sql.scope.context import Scope
from headwater.language.sql.scope.rules import ALWAYS, made
from headwater.language.sql.scope.sources import SqlColumn, SqlTable
from headwater.language.sql.text.shape import union_parts
from headwater.language.sql.text.sql_types import widest
from headwater.language.sql.text.statements import SqlView
from headwater.language.syntax import Aggregate, Term

_KEPT = frozenset({"min", "max", "mmin", "mmax", "sum", "count", "mcount", "msum", "avg"})


Inside: TypeAlias = Callable[[SqlView, Scope, str], Scope]
"""The scope inside a view, with the views of its own WITH; its name goes before theirs."""


class Recursion:
    """Views that read each other in a circle."""

    def __init__(
        self,
        translator: Translator,
        selects: Selects,
        inside: Inside,
        group: list[SqlView],
        names: list[str],
        scope: Scope,
    ) -> None:
        self.translator = translator
        self.selects = selects
        self.context = translator.context
        self.text = translator.context.text
        self.group = group
        self.names = names
        self.scope = scope
        self.keys = {view.name.lower() for view in group}
        self._enter = inside
        self._inner: dict[str, Scope] = {}

    def run(self) -> None:
        outside = self.translator.recursive
        before, mark = len(self.context.rules), self.context.marked()
        levels = next((view.levels for view in self.group if view.levels is not None), None)
        if levels is not None and len(self.group) > 1:
            hint = "leave it out: a recursion ends by itself when nothing new follows"
            message = "MAX RECURSION LEVEL does not work for views that read each other in a circle"
            self.text.refuse("HW117", message, levels.span, hint=hint)
        try:
            bag = None if self.names[0] in self.context.sets else self._bag()
            if bag is None:
                self._as_sets(self.names)
            else:
                self._as_bag(bag)
            if levels is not None:
                table = self.scope.views[self.group[0].name.lower()]
                levelled = give_levels(self.context, self.group[0], table, self.context.rules[before:])
                if levelled is not None:
                    self.context.rules[before:] = levelled
                    return
        finally:
            self.translator.recursive = outside
        if levels is not None:
            self.context.back_to(mark)
            self.group = [replace(self.group[0], levels=None)]
            self._inner.clear()
            self.run()

    # Bags

    def _bag(self) -> list[list[BagPart]] | None:
        """The parts of every view, if UNION ALL makes a bag of them; else there is a warning, or an error."""
        if not any(map(has_union_all, self.group)):
            return None
        reasons = [why_no_bag(view, self.keys) for view in self.group]
        if self.context.timed:
            reasons = [reason or "rows of a stream are told apart by their time alone" for reason in reasons]
        if not any(reasons) and self.context.union_all != "set":
            return [bag_parts(view, self.keys) for view in self.group]
        for view, reason in zip(self.group, reasons, strict=True):
            if self.context.union_all != "set" and has_union_all(view):
                self._note_set(view, reason)
        return None

    def _as_bag(self, parts: list[list[BagPart]]) -> None:
        before = self.context.marked()
        sets = [self.context.relation(f"{name}'set") for name in self.names]
        columns = self._as_sets(sets)
        bags = BagRules(self.translator, self.selects, self.group, self.names, parts)
        first = self.group[0]
        known = len(self.group) == 1 and (first.levels is not None or moves_on(parts[0], columns[0], first.name))
        if known:
            self.context.back_to(before)
            self._inner.clear()
        for view, name, found in zip(self.group, sets, columns, strict=True):
            self._define(view, SqlTable(name, list(found), span=view.span))
        inner = [self._inside(view) for view in self.group]
        cycle = None if known else bags.cycle(sets, inner)
        self.translator.recursive = self.translator.recursive | set(self.names)
        for view, name, found in zip(self.group, self.names, columns, strict=True):
            table = SqlTable(name, list(found), hidden=1, key=(len(found),), span=view.span)
            self._define(view, table)
            self.context.bags.append(table)
        bags.copies(inner, None if cycle is None else (cycle, sets))

    def _define(self, view: SqlView, table: SqlTable) -> None:
        self.scope.views[view.name.lower()] = self.context.define(table)

    # Sets

    def _as_sets(self, names: list[str]) -> list[list[SqlColumn]]:
        """Rules for all views as sets under these names; and the columns that they have."""
        self.translator.recursive = self.translator.recursive | set(names)
        # Types and nulls are found out by trying: at first no type is known, and there are no nulls.
        columns = [[SqlColumn(name, is_null=True) for name in self._columns(view)] for view in self.group]
        before = self.context.marked()
        while True:
            self._inner.clear()
            for view, name, known in zip(self.group, names, columns, strict=True):
                self._define(view, SqlTable(name, list(known), span=view.span))
            found = [self._view(view, self.scope.views[view.name.lower()]) for view in self.group]
            if found == columns:
                return columns
            columns = found
            self.context.back_to(before)

    def _columns(self, view: SqlView) -> list[str]:
        """The names of its columns: those of its head, else of the first part that does not read the recursion."""
        if view.columns is not None:
            return [column.name for column in view.columns]
        parts = self._branches(view)
        first = next((part for part in parts if not self._is_recursive(part)), parts[0])
        while isinstance(first, exp.Subquery | exp.SetOperation):
            first = first.this
        if isinstance(first, exp.Values) and first.alias_column_names:
            return list(first.alias_column_names)
        if isinstance(first, exp.Values):
            row = first.expressions[0]
            return [f"col{at + 1}" for at in range(len(row.expressions) if isinstance(row, exp.Tuple) else 1)]
        if not isinstance(first, exp.Select):
            hint = f"name them: {view.name}(a, b) AS ..."
            self.text.refuse("HW101", f"the columns of `{view.name}` are not known", view.span, hint=hint)
        if not any(node.find(exp.Star) for node in first.expressions if not isinstance(node, exp.Count)):
            return [item_name(node, at) for at, node in enumerate(first.expressions)]
        if self._is_recursive(first):
            hint = f"name them: {view.name}(a, b) AS ..."
            self.text.refuse("HW232", f"`*` needs to know the columns of `{view.name}`", view.span, hint=hint)
        body = Body(self.context, self._inside(view), f"{view.name}'columns")
        rules = len(self.context.rules)
        self.selects.read(first, body)
        names = [item.name for item in self.selects.items(first, body)]
        del self.context.rules[rules:]
        return names

    def _inside(self, view: SqlView) -> Scope:
        """The scope inside a view, with the views of its own WITH, which are made once."""
        if view.name not in self._inner:
            self._inner[view.name] = self._enter(view, self.scope, view.name)
        return self._inner[view.name]

    def _branches(self, view: SqlView) -> list[exp.Expr]:
        assert view.query.select is not None
        return union_parts(view.query.select, True)

    def _is_recursive(self, node: exp.Expr) -> bool:
        return any(table.name.lower() in self.keys for table in node.find_all(exp.Table))

    def _view(self, view: SqlView, table: SqlTable) -> list[SqlColumn]:
        branches = self._branches(view)
        if all(self._is_recursive(branch) for branch in branches) and len(self.group) == 1:
            message = f"`{view.name}` is always empty: every part of it reads `{view.name}` itself"
            hint = "add a part that does not, for the rows to begin with: SELECT ... UNION SELECT ..."
            self.context.notes.append(Diagnostic("HW703", message, view.span, hint=hint, severity=Severity.WARNING))
        scope = self._inside(view)
        aggregates = self._aggregates(view)
        # Parts without recursion first: they show the types.
        order = sorted(range(len(branches)), key=lambda at: self._is_recursive(branches[at]))
        found = [self._part(branches[at], scope, table, aggregates, view) for at in order]
        return [
            SqlColumn(
                column.name,
                _settled(column.type, [values[place] for values in found]),
                column.nullable or any(values[place].nullable for values in found),
                all(values[place].is_null for values in found),
                self._opaque(view, column, [values[place] for values in found]),
            )
            for place, column in enumerate(table.columns)
        ]

    def _opaque(self, view: SqlView, column: SqlColumn, values: list[SqlValue]) -> str | None:
        """The type of a column that is only passed on: that of all its parts, once all of them are known."""
        kinds = {value.opaque for value in values if not value.is_null}
        found = min((kind for kind in kinds if kind is not None), default=None)
        if len(kinds - {None}) > 1 or (column.opaque is not None and None in kinds):
            message = f"the parts of `{view.name}` give `{column.name}` values of {found} and of another type"
            hint = "cast it to one type in every part: CAST(... AS DOUBLE), or AS STRING"
            self.text.refuse("HW407", message, view.span, hint=hint)
        kept = next((head for head in view.columns or () if head.aggregate and head.name == column.name), None)
        if found is not None and kept is not None:
            message = f"`{kept.aggregate}` does not work on {found}, which a recursion only passes on"
            self.text.refuse("HW403", message, kept.span, hint="cast it in every part: CAST(... AS DOUBLE)")
        return found

    def _part(
        self, branch: exp.Expr, scope: Scope, table: SqlTable, aggregates: dict[int, str], view: SqlView
    ) -> list[SqlValue]:
        name = table.relation
        if isinstance(branch, exp.Select) and self._is_pooled(branch, aggregates):
            body = Body(self.context, scope, name)
            found = self.selects.into(branch, body, name, aggregates)
        else:
            inner = self.context.relation(f"{name}'part")
            part = self.translator.relation(branch, scope, inner, distinct=True)
            found = self._copied(part, name, aggregates)
        if len(found) != len(table.columns):
            message = f"this part of `{view.name}` has {len(found)} columns, not {len(table.columns)}"
            self.text.refuse("HW201", message, branch, hint="select the same number of columns in every part")
        return found

    def _is_pooled(self, branch: exp.Select, aggregates: dict[int, str]) -> bool:
        """Whether its rows go straight into the view: groups that do not read the recursion are made first."""
        if branch.args.get("with_"):
            return False
        if aggregates and branch.args.get("from_") is None:
            return False  # a row of constants would be a fact, and a fact has nothing to aggregate
        return not self.selects.grouped(branch) or bool(aggregates) or self._is_recursive(branch)

    def _copied(self, part: SqlTable, name: str, aggregates: dict[int, str]) -> list[SqlValue]:
        body = Body(self.context, self.scope, name)
        source = body.add(part, "part", None)
        shown = source.variables[: len(part.columns)]
        head: list[Term | Aggregate] = [
            Aggregate(aggregates[at], (variable,)) if at in aggregates else variable
            for at, variable in enumerate(shown)
        ]
        self.context.rules += made(name, head, body.goals, ALWAYS, part.span)
        pairs = zip(shown, part.columns, strict=True)
        return [
            SqlValue(variable, column.type, column.nullable, column.is_null, column.opaque)
            for variable, column in pairs
        ]

    def _aggregates(self, view: SqlView) -> dict[int, str]:
        """Columns that the head keeps by an aggregate: `min() AS cost`."""
        found: dict[int, str] = {}
        for at, column in enumerate(view.columns or ()):
            if column.aggregate is None:
                continue
            if column.aggregate not in _KEPT:
                message = f"there is no aggregate `{column.aggregate}`"
                self.text.refuse("HW217", message, column.span, hint="write min() AS cost, max() AS ..., sum() AS ...")
            found[at] = column.aggregate
        return found

    def _note_set(self, view: SqlView, reason: str | None) -> None:
        """Say that UNION ALL is taken as UNION, once."""
        message = f"UNION ALL in the recursion of `{view.name}` is taken as UNION: equal rows are kept once"
        note = reason or "a view that it reads in a circle is no bag"
        hint = "write UNION; to keep equal rows, select a column that tells them apart, such as the way that led there"
        if self.context.union_all == "refuse":
            message = f"UNION ALL in the recursion of `{view.name}` cannot keep equal rows"
            self.text.refuse("HW117", message, view.span, note=note, hint=hint)
        if not any(found.code == "HW704" for found in self.context.notes):
            told = Diagnostic("HW704", message, view.span, note=note, hint=hint, severity=Severity.WARNING)
            self.context.notes.append(told)


def _settled(before: Type | None, values: list[SqlValue]) -> Type | None:
    """The type of a column: what the values show that have one; where they disagree, none."""
    known = {value.type for value in values if value.type is not None}
    found = widest(known) if known else None
    return found if before is None or found is None else widest((before, found))
