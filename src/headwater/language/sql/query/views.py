"""The views of a WITH, or of a whole program: which of them are recursive, and their rules.

Views that read each other in a circle are one recursion: a set that grows until nothing new follows. There, UNION ALL
means UNION: counting rows would never end on a cycle. Outside recursion a view is a bag.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from headwater.core.diagnostics import Diagnostic, Severity
from headwater.core.types import Type
from headwater.language.sql.query.queries import Queries, union_parts
from headwater.language.sql.scalar.scalars import Value
from headwater.language.sql.scope.body import Body
from headwater.language.sql.scope.context import Scope
from headwater.language.sql.scope.rules import ALWAYS, made
from headwater.language.sql.scope.sources import Column, Table
from headwater.language.sql.text.parsed import Refused
from headwater.language.sql.text.sql_types import widest
from headwater.language.sql.text.statements import View
from headwater.language.syntax import Aggregate, Term

_KEPT = frozenset({"min", "max", "mmin", "mmax", "sum", "count", "mcount", "msum", "avg"})


class Views:
    def __init__(self, queries: Queries) -> None:
        self.queries = queries
        self.context = queries.context
        self.text = queries.context.text

    def scope(self, views: Sequence[View], parent: Scope, *, owner: str = "", outermost: bool = False) -> Scope:
        """A scope with these views, their rules made."""
        scope = Scope(parent)
        by_name: dict[str, View] = {}
        for view in views:
            if view.name.lower() in by_name:
                self.text.refuse("HW204", f"`{view.name}` is defined twice", view.span, hint="rename one of them")
            by_name[view.name.lower()] = view
            self._check_columns(view)
        self._refuse_later(list(by_name.values()), parent)
        names = {key: self._relation(view.name, owner) for key, view in by_name.items()}
        for group in components(by_name):
            try:
                self._group(group, by_name, names, scope, outermost=outermost)
            except Refused as refused:
                self.context.problems.append(refused.diagnostic)
                for key in group:  # what reads it is looked at as well
                    named = _headings(by_name[key])
                    scope.views.setdefault(key, Table(names[key], named, open=not named))
        return scope

    def _refuse_later(self, views: list[View], outside: Scope) -> None:
        """Without RECURSIVE, a view sees the views before it only: a later one's name would mean a table."""
        for at, view in enumerate(views):
            read = set() if view.recursive else mentioned(view)
            later = next((one for one in views[at + 1 :] if one.name.lower() in read), None)
            if later is not None and not self._is_known(later.name.lower(), outside):
                self.text.refuse(
                    "HW233",
                    f"`{view.name}` reads `{later.name}`, which comes after it",
                    view.span,
                    hint=f"put `{later.name}` first; or, if they read each other, write RECURSIVE before both",
                )

    def _relation(self, name: str, owner: str) -> str:
        if name.lower() not in self.context.taken or not owner:
            return self.context.relation(name)
        return self.context.relation(f"{owner}'{name}")

    def _group(
        self, group: list[str], views: dict[str, View], names: dict[str, str], scope: Scope, *, outermost: bool
    ) -> None:
        first = views[group[0]]
        if first.recursive and (len(group) > 1 or group[0] in mentioned(first)):
            _Recursion(self, [views[key] for key in group], [names[key] for key in group], scope).run()
            return
        if outermost and group[0] in mentioned(first):
            self.text.refuse(
                "HW233",
                f"`{first.name}` reads itself",
                first.span,
                hint=f"write CREATE RECURSIVE VIEW {first.name} AS ..., or WITH RECURSIVE",
            )
        if not first.recursive and group[0] in mentioned(first) and not self._is_known(group[0], scope):
            self.text.refuse(
                "HW233",
                f"`{first.name}` reads itself",
                first.span,
                hint=f"write WITH RECURSIVE; or, if a table `{first.name}` is meant, "
                f"CREATE TABLE {first.name} (...) first",
            )
        inner = self.inside(first, scope, names[group[0]])
        assert first.query.select is not None
        table = self.queries.relation(first.query.select, inner, names[group[0]])
        scope.views[group[0]] = self._headed(first, table)

    def _is_known(self, key: str, scope: Scope) -> bool:
        """Whether a name means something outside the WITH: a view, or a table that was declared."""
        table = self.context.tables.get(key)
        return scope.find(key) is not None or (table is not None and not table.open)

    def inside(self, view: View, scope: Scope, owner: str) -> Scope:
        return self.scope(view.query.views, scope, owner=owner) if view.query.views else scope

    def _headed(self, view: View, table: Table) -> Table:
        """The view under the names that its head gives the columns."""
        if view.columns is None:
            return table
        for column in view.columns:
            if column.aggregate is not None:
                self.text.refuse(
                    "HW217",
                    f"`{column.aggregate}() AS {column.name}` is for recursive views",
                    column.span,
                    hint=f"write {column.aggregate}(...) in the SELECT list, with GROUP BY",
                )
        self.check_width(view, len(table.columns))
        columns = [
            Column(new.name, old.type, old.nullable, old.date)
            for new, old in zip(view.columns, table.columns, strict=True)
        ]
        return self.context.define(Table(table.relation, columns, table.hidden, table.key, span=table.span))

    def _check_columns(self, view: View) -> None:
        seen: set[str] = set()
        for column in view.columns or ():
            if column.name.lower() in seen:
                self.text.refuse(
                    "HW205",
                    f"`{view.name}` has two columns called `{column.name}`",
                    column.span,
                    hint="rename one of them",
                )
            seen.add(column.name.lower())

    def check_width(self, view: View, width: int) -> None:
        if view.columns is not None and len(view.columns) != width:
            self.text.refuse(
                "HW201",
                f"`{view.name}` names {len(view.columns)} columns, but its query has {width}",
                view.columns[0].span if view.columns else view.span,
                hint="name as many columns as the query selects",
            )


