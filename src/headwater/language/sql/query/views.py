"""The views of a WITH, or of a whole program: which of them are recursive, and their rules.

Views that read each other in a circle are one recursion (see `recursion`). Outside recursion a view is a bag.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from headwater.language.sql.query.recursion import Recursion
from headwater.language.sql.query.select import Selects
from headwater.language.sql.query.translator import Translator
from headwater.language.sql.scope.context import Scope
from headwater.language.sql.scope.sources import SqlColumn, SqlTable
from headwater.language.sql.text.parsed import NotTranslated, SqlText
from headwater.language.sql.text.shape import components, is_recursion, mentioned
from headwater.language.sql.text.statements import HeadColumn, SqlView
from headwater.language.syntax import ColumnDeclaration


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
            members, relations = [views[key] for key in group], [names[key] for key in group]
            Recursion(self.translator, self.selects, self.inside, members, relations, scope).run()
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
