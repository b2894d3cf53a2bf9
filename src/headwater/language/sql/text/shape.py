"""The shape of parsed queries: which tables they read, and the parts of their UNIONs and ANDs."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from headwater.core import graph
from headwater.language.sql.text.statements import SqlView


def union_parts(query: exp.Expr, everything: bool, *, opened: bool = False) -> list[exp.Expr]:
    """The parts of a chain of UNIONs, as far as brackets and ALL change nothing.

    Where the query is `opened`, its caller sees to its own WITH and LIMIT.
    """
    parts: list[exp.Expr] = []
    waiting = [query]
    while waiting:
        node = waiting.pop()
        bare = node.this if isinstance(node, exp.Subquery) and _is_plain(node) else node
        more = () if opened and bare is query else ("with_", "by_name", "limit", "offset")
        inner_set = isinstance(bare, exp.Union) and not any(bare.args.get(part) for part in more)
        if inner_set and (everything or not bare.args.get("distinct")):
            waiting += [bare.expression, bare.this]
        else:
            parts.append(bare)
    return parts


def bare_query(node: exp.Expr) -> exp.Expr:
    """The query inside brackets that hold nothing else."""
    while isinstance(node, exp.Subquery) and _is_plain(node):
        node = node.this
    return node


def _is_plain(node: exp.Subquery) -> bool:
    return all(not value for part, value in node.args.items() if part != "this")


def unions(node: exp.Expr | None) -> Iterator[exp.Union]:
    """The UNIONs of a chain, whatever brackets stand around its parts."""
    while isinstance(node, exp.Subquery):
        node = node.this
    if isinstance(node, exp.Union):
        yield node
        yield from unions(node.this)
        yield from unions(node.expression)


def mentioned(view: SqlView) -> set[str]:
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


def components(views: dict[str, SqlView]) -> list[list[str]]:
    """Views that read each other in a circle together, and before those that read them.

    Without RECURSIVE a view sees the views before it only; any other name means what it means outside.
    """
    reads: dict[str, list[str]] = {}
    for key, view in views.items():
        names = mentioned(view)
        reads[key] = [name for name in (views if view.recursive else reads) if name in names]
    return [list(group) for group in graph.components(reads)]


def is_recursion(group: list[str], views: dict[str, SqlView]) -> bool:
    """Whether views of a component are recursive, and said to be."""
    first = views[group[0]]
    return first.recursive and (len(group) > 1 or group[0] in mentioned(first))


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.And):
        return [*conjuncts(node.this), *conjuncts(node.expression)]
    return [node]