class _Recursion:
    """Views that read each other in a circle."""

    def __init__(self, views: Views, group: list[View], names: list[str], scope: Scope) -> None:
        self.views = views
        self.queries = views.queries
        self.context = views.context
        self.text = views.text
        self.group = group
        self.names = names
        self.scope = scope
        self.keys = {view.name.lower() for view in group}

    def run(self) -> None:
        outside = self.queries.recursive
        self.queries.recursive = outside | set(self.names)
        # Where dates and nulls can be is found out by trying: at first all may be dates, and there are no nulls.
        columns = [[Column(name, date=True) for name in self._columns(view)] for view in self.group]
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
            self.queries.recursive = outside

    def _translated(self, columns: list[list[Column]]) -> list[list[Column]]:
        """Rules for all views, if their columns are these; and the columns as the rules then make them."""
        for view, name, known in zip(self.group, self.names, columns, strict=True):
            table = Table(name, list(known), span=view.span)
            self.scope.views[view.name.lower()] = self.context.define(table)
        return [self._view(view, self.scope.views[view.name.lower()]) for view in self.group]

    def _columns(self, view: View) -> list[str]:
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
            self.text.refuse(
                "HW101",
                f"the columns of `{view.name}` are not known",
                view.span,
                hint=f"name them: {view.name}(a, b) AS ...",
            )
        if not any(node.find(exp.Star) for node in first.expressions if not isinstance(node, exp.Count)):
            return [
                node.alias or (node.name if isinstance(node, exp.Column) else "") or f"c{at}"
                for at, node in enumerate(first.expressions)
            ]
        if self._is_recursive(first):
            self.text.refuse(
                "HW232",
                f"`*` needs to know the columns of `{view.name}`",
                view.span,
                hint=f"name them: {view.name}(a, b) AS ...",
            )
        body = Body(self.context, self._inside(view), f"{view.name}'columns")
        rules = len(self.context.rules)
        self.queries.selects.read(first, body)
        names = [item.name for item in self.queries.selects.items(first, body)]
        del self.context.rules[rules:]
        return names

    def _inside(self, view: View) -> Scope:
        return self.views.inside(view, self.scope, view.name)

    def _branches(self, view: View) -> list[exp.Expr]:
        assert view.query.select is not None
        return union_parts(view.query.select, True)

    def _is_recursive(self, node: exp.Expr) -> bool:
        return any(table.name.lower() in self.keys for table in node.find_all(exp.Table))

    def _view(self, view: View, table: Table) -> list[Column]:
        assert view.query.select is not None
        self._note_bags(view)
        branches = self._branches(view)
        if all(self._is_recursive(branch) for branch in branches) and len(self.group) == 1:
            self.context.notes.append(
                Diagnostic(
                    "HW703",
                    f"`{view.name}` is always empty: every part of it reads `{view.name}` itself",
                    view.span,
                    hint="add a part that does not, for the rows to begin with: SELECT ... UNION SELECT ...",
                    severity=Severity.WARNING,
                )
            )
        scope = self._inside(view)
        aggregates = self._aggregates(view, branches)
        # Parts without recursion first: they tell the types.
        order = sorted(range(len(branches)), key=lambda at: self._is_recursive(branches[at]))
        found = [self._part(branches[at], scope, table, aggregates, view) for at in order]
        return [
            Column(
                column.name,
                _settled(column.type, [values[place] for values in found]),
                column.nullable or any(values[place].nullable for values in found),
                all(values[place].date for values in found),
            )
            for place, column in enumerate(table.columns)
        ]

    def _part(
        self, branch: exp.Expr, scope: Scope, table: Table, aggregates: dict[int, str], view: View
    ) -> list[Value]:
        name = table.relation
        if isinstance(branch, exp.Select) and self._is_pooled(branch, aggregates):
            self.queries.no_limit(branch)
            body = Body(self.context, scope, name)
            found = self.queries.selects.into(branch, body, name, aggregates)
        else:
            inner = self.context.relation(f"{name}'part")
            part = self.queries.relation(branch, scope, inner, distinct=True)
            found = self._copied(part, name, aggregates)
        if len(found) != len(table.columns):
            self.text.refuse(
                "HW201",
                f"this part of `{view.name}` has {len(found)} columns, not {len(table.columns)}",
                branch,
                hint="select the same number of columns in every part",
            )
        return found

    def _is_pooled(self, branch: exp.Select, aggregates: dict[int, str]) -> bool:
        """Whether its rows go straight into the view: groups that do not read the recursion are made first."""
        if branch.args.get("with_"):
            return False
        if aggregates and branch.args.get("from_") is None:
            return False  # a row of constants would be a fact, and a fact has nothing to aggregate
        return not self.queries.selects.grouped(branch) or bool(aggregates) or self._is_recursive(branch)

    def _copied(self, part: Table, name: str, aggregates: dict[int, str]) -> list[Value]:
        body = Body(self.context, self.scope, name)
        source = body.add(part, "part", None)
        shown = source.variables[: len(part.columns)]
        head: list[Term | Aggregate] = [
            Aggregate(aggregates[at], (one,)) if at in aggregates else one for at, one in enumerate(shown)
        ]
        self.context.rules += made(name, head, body.goals, ALWAYS, part.span)
        return [Value(one, old.type, old.nullable, old.date) for one, old in zip(shown, part.columns, strict=True)]

    def _aggregates(self, view: View, branches: list[exp.Expr]) -> dict[int, str]:
        """Columns that the head keeps by an aggregate: `min() AS cost`."""
        found: dict[int, str] = {}
        for at, column in enumerate(view.columns or ()):
            if column.aggregate is None:
                continue
            if column.aggregate not in _KEPT:
                self.text.refuse(
                    "HW217",
                    f"there is no aggregate `{column.aggregate}`",
                    column.span,
                    hint="write min() AS cost, max() AS ..., sum() AS ...",
                )
            found[at] = column.aggregate
        return found

    def _note_bags(self, view: View) -> None:
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


