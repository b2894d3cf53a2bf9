"""The types of expressions: arithmetic, calls, aggregates.

`None` is a type not known yet; whatever involves it is taken to be right until data shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from headwater.core.functions.function import Function, Registry, lookup
from headwater.core.types import Type, list_of, list_with
from headwater.core.widening import item_of, wider, widest
from headwater.language.syntax import Binary, Call, Constant, ListTerm, Term, Variable, Wildcard

_AT = {"nth": 0, "item_from_0": 0, "item": 1}
"""Functions that take an item at a place, and the number of the first place."""


def term_type(term: Term, variables: Mapping[str, Type | None], registry: Registry) -> Type | None:
    match term:
        case Variable(name):
            return variables.get(name)
        case Wildcard():
            return None
        case Constant():
            return term.type
        case ListTerm(items, tail):
            parts = [term_type(item, variables, registry) for item in items]
            return list_type(parts, None if tail is None else term_type(tail, variables, registry))
        case Binary(op, left, right):
            sides = term_type(left, variables, registry), term_type(right, variables, registry)
            return arithmetic_type(op, *sides)
        case Call(name, args):
            function = lookup(registry, name)
            types = tuple(term_type(arg, variables, registry) for arg in args)
            return None if function is None else call_type(function, args, types)
        case _:
            assert_never(term)


def list_type(parts: Sequence[Type | None], tail: Type | None) -> Type:
    """The type of a list of items of these types; `tail` is that of the list behind them."""
    return list_with(parts) if tail is None else list_of(widest((*parts, item_of(tail))))


def call_type(function: Function, args: Sequence[Term], types: tuple[Type | None, ...]) -> Type | None:
    """The type of what a function gives back; one that takes a known item gives one of that item's type."""
    match args:
        case [_, Constant(value=int(place))] if (whole := types[0]) is not None and whole.parts:
            if function.name in _AT:
                at = place - _AT[function.name] if place >= 0 else place
                return whole.part(at)
            if function.name == "drop" and place >= 0:
                return list_with(whole.parts[place:])
    return function.result_type(types)


_TIME = {  # a date is computed with as the moment at which it begins
    ("+", Type.TIMESTAMP, Type.DURATION): Type.TIMESTAMP,
    ("+", Type.DURATION, Type.TIMESTAMP): Type.TIMESTAMP,
    ("+", Type.DURATION, Type.DURATION): Type.DURATION,
    ("-", Type.TIMESTAMP, Type.DURATION): Type.TIMESTAMP,
    ("-", Type.TIMESTAMP, Type.TIMESTAMP): Type.DURATION,
    ("-", Type.DURATION, Type.DURATION): Type.DURATION,
    ("%", Type.DURATION, Type.DURATION): Type.DURATION,
    ("/", Type.DURATION, Type.DURATION): Type.FLOAT,
}


def arithmetic_type(op: str, left: Type | None, right: Type | None) -> Type | None:
    """The type of `left op right`; None if a side is not known, or if there is none (see `adds_up`)."""
    if left is None or right is None:
        known = left or right
        return Type.FLOAT if known is Type.FLOAT and op in "+-" else None
    if Type.ANY in (left, right):
        return Type.ANY if all(side is Type.ANY or side.is_numeric for side in (left, right)) else None
    if left.is_numeric and right.is_numeric:
        return Type.FLOAT if op == "/" else wider(left, right)
    if left is Type.DURATION and right.is_numeric and op in "*/":
        return Type.DURATION
    if left.is_numeric and right is Type.DURATION and op == "*":
        return Type.DURATION
    left, right = (Type.TIMESTAMP if side is Type.DATE else side for side in (left, right))
    return _TIME.get((op, left, right))


def adds_up(op: str, left: Type | None, right: Type | None) -> bool:
    """Whether arithmetic on these types means anything."""
    computes = (Type.INT, Type.FLOAT, Type.TIMESTAMP, Type.DATE, Type.DURATION, Type.ANY)
    if left is None or right is None:
        return all(side is None or side in computes for side in (left, right))
    return arithmetic_type(op, left, right) is not None


def aggregate_type(function: str, inner: tuple[Type | None, ...]) -> Type | None:
    """The type of an aggregate's value."""
    match function:
        case "count":
            return Type.INT
        case "avg":
            return inner[0] if inner[0] is Type.DURATION else Type.FLOAT
        case "collect":
            return list_of(inner[0] if inner else None)
        case _:
            return inner[-1] if inner else None


def aggregates(function: str, value: Type | None) -> bool:
    """Whether an aggregate can work on values of this type."""
    if value is None or function not in ("sum", "avg", "msum", "mcount"):
        return True
    return value.is_numeric or value is Type.DURATION
