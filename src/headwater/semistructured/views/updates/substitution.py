"""Objects in place of variables, and variables renamed, in parts of Lorel's tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from headwater.core.source import Span
from headwater.language.lorel import tree
from headwater.semistructured.views.scoping import identifiers

_Node = TypeVar("_Node")


def substituted(node: _Node, oids: Mapping[str, tree.ObjectId]) -> _Node:
    """Paths that begin with these variables begin with the objects. `exists x in p` asks for the object among `p`. A
    from item keeps the variable that it defines."""
    match node:
        case tree.FromItem(source):
            return cast(_Node, replace(node, source=substituted(source, oids)))
        case _:
            return cast(_Node, _mapped(node, lambda each: oids.get(each.name, each)))


def primed(query: tree.SelectQuery) -> tree.SelectQuery:
    """The query with a new name for each of its variables, entry points left alone."""
    own = {item.variable.name for item in query.sources if item.variable is not None} | set(_quantified(query.where))
    found = _mapped(query, lambda each: tree.Identifier(f"{each.name}'") if each.name in own else each)
    return cast(tree.SelectQuery, found)


def holds_variable(node: Any, variable: str) -> bool:
    return any(each.name == variable for each in identifiers(node))


def _quantified(node: Any) -> list[str]:
    match node:
        case tree.ExistsIn(tree.Identifier(name), _, inner):
            return [name, *_quantified(inner)]
        case tree.AllOf(parts) | tree.AnyOf(parts):
            return [name for part in parts for name in _quantified(part)]
        case _:
            return []


def _mapped(node: Any, change: Any) -> Any:
    if isinstance(node, tree.Identifier):
        return change(node)
    if isinstance(node, tuple):
        return tuple(_mapped(item, change) for item in node)
    if not is_dataclass(node) or isinstance(node, type | Span | tree.ByLabel | tree.LorelLiteral):
        return node
    return replace(node, **{each.name: _mapped(getattr(node, each.name), change) for each in fields(node)})
