"""The names that a query uses: which variables it has, which roots are free, and paths that share a prefix.

In Lorel, paths of one query that begin alike speak of the same objects: in `select Guide.Restaurant.Entree where
Guide.Restaurant.Name = "Baghdad Cafe"` there is one restaurant. `shared` writes this out with variables. A path in
the select, where or order clause that begins with the name of an entry point follows a path of the from clause as
far as both have the same labels; as far as the name alone, if no other path of the from clause begins with it: a
name may have several objects, such as all orders. Without a from clause, the paths of the select clause take its
place. What stands inside an aggregate, a subquery or behind `in` is a set of its own and shares nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.language.lorel import tree


def identifiers(node: Any) -> Iterator[tree.Identifier]:
    """Every identifier in a part of the tree, variables where they are defined included."""
    if isinstance(node, tree.Identifier):
        yield node
    elif isinstance(node, tuple):
        for item in node:
            yield from identifiers(item)
    elif is_dataclass(node) and not isinstance(node, Span):
        for each in fields(node):
            yield from identifiers(getattr(node, each.name))


def label_variables(source: tree.ObjectSource) -> Iterator[tree.Identifier]:
    """The variables that the steps of a path bind to labels, as `L` in `r.%@L`."""
    if isinstance(source, tree.PathExpression):
        for step in source.steps:
            if isinstance(step, tree.ByLabel | tree.ByPattern) and step.variable is not None:
                yield step.variable


def free_names(node: Any, bound: frozenset[str] = frozenset()) -> Iterator[str]:
    """The names that paths in a part of the tree begin with, less the variables that the part defines itself."""
    match node:
        case tree.Identifier(name):
            if name not in bound:
                yield name
        case tuple():
            for item in node:
                yield from free_names(item, bound)
        case tree.SelectQuery(items, sources, where, adjuncts, order):
            for source in sources:
                yield from free_names(source.source, bound)
                bound |= {source.variable.name} if source.variable is not None else set()
            yield from free_names((where, items, adjuncts, order), bound)
        case tree.ExistsIn(variable, source, condition) | tree.ForAll(variable, source, condition):
            yield from free_names(source, bound)
            own = {variable.name} if isinstance(variable, tree.Identifier) else set()
            yield from free_names(condition, bound | own)
        case Span():
            pass
        case _ if is_dataclass(node):
            for each in fields(node):
                yield from free_names(getattr(node, each.name), bound)
        case _:
            pass


def roots(node: Any) -> tuple[str, ...]:
    """The same, once each."""
    return tuple(dict.fromkeys(free_names(node)))


class HiddenNames:
    """New variables that a query does not use yet."""

    def __init__(self, query: tree.SelectQuery | tree.UpdateStatement) -> None:
        self._used = {each.name for each in identifiers(query)}
        self._count = 0

    def take(self) -> tree.Identifier:
        while True:
            self._count += 1
            name = f"x{self._count}"
            if name not in self._used:
                self._used.add(name)
                return tree.Identifier(name)


@dataclass(frozen=True, slots=True)
class SharedQuery:
    """A query whose shared prefixes are variables, and what was wrong with them."""

    query: tree.SelectQuery
    problems: tuple[Diagnostic, ...] = ()


def shared(query: tree.SelectQuery) -> SharedQuery:
    return _Sharing(query).run()


class _Sharing:
    """The prefixes of one query's from clause."""

    def __init__(self, query: tree.SelectQuery) -> None:
        self._query = query
        self._hidden = HiddenNames(query)
        self._variables = {item.variable.name for item in query.sources if item.variable is not None}
        self._variables |= {each.name for item in query.sources for each in label_variables(item.source)}
        self._variables |= {each.variable.name for each in _quantified(query.where)}
        self._prefixes: dict[tuple[str, ...], list[tree.Identifier]] = {}
        self._beginnings: list[tuple[str, ...]] = []
        self._problems: list[Diagnostic] = []

    def run(self) -> SharedQuery:
        query = self._with_sources(self._query)
        from_paths = (item.source for item in query.sources if isinstance(item.source, tree.PathExpression))
        self._beginnings = [labels for path in from_paths if (labels := self._labels(path))]
        wanted = {prefix for path in self._outer_paths(query) if (prefix := self._labels(path))}
        split = [part for item in query.sources for part in self._split(item, wanted)]
        several = len(query.items) > 1
        items = tuple(
            replace(item, operand=self._operand(item.operand), label=item_label(item) if several else item.label)
            for item in query.items
        )
        order = tuple(replace(item, operand=self._operand(item.operand)) for item in query.order)
        where = None if query.where is None else self._condition(query.where)
        found = replace(query, items=items, sources=tuple(split), where=where, order=order)
        return SharedQuery(found, tuple(self._problems))

    def _with_sources(self, query: tree.SelectQuery) -> tree.SelectQuery:
        """Without a from clause, the path of the select clause is the source; of several, what they begin with."""
        paths = [each for item in query.items if isinstance(each := item.operand, tree.PathExpression) and each.steps]
        labelled = [labels for path in paths if (labels := self._labels(path))]
        if query.sources or not labelled or len(labelled) < len(paths):
            return query
        variable = self._hidden.take()
        if len(query.items) == 1:
            self._variables.add(variable.name)
            item = replace(query.items[0], operand=tree.PathExpression(variable, span=paths[0].span))
            return replace(query, sources=(tree.FromItem(paths[0], variable, span=item.span),), items=(item,))
        # Each path keeps at least its last step: the objects it selects are many, what it begins with is one.
        prefixes = [labels[: len(path.steps)] for path, labels in zip(paths, labelled, strict=True)]
        common = sum(
            all(each[: end + 1] == prefixes[0][: end + 1] for each in prefixes) for end in range(len(prefixes[0]))
        )
        if common < 1:
            return query
        source = replace(paths[0], steps=paths[0].steps[: common - 1])
        return replace(query, sources=(tree.FromItem(source, variable, span=source.span),))

    def _outer_paths(self, query: tree.SelectQuery) -> Iterator[tree.PathExpression]:
        for item in query.items:
            yield from _paths_of(item.operand)
        for key in query.order:
            yield from _paths_of(key.operand)
        if query.where is not None:
            yield from _paths_in(query.where)

    def _labels(self, path: tree.PathExpression) -> tuple[str, ...]:
        """The name and the plain labels that a path begins with; nothing if it begins with a variable."""
        if not isinstance(path.root, tree.Identifier) or path.root.name in self._variables:
            return ()
        found = [path.root.name]
        for step in path.steps:
            if not isinstance(step, tree.ByLabel) or step.places is not None or step.variable is not None:
                break
            found.append(step.label)
        return tuple(found)

    def _split(self, item: tree.FromItem, wanted: set[tuple[str, ...]]) -> Iterator[tree.FromItem]:
        """An item of the from clause, cut where another path leaves it."""
        if not isinstance(item.source, tree.PathExpression):
            yield item
            return
        path, labels = item.source, self._labels(item.source)
        variable = item.variable or self._hidden.take()
        root, begin = path.root, 0
        cuts = {_common(labels, each) for each in wanted}
        for end in range(len(labels)):
            prefix = labels[: end + 1]
            whole = end == len(path.steps)
            if end + 1 not in cuts or (end == 0 and not self._is_only(prefix[0])):
                continue
            here = variable if whole else self._hidden.take()
            self._variables.add(here.name)
            self._prefixes.setdefault(prefix, []).append(here)
            if not whole:
                yield tree.FromItem(
                    tree.PathExpression(root, path.steps[begin:end], span=path.span), here, span=item.span
                )
                root, begin = here, end
        yield replace(item, source=replace(path, root=root, steps=path.steps[begin:]), variable=variable)

    def _is_only(self, name: str) -> bool:
        """Whether one path of the from clause alone begins with a name; a name may have several objects."""
        return sum(name == path[0] for path in self._beginnings) == 1

    def _path(self, path: tree.PathExpression) -> tree.PathExpression:
        labels = self._labels(path)
        for end in range(len(labels), 0, -1):
            match self._prefixes.get(labels[:end]):
                case None:
                    continue
                case [variable]:
                    return replace(path, root=variable, steps=path.steps[end - 1 :])
                case _:
                    shown = ".".join(labels[:end])
                    hint = "begin this path with the variable that you mean"
                    message = f"two paths of the from clause are `{shown}`"
                    self._problems.append(Diagnostic("HW253", message, path.span, hint=hint))
                    return path
        return path

    def _operand(self, operand: tree.Operand) -> tree.Operand:
        match operand:
            case tree.PathExpression():
                return self._path(operand)
            case tree.Arithmetic(_, left, right):
                return replace(operand, left=self._operand(left), right=self._operand(right))
            case _:
                return operand

    def _condition(self, condition: tree.LorelCondition) -> tree.LorelCondition:
        match condition:
            case tree.Compared(_, left, right):
                return replace(condition, left=self._operand(left), right=self._operand(right))
            case tree.Exists(tree.PathExpression() as path):
                return replace(condition, source=self._path(path))
            case tree.MemberOf(item):
                return replace(condition, item=self._operand(item))
            case tree.AllOf(parts) | tree.AnyOf(parts):
                return replace(condition, parts=tuple(map(self._condition, parts)))
            case tree.NotSo(part):
                return replace(condition, part=self._condition(part))
            case tree.ExistsIn(condition=inner) if inner is not None:
                return replace(condition, condition=self._condition(inner))
            case tree.ForAll(condition=inner):
                return replace(condition, condition=self._condition(inner))
            case _:
                return condition


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How far two paths have the same labels."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _quantified(node: Any) -> Iterator[Any]:
    """Every `exists x in` and `for all x in` with a variable."""
    if isinstance(node, tuple):
        for item in node:
            yield from _quantified(item)
    elif is_dataclass(node) and not isinstance(node, Span):
        if isinstance(node, tree.ExistsIn | tree.ForAll) and isinstance(node.variable, tree.Identifier):
            yield node
        for each in fields(node):
            yield from _quantified(getattr(node, each.name))


