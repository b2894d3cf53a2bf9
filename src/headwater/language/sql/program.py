"""SQL text to a syntax tree: declarations of its tables, rules for its views, queries for what it shows.

    tree = translate(Source("paths.sql", text))

Spans of everything point into the SQL text, so that every later finding shows the SQL. What cannot be translated is
refused (SyntaxProblem), all findings at once; nothing is translated to something else than SQL means.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source, Span
from headwater.core.types import Type
from headwater.language import syntax
from headwater.language.sql.query.arguments import bare, unread
from headwater.language.sql.query.levels import with_limit
from headwater.language.sql.query.lifted import number_limits
from headwater.language.sql.query.prune import pruned
from headwater.language.sql.query.queries import Queries
from headwater.language.sql.query.views import refuse_equal_names
from headwater.language.sql.scope.context import Scope, Translation
from headwater.language.sql.scope.sources import COPY, Schema, SqlColumn, SqlTable, known_table
from headwater.language.sql.text.parsed import NotTranslated, SqlText
from headwater.language.sql.text.shape import mentioned
from headwater.language.sql.text.statements import SqlQuery, SqlView, Statement, read_statements
from headwater.language.sql.text.unshown import is_unshown
from headwater.language.sql.text.wording import TOO_DEEP, UNION_ALL

MOST_PROBLEMS = 50
_UNION_ALL = re.compile(rf"^\s*--\s*union_all:\s*({'|'.join(UNION_ALL)})\s*$", re.IGNORECASE | re.MULTILINE)
_MOST_ROWS = 2**62  # a LIMIT beyond it takes nothing away


@dataclass(slots=True)
class _Shown:
    """A view that the program shows, and how."""

    table: SqlTable
    window: syntax.Window | None
    order: tuple[syntax.Ordering, ...]
    limit: int | None
    offset: int
    place: Span | None


def translate(source: Source, tables: Mapping[str, Schema] | None = None, union_all: str | None = None) -> syntax.Tree:
    """The tree of an SQL text. `tables` are those that are known from outside, with their columns.

    `union_all` says what UNION ALL in a recursion means; None: what a comment in the text says, or a bag.
    """
    text = SqlText(source)
    statements, problems = read_statements(text)
    if problems:
        raise SyntaxProblem(tuple(problems[:MOST_PROBLEMS]))
    return translate_statements(text, statements, tables, union_all)


def translate_statements(
    text: SqlText,
    statements: list[Statement],
    tables: Mapping[str, Schema] | None = None,
    union_all: str | None = None,
) -> syntax.Tree:
    """The tree of statements that were read."""
    try:
        first = _Program(text, statements, tables or {}, {}, union_all=union_all)
        first.run()
        found = {name: [column.name for column in table.columns] for name, table in first.context.tables.items()}
        program = _Program(text, statements, tables or {}, found, union_all=union_all)
        program.run()
        tree = program.tree()
        if program.uncounted:
            program = _Program(text, statements, tables or {}, found, union_all=union_all, sets=program.uncounted)
            program.run()
            tree = program.tree()
        return tree
    except RecursionError:
        raise SyntaxProblem((replace(TOO_DEEP, span=_deepest(text, statements)),)) from None


def translate_views(
    text: SqlText, views: Sequence[SqlView], tables: Mapping[str, Schema], union_all: str | None = None
) -> syntax.Tree:
    """The tree of some views of a text, all of them shown; `tables` has the columns of everything else they read.

    Rows are only ever added to these tables, so copies of a row are kept only where they count.
    """
    program = _Program(text, list(views), tables, {}, counted=False, union_all=union_all)
    program.run()
    return program.tree()


class _Program:
    """One pass over all statements. Undeclared tables have the columns that were `found` by the pass before.

    Tables that were `given` and that the text does not name are no part of the program.
    """

    def __init__(
        self,
        text: SqlText,
        statements: list[Statement],
        given: Mapping[str, Schema],
        found: dict[str, list[str]],
        *,
        counted: bool = True,
        union_all: str | None = None,
        sets: frozenset[str] = frozenset(),
    ) -> None:
        self._counted = counted
        self._said = union_all
        self.text = text
        self.statements = [with_limit(each) if isinstance(each, SqlQuery) else each for each in statements]
        for statement in self.statements:
            number_limits(statement)
        self.declarations = {
            statement.relation.lower(): statement
            for statement in statements
            if isinstance(statement, syntax.Declaration)
        }
        self.context = Translation(text, {}, union_all=union_all or _said(text), sets=sets)
        self.context.timed = any(
            declaration.kind is syntax.Kind.STREAM or declaration.ttl is not None
            for declaration in self.declarations.values()
        )
        self.shown: list[_Shown] = []
        for name, declaration in self.declarations.items():
            self.context.tables[name] = _declared(declaration)
        spelt = self._spelt()
        read = {name: schema for name, schema in given.items() if name.lower() in spelt}
        for name, schema in read.items():
            self.context.tables.setdefault(name.lower(), known_table(name, schema))
        self._given = {name.lower() for name in read} - self.declarations.keys()
        self._found = found
        self.context.taken |= self.context.tables.keys() | found.keys()

    def run(self) -> None:
        spelt = self._spelt()
        for name, columns in self._found.items():
            if name not in self.context.tables:
                found = [SqlColumn(each) for each in columns]
                called = spelt.get(name, name)
                self.context.tables[name] = SqlTable(called, found, hidden=1, base=True, mentioned=len(found) > 1)
        self._refuse_unread()
        if not self.context.problems:
            try:
                self._declared_twice()
                self._statements(Queries(self.context))
            except NotTranslated as refused:
                self.context.problems.append(refused.diagnostic)
        if not self.context.problems:
            self._columnless()
        if self.context.problems:
            raise SyntaxProblem(tuple(_in_order(self.context.problems)[:MOST_PROBLEMS]))

    def _refuse_unread(self) -> None:
        """What the translation would not read is refused before it begins."""
        for statement in self.statements:
            last = statement.select if isinstance(statement, SqlQuery) else None
            for query in _queries(statement):
                self.context.problems += unread(self.text, query, outermost=query is last)

    def _spelt(self) -> dict[str, str]:
        """Every name in a FROM, by its lower case, as it is first written."""
        found: dict[str, str] = {}
        for statement in self.statements:
            for query in _queries(statement):
                for table in query.find_all(exp.Table):
                    found.setdefault(table.name.lower(), str(table.name))
        return found

    def _columnless(self) -> None:
        for table in self.context.tables.values():
            if not table.columns:
                hint = f"declare it with CREATE TABLE {table.relation} (...), or name a column of it"
                message = f"the columns of `{table.relation}` are not known"
                self.context.problems.append(self.text.problem("HW232", message, table.span, hint=hint))

    def _declared_twice(self) -> None:
        seen: dict[str, syntax.Declaration] = {}
        for statement in self.statements:
            if isinstance(statement, syntax.Declaration):
                name = statement.relation.lower()
                if name in seen:
                    self.text.refuse("HW204", f"table `{statement.relation}` is declared twice", statement.span)
                refuse_equal_names(self.text, statement.relation, statement.columns)
                seen[name] = statement
            elif isinstance(statement, SqlView) and statement.name.lower() in self.declarations:
                self.text.refuse("HW204", f"`{statement.name}` is a table and a view", statement.span)

    def _statements(self, queries: Queries) -> None:
        """Views of CREATE VIEW, and of a WITH in front of them, see each other; a query's WITH is its own."""
        created = [statement for statement in self.statements if isinstance(statement, SqlView)]
        asked = [statement for statement in self.statements if isinstance(statement, SqlQuery)]
        bare = [query for query in asked if query.select is None]
        views = queries.views
        common = [view for query in bare for view in query.views]
        scope = views.scope([*common, *created], Scope(None), outermost=True)
        selecting = [query for query in asked if query.select is not None]
        for query in selecting:
            try:
                self._select(query, queries, views.scope(query.views, scope))
            except NotTranslated as refused:
                self.context.problems.append(refused.diagnostic)
        kept = [view for view in created if view.kept] if selecting else [view for view in created if not view.passing]
        if not created and not selecting:
            kept = common
        self._refuse_lost_windows(kept, [*common, *created], asked)
        for view in kept:
            table = scope.find(view.name)
            if table is not None:
                self.shown.append(_Shown(table, view.query.window, (), None, 0, view.span))
        if not self.shown and not self.context.problems:
            place = self.statements[0].span if self.statements else None
            self.text.refuse("HW102", "nothing is asked for", place, hint="add a SELECT or a CREATE VIEW")

    def _refuse_lost_windows(self, shown: list[SqlView], views: list[SqlView], asked: list[SqlQuery]) -> None:
        """A window is that of a query that is shown: a view that others read is the whole view to them."""
        readers: list[SqlView | SqlQuery] = [*views, *asked]
        for view in (*views, *(nested for reader in readers for nested in _nested(reader))):
            name = view.name.lower()
            read = any(name in _reads(reader) for reader in readers if reader is not view)
            if view.query.window is not None and (read or view not in shown):
                message = f"the window of `{view.name}` does not hold where another query reads it"
                note = "a window is that of the query which is shown"
                hint = f"leave it out here, and write FROM WINDOW({view.name}, ...) in the last SELECT"
                self.text.refuse("HW117", message, view.query.window.span, note=note, hint=hint)

    def _select(self, query: SqlQuery, queries: Queries, scope: Scope) -> None:
        assert query.select is not None
        node = bare(query.select)
        order = list(node.args["order"].expressions) if node.args.get("order") is not None else []
        limit, offset = self._number(node, "limit"), self._number(node, "offset")
        whole = self._whole(node, scope)
        if whole is not None and all(self._by_name(each, whole) is not None for each in order):
            found = tuple(self._ordered(each, whole) for each in order)
            self.shown.append(_Shown(whole, query.window, found, limit, offset or 0, query.span))
            return
        name = self.context.relation("result")
        if isinstance(node, exp.Select):
            table = queries.relation(node, scope, name, order=[each.this for each in order])
            found = tuple(self._ordering(each, at) for each, at in zip(order, table.order, strict=True))
        else:
            table = queries.relation(node, scope, name)
            found = tuple(self._ordered(each, table) for each in order)
        self.shown.append(_Shown(table, query.window, found, limit, offset or 0, query.span))

    def _ordered(self, node: exp.Expr, table: SqlTable) -> syntax.Ordering:
        found = self._by_name(node, table)
        if found is None:
            self.text.refuse("HW230", "ORDER BY of a UNION names a column of the result, or its number", node)
        return found

    def _number(self, node: exp.Expr, part: str) -> int | None:
        clause = node.args.get(part)
        if clause is None:
            return None
        value = clause.expression
        if isinstance(value, exp.Literal) and str(value.this).isdigit():
            return min(int(value.this), _MOST_ROWS)
        self.text.refuse("HW117", f"{part.upper()} takes a number", clause, hint=f"write {part.upper()} 10")

    def _ordering(self, node: exp.Expr, column: int) -> syntax.Ordering:
        descending = bool(node.args.get("desc"))
        first = node.args.get("nulls_first")
        return syntax.Ordering(column, descending, not descending if first is None else bool(first))

    def _by_name(self, node: exp.Expr, table: SqlTable) -> syntax.Ordering | None:
        wanted = node.this
        if isinstance(wanted, exp.Literal) and str(wanted.this).isdigit() and int(wanted.this) <= len(table.columns):
            return self._ordering(node, int(wanted.this) - 1)
        place = table.place(wanted.name) if isinstance(wanted, exp.Column) and not wanted.table else None
        return None if place is None else self._ordering(node, place)

    def _whole(self, node: exp.Expr, scope: Scope) -> SqlTable | None:
        """The view that `SELECT * FROM view` shows as it is."""
        if not isinstance(node, exp.Select):
            return None
        plain = {"expressions", "from_", "order", "limit", "offset", "kind", "operation_modifiers"}
        if any(value for part, value in node.args.items() if part not in plain):
            return None
        source = node.args["from_"].this if node.args.get("from_") is not None else None
        if not isinstance(source, exp.Table) or source.args.get("joins") or source.args.get("alias"):
            return None
        table = scope.find(source.name)
        if table is None or table.open or any(map(is_unshown, _names(table))):
            return None
        names = [each.name.lower() if isinstance(each, exp.Column) else "" for each in node.expressions]
        star = (
            len(node.expressions) == 1
            and isinstance(node.expressions[0], exp.Star)
            and not any(node.expressions[0].args.values())
        )
        return table if star or names == [name.lower() for name in _names(table)] else None

    # The tree

    @property
    def uncounted(self) -> frozenset[str]:
        """Once the tree is made: recursions that are bags, although nothing counts their copies."""
        return self.context.sets | {table.relation for table in self.context.bags if not table.hidden}

    def tree(self) -> syntax.Tree:
        tables = {table.relation: table for table in self.context.tables.values()} | self.context.made
        shown = {each.table.relation for each in self.shown}
        known = self.declarations.keys() | (self._given if self._counted else set())
        counted = {table.relation for key, table in self.context.tables.items() if key in known}
        rules = pruned(self.context.rules, tables, shown | counted)
        defined = {rule.head.relation for rule in rules}
        headings = tuple(
            syntax.Heading(
                name,
                (*_names(table), *_hidden(table)),
                table.hidden,
                ordered=not table.mentioned,
                alarm=self.context.alarms.get(name),
            )
            for name, table in tables.items()
            if name in defined or table.base
        )
        declared = tuple(self._declaration(table) for table in self.context.tables.values() if self._is_typed(table))
        asked = tuple(map(_query, self.shown))
        return syntax.Tree((*declared, *rules, *asked), headings, self._text(), tuple(self.context.notes))

    def _is_typed(self, table: SqlTable) -> bool:
        key = table.relation.lower()
        return key in self.declarations or (key in self._given and table.is_typed)

    def _declaration(self, table: SqlTable) -> syntax.Declaration:
        given = self.declarations.get(table.relation.lower())
        copies = tuple(syntax.ColumnDeclaration(name, Type.INT) for name in _hidden(table))
        if given is not None:
            return replace(given, columns=(*given.columns, *copies))
        columns = tuple(
            syntax.ColumnDeclaration(column.name, column.type, column.nullable)
            for column in table.columns
            if column.type
        )
        return syntax.Declaration(syntax.Kind.RELATION, table.relation, (*columns, *copies))

    def _text(self) -> str:
        """The SQL with the tables that were known from outside declared in it."""
        lines = [] if self._said is None else [f"-- union_all: {self._said}\n"]
        for key in sorted(self._given):
            table = self.context.tables[key]
            if table.is_typed:
                columns = ", ".join(
                    f"{_quoted(column.name)} {column.type.value}" for column in table.columns if column.type
                )
                lines.append(f"CREATE TABLE {_quoted(table.relation)} ({columns});\n")
        return "".join(lines) + self.text.source.text


