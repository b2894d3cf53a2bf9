"""The places of a view that an edge can match: every step of every path, as edges between positions.

A position is a variable of the view, the name of an entry point, an object `&10`, or a point inside a path that has no
variable. The objects that may stand at a position are at least those that an evaluation binds to it: conditions are
left out, so that what is derived from places errs on one side only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from headwater.language.lorel import tree
from headwater.semistructured.views.scoping import HiddenNames, label_variables, shared


@dataclass(frozen=True, slots=True)
class PathPlace:
    """One step from a position to the next, by a label or by a pattern of labels."""

    parent: str
    child: str
    label: str
    is_pattern: bool = False

    def matches(self, label: str) -> bool:
        if not self.is_pattern:
            return label == self.label
        return re.fullmatch(".*".join(map(re.escape, self.label.split("%"))), label, re.DOTALL) is not None


@dataclass(slots=True)
class ViewPlaces:
    """The places of one statement, and what happens to values at its positions.

    `same`: what stands at the first position also stands at the second, because a path between them may be empty.
    `tests`: comparisons with constants. `valued`: positions whose values matter in any other way. `shown`: positions
    whose objects are in the view.
    """

    names: set[str] = field(default_factory=set)
    places: list[PathPlace] = field(default_factory=list)
    same: list[tuple[str, str]] = field(default_factory=list)
    tests: list[tuple[str, str, tree.AtomicValue]] = field(default_factory=list)
    valued: set[str] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)

    @property
    def positions(self) -> tuple[str, ...]:
        found = [*self.names, *(end for place in self.places for end in (place.parent, place.child))]
        return tuple(dict.fromkeys([*found, *(end for pair in self.same for end in pair)]))


def view_places(query: tree.SelectQuery) -> ViewPlaces:
    """The places of a statement, as the translation reads it: prefixes that paths share have a variable."""
    return _Places(shared(query).query).run()


class _Places:
    """One statement on its way; a scope maps its variables to positions."""

    def __init__(self, query: tree.SelectQuery) -> None:
        self._query = query
        self._hidden = HiddenNames(query)
        self._found = ViewPlaces()
        self._taken: set[str] = set()
        self._labels: set[str] = set()

    def run(self) -> ViewPlaces:
        query = self._query
        scope = self._sources(query, {})
        self._condition(query.where, scope)
        for item in query.items:
            self._found.shown |= set(self._operand(item.operand, scope))
        for key in query.order:
            self._found.valued |= set(self._operand(key.operand, scope))
        for adjunct in query.adjuncts:
            position = self._position(adjunct.variable)
            before = len(self._found.places)
            self._source(adjunct.path, scope, position)
            self._found.shown |= {position, *(place.child for place in self._found.places[before:])}
            if adjunct.variable is not None:
                scope = {**scope, adjunct.variable.name: position}
        return self._found

    def _position(self, variable: tree.Identifier | None) -> str:
        name = variable.name if variable is not None else self._hidden.take().name
        while name in self._taken:
            name += "'"
        self._taken.add(name)
        return name

    def _sources(self, query: tree.SelectQuery, scope: Mapping[str, str]) -> Mapping[str, str]:
        for item in query.sources:
            position = self._position(item.variable)
            self._labels |= {variable.name for variable in label_variables(item.source)}
            self._source(item.source, scope, position)
            if item.variable is not None:
                scope = {**scope, item.variable.name: position}
        return scope

    def _source(self, source: tree.ObjectSource, scope: Mapping[str, str], end: str) -> None:
        match source:
            case tree.PathExpression(root, steps):
                self._walk(self._root(root, scope), steps, end)
            case tree.Subquery(query):
                inner = self._sources(query, scope)
                self._condition(query.where, inner)
                for item in query.items:
                    self._found.same += ((each, end) for each in self._operand(item.operand, inner))
            case tree.UnionOf(inner_source, objects):
                self._source(inner_source, scope, end)
                self._found.same += ((f"&{each.oid}", end) for each in objects)
            case tree.OldPath(path):
                self._source(path, scope, end)
            case _:
                assert_never(source)

    def _root(self, root: tree.Identifier | tree.ObjectId, scope: Mapping[str, str]) -> str:
        if isinstance(root, tree.ObjectId):
            return f"&{root.oid}"
        if root.name in scope:
            return scope[root.name]
        self._found.names.add(root.name)
        self._taken.add(root.name)
        return root.name

    def _walk(self, start: str, steps: tuple[tree.PathStep, ...], end: str) -> None:
        if not steps:
            self._found.same.append((start, end))
        for place, step in enumerate(steps):
            after = end if place == len(steps) - 1 else self._position(None)
            self._step(start, step, after)
            start = after

    def _step(self, start: str, step: tree.PathStep, end: str) -> None:
        match step:
            case tree.ByLabel(label):
                self._found.places.append(PathPlace(start, end, label))
            case tree.ByPattern(pattern):
                self._found.places.append(PathPlace(start, end, pattern, is_pattern=True))
            case tree.Choice(branches):
                for branch in branches:
                    self._walk(start, branch, end)
            case tree.Repeat(path):
                loop = self._position(None)
                self._found.same += ((start, loop), (loop, end))
                self._step(loop, path, loop)
            case tree.AnyPath():
                loop = self._position(None)
                self._found.same += ((start, loop), (loop, end))
                self._found.places.append(PathPlace(loop, loop, "%", is_pattern=True))
            case _:
                assert_never(step)

    def _operand(self, operand: tree.Operand, scope: Mapping[str, str]) -> list[str]:
        """The positions of an operand's objects. What is computed has none, and the values it uses matter."""
        match operand:
            case tree.PathExpression(tree.Identifier(name), ()) if name in scope:
                return [scope[name]]
            case tree.PathExpression(tree.Identifier(name), ()) if name in self._labels:
                return []  # its text changes only with the edge
            case tree.PathExpression() | tree.Subquery() | tree.UnionOf() | tree.OldPath():
                end = self._position(None)
                self._source(operand, scope, end)
                return [end]
            case tree.AggregateOf(_, source):
                end = self._position(None)
                self._source(source, scope, end)
                self._found.valued.add(end)
            case tree.Arithmetic(_, left, right):
                self._found.valued |= {*self._operand(left, scope), *self._operand(right, scope)}
            case tree.OldValue(path):
                return self._operand(path, scope)
            case tree.LorelLiteral():
                pass
            case _:
                assert_never(operand)
        return []

    def _condition(self, condition: tree.LorelCondition | None, scope: Mapping[str, str]) -> None:
        match condition:
            case None:
                pass
            case tree.AllOf(parts) | tree.AnyOf(parts):
                for part in parts:
                    self._condition(part, scope)
            case tree.NotSo(part):
                self._condition(part, scope)
            case tree.Exists(source):
                self._operand(source, scope)
            case tree.ExistsIn(variable, source, inner) | tree.ForAll(variable, source, inner):
                name = variable if isinstance(variable, tree.Identifier) else None
                position = self._position(name)
                self._source(source, scope, position)
                self._condition(inner, {**scope, name.name: position} if name is not None else scope)
            case tree.Compared("==", left, right):
                self._operand(left, scope)
                self._operand(right, scope)
            case tree.Compared(op, left, tree.LorelLiteral(value)) if op != "like":
                self._found.tests += ((each, op, value) for each in self._operand(left, scope))
            case tree.Compared(_, left, right) | tree.MemberOf(left, right):
                self._found.valued |= {*self._operand(left, scope), *self._operand(right, scope)}
            case _:
                assert_never(condition)