def _paths_of(operand: tree.Operand) -> Iterator[tree.PathExpression]:
    match operand:
        case tree.PathExpression():
            yield operand
        case tree.Arithmetic(_, left, right):
            yield from _paths_of(left)
            yield from _paths_of(right)
        case _:
            pass


def _paths_in(condition: tree.LorelCondition) -> Iterator[tree.PathExpression]:
    match condition:
        case tree.Compared(_, left, right):
            yield from _paths_of(left)
            yield from _paths_of(right)
        case tree.Exists(tree.PathExpression() as path):
            yield path
        case tree.MemberOf(item):
            yield from _paths_of(item)
        case tree.AllOf(parts) | tree.AnyOf(parts):
            for part in parts:
                yield from _paths_in(part)
        case tree.NotSo(part):
            yield from _paths_in(part)
        case tree.ExistsIn(condition=inner) | tree.ForAll(condition=inner) if inner is not None:
            yield from _paths_in(inner)
        case _:
            pass


def item_label(item: tree.SelectItem) -> str:
    """The label of an item of several: as written, or the last label of its path, or its function or variable."""
    if item.label is not None:
        return item.label
    match item.operand:
        case tree.PathExpression(root, steps):
            for step in reversed(steps):
                if isinstance(step, tree.ByLabel):
                    return step.label
            return root.name if isinstance(root, tree.Identifier) else f"&{root.oid}"
        case tree.AggregateOf(function):
            return function
        case _:
            return "value"