def _said(text: SqlText) -> str:
    """What a comment in the text says about UNION ALL in a recursion."""
    found = _UNION_ALL.search(text.source.text)
    return "bag" if found is None else found[1].lower()


def _query(shown: _Shown) -> syntax.Query:
    width, arity = len(shown.table.columns), shown.table.arity
    args = tuple(syntax.Variable(f"C{at}") if at < width else syntax.Wildcard() for at in range(arity))
    atom = syntax.Atom(shown.table.relation, args, span=shown.place)
    return syntax.Query(atom, shown.window, shown.order, shown.limit, shown.offset, span=shown.place)


def _names(table: SqlTable) -> list[str]:
    return [column.name for column in table.columns]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _hidden(table: SqlTable) -> tuple[str, ...]:
    if table.base:
        return (COPY,) * table.hidden
    return tuple(f"hidden'{at}" for at in range(1, table.hidden + 1))


def _declared(declaration: syntax.Declaration) -> SqlTable:
    columns = [SqlColumn(column.name, column.type, column.nullable) for column in declaration.columns]
    places = {column.name: at for at, column in enumerate(columns)}
    key = tuple(places[name] for name in declaration.key if name in places) if declaration.key else None
    single = key is not None or declaration.kind is syntax.Kind.STREAM
    return SqlTable(declaration.relation, columns, hidden=0 if single else 1, key=key, base=True, span=declaration.span)


