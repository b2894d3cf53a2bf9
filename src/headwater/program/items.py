"""What the lists in a program's columns hold, worked out through the rules.

The engine keeps lists of anything. Whoever writes them to a place with one type per column (a DataFrame, a file that
grows batch by batch) has to know before the first row comes: `infer_items` says it from the program and from what the
base relations hold. Where a list may hold values of several types it says `MIXED`, and such values are written as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, assert_never

from headwater.core.functions import FUNCTIONS, Registry, lookup
from headwater.core.types import Type
from headwater.language.tree import (
    Aggregate,
    Assign,
    Atom,
    Binary,
    Call,
    Constant,
    ListTerm,
    Rule,
    Term,
    Variable,
    Wildcard,
)
from headwater.program.model import Program
from headwater.program.types import Types
from headwater.program.typing import wider


class Mixed(Enum):
    MIXED = "mixed"


MIXED = Mixed.MIXED


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list; `items` is None as long as nobody has put anything into it."""

    items: Shape


Shape: TypeAlias = Type | ListOf | Mixed | None  # None: nothing is known yet
Shapes: TypeAlias = dict[str, tuple[Shape, ...]]

_DEEPEST = 4  # lists nested deeper than this (a recursion may nest them without end) count as mixed
_SAME = frozenset({"rest", "drop", "reverse", "larger", "largest", "smaller", "smallest"})
_TAKEN = frozenset({"first", "last", "nth"})


def infer_items(
    program: Program, types: Types, given: Mapping[str, tuple[Shape, ...]], registry: Registry = FUNCTIONS
) -> Shapes:
    """The shape of every column; `given` tells those of base relations as far as the data's schema does."""
    shapes: dict[str, list[Shape]] = {}
    for relation in program.relations:
        own = given.get(relation.name)
        shapes[relation.name] = [
            _declared(kind) if own is None else own[at] for at, kind in enumerate(types.columns[relation.name])
        ]
    changed = True
    while changed:
        changed = False
        for rule in program.rules:
            target = shapes[rule.head.relation]
            found = _variables(rule, shapes, registry)
            for at, arg in enumerate(rule.head.args):
                term = arg.args[-1] if isinstance(arg, Aggregate) and arg.args else arg
                if isinstance(term, Aggregate):
                    continue
                joined = join(target[at], shape_of(term, found, registry))
                if joined != target[at]:
                    target[at] = joined
                    changed = True
    return {name: tuple(columns) for name, columns in shapes.items()}


def _declared(kind: Type | None) -> Shape:
    return ListOf(None) if kind is Type.LIST else kind


def _variables(rule: Rule, shapes: Mapping[str, list[Shape]], registry: Registry) -> dict[str, Shape]:
    found: dict[str, Shape] = {}
    for goal in rule.body:
        if isinstance(goal, Atom):
            for arg, shape in zip(goal.args, shapes[goal.relation], strict=True):
                if isinstance(arg, Variable):
                    found[arg.name] = shape if found.get(arg.name) is None else found[arg.name]
    for goal in rule.body:
        if isinstance(goal, Assign):
            found[goal.variable.name] = shape_of(goal.term, found, registry)
    return found


def shape_of(term: Term, variables: Mapping[str, Shape], registry: Registry) -> Shape:
    match term:
        case Variable(name):
            return variables.get(name)
        case Wildcard():
            return None
        case Constant():
            return term.type
        case ListTerm(items, tail):
            held: Shape = None if tail is None else _items(shape_of(tail, variables, registry))
            for item in items:
                held = join(held, shape_of(item, variables, registry))
            return _list_of(held)
        case Binary(_, left, right):
            return join(shape_of(left, variables, registry), shape_of(right, variables, registry))
        case Call(name, args):
            return _called(name, [shape_of(arg, variables, registry) for arg in args], registry)
        case _:
            assert_never(term)


def _called(name: str, args: list[Shape], registry: Registry) -> Shape:
    function = lookup(registry, name)
    if function is None:
        return MIXED
    if function.name in _SAME:
        return _joined(args) if function.name not in ("rest", "drop") else args[0]
    if function.name in _TAKEN:
        return _items(args[0])
    match function.name:
        case "concatPath":
            return _list_of(_joined([_items(arg) if isinstance(arg, ListOf) else arg for arg in args]))
        case "concat":
            lists = [arg for arg in args if isinstance(arg, ListOf)]
            return _joined(list(lists)) if lists else Type.STRING
        case "append":
            return _list_of(join(_items(args[0]), args[1]))
        case "encd":
            return _list_of(_joined(args))
        case "split":
            return ListOf(Type.STRING)
    kind = function.result_type(tuple(arg if isinstance(arg, Type) else None for arg in args))
    return _list_of(MIXED) if kind is Type.LIST else kind


def _joined(shapes: list[Shape]) -> Shape:
    found: Shape = None
    for shape in shapes:
        found = join(found, shape)
    return found


def join(left: Shape, right: Shape) -> Shape:
    """The shape that holds both."""
    if left is None or right is None or left == right:
        return right if left is None else left
    if isinstance(left, ListOf) and isinstance(right, ListOf):
        return _list_of(join(left.items, right.items))
    if isinstance(left, Type) and isinstance(right, Type):
        found = wider(left, right)
        return MIXED if found is None else found
    return MIXED


def _list_of(items: Shape) -> Shape:
    made = ListOf(items)
    return made if _depth(made) <= _DEEPEST else ListOf(MIXED)


def _depth(shape: Shape) -> int:
    return 1 + _depth(shape.items) if isinstance(shape, ListOf) else 0


def _items(shape: Shape) -> Shape:
    return shape.items if isinstance(shape, ListOf) else shape
