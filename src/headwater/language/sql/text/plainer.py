"""Queries in plainer SQL: other spellings are replaced by these. The rows stay the same.

`(a, b) IN ((1, 2), (3, 4))` is `a <=> 1 AND b <=> 2 OR a <=> 3 AND b <=> 4` (Spark compares rows so, and they may hold
nulls), `a = ANY (SELECT ...)` is IN, `count_if(x)` counts where x is true, and the ORDER BY and LIMIT behind brackets
around a whole query are those of the query. GROUPING SETS, ROLLUP and CUBE become unions: see `grouping_sets`.
Generators of a SELECT list move to the FROM: see `generators`.
"""

from __future__ import annotations

from sqlglot import exp

from headwater.language.sql.text.collected import without_collecting
from headwater.language.sql.text.generators import in_from
from headwater.language.sql.text.grouping_sets import without_grouping_sets

_ENDS = ("order", "limit", "offset")
_NAMED = {"every": exp.LogicalAnd, "some": exp.LogicalOr}


def plainer(query: exp.Expr) -> exp.Expr:
    """The query in plainer words, changed in place; what has no plainer words stays."""
    for node in list(query.find_all(exp.In, exp.AggFunc, exp.Anonymous, exp.List, exp.EQ, exp.NEQ)):
        if isinstance(_function_of(node).parent, exp.Window) and not isinstance(node, exp.CountIf):
            continue
        found = _said(node)
        if found is not None:
            node.replace(found)
            continue
        found = without_collecting(node)
        if found is not None:
            (node.parent if isinstance(node.parent, exp.Filter) else node).replace(found)
    for select in list(query.find_all(exp.Select)):
        in_from(select)
        union = without_grouping_sets(select)
        if union is None:
            continue
        if select is query:
            query = union
        else:
            inside = isinstance(select.parent, exp.SetOperation)
            select.replace(exp.Subquery(this=union) if inside else union)
    while isinstance(query, exp.Subquery) and _is_bracket(query):
        for end in _ENDS:
            if query.args.get(end) is not None:
                query.this.set(end, query.args[end].pop())
        query = query.this
        query.pop()
    return query


def _function_of(node: exp.Expr) -> exp.Expr:
    """An aggregate with the FILTER around it."""
    return node.parent if isinstance(node.parent, exp.Filter) else node


def _is_bracket(query: exp.Subquery) -> bool:
    """Whether it only brackets a query that is not cut short itself."""
    plain = all(not value for name, value in query.args.items() if name not in ("this", *_ENDS))
    ends = any(query.args.get(end) is not None for end in _ENDS)
    inner = query.this
    free = isinstance(inner, exp.Query) and not any(inner.args.get(end) for end in ("limit", "offset"))
    return plain and ends and free


def _said(node: exp.Expr) -> exp.Expr | None:
    filtered = isinstance(node.parent, exp.Filter)
    match node:
        case exp.In(this=exp.Tuple() as values) if node.expressions:
            rows = [row for row in node.expressions if isinstance(row, exp.Tuple)]
            width = len(values.expressions)
            if len(rows) < len(node.expressions) or any(len(row.expressions) != width for row in rows):
                return None
            return exp.paren(exp.or_(*(_equal(values, row) for row in rows)))
        case exp.EQ(expression=exp.Any() as some) if isinstance(some.this, exp.Query):
            return exp.In(this=node.this.copy(), query=_bracketed(some.this))
        case exp.NEQ(expression=exp.All() as every) if isinstance(every.this, exp.Query):
            return exp.paren(exp.Not(this=exp.In(this=node.this.copy(), query=_bracketed(every.this))))
        case exp.CountIf() if not isinstance(node.this, exp.Distinct):
            return exp.Count(this=exp.Case(ifs=[_if(node.this, 1)]))
        case exp.AnyValue() if not isinstance(node.this, exp.HavingMax):
            return exp.Min(this=node.this)
        case exp.LogicalAnd() | exp.LogicalOr() if not filtered:
            return _all_or_any(type(node), node.this)
        case exp.Anonymous() if str(node.this).lower() in _NAMED and len(node.expressions) == 1 and not filtered:
            return _all_or_any(_NAMED[str(node.this).lower()], node.expressions[0])
        case _:
            return None


def _bracketed(query: exp.Expr) -> exp.Expr:
    return query.copy() if isinstance(query, exp.Subquery) else exp.Subquery(this=query.copy())


def _equal(values: exp.Tuple, row: exp.Tuple) -> exp.Expr:
    pairs = zip(values.expressions, row.expressions, strict=True)
    return exp.and_(*(exp.NullSafeEQ(this=one.copy(), expression=other.copy()) for one, other in pairs))


def _all_or_any(kind: type[exp.Expr], test: exp.Expr) -> exp.Expr:
    """True if all values, or any, are; null without a value."""
    best = exp.Min if kind is exp.LogicalAnd else exp.Max
    number = exp.Case(ifs=[_if(test.copy(), 1), _if(exp.Not(this=exp.paren(test.copy())), 0)])
    return exp.paren(exp.EQ(this=best(this=number), expression=exp.Literal.number(1)))


def _if(test: exp.Expr, number: int) -> exp.If:
    return exp.If(this=test.copy(), true=exp.Literal.number(number))
