"""Where nulls can be: which columns and variables may hold them. The program alone decides, never the data.

A base column holds nulls if it is declared with `?`. A derived column does if some rule may put one there. A goal that
never holds for a null (`X < 3`, `is_not_null(X)`, an atom whose column has none) keeps it out of the head.

While a rule is evaluated, its goals run in an order of the planner's choice, and a null may be met before the
goal that keeps it out, or come from the head where derivations are looked for. So `while_running` asks only
whether a variable stands anywhere that a null can stand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from headwater.core.diagnostics import Diagnostic
from headwater.core.functions.function import Registry, lookup
from headwater.language import syntax
from headwater.language.terms import body_atoms, children, goal_terms, subterms
from headwater.program.model import Program

Columns: TypeAlias = Mapping[str, frozenset[int]]

_NEVER_NULL = frozenset({"count", "top"})


@dataclass(frozen=True, slots=True)
class Nullability:
    """The columns of each relation that may hold nulls; and, for each rule in order, the variables that may."""

    columns: dict[str, frozenset[int]]
    variables: tuple[frozenset[str], ...]
    present: bool  # whether a null can be anywhere, be it only as a literal


def nullability(program: Program, registry: Registry) -> Nullability:
    columns = {
        relation.name: frozenset(
            at for at, column in enumerate(relation.columns) if relation.declared and column.nullable
        )
        for relation in program.relations
    }
    fixed = {relation.name for relation in program.relations if relation.declared}
    readers: dict[str, list[int]] = {}
    for index, rule in enumerate(program.rules):
        for name in {atom.relation for atom, _ in body_atoms(rule)}:
            readers.setdefault(name, []).append(index)
    waiting = deque(range(len(program.rules)))
    while waiting:
        rule = program.rules[waiting.popleft()]
        name = rule.head.relation
        if name in fixed:
            continue
        found = columns[name] | null_places(rule, columns, registry)
        if found != columns[name]:
            columns[name] = found
            waiting.extend(readers.get(name, ()))
    variables = tuple(_while_running(rule, columns, registry) for rule in program.rules)
    present = any(columns.values()) or any(map(_says_null, program.rules))
    return Nullability(columns, variables, present)


def _says_null(rule: syntax.Rule) -> bool:
    terms = [*rule.head.args, *(term for goal in rule.body for term in goal_terms(goal))]
    return any(isinstance(part, syntax.Constant) and part.value is None for term in terms for part in subterms(term))


def null_places(rule: syntax.Rule, columns: Columns, registry: Registry) -> frozenset[int]:
    """The positions of a rule's head that may get a null."""
    maybe = _derived_with(rule, columns, registry)
    return frozenset(at for at, arg in enumerate(rule.head.args) if _head_may_be_null(arg, maybe, registry))


def null_problems(program: Program, columns: Columns, registry: Registry) -> Iterator[Diagnostic]:
    """Nulls that a rule or a query, as written, would put or look for where the declaration has none."""
    declared = {relation.name: relation for relation in program.relations if relation.declared}
    for rule in program.rules:
        relation = declared.get(rule.head.relation)
        if relation is not None:
            for at in sorted(null_places(rule, columns, registry) - columns[relation.name]):
                column, arg = relation.columns[at], rule.head.args[at]
                kind = column.type.value if column.type else "int"
                message = f"column {at + 1} of `{relation.name}` is declared without nulls, but this may be null"
                hint = f"declare it `{column.name}: {kind}?`, or keep nulls out with `is_not_null` or `coalesce`"
                yield Diagnostic("HW410", message, arg.span or rule.head.span or rule.span, hint=hint)
        for atom, _ in body_atoms(rule):
            yield from _never_there(atom, declared.keys(), columns)
    for query in program.queries:
        yield from _never_there(query.atom, declared.keys(), columns)


def _never_there(atom: syntax.Atom, declared: Collection[str], columns: Columns) -> Iterator[Diagnostic]:
    if atom.relation not in declared:
        return
    for at, arg in enumerate(atom.args):
        if isinstance(arg, syntax.Constant) and arg.value is None and at not in columns[atom.relation]:
            message = f"column {at + 1} of `{atom.relation}` is declared without nulls, so it is never null"
            hint = "put a `?` behind its type in the declaration, as in `cost: int?`"
            yield Diagnostic("HW410", message, arg.span or atom.span, hint=hint)