def _headings(view: View) -> list[Column]:
    """The columns that a view's head names, and nothing known of them."""
    return [Column(column.name) for column in view.columns or ()]


def _settled(before: Type | None, values: list[Value]) -> Type | None:
    """The type of a column: what the values show that have one; where they disagree, none."""
    known = {value.type for value in values if value.type is not None}
    found = widest(known) if known else None
    return found if before is None or found is None else widest((before, found))


def unions(node: exp.Expr | None) -> Iterator[exp.Union]:
    """The UNIONs of a chain, whatever brackets stand around its parts."""
    while isinstance(node, exp.Subquery):
        node = node.this
    if isinstance(node, exp.Union):
        yield node
        yield from unions(node.this)
        yield from unions(node.expression)


def mentioned(view: View) -> set[str]:
    """The names of tables that a view reads, its own WITH left out."""
    found: set[str] = set()
    hidden = {inner.name.lower() for inner in view.query.views}
    for inner in view.query.views:
        found |= mentioned(inner)
    if view.query.select is not None:
        found |= tables_in(view.query.select)
    return found - hidden


def tables_in(node: exp.Expr) -> set[str]:
    """The names of tables that a query reads, its own WITHs left out."""
    clause = node.args.get("with_")
    shadowed: set[str] = set()
    found: set[str] = set()
    if clause is not None:
        shadowed = {view.alias.lower() for view in clause.expressions}
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        found.add(node.name.lower())
    for child in node.iter_expressions():
        found |= tables_in(child)
    return found - shadowed


def components(views: dict[str, View]) -> list[list[str]]:
    """Views that read each other in a circle together, and before those that read them.

    Without RECURSIVE a view sees the views before it only; any other name means what it means outside.
    """
    reads: dict[str, list[str]] = {}
    for key, view in views.items():
        seen = views if view.recursive else reads
        reads[key] = [name for name in seen if name in mentioned(view)]
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in reads[name]:
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            at = stack.index(name)
            group = stack[at:]
            del stack[at:]
            found.append([key for key in views if key in group])

    for name in views:
        if name not in order:
            visit(name)
    return found
