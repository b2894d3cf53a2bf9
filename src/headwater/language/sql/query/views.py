"""The views of a WITH, or of a whole program: which of them are recursive, and their rules.

Views that read each other in a circle are one recursion: a set that grows until nothing new follows. There, UNION ALL
means UNION: counting rows would never end on a cycle. Outside recursion a view is a bag.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from headwater.core.diagnostics import Diagnostic, Severity
from headwater.core.types import Type
from headwater.language.sql.query.select import Selects, item_name
from headwater.language.sql.query.translator import Translator
from headwater.language.sql.scalar.value import SqlValue
from headwater.language.sql.scope.body import Body
from headwater.language.sql.scope.context import Scope
from headwater.language.sql.scope.rules import ALWAYS, made
from headwater.language.sql.scope.sources import SqlColumn, SqlTable
from headwater.language.sql.text.parsed import NotTranslated, SqlText
from headwater.language.sql.text.shape import components, is_recursion, mentioned, union_parts, unions
from headwater.language.sql.text.sql_types import widest
from headwater.language.sql.text.statements import HeadColumn, SqlView
from headwater.language.syntax import Aggregate, ColumnDeclaration, Term

_KEPT = frozenset({"min", "max", "mmin", "mmax", "sum", "count", "mcount", "msum", "avg"})


class Views:
    """The views of WITHs, as relations in a scope."""

    def __init__(self, translator: Translator, selects: Selects) -> None:
        self.translator = translator
        self.selects = selects
        self.context = translator.context
        self.text = translator.context.text

    def scope(self, views: Sequence[SqlView], parent: Scope, *, owner: str = "", outermost: bool = False) -> Scope:
        """A scope with these views, their rules made."""
        scope = Scope(parent)
        by_name: dict[str, SqlView] = {}
        for view in views:
            if view.name.lower() in by_name:
                self.text.refuse("HW204", f"`{view.name}` is defined twice", view.span, hint="rename one of them")
            by_name[view.name.lower()] = view
            refuse_equal_names(self.text, view.name, view.columns or ())
        self._refuse_later(list(by_name.values()), parent)
        names = {key: self._relation(view.name, owner) for key, view in by_name.items()}
        for group in components(by_name):
            try:
                self._group(group, by_name, names, scope, outermost=outermost)
            except NotTranslated as refused:
                self.context.problems.append(refused.diagnostic)
                for key in group:  # what reads it is looked at as well
                    named = [SqlColumn(column.name) for column in by_name[key].columns or ()]
                    scope.views.setdefault(key, SqlTable(names[key], named, open=not named))
        return scope

    def _refuse_later(self, views: list[SqlView], outside: Scope) -> None:
        """Without RECURSIVE, a view sees the views before it only: a later one's name would mean a table."""
        for at, view in enumerate(views):
            read = set() if view.recursive else mentioned(view)
            later = next((other for other in views[at + 1 :] if other.name.lower() in read), None)
            if later is not None and not self._is_known(later.name.lower(), outside):
                message = f"`{view.name}` reads `{later.name}`, which comes after it"
                hint = f"put `{later.name}` first; or, if they read each other, write RECURSIVE before both"
                self.text.refuse("HW233", message, view.span, hint=hint)

    def _relation(self, name: str, owner: str) -> str:
        if name.lower() not in self.context.taken or not owner:
            return self.context.relation(name)
        return self.context.relation(f"{owner}'{name}")

    def _group(
        self, group: list[str], views: dict[str, SqlView], names: dict[str, str], scope: Scope, *, outermost: bool
    ) -> None:
        first = views[group[0]]
        if is_recursion(group, views):
            _Recursion(self, [views[key] for key in group], [names[key] for key in group], scope).run()
            return
        if group[0] in mentioned(first) and (outermost or not self._is_known(group[0], scope)):
            hint = (
                f"write WITH RECURSIVE; or, if a table `{first.name}` is meant, CREATE TABLE {first.name} (...) first"
            )
            if outermost:
                hint = f"write CREATE RECURSIVE VIEW {first.name} AS ..., or WITH RECURSIVE"
            self.text.refuse("HW233", f"`{first.name}` reads itself", first.span, hint=hint)
        inner = self.inside(first, scope, names[group[0]])
        assert first.query.select is not None
        table = self.translator.relation(first.query.select, inner, names[group[0]])
        scope.views[group[0]] = self._headed(first, table)

    def _is_known(self, key: str, scope: Scope) -> bool:
        """Whether a name means something outside the WITH: a view, or a table that was declared."""
        table = self.context.tables.get(key)
        return scope.find(key) is not None or (table is not None and not table.open)

    def inside(self, view: SqlView, scope: Scope, owner: str) -> Scope:
        return self.scope(view.query.views, scope, owner=owner) if view.query.views else scope

    def _headed(self, view: SqlView, table: SqlTable) -> SqlTable:
        """The view under the names that its head gives the columns."""
        if view.columns is None:
            return table
        refuse_kept(self.text, view)
        if len(view.columns) != len(table.columns):
            message = f"`{view.name}` names {len(view.columns)} columns, but its query has {len(table.columns)}"
            hint = "name as many columns as the query selects"
            self.text.refuse("HW201", message, view.columns[0].span if view.columns else view.span, hint=hint)
        columns = [replace(old, name=new.name) for new, old in zip(view.columns, table.columns, strict=True)]
        return self.context.define(SqlTable(table.relation, columns, table.hidden, table.key, span=table.span))


