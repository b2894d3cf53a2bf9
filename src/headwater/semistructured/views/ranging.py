"""Paths over views: `Cheap.Items i` ranges over the objects that a statement of an earlier view selects.

A path goes on along the edges of that view alone, so it meets what the view shows and nothing else. The objects keep
their ids: a delegate of a delegate of `&9` still stands for `&9`.

`over_views` finds these paths before anything else is done with a definition, and writes each beginning as one name,
which no text can spell. A path that begins with the name of a view, but not with one of its statements, begins with a
name of the store: both may have the same name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.language.lorel import tree
from headwater.semistructured.views.known import defined_variables
from headwater.semistructured.views.scoping import item_label

if TYPE_CHECKING:
    from headwater.semistructured.views.model import ViewProgram


@dataclass(frozen=True, slots=True)
class ViewRoot:
    """A statement of a view as a place where paths begin: its objects, and the edges of its view, if it has any."""

    view: str
    objects: str
    edges: str | None


@dataclass(frozen=True, slots=True)
class RangingView:
    """A definition whose paths over views begin with one name each."""

    definition: tree.ViewDefinition
    roots: Mapping[str, ViewRoot]
    problems: tuple[Diagnostic, ...] = ()


def over_views(view: tree.ViewDefinition, earlier: Mapping[str, ViewProgram]) -> RangingView:
    """The definition of a view with its paths over earlier views found."""
    if not earlier:
        return RangingView(view, {})
    finding = _Finding(earlier, set(defined_variables(view)))
    return RangingView(finding.rewritten(view), finding.roots, tuple(finding.problems))


class _Finding:
    def __init__(self, earlier: Mapping[str, ViewProgram], variables: set[str]) -> None:
        self._earlier, self._variables = earlier, variables
        self.roots: dict[str, ViewRoot] = {}
        self.problems: list[Diagnostic] = []

    def rewritten(self, node: Any) -> Any:
        match node:
            case tree.PathExpression(tree.Identifier(name) as root, (tree.ByLabel(_, None, None) as first, *rest)):
                root_name = None if name in self._variables else self._root(name, first)
                if root_name is None:
                    return node
                return replace(node, root=replace(root, name=root_name), steps=tuple(rest))
            case tree.SelectQuery(items) if len(items) > 1:
                labelled = tuple(replace(item, label=item_label(item)) for item in items)
                return self._parts(replace(node, items=labelled))
            case tuple():
                return tuple(map(self.rewritten, node))
            case _ if is_dataclass(node) and not isinstance(node, Span | type):
                return self._parts(node)
            case _:
                return node

    def _parts(self, node: Any) -> Any:
        changed = {each.name: self.rewritten(getattr(node, each.name)) for each in fields(node)}
        return replace(node, **changed)

    def _root(self, name: str, step: tree.ByLabel) -> str | None:
        view = self._earlier.get(name)
        part = None if view is None else next((each for each in view.parts if each.name == step.label), None)
        if view is None or part is None:
            return None
        if part.objects is None:
            message = f"`{name}.{step.label}` makes new objects or values, and no path ranges over these"
            hint = "range over a statement that selects objects, such as `select o from Orders o with o.id`"
            self.problems.append(Diagnostic("HW263", message, step.span, hint=hint))
            return None
        found = f"`{name}.{step.label}`"
        self.roots[found] = ViewRoot(name, part.objects, view.edges)
        return found
