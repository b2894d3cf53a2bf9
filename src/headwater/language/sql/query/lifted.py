"""Subqueries that borrow columns of the query around them, as queries of their own.

    SELECT (SELECT max(b.x) FROM b WHERE b.k = a.k AND b.y > a.y) FROM a

The values that the borrowed columns can have stand in a relation of their own, the *asked* ones. The subquery is joined
with it, groups by it, numbers its rows by it, and shows it behind its own columns:

    SELECT max(b.x), asked.k, asked.y FROM asked CROSS JOIN b WHERE b.k = asked.k AND b.y > asked.y
    GROUP BY asked.k, asked.y

An aggregate without groups has a row also where there is nothing to aggregate: that row is added. And a LIMIT in a
subquery is a number that its rows have: see `number_limits`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from headwater.language.sql.query.groups import aggregates_in
from headwater.language.sql.query.windows import windows_in
from headwater.language.sql.scope.body import BORROWED, column_at
from headwater.language.sql.text.shape import components, is_recursion, tables_in
from headwater.language.sql.text.statements import SqlQuery, SqlView, Statement

_ASKED, _NOTHING = "asked'", "nothing'"
Names = Mapping[str, str]


def lifted(query: exp.Expr, names: Names, table: str) -> exp.Expr:
    """The query over the relation `table` of what is asked for; `names` are its columns, by the borrowed variables."""
    match query:
        case exp.Subquery():
            return lifted(query.this, names, table)
        case exp.SetOperation():
            made = query.copy()
            made.set("this", lifted(made.this, names, table))
            made.set("expression", lifted(made.expression, names, table))
            return made
        case exp.Values():
            rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in query.expressions]
            named = [[exp.alias_(item.copy(), f"col{at}") for at, item in enumerate(row, 1)] for row in rows]
            parts = [_select(exp.Select(expressions=items), names, table) for items in named]
            found: exp.Expr = parts[0]
            for part in parts[1:]:
                found = exp.Union(this=found, expression=part, distinct=False)
            return found
        case exp.Select():
            return _select(query.copy(), names, table)
        case _:
            return query


def _select(select: exp.Select, names: Names, table: str) -> exp.Expr:
    for column in list(select.find_all(exp.Column)):
        name = names.get(str(column.meta.get(BORROWED))) if column.meta else None
        if name is not None:
            column.replace(column_at(_ASKED, name, column))
    grouped = bool(select.args.get("group") or select.args.get("having"))
    alone = not select.args.get("group") and (grouped or any(map(aggregates_in, select.expressions)))
    nothing = _of_nothing(select, names, table) if alone else None
    _join(select, table)
    asked = [exp.column(name, table=_ASKED, quoted=True) for name in names.values()]
    if alone:
        select.set("group", exp.Group(expressions=[each.copy() for each in asked]))
    elif select.args.get("group") and not select.args["group"].args.get("all"):
        for each in asked:
            select.args["group"].append("expressions", each.copy())
    tests = [select.args["qualify"].this] if select.args.get("qualify") else []
    windows = [window for node in (*select.expressions, *tests) for window in windows_in(node)]
    for window in (*windows, *(select.args.get("windows") or ())):
        if window.args.get("alias") is None:
            window.set("partition_by", [*(window.args.get("partition_by") or []), *(each.copy() for each in asked)])
    for each in asked:
        select.append("expressions", each)
    return select if nothing is None else exp.Union(this=select, expression=nothing, distinct=False)


def _join(select: exp.Select, table: str) -> None:
    """Put the asked values into the FROM: first, or last where a join keeps all rows of its right side."""
    asked = exp.Table(this=exp.to_identifier(table, quoted=True), alias=_alias(_ASKED))
    joins = list(select.args.get("joins") or [])
    first = select.args.get("from_")
    if any((join.side or "").upper() in ("RIGHT", "FULL") for join in joins):
        select.set("joins", [*joins, exp.Join(this=asked, kind="CROSS")])
        return
    select.set("from_", exp.From(this=asked))
    if first is not None:
        select.set("joins", [exp.Join(this=first.this, kind="CROSS"), *joins])


def _alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))


def _of_nothing(select: exp.Select, names: Names, table: str) -> exp.Select:
    """The row of an aggregate without groups for what is asked for and finds no rows."""
    found = select.copy()
    _join(found, table)
    same = [
        exp.NullSafeEQ(
            this=exp.column(name, table=_ASKED, quoted=True), expression=exp.column(name, table=_NOTHING, quoted=True)
        )
        for name in names.values()
    ]
    where = found.args.get("where")
    tests = [*([exp.paren(where.this)] if where is not None else []), *same]
    rows = exp.Select(expressions=[exp.Literal.number(1)], where=exp.Where(this=exp.and_(*tests)))
    for part in ("from_", "joins", "laterals"):
        rows.set(part, found.args.get(part))
    empty = exp.Table(this=exp.to_identifier(table, quoted=True), alias=_alias(_NOTHING))
    conditions: list[exp.Expr] = [exp.Not(this=exp.Exists(this=rows))]
    having = select.args.get("having")
    if having is not None:
        conditions.append(exp.paren(_without_rows(having.this.copy())))
    items = [_without_rows(item.copy()) for item in select.expressions]
    items += [exp.column(name, table=_NOTHING, quoted=True) for name in names.values()]
    return exp.Select(
        expressions=items, from_=exp.From(this=empty), where=exp.Where(this=exp.and_(*conditions)), joins=[]
    )


def _without_rows(node: exp.Expr) -> exp.Expr:
    """What an expression with aggregates gives where there are no rows."""
    if isinstance(node, exp.Filter):
        return _without_rows(node.this)
    if isinstance(node, exp.Query):
        for column in list(node.find_all(exp.Column)):
            if column.table == _ASKED:
                column.replace(column_at(_NOTHING, column.name, column))
        return node
    if isinstance(node, exp.AggFunc):
        return exp.Literal.number(0) if isinstance(node, exp.Count) else exp.Null()
    if isinstance(node, exp.Column) and node.table == _ASKED:
        return column_at(_NOTHING, node.name, node)
    for child in list(node.iter_expressions()):
        other = _without_rows(child)
        if other is not child:
            child.replace(other)
    return node


# LIMIT in subqueries


def number_limits(statement: Statement) -> None:
    """LIMIT and OFFSET of every query but the outermost one as a condition on the numbers of rows, in place.

    In a recursion, a part that reads it has no first rows: its LIMIT stays, to be refused.
    """
    match statement:
        case SqlQuery(views=views, select=select):
            _number_views(views)
            if select is not None:
                _number(select, frozenset(), outermost=True)
        case SqlView():
            _number_views((statement,))
        case _:
            pass


def _number_views(views: tuple[SqlView, ...]) -> None:
    by_name = {view.name.lower(): view for view in views}
    for group in components(by_name):
        inside = frozenset(group) if is_recursion(group, by_name) else frozenset[str]()
        for key in group:
            _number_views(by_name[key].query.views)
            if by_name[key].query.select is not None:
                _number(by_name[key].query.select, inside, outermost=False)


def _number(query: exp.Expr | None, inside: frozenset[str], *, outermost: bool) -> None:
    assert query is not None
    top = query
    while isinstance(top, exp.Subquery):
        top = top.this
    for node in list(_limited(query)):
        if (outermost and node is top) or tables_in(node) & inside:
            continue
        if isinstance(node.parent, exp.Exists) and node.args.get("offset") is None and _count(node) != 0:
            node.set("limit", None)
        elif isinstance(node, exp.Select):
            _number_select(node)


def _limited(query: exp.Expr) -> Iterator[exp.Expr]:
    for node in query.find_all(exp.Query):
        if not isinstance(node, exp.Subquery) and (node.args.get("limit") or node.args.get("offset")):
            yield node


def _count(node: exp.Expr) -> int | None:
    limit = node.args.get("limit")
    value = None if limit is None else limit.expression
    return int(value.this) if isinstance(value, exp.Literal) and str(value.this).isdigit() else None


def _number_select(select: exp.Select) -> None:
    if select.args.get("distinct") is not None:
        if select.args["distinct"].args.get("on") or select.args.get("group") or _has_star(select):
            return
        places = range(1, len(select.expressions) + 1)  # a key that is a number would be taken for a place
        select.set("group", exp.Group(expressions=[exp.Literal.number(place) for place in places]))
        select.set("distinct", None)
    order = select.args.get("order")
    keys = [] if order is None else [_key(select, each.copy()) for each in order.expressions]
    number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=keys) if keys else None)
    tests = [select.args["qualify"].this] if select.args.get("qualify") else []
    if select.args.get("qualify"):
        return  # rows would be numbered before it
    for part, kind in (("limit", exp.LTE), ("offset", exp.GT)):
        clause = select.args.get(part)
        if clause is not None:
            bound = clause.expression.copy()
            offset = select.args.get("offset")
            if part == "limit" and offset is not None:
                bound = exp.Add(this=bound, expression=offset.expression.copy())
            tests.append(kind(this=number.copy(), expression=bound))
    for part in ("limit", "offset", "order"):
        select.set(part, None)
    select.set("qualify", exp.Qualify(this=exp.and_(*tests)))


def _key(select: exp.Select, ordered: exp.Expr) -> exp.Expr:
    """A key of ORDER BY, the number or name of a column of the SELECT list spelt out."""
    node = ordered.this
    if isinstance(node, exp.Literal) and str(node.this).isdigit() and 0 < int(node.this) <= len(select.expressions):
        ordered.set("this", select.expressions[int(node.this) - 1].unalias().copy())
    elif isinstance(node, exp.Column) and not node.table:
        named = [item for item in select.expressions if item.alias.lower() == node.name.lower() and item.alias]
        if named:
            ordered.set("this", named[0].unalias().copy())
    return ordered


def _has_star(select: exp.Select) -> bool:
    return any(item.find(exp.Star) for item in select.expressions if not isinstance(item, exp.Count))
