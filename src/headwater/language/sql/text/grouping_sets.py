"""GROUPING SETS, ROLLUP and CUBE in plainer SQL: one SELECT with a plain GROUP BY for each set, joined by UNION ALL.

    SELECT a, sum(b) FROM t GROUP BY ROLLUP (a)
    SELECT a AS a, sum(b) FROM t GROUP BY a UNION ALL SELECT NULL AS a, sum(b) FROM t

A column that a set leaves out is null there, except inside an aggregate; `grouping(a)` and `grouping_id(a, b)` are
numbers. The set of no columns has one row, also over an empty table, as in the standard.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations, product
from typing import TypeAlias

from sqlglot import exp

_Set: TypeAlias = tuple[exp.Expr, ...]
_MOST = 64
_ENDS = ("order", "limit", "offset")


def without_grouping_sets(select: exp.Select) -> exp.Expr | None:
    """The SELECT as a union of plain ones; None if it has no grouping sets, or more than can be written out."""
    group = select.args.get("group")
    sets = None if group is None else _sets(group)
    if sets is None or len(sets) > _MOST or _has_star(select):
        return None
    sets = [tuple(_numbered(key, select) for key in each) for each in sets]
    keys = list(dict.fromkeys(chain.from_iterable(sets)))
    if any(_is_alias(key, select) for key in keys):
        return None
    parts = [_part(select, keys, each) for each in sets]
    distinct = select.args.get("distinct") is not None
    found: exp.Expr = parts[0]
    for part in parts[1:]:
        found = exp.Union(this=found, expression=part, distinct=distinct)
    for end in _ENDS:
        if select.args.get(end) is not None:
            found.set(end, select.args[end].copy())
    clause = select.args.get("with_")
    if clause is not None:
        found.set("with_", clause.copy())
    return found


def _numbered(key: exp.Expr, select: exp.Select) -> exp.Expr:
    """What is grouped by: `1` is the first item of the SELECT list."""
    number = int(key.this) if isinstance(key, exp.Literal) and str(key.this).isdigit() else 0
    return select.expressions[number - 1].unalias() if 0 < number <= len(select.expressions) else key


def _is_alias(key: exp.Expr, select: exp.Select) -> bool:
    """Whether the SELECT list gives another expression this name: which of them is meant is not known here."""
    named = {item.alias.lower(): item.this for item in select.expressions if isinstance(item, exp.Alias)}
    meant = named.get(key.name.lower()) if isinstance(key, exp.Column) and not key.table else None
    return meant is not None and not _same(meant, key)


def _same(one: exp.Expr, other: exp.Expr) -> bool:
    if not isinstance(one, exp.Column) or not isinstance(other, exp.Column):
        return one == other
    tables = {one.table.lower(), other.table.lower()} - {""}
    return one.name.lower() == other.name.lower() and len(tables) < 2


def _among(node: exp.Expr, keys: Sequence[exp.Expr]) -> bool:
    return any(_same(node, key) for key in keys)


def _has_star(select: exp.Select) -> bool:
    """Whether its columns are not all named."""
    stars = (star for item in select.expressions for star in item.find_all(exp.Star))
    return any(not isinstance(star.parent, exp.Count) for star in stars)


def _sets(group: exp.Group) -> list[_Set] | None:
    """Every set of columns to group by, in order; None if there is only one, written plainly."""
    whole = [clause for part in ("rollup", "cube", "grouping_sets") for clause in group.args.get(part) or []]
    plain = [item for item in group.expressions if not _is_sets(item)]
    if not whole and len(plain) == len(group.expressions):
        return None
    if any(isinstance(clause, exp.Rollup | exp.Cube) and not clause.expressions for clause in whole):  # WITH ROLLUP
        (clause,) = whole
        return _of(type(clause)(expressions=[item.copy() for item in plain]))
    factors = [_of(item) if _is_sets(item) else [(item,)] for item in (*group.expressions, *whole)]
    return [tuple(dict.fromkeys(chain.from_iterable(one))) for one in product(*factors)]


def _is_sets(node: exp.Expr) -> bool:
    return isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets)


def _of(node: exp.Expr) -> list[_Set]:
    """The sets that one ROLLUP, CUBE or GROUPING SETS stands for."""
    items = [_columns(item) for item in node.expressions]
    match node:
        case exp.Rollup():
            chosen = [items[:length] for length in range(len(items), -1, -1)]
        case exp.Cube():
            chosen = [list(some) for length in range(len(items), -1, -1) for some in combinations(items, length)]
        case _:
            each = [_of(item) if _is_sets(item) else [_columns(item)] for item in node.expressions]
            return list(chain.from_iterable(each))
    return [tuple(chain.from_iterable(some)) for some in chosen]


def _columns(node: exp.Expr) -> _Set:
    """`(a, b)` counts as one: both are there, or none."""
    if isinstance(node, exp.Tuple):
        return tuple(node.expressions)
    return (node.this,) if isinstance(node, exp.Paren) else (node,)


def _part(select: exp.Select, keys: list[exp.Expr], kept: _Set) -> exp.Select:
    """The SELECT for one set."""
    part = select.copy()
    for name in (*_ENDS, "with_"):
        part.set(name, None)
    part.set("group", exp.Group(expressions=[key.copy() for key in kept]) if kept else None)
    part.set("expressions", [_named(item, keys, kept) for item in part.expressions])
    having = part.args.get("having")
    if having is not None:
        having.set("this", _with_nulls(having.this, keys, kept))
    if not kept:  # without an aggregate, nothing would say that all rows are one group
        one_group = exp.GTE(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
        tests = [one_group] if having is None else [one_group, exp.paren(having.this)]
        part.set("having", exp.Having(this=exp.and_(*tests)))
    return part


def _named(item: exp.Expr, keys: list[exp.Expr], kept: _Set) -> exp.Expr:
    """An item of the SELECT list under the name that it has without the change."""
    if isinstance(item, exp.Alias):
        item.set("this", _with_nulls(item.this, keys, kept))
        return item
    found = _with_nulls(item, keys, kept)
    return exp.alias_(found, item.this.copy()) if isinstance(item, exp.Column) else found


def _with_nulls(node: exp.Expr, keys: list[exp.Expr], kept: _Set) -> exp.Expr:
    if isinstance(node, exp.Anonymous | exp.Grouping | exp.GroupingId):
        name, args = _call(node)
        if name in ("grouping", "grouping_id") and args and all(_among(arg, keys) for arg in args):
            bits = "".join("0" if _among(arg, kept) else "1" for arg in args)
            return exp.Literal.number(int(bits, 2))
    if _among(node, keys):
        return node if _among(node, kept) else exp.Null()
    if isinstance(node, exp.AggFunc | exp.Query):
        return node
    for child in list(node.iter_expressions()):
        changed = _with_nulls(child, keys, kept)
        if changed is not child:
            child.replace(changed)
    return node


def _call(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else type(node).__name__.lower()
    return name.replace("groupingid", "grouping_id"), list(node.expressions)