def may_be_null(term: syntax.Term, maybe: frozenset[str] | set[str], registry: Registry) -> bool:
    """Whether a term may be null where these variables may be."""
    match term:
        case syntax.Variable(name):
            return name in maybe
        case syntax.Wildcard():
            return False
        case syntax.Constant(value):
            return value is None
        case syntax.ListTerm() | syntax.Binary():
            return any(may_be_null(part, maybe, registry) for part in children(term))
        case syntax.Call(name, args):
            function = lookup(registry, name)
            given = tuple(may_be_null(arg, maybe, registry) for arg in args)
            return any(given) if function is None else function.nullable(given)
        case _:
            assert_never(term)


def _head_may_be_null(arg: syntax.Term | syntax.Aggregate, maybe: set[str], registry: Registry) -> bool:
    if isinstance(arg, syntax.Aggregate):
        return arg.function not in _NEVER_NULL and may_be_null(arg.args[-1], maybe, registry)
    return may_be_null(arg, maybe, registry)


def _derived_with(rule: syntax.Rule, columns: Columns, registry: Registry) -> set[str]:
    """The variables that may be null where the whole body holds."""
    matched: set[str] = set()
    never: set[str] = set()
    for goal in rule.body:
        if isinstance(goal, syntax.Atom):
            for at, arg in enumerate(goal.args):
                if isinstance(arg, syntax.Variable):
                    (matched if at in columns[goal.relation] else never).add(arg.name)
    maybe = matched | {goal.variable.name for goal in rule.body if isinstance(goal, syntax.Assign)}
    while True:
        for goal in rule.body:
            never |= _kept_from(goal, maybe - never, registry)
        found = matched - never
        for goal in rule.body:
            if isinstance(goal, syntax.Assign) and may_be_null(goal.term, found, registry):
                found.add(goal.variable.name)
        found -= never
        if found == maybe:
            return found
        maybe = found


def _kept_from(goal: syntax.Goal, maybe: set[str], registry: Registry) -> set[str]:
    """The variables that are no nulls where the goal holds."""
    match goal:
        case syntax.Comparison(op, left, right) if op == "=":
            pairs = ((left, right), (right, left))
            return {a.name for a, b in pairs if isinstance(a, syntax.Variable) and not may_be_null(b, maybe, registry)}
        case syntax.Comparison("!=", left, right):
            pairs = ((left, right), (right, left))
            return {
                a.name
                for a, b in pairs
                if isinstance(a, syntax.Variable) and isinstance(b, syntax.Constant) and b.value is None
            }
        case syntax.Comparison(_, left, right):
            return {side.name for side in (left, right) if isinstance(side, syntax.Variable)}
        case syntax.Condition(syntax.Call("is_not_null", (syntax.Variable(name),)), False) | syntax.Condition(
            syntax.Call("is_null", (syntax.Variable(name),)), True
        ):
            return {name}
        case syntax.Condition(syntax.Call(name, args)):
            function = lookup(registry, name)
            if function is None or function.sees_nulls:
                return set()
            return {arg.name for arg in args if isinstance(arg, syntax.Variable)}
        case syntax.Atom() | syntax.Negation() | syntax.Assign():
            return set()
        case _:
            assert_never(goal)


def _while_running(rule: syntax.Rule, columns: Columns, registry: Registry) -> frozenset[str]:
    maybe: set[str] = set()
    places: list[syntax.Atom | syntax.Head] = [rule.head, *(atom for atom, _ in body_atoms(rule))]
    for place in places:
        for at, arg in enumerate(place.args):
            if at in columns[place.relation]:
                inner = arg.args if isinstance(arg, syntax.Aggregate) else (arg,)
                maybe |= {each.name for each in inner if isinstance(each, syntax.Variable)}
    for goal in rule.body:
        if isinstance(goal, syntax.Assign) and may_be_null(goal.term, maybe, registry):
            maybe.add(goal.variable.name)
    return frozenset(maybe)
