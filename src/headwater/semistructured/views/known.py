"""Names and labels of a store, to warn of names that it does not have, and of labels that nearly match one. Neither is
an error: the data may still come."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
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


def near_misses(
    view: tree.ViewDefinition, known: KnownNames, views: Mapping[str, Collection[str]], ranged: Collection[str]
) -> tuple[Diagnostic, ...]:
    """Warnings about names that the store does not have, and about labels where it has one that is spelt nearly so.

    `views` has the statements of the views that paths may range over, and `ranged` the names that `over_views` has
    given to those that they do.
    """
    return tuple(dict.fromkeys(_warnings(view, known, views, ranged)))


def _warnings(
    view: tree.ViewDefinition, known: KnownNames, views: Mapping[str, Collection[str]], ranged: Collection[str]
) -> Iterator[Diagnostic]:
    defined = dict.fromkeys(defined_variables(view))
    for node in _nodes(view):
        match node:
            case tree.ByLabel(label) if label not in known.labels:
                guess = nearest(label, known.labels)
                if guess is not None:
                    yield _warning("HW258", f"no object has the label `{label}`", node, guess)
            case tree.PathExpression(tree.Identifier(name) as root) if not (
                name in defined or name in known.names or name in ranged
            ):
                if name == view.name:
                    message, hint = f"`{name}` is this view itself", "define what it ranges over as a view before it"
                    yield Diagnostic("HW259", message, root.span, hint=hint, severity=Severity.WARNING)
                    continue
                if name in views:
                    message = f"`{name}` is a view, and no statement of it begins this path"
                    hint = f"its statements are {', '.join(f'`{name}.{part}`' for part in views[name])}"
                    yield Diagnostic("HW259", message, root.span, hint=hint, severity=Severity.WARNING)
                    continue
                guess = nearest(name, [*known.names, *defined, *views])
                if guess is None and name in known.labels and defined:
                    guess = f"{next(iter(defined))}.{name}"
                if guess is not None or known.names:
                    hint = f"did you mean `{guess}`?" if guess is not None else _listed(known.names)
                    message = f"`{name}` is neither a variable nor a name of the store"
                    yield Diagnostic("HW259", message, root.span, hint=hint, severity=Severity.WARNING)
            case _:
                pass


def _listed(names: Collection[str]) -> str:
    some = ", ".join(f"`{name}`" for name in sorted(names)[:5])
    return f"the names of the store are {some}{' and others' if len(names) > 5 else ''}"


def _warning(code: str, message: str, node: Any, guess: str) -> Diagnostic:
    return Diagnostic(code, message, node.span, hint=f"did you mean `{guess}`?", severity=Severity.WARNING)


def defined_variables(view: tree.ViewDefinition) -> Iterator[str]:
    """The variables that a view defines, of objects and of labels."""
    for node in _nodes(view):
        match node:
            case (
                tree.FromItem(variable=tree.Identifier(name))
                | tree.WithItem(variable=tree.Identifier(name))
                | tree.ExistsIn(variable=tree.Identifier(name))
                | tree.ForAll(variable=tree.Identifier(name))
                | tree.ByLabel(variable=tree.Identifier(name))
                | tree.ByPattern(variable=tree.Identifier(name))
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