def refuse_kept(text: SqlText, view: SqlView) -> None:
    """A view that is not recursive has no `min() AS cost` in its head."""
    for column in view.columns or ():
        if column.aggregate is not None:
            message = f"`{column.aggregate}() AS {column.name}` is for recursive views"
            hint = f"write {column.aggregate}(...) in the SELECT list, with GROUP BY"
            text.refuse("HW217", message, column.span, hint=hint)


def refuse_equal_names(text: SqlText, relation: str, columns: Iterable[HeadColumn | ColumnDeclaration]) -> None:
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            message = f"`{relation}` has two columns called `{column.name}`"
            note = "capitals make no difference to names of columns"
            text.refuse("HW205", message, column.span, note=note, hint="rename one of them")
        seen.add(column.name.lower())


class _Recursion:
    """Views that read each other in a circle."""

    def __init__(self, views: Views, group: list[SqlView], names: list[str], scope: Scope) -> None:
        self.views = views
        self.translator = views.translator
        self.context = views.context
        self.text = views.text
        self.group = group
        self.names = names
        self.scope = scope
        self.keys = {view.name.lower() for view in group}

    def run(self) -> None:
        outside = self.translator.recursive
        self.translator.recursive = outside | set(self.names)
        # Where dates and nulls can be is found out by trying: at first all may be dates, and there are no nulls.
        columns = [[SqlColumn(name, date=True) for name in self._columns(view)] for view in self.group]
        rules, taken, notes = list(self.context.rules), set(self.context.taken), list(self.context.notes)
        try:
            while True:
                found = self._translated(columns)
                if found == columns:
                    return
                columns = found
                self.context.rules[:], self.context.taken = rules, set(taken)
                self.context.notes[:] = notes
        finally:
            self.translator.recursive = outside

    def _translated(self, columns: list[list[SqlColumn]]) -> list[list[SqlColumn]]:
        """Rules for all views, if their columns are these; and the columns as the rules then make them."""
        for view, name, known in zip(self.group, self.names, columns, strict=True):
            table = SqlTable(name, list(known), span=view.span)
            self.scope.views[view.name.lower()] = self.context.define(table)
        return [self._view(view, self.scope.views[view.name.lower()]) for view in self.group]

    def _columns(self, view: SqlView) -> list[str]:
        """The names of its columns: those of its head, else of the first part that does not read the recursion."""
        if view.columns is not None:
            return [column.name for column in view.columns]
        parts = self._branches(view)
        first = next((part for part in parts if not self._is_recursive(part)), parts[0])
        while isinstance(first, exp.Subquery | exp.SetOperation):
            first = first.this
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
        self.views.selects.read(first, body)
        names = [item.name for item in self.views.selects.items(first, body)]
        del self.context.rules[rules:]
        return names

    def _inside(self, view: SqlView) -> Scope:
        return self.views.inside(view, self.scope, view.name)

    def _branches(self, view: SqlView) -> list[exp.Expr]:
        assert view.query.select is not None
        return union_parts(view.query.select, True)

    def _is_recursive(self, node: exp.Expr) -> bool:
        return any(table.name.lower() in self.keys for table in node.find_all(exp.Table))

    def _view(self, view: SqlView, table: SqlTable) -> list[SqlColumn]:
        assert view.query.select is not None
        self._note_bags(view)
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
                all(values[place].date for values in found),
            )
            for place, column in enumerate(table.columns)
        ]

    def _part(
        self, branch: exp.Expr, scope: Scope, table: SqlTable, aggregates: dict[int, str], view: SqlView
    ) -> list[SqlValue]:
        name = table.relation
        if isinstance(branch, exp.Select) and self._is_pooled(branch, aggregates):
            body = Body(self.context, scope, name)
            found = self.views.selects.into(branch, body, name, aggregates)
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
        return not self.views.selects.grouped(branch) or bool(aggregates) or self._is_recursive(branch)

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
        return [SqlValue(variable, column.type, column.nullable, column.date) for variable, column in pairs]

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

    def _note_bags(self, view: SqlView) -> None:
        if any(note.code == "HW704" for note in self.context.notes):
            return
        assert view.query.select is not None
        for node in unions(view.query.select):
            if not node.args.get("distinct"):
                self.context.notes.append(
                    Diagnostic(
                        "HW704",
                        f"UNION ALL in the recursion of `{view.name}` is taken as UNION: equal rows are kept once",
                        view.span,
                        note="a recursion is a set of rows that grows until nothing new follows; "
                        "with copies of rows it would never end on cyclic data",
                        hint="write UNION; to keep equal rows, select a column that tells them apart, "
                        "such as the way that led there",
                        severity=Severity.WARNING,
                    )
                )
                return


def _settled(before: Type | None, values: list[SqlValue]) -> Type | None:
    """The type of a column: what the values show that have one; where they disagree, none."""
    known = {value.type for value in values if value.type is not None}
    found = widest(known) if known else None
    return found if before is None or found is None else widest((before, found))
