"""The canonical form of a view statement, which the algorithm of 001 works on (its Example 2).

Every path is cut into one-step paths `<a, L, b>`. Those of the from clause and those of the where clause, each with a
variable of its own and an explicit `exists`, are the paths of the primary objects; those of the with clause lead to
adjunct objects. Only statements of the paper's own subset have such a form: `canonical` names what stands in its way
otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

from headwater.language.lorel import tree
from headwater.semistructured.views.scoping import HiddenNames, shared


@dataclass(frozen=True, slots=True)
class OneStepPath:
    """`<a, L, b>`: from the objects of `parent` by `label` to those of `child`. The first parent is a name."""

    parent: str
    label: str
    child: str


@dataclass(frozen=True, slots=True)
class ConstantTest:
    """A comparison of a variable's value with a constant."""

    variable: str
    op: str
    value: tree.AtomicValue


@dataclass(frozen=True, slots=True)
class CanonicalView:
    """One statement, its one-step paths, and its comparisons with constants."""

    query: tree.SelectQuery
    selected: str
    from_paths: tuple[OneStepPath, ...]
    where_paths: tuple[OneStepPath, ...]
    with_paths: tuple[OneStepPath, ...]
    tests: tuple[ConstantTest, ...]
    aliases: tuple[tuple[str, str], ...] = ()  # a name, and the variable of the from clause for its objects

    @property
    def primary_paths(self) -> tuple[OneStepPath, ...]:
        return (*self.from_paths, *self.where_paths)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, those of the from clause first."""
        paths = (*self.primary_paths, *self.with_paths)
        return tuple(dict.fromkeys([*(variable for _, variable in self.aliases), *(path.child for path in paths)]))

    @property
    def names(self) -> tuple[str, ...]:
        """The entry points."""
        variables = set(self.variables)
        parents = (path.parent for path in self.primary_paths if path.parent not in variables)
        return tuple(dict.fromkeys([*(name for name, _ in self.aliases), *parents]))


@dataclass(frozen=True, slots=True)
class NotCanonical:
    """Why a statement is outside the subset of 001."""

    reason: str


def canonical(query: tree.SelectQuery) -> CanonicalView | NotCanonical:
    """The canonical form of a statement, or what keeps it from having one."""
    try:
        return _Canonical(query).run()
    except _Outside as outside:
        return NotCanonical(str(outside))


class _Outside(Exception):
    """Raised where a statement leaves the subset."""


def _outside(reason: str) -> NoReturn:
    raise _Outside(reason)


class _Canonical:
    """One statement on its way."""

    def __init__(self, query: tree.SelectQuery) -> None:
        found = shared(query)
        if found.problems:
            _outside(found.problems[0].message)
        self._query = found.query
        self._hidden = HiddenNames(found.query)
        self._steps: dict[str, list[OneStepPath]] = {"from": [], "where": [], "with": []}
        self._tests: list[ConstantTest] = []
        self._scope: set[str] = set()
        self._aliases: list[tuple[str, str]] = []

    def run(self) -> CanonicalView:
        query = self._query
        sources = tuple(part for item in query.sources for part in self._source(item))
        match query.items:
            case (tree.SelectItem(tree.PathExpression(tree.Identifier(selected), ()), None),) if (
                selected in self._scope
            ):
                pass
            case _:
                _outside("it selects something other than one variable")
        if query.order:
            _outside("it has an order")
        if query.limit is not None:
            _outside("it has a limit")
        where = None if query.where is None else _flat(self._condition(query.where))
        adjuncts = tuple(part for item in query.adjuncts for part in self._adjunct(item))
        found = replace(query, sources=sources, where=where, adjuncts=adjuncts)
        from_, where_, with_ = (tuple(self._steps[clause]) for clause in ("from", "where", "with"))
        return CanonicalView(found, selected, from_, where_, with_, tuple(self._tests), tuple(self._aliases))

    def _source(self, item: tree.FromItem) -> list[tree.FromItem]:
        if not isinstance(item.source, tree.PathExpression):
            _outside("its from clause has something other than paths")
        variable = item.variable or self._hidden.take()
        if variable.name in self._scope:
            _outside(f"the variable `{variable.name}` is defined twice")
        match item.source:
            case tree.PathExpression(tree.Identifier(name), ()) if name not in self._scope:
                self._aliases.append((name, variable.name))
                self._scope.add(variable.name)
                return [tree.FromItem(item.source, variable)]
            case tree.PathExpression(_, ()):
                _outside("a path of its from clause has no step")
            case _:
                pass
        parts = self._cut("from", item.source, variable)
        return [tree.FromItem(path, child) for path, child in parts]

    def _adjunct(self, item: tree.WithItem) -> list[tree.WithItem]:
        parts = self._cut("with", item.path, item.variable or self._hidden.take())
        return [tree.WithItem(path, child) for path, child in parts]

    def _cut(
        self, clause: str, path: tree.PathExpression, end: tree.Identifier
    ) -> list[tuple[tree.PathExpression, tree.Identifier]]:
        """A path as one-step paths, the last of which ends in `end`."""
        root = path.root
        found = []
        for place, step in enumerate(path.steps):
            if not isinstance(step, tree.ByLabel) or step.places is not None or step.variable:
                _outside("it has a wildcard, a choice, a closure, a place or a label variable in a path")
            if not isinstance(root, tree.Identifier):
                _outside("a path begins with an object")
            child = end if place == len(path.steps) - 1 else self._hidden.take()
            self._steps[clause].append(OneStepPath(root.name, step.label, child.name))
            self._scope.add(child.name)
            found.append((tree.PathExpression(root, (step,)), child))
            root = child
        return found

    def _condition(self, condition: tree.LorelCondition) -> tree.LorelCondition:
        match condition:
            case tree.AllOf(parts):
                return tree.AllOf(tuple(map(self._condition, parts)))
            case tree.AnyOf(parts):
                return tree.AnyOf(tuple(map(self._condition, parts)))
            case tree.ExistsIn(tree.Identifier() as variable, tree.PathExpression() as path, inner):
                if variable.name in self._scope:
                    _outside(f"the variable `{variable.name}` is defined twice")
                return self._exists(path, variable, inner)
            case tree.Exists(tree.PathExpression() as path) if path.steps:
                return self._exists(path, self._hidden.take(), None)
            case tree.Compared(op, left, right) if op not in ("==", "like"):
                return self._compared(op, left, right)
            case tree.NotSo():
                _outside("it has a negation")
            case _:
                _outside("its where clause has something other than comparisons, and, or and exists")

    def _exists(
        self, path: tree.PathExpression, end: tree.Identifier, inner: tree.LorelCondition | None
    ) -> tree.LorelCondition:
        parts = self._cut("where", path, end)
        if not parts:
            _outside("it compares an object that has no path")
        found = None if inner is None else self._condition(inner)
        for step, child in reversed(parts):
            found = tree.ExistsIn(child, step, found)
        assert found is not None
        return found

    def _compared(self, op: str, left: tree.Operand, right: tree.Operand) -> tree.LorelCondition:
        match left, right:
            case (tree.PathExpression(tree.Identifier(name), ()), tree.LorelLiteral(value)) if name in self._scope:
                self._tests.append(ConstantTest(name, op, value))
                return tree.Compared(op, left, right)
            case (tree.PathExpression() as path, tree.LorelLiteral()) if path.steps:
                variable = self._hidden.take()
                return self._exists(path, variable, tree.Compared(op, tree.PathExpression(variable), right))
            case (tree.LorelLiteral(), tree.PathExpression()):
                turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
                return self._compared(turned.get(op, op), right, left)
            case _:
                _outside("it compares something other than a path with a constant")


def _flat(condition: tree.LorelCondition) -> tree.LorelCondition:
    """An `and` inside an `and` as one."""
    match condition:
        case tree.AllOf(parts):
            flat = tuple(
                each for part in map(_flat, parts) for each in (part.parts if isinstance(part, tree.AllOf) else (part,))
            )
            return tree.AllOf(flat)
        case tree.AnyOf(parts):
            return tree.AnyOf(tuple(map(_flat, parts)))
        case _:
            return condition
