"""What Lorel means: nested loops over Python dicts, written apart from the translation to rules.

It takes the syntax tree alone from `src`. A query is evaluated as 001, section 2.4 says: bindings for the variables of
the from clause, one after the other; the where clause on each of them; the select clause; then the with clause from the
selected objects. Nothing here is fast.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from headwater.language.lorel import tree
from tests.semistructured.lorel_values import (
    Edge,
    Label,
    Moment,
    Store,
    as_number,
    as_text,
    columns,
    holds,
    is_number,
    literal_holds,
)

Env = dict[Any, int]
"""Variables by name, and prefixes of paths as tuples."""

# Paths


@dataclass
class Evaluation:
    """One state of a store; `sets` are named sets of objects, and `before` is the state before an update."""

    store: Store
    sets: dict[str, set[int]] = field(default_factory=dict)
    before: Store | None = None

    def out(self, oid: int) -> Iterator[Edge]:
        return (edge for edge in self.store.edges if edge[0] == oid)

    def step_edges(self, oid: int, step: Any, env: Any = None) -> Iterator[Edge]:
        """The edges of one step by a label or a pattern; with a label variable that is bound, those of this label."""
        if isinstance(step, tree.ByPattern):
            pattern = re.compile(".*".join(map(re.escape, step.pattern.split("%"))), re.DOTALL)
        else:
            pattern = re.compile(re.escape(step.label), re.DOTALL)
        for edge in self.out(oid):
            placed = step.places is None or step.places.first <= edge[3] <= step.places.last
            alike = step.variable is None or not env or env.get(step.variable.name, edge[1]) == edge[1]
            if placed and alike and pattern.fullmatch(edge[1]):
                yield edge

    def step(self, objects: set[int], step: Any) -> set[int]:
        match step:
            case tree.ByLabel() | tree.ByPattern():
                return {edge[2] for oid in objects for edge in self.step_edges(oid, step)}
            case tree.Choice(branches):
                return set().union(*(self.steps(objects, branch) for branch in branches))
            case tree.Repeat(path, least, endless):
                if not endless:
                    return objects | self.step(objects, path)
                found = self.step(objects, path) if least else set(objects)
                while (more := found | self.step(found, path)) != found:
                    found = more
                return found
            case tree.AnyPath():
                return self.step(objects, tree.Repeat(tree.Choice(((tree.ByPattern("%"),),)), 0, True))
        raise AssertionError(step)

    def steps(self, objects: set[int], steps: Any) -> set[int]:
        for step in steps:
            objects = self.step(objects, step)
        return objects

    def root(self, root: Any, env: Env) -> set[int]:
        if isinstance(root, tree.ObjectId):
            return {root.oid}
        if root.name in env:
            return {env[root.name]}
        if root.name in self.sets:
            return self.sets[root.name]
        return self.store.names.get(root.name, set())

    def objects(self, source: Any, env: Env, share: bool = False) -> set[int]:
        """The objects of a path, a subquery or a union."""
        match source:
            case tree.PathExpression(root, steps):
                if share:
                    for end in range(len(steps), -1, -1):
                        if (prefix := prefix_of(source, end)) in env:
                            return self.steps({env[prefix]}, steps[end:])
                return self.steps(self.root(root, env), steps)
            case tree.Subquery(query):
                assert selects_objects(query)
                found = [
                    self.objects(query.items[0].operand, inner) for inner in self.bindings(query, env, share=False)
                ]
                return set().union(*found)
            case tree.UnionOf(inner, objects):
                return self.objects(inner, env) | {each.oid for each in objects}
            case tree.OldPath(path):
                assert self.before is not None
                return Evaluation(self.before, self.sets).objects(path, env)
        raise AssertionError(source)

    # Operands: a list of ("object", oid) or ("value", value)

    def operand(self, operand: Any, env: Env, share: bool) -> list[tuple[str, Any]]:
        match operand:
            case tree.LorelLiteral(value):
                return [("literal", value)]
            case tree.AggregateOf(function, source):
                found = self.aggregate(function, self.objects(source, env))
                return [] if found is None else [("value", found)]
            case tree.Arithmetic(op, left, right):
                return [
                    ("value", result)
                    for one in self.numbers(self.operand(left, env, share))
                    for other in self.numbers(self.operand(right, env, share))
                    if (result := calculate(op, one, other)) is not None
                ]
            case tree.OldValue(path):
                assert self.before is not None
                return [
                    ("value", self.before.atoms[oid]) for oid in self.objects(path, env) if oid in self.before.atoms
                ]
            case tree.PathExpression(tree.Identifier(name), ()) if isinstance(env.get(name), str):
                return [("label", env[name])]
            case tree.Subquery(query) if not selects_objects(query):
                item = query.items[0].operand
                return [
                    each
                    for inner in self.bindings(query, env, share=False)
                    for each in self.operand(item, inner, False)
                ]
            case _:
                return [("object", oid) for oid in self.objects(operand, env, share)]

    def numbers(self, values: list[tuple[str, Any]]) -> list[float]:
        found = []
        for kind, value in values:
            if kind == "object":
                if value not in self.store.atoms:
                    continue
                value = self.store.atoms[value]
            if (number := as_number(value)) is not None:
                found.append(float(number))
        return found

    def aggregate(self, function: str, objects: set[int]) -> Any:
        if function == "count":
            return float(len(objects))
        values = [self.store.atoms[oid] for oid in sorted(objects) if oid in self.store.atoms]
        numbers = [float(n) for v in values if not isinstance(v, Moment) and (n := as_number(v)) is not None]
        if function == "sum":
            return math.fsum(numbers)
        if numbers:
            match function:
                case "min":
                    return min(numbers)
                case "max":
                    return max(numbers)
                case _:
                    return math.fsum(numbers) / len(numbers)
        texts = [text for v in values if (text := as_text(v)) is not None]
        if not texts or function == "avg":
            return None
        return (min if function == "min" else max)(texts)

    def compares(self, op: str, left: tuple[str, Any], right: tuple[str, Any]) -> bool:
        if op == "==":
            return left == right
        if left[0] == right[0] == "object" and op == "=" and left[1] == right[1]:
            return True
        if left[0] == "literal" and right[0] != "literal":
            turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
            return self.compares(turned.get(op, op), right, left)
        if "label" in (left[0], right[0]) and op != "like":
            return self.compares_label(op, left, right)
        sides = []
        for kind, value in (left, right):
            if kind == "object":
                if value not in self.store.atoms:
                    return False
                value = self.store.atoms[value]
            sides.append(value)
        if op == "like":
            text = as_text(sides[0])
            pattern = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in sides[1])
            return (
                text is not None
                and not (left[0] == "value" and is_number(sides[0]))
                and bool(re.fullmatch(pattern, text, re.DOTALL))
            )
        if right[0] == "literal" and left[0] == "object":
            return literal_holds(op, *sides)
        return holds(op, *sides)

    def compares_label(self, op: str, left: tuple[str, Any], right: tuple[str, Any]) -> bool:
        """A label is a text, and never a number."""
        sides = [self.store.atoms.get(value, self) if kind == "object" else value for kind, value in (left, right)]
        if self in sides:
            return False
        return op == "!=" if any(map(is_number, sides)) else holds(op, *sides)

    # Conditions

    def true(self, condition: Any, env: Env, share: bool = True) -> bool:
        match condition:
            case None:
                return True
            case tree.AllOf(parts):
                return all(self.true(part, env, share) for part in parts)
            case tree.AnyOf(parts):
                return any(self.true(part, env, share) for part in parts)
            case tree.NotSo(part):
                return not self.true(part, env, share)
            case tree.Compared(op, left, right):
                rights = self.operand(right, env, share)
                return any(self.compares(op, a, b) for a in self.operand(left, env, share) for b in rights)
            case tree.MemberOf(item, source):
                members = [("object", oid) for oid in self.objects(source, env)]
                return any(self.compares("=", a, b) for a in self.operand(item, env, share) for b in members)
            case tree.Exists(source):
                return bool(self.objects(source, env, share))
            case tree.ExistsIn(tree.ObjectId(oid), source, inner):
                return oid in self.objects(source, env) and self.true(inner, env, share)
            case tree.ExistsIn(variable, source, inner):
                found = self.objects(source, env)
                return any(self.true(inner, {**env, variable.name: oid}, share) for oid in found)
            case tree.ForAll(variable, source, inner):
                found = self.objects(source, env)
                return all(self.true(inner, {**env, variable.name: oid}, share) for oid in found)
        raise AssertionError(condition)

    # Queries

    def bindings(self, query: tree.SelectQuery, env: Env, share: bool = True) -> list[Env]:
        envs = [env]
        for item in query.sources:
            binds = self.bound if not labels_of(item.source) else self.bound_labels
            envs = [found for each in envs for found in binds(item, each, share, query.sources)]
        return [each for each in envs if self.true(query.where, each, share)]

    def bound_labels(self, item: tree.FromItem, env: Env, share: bool, items: Any) -> Iterator[Env]:
        """The same for a path that binds labels: edge by edge."""
        source, path = item.source, []
        first = next(place for place, step in enumerate(source.steps) if getattr(step, "variable", None) is not None)
        before = tree.FromItem(tree.PathExpression(source.root, source.steps[:first]), tree.Identifier("so far"))
        others = [before if each is item else each for each in items]
        path = [(found, found.pop("so far")) for found in self.bound(before, env, share, others)]
        for step in source.steps[first:]:
            if getattr(step, "variable", None) is None:
                path = [(found, after) for found, oid in path for after in self.step({oid}, step)]
            else:
                name = step.variable.name
                path = [({**f, name: e[1]}, e[2]) for f, oid in path for e in self.step_edges(oid, step, f)]
        for found, oid in path:
            yield found if item.variable is None else {**found, item.variable.name: oid}

    def bound(self, item: tree.FromItem, env: Env, share: bool, items: Any) -> Iterator[Env]:
        """Bindings of one item of the from clause, with every prefix of plain labels if it begins with a name; with the
        name alone only if no other item begins with it."""
        source = item.source
        walked = share and isinstance(source, tree.PathExpression) and prefix_of(source, 0) is not None
        if not walked or source.root.name in env:
            for oid in self.objects(source, env):
                yield env if item.variable is None else {**env, item.variable.name: oid}
            return
        alike = [each for each in items if getattr(each.source, "root", None) == source.root]
        start = prefix_of(source, 0)
        envs = [({start: oid} if len(alike) == 1 else {}, oid) for oid in self.root(source.root, env)]
        for place, step in enumerate(source.steps, 1):
            prefix = prefix_of(source, place)
            envs = [
                ({**seen, prefix: after} if prefix else seen, after)
                for seen, oid in envs
                for after in self.step({oid}, step)
            ]
        for seen, oid in envs:
            found = {**env, **seen}
            if item.variable is not None:
                found[item.variable.name] = oid
            yield found


def labels_of(source: Any) -> list[str]:
    """The label variables of a path."""
    steps = getattr(source, "steps", ())
    return [step.variable.name for step in steps if getattr(step, "variable", None) is not None]


def selects_objects(query: tree.SelectQuery) -> bool:
    operand = query.items[0].operand
    labels = {name for item in query.sources for name in labels_of(item.source)}
    if isinstance(operand, tree.PathExpression) and not operand.steps and operand.root.name in labels:
        return False
    return isinstance(operand, tree.PathExpression | tree.Subquery)


def prefix_of(path: tree.PathExpression, end: int) -> tuple[str, ...] | None:
    """The name and the first labels of a path, if they are plain."""
    if not isinstance(path.root, tree.Identifier):
        return None
    steps = path.steps[:end]
    if not all(isinstance(step, tree.ByLabel) and step.places is None and not step.variable for step in steps):
        return None
    return (path.root.name, *(step.label for step in steps))


def calculate(op: str, one: float, other: float) -> float | None:
    match op:
        case "+":
            return one + other
        case "-":
            return one - other
        case "*":
            return one * other
        case _:
            return one / other if other else None


# Views


@dataclass
class ViewState:
    """What a statement of a view shows."""

    objects: set[int] = field(default_factory=set)
    made: set[tuple[int, ...]] = field(default_factory=set)
    made_edges: set[tuple[Any, ...]] = field(default_factory=set)
    made_values: set[tuple[Any, ...]] = field(default_factory=set)
    values: set[tuple[Any, ...]] = field(default_factory=set)
    edges: set[Edge] = field(default_factory=set)
    order: list[set[tuple[Any, ...]]] = field(default_factory=list)

    @property
    def adjuncts(self) -> set[int]:
        return {edge[2] for edge in self.edges}


def evaluate_part(state: Evaluation, query: tree.SelectQuery, place: int = 1) -> ViewState:
    found = ViewState(order=[set() for _ in query.order])
    query = with_sources(query)
    bindings = state.bindings(query, {})
    first = query.items[0].operand
    if query.limit is not None:
        bindings = first_bindings(state, query, place, bindings)
    single = len(query.items) == 1 and query.items[0].label is None
    selected: dict[str, set[int]] = {}
    for env in bindings:
        key: Any
        if single and selects_objects(query):
            reached = {env[CHOSEN]} if CHOSEN in env else state.objects(first, env, True)
            found.objects |= reached
            key = env.get(first.root.name) if isinstance(first, tree.PathExpression) else None
        else:
            key = made_of(place, query.items, env)
            if single:
                found.values |= {(key, *columns(value)) for value in values_of(state, first, env)}
            else:
                found.made.add(key)
                for item in query.items:
                    make(state, found, key, item, env)
        for keys, item in zip(found.order, query.order, strict=True):
            keys |= {(key, *columns(value)) for value in values_of(state, item.operand, env)}
        for item in query.items:
            if (
                isinstance(item.operand, tree.PathExpression)
                and not item.operand.steps
                and isinstance(env.get(item.operand.root.name), int)
            ):
                selected.setdefault(item.operand.root.name, set()).add(env[item.operand.root.name])
    for item in query.adjuncts:
        after = follow(state, found.edges, selected.get(item.path.root.name, set()), item.path.steps)
        if item.variable is not None:
            selected[item.variable.name] = after
    return found


def first_bindings(state: Evaluation, query: Any, place: int, bindings: list[Env]) -> list[Env]:
    """Those that give the first objects, sorted by one item after the other, the last item first."""
    single = len(query.items) == 1 and query.items[0].label is None and selects_objects(query)
    keyed = []
    for env in bindings:
        if single:
            keyed += [((oid,), {**env, CHOSEN: oid}) for oid in state.objects(query.items[0].operand, env, True)]
        else:
            keyed.append((made_of(place, query.items, env), env))
    found = sorted({key for key, _ in keyed})
    for item in reversed(query.order):
        values: dict[Any, list[Any]] = {}
        for key, env in keyed:
            values.setdefault(key, []).extend(sortable(v) for v in values_of(state, item.operand, env))
        best = {key: (max if item.descending else min)(each) for key, each in values.items() if each}
        valued = sorted((key for key in found if key in best), key=best.__getitem__, reverse=item.descending)
        found = valued + [key for key in found if key not in best]
    chosen = set(found[: query.limit])
    return [env for key, env in keyed if key in chosen]


CHOSEN = ("the object that a limit chose",)


def sortable(value: Any) -> tuple[Any, ...]:
    """Numbers before texts, nulls last."""
    _, text, number = columns(value)
    return (0, number, text or "") if number is not None else (2, 0.0, "") if text is None else (1, 0.0, text)


def values_of(state: Evaluation, operand: Any, env: Env) -> list[Any]:
    found = []
    for kind, value in state.operand(operand, env, True):
        if kind == "object" and value in state.store.atoms:
            found.append(state.store.atoms[value])
        elif kind == "value" and isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            found.append(int(value))  # a computed number that is whole is an int
        elif kind == "label":
            found.append(Label(value))
        elif kind != "object":
            found.append(value)
    return found


def make(state: Evaluation, found: ViewState, key: Any, item: tree.SelectItem, env: Env) -> None:
    label = label_of(item)
    match item.operand:
        case tree.PathExpression(tree.Identifier(name), ()) if isinstance(env.get(name), str):
            found.made_values.add((key, label, *columns(Label(env[name]))))
        case tree.PathExpression(root, (*before, (tree.ByLabel() | tree.ByPattern()) as last)):
            parents = state.objects(tree.PathExpression(root, tuple(before)), env, True)
            whole = prefix_of(item.operand, len(item.operand.steps))
            if whole is not None and whole in env:
                found.made_edges.add((key, label, env[whole], -1))
                return
            for parent in parents:
                found.made_edges |= {(key, label, e[2], e[3]) for e in state.step_edges(parent, last)}
        case tree.PathExpression(tree.Identifier(name), ()) if name in env:
            found.made_edges.add((key, label, env[name], -1))
        case tree.PathExpression() | tree.Subquery():
            found.made_edges |= {(key, label, oid, 0) for oid in state.objects(item.operand, env, True)}
        case _:
            found.made_values |= {(key, label, *columns(value)) for value in values_of(state, item.operand, env)}


def label_of(item: tree.SelectItem) -> str:
    if item.label is not None:
        return item.label
    match item.operand:
        case tree.PathExpression(root, steps):
            labels = [step.label for step in steps if isinstance(step, tree.ByLabel)]
            return labels[-1] if labels else root.name
        case tree.AggregateOf(function):
            return function
    return "value"


def made_of(place: int, items: Any, env: Env) -> tuple[Any, ...]:
    """The id of what is made: ints, or texts where one is a label."""
    found = (place, *used(items, env))
    return tuple(map(str, found)) if any(isinstance(each, str) for each in found) else found


def used(items: Any, env: Env) -> list[int]:
    """The objects that the select clause speaks of, in order of appearance, each variable once."""
    found: dict[Any, int] = {}
    for item in items:
        for path, shares in paths(item.operand):
            if not isinstance(path.root, tree.Identifier):
                continue
            key: Any = path.root.name
            if key not in env and shares:
                ends = [p for end in range(len(path.steps), -1, -1) if (p := prefix_of(path, end)) in env]
                key = ends[0] if ends else None
                names = [name for name in env if isinstance(name, str) and ends and env[name] == env[ends[0]]]
                assert not names or ends == [], (path, env)
            if key in env:
                found.setdefault(key, env[key])
    return list(found.values())


def paths(operand: Any) -> Iterator[tuple[tree.PathExpression, bool]]:
    match operand:
        case tree.PathExpression():
            yield operand, True
        case tree.AggregateOf(_, tree.PathExpression() as path):
            yield path, False
        case tree.Arithmetic(_, left, right):
            yield from paths(left)
            yield from paths(right)
        case tree.LorelLiteral():
            pass
        case _:
            raise AssertionError("the oracle does not number such objects")


def with_sources(query: tree.SelectQuery) -> tree.SelectQuery:
    """Without a from clause: the selected path, or what several selected paths begin with."""
    if query.sources:
        return query
    found = [
        item.operand for item in query.items if isinstance(item.operand, tree.PathExpression) and item.operand.steps
    ]
    if len(query.items) == 1 and found:
        item = tree.SelectItem(tree.PathExpression(tree.Identifier("the path")))
        return tree.SelectQuery(
            (item,), (tree.FromItem(found[0], tree.Identifier("the path")),), query.where, limit=query.limit
        )
    if len(query.items) > 1 and found:
        if len({prefix_of(path, 0) for path in found}) > 1 or prefix_of(found[0], 0) is None:
            return query
        end = 0
        while len({prefix_of(path, end + 1) for path in found if len(path.steps) > end + 1}) == 1 and all(
            len(path.steps) > end + 1 for path in found
        ):
            if prefix_of(found[0], end + 1) is None:
                break
            end += 1
        source = tree.FromItem(tree.PathExpression(found[0].root, found[0].steps[:end]), None)
        return tree.SelectQuery(query.items, (source,), query.where, query.adjuncts, query.order, query.limit)
    return query


def follow(state: Evaluation, edges: set[Edge], position: set[int], steps: Any) -> set[int]:
    """The with clause: every edge that a step takes, and the objects behind it."""
    for step in steps:
        position = follow_step(state, edges, position, step)
    return position


def follow_step(state: Evaluation, edges: set[Edge], position: set[int], step: Any) -> set[int]:
    match step:
        case tree.ByLabel() | tree.ByPattern():
            taken = {edge for oid in position for edge in state.step_edges(oid, step)}
            edges |= taken
            return {edge[2] for edge in taken}
        case tree.Choice(branches):
            return set().union(*(follow(state, edges, position, branch) for branch in branches))
        case tree.Repeat(path, least, endless):
            if not endless:
                return position | follow_step(state, edges, position, path)
            found = follow_step(state, edges, position, path) if least else set(position)
            while (more := found | follow_step(state, edges, found, path)) != found:
                found = more
            follow_step(state, edges, found, path)
            return found
        case tree.AnyPath():
            return follow_step(state, edges, position, tree.Repeat(tree.Choice(((tree.ByPattern("%"),),)), 0, True))
    raise AssertionError(step)