def _nested(statement: SqlView | SqlQuery) -> list[SqlView]:
    """The views of its own WITH, and of theirs."""
    query = statement.query if isinstance(statement, SqlView) else statement
    return [each for view in query.views for each in (view, *_nested(view))]


def _reads(statement: SqlView | SqlQuery) -> set[str]:
    view = statement if isinstance(statement, SqlView) else SqlView("", None, statement, recursive=False, span=None)
    return mentioned(view)


def _queries(statement: Statement) -> list[exp.Expr]:
    match statement:
        case SqlView(query=query):
            return _queries(query)
        case SqlQuery(views=views, select=select):
            return [each for view in views for each in _queries(view)] + ([select] if select is not None else [])
        case _:
            return []


def _deepest(text: SqlText, statements: list[Statement]) -> Span | None:
    """The place of the expression that is nested deepest."""
    level = [(node, node) for statement in statements for node in _queries(statement)]
    last = level
    while level:
        last, level = (
            level,
            [(inner, _outermost(inner, root)) for node, root in level for inner in node.iter_expressions()],
        )
    return text.span(last[0][1]) if last else None


def _outermost(node: exp.Expr, root: exp.Expr) -> exp.Expr:
    """The expression that a node belongs to: it begins anew below each query and clause."""
    return node if isinstance(node.parent, exp.Query | exp.Where | exp.Having | exp.Join) else root


def _in_order(problems: list[Diagnostic]) -> list[Diagnostic]:
    distinct = list(dict.fromkeys(problems))
    return sorted(distinct, key=lambda problem: problem.span.start if problem.span else 0)
