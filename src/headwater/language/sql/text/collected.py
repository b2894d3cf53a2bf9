"""Aggregates that collect values, in plainer words: all of them are `collect_list` and `max` over lists.

    max_by(x, y)                        the last item of the largest [y, x]
    string_agg(x, ',' ORDER BY y)       the x of the sorted [key of y, x], joined

A list that is collected is sorted, which SQL allows and which makes it the same however its rows came.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

_COLLECTING = (exp.ArgMax, exp.ArgMin, exp.GroupConcat, exp.List, exp.ArrayAgg, exp.ArrayUniqueAgg)


def without_collecting(node: exp.Expr) -> exp.Expr | None:
    """The aggregate in plainer words, with what a FILTER around it asks; None if it has none."""
    if isinstance(node.parent, exp.Filter) and isinstance(node, _COLLECTING):
        node = _filtered(node, node.parent.expression.this)
    match node:
        case exp.ArgMax() | exp.ArgMin() if node.args.get("count") is None and node.expression is not None:
            return _of_best(node)
        case exp.GroupConcat():
            return _joined(node)
        case exp.List() if len(node.expressions) == 1:
            return _listed(node.expressions[0])
        case exp.ArrayAgg() | exp.ArrayUniqueAgg():
            return _listed(node.this, distinct=isinstance(node, exp.ArrayUniqueAgg))
        case _:
            return None


def _filtered(node: exp.Expr, test: exp.Expr) -> exp.Expr:
    """The aggregate with null in place of the values that a FILTER leaves out."""
    node = node.copy()
    part = "expression" if isinstance(node, exp.ArgMax | exp.ArgMin) else "this"
    value = node.expressions[0] if isinstance(node, exp.List) else node.args[part]
    while isinstance(value, exp.Order | exp.Distinct):
        value = value.this if isinstance(value, exp.Order) else value.expressions[0]
    value.replace(exp.Case(ifs=[exp.If(this=test.copy(), true=value.copy())]))
    return node


def _of_best(node: exp.Expr) -> exp.Expr:
    by, kept = node.expression, node.this
    pair = exp.Array(expressions=[by.copy(), kept.copy()])
    known = exp.Case(ifs=[exp.If(this=exp.Not(this=exp.Is(this=by.copy(), expression=exp.Null())), true=pair)])
    best = exp.Max(this=known) if isinstance(node, exp.ArgMax) else exp.Min(this=known)
    return exp.Bracket(this=best, expressions=[exp.Literal.number(2)], offset=1)


def _joined(node: exp.GroupConcat) -> exp.Expr:
    """The texts joined; null if there is none."""
    value = node.this.this if isinstance(node.this, exp.Order) else node.this
    bare = value.expressions[0] if isinstance(value, exp.Distinct) else value
    mark = node.args.get("separator") or exp.Literal.string("")
    text = exp.ArrayToString(this=_listed(node.this, as_text=True), expression=mark.copy())
    some = exp.GT(this=exp.Count(this=bare.copy()), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=some, true=text)])


def _listed(node: exp.Expr, *, distinct: bool = False, as_text: bool = False) -> exp.Expr:
    """The list of the values; an empty one if there is none."""
    order: Sequence[exp.Expr] = ()
    if isinstance(node, exp.Order):
        node, order = node.this, node.expressions
    if isinstance(node, exp.Distinct):
        node, distinct = node.expressions[0], True
    value = exp.Cast(this=node.copy(), to=exp.DataType.build("string")) if as_text else node.copy()
    keys = [each for each in order if each.this != node or each.args.get("desc")]
    if keys:
        parts = [*(_key(each) for each in keys), value]
        known = exp.Not(this=exp.Is(this=node.copy(), expression=exp.Null()))
        value = exp.Case(ifs=[exp.If(this=known, true=exp.Array(expressions=parts))])
    found: exp.Expr = exp.ArrayUniqueAgg(this=value) if distinct else exp.ArrayAgg(this=value)
    found = exp.Anonymous(this="last_items", expressions=[found]) if keys else found
    return exp.Coalesce(this=found, expressions=[exp.Array(expressions=[])])


def _key(order: exp.Expr) -> exp.Expr:
    """A text that sorts as ORDER BY says."""
    null = exp.Is(this=order.this.copy(), expression=exp.Null())
    first = exp.Literal.number(0 if order.args.get("nulls_first") else 2)
    place = exp.Case(ifs=[exp.If(this=null, true=first)], default=exp.Literal.number(1))
    key = exp.Anonymous(this="sort_key", expressions=[order.this.copy()])
    if order.args.get("desc"):
        key = exp.Anonymous(this="reverse_sort_key", expressions=[key])
    return exp.Concat(expressions=[exp.Cast(this=place, to=exp.DataType.build("string")), key])
