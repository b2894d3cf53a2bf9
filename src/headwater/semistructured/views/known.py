"""Names and labels of a store, to warn of those in a view that nearly match one. An unknown label is no error: the data
may still come."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from headwater.core.diagnostics import Diagnostic, Severity
from headwater.core.source import Span
from headwater.language.lorel import tree
from headwater.program.nearest import nearest


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The entry points and the labels that a store has now."""

    names: Collection[str]
    labels: Collection[str]


def near_misses(view: tree.ViewDefinition, known: KnownNames) -> tuple[Diagnostic, ...]:
    """Warnings about labels and names that the store does not have, where it has one that is spelt nearly the same."""
    return tuple(dict.fromkeys(_warnings(view, known)))


def _warnings(view: tree.ViewDefinition, known: KnownNames) -> Iterator[Diagnostic]:
    defined = set(_defined(view))
    for node in _nodes(view):
        match node:
            case tree.ByLabel(label) if label not in known.labels:
                guess = nearest(label, known.labels)
                if guess is not None:
                    yield _warning("HW258", f"no object has the label `{label}`", node, guess)
            case tree.PathExpression(tree.Identifier(name) as root) if name not in defined and name not in known.names:
                guess = nearest(name, [*known.names, *defined])
                if guess is not None:
                    yield _warning("HW259", f"`{name}` is neither a variable nor a name of the store", root, guess)
            case _:
                pass


def _warning(code: str, message: str, node: Any, guess: str) -> Diagnostic:
    return Diagnostic(code, message, node.span, hint=f"did you mean `{guess}`?", severity=Severity.WARNING)


def _defined(view: tree.ViewDefinition) -> Iterator[str]:
    for node in _nodes(view):
        match node:
            case (
                tree.FromItem(variable=tree.Identifier(name))
                | tree.WithItem(variable=tree.Identifier(name))
                | tree.ExistsIn(variable=tree.Identifier(name))
                | tree.ForAll(variable=tree.Identifier(name))
            ):
                yield name
            case _:
                pass


def _nodes(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple):
        for item in node:
            yield from _nodes(item)
    elif is_dataclass(node) and not isinstance(node, Span):
        yield node
        for each in fields(node):
            yield from _nodes(getattr(node, each.name))
