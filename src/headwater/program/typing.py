"""The types of expressions: arithmetic, calls, aggregates, and which types go together.

`None` is a type not known yet; whatever involves it is taken to be right until the data tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from headwater.core.functions import Registry, lookup
from headwater.core.types import Type
from headwater.language.tree import Binary, Call, Constant, ListTerm, Term, Variable, Wildcard

_TEXT = (Type.STRING, Type.ADDRESS)


def wider(left: Type | None, right: Type | None) -> Type | None:
    """The type of a column that gets both, or None if nothing holds both (or nothing is known)."""
    if left is None or right is None or left is right:
        return left or right
    if left.is_numeric and right.is_numeric:
        return Type.FLOAT
    if left in _TEXT and right in _TEXT:
        return Type.ADDRESS
    return None


def same(left: Type | None, right: Type | None) -> bool:
    """Whether one variable may stand for both: the same type, or string beside address."""
    return left is None or right is None or left is right or (left in _TEXT and right in _TEXT)


def comparable(left: Type | None, right: Type | None) -> bool:
    return same(left, right) or wider(left, right) is not None


def flows(value: Type | None, column: Type | None) -> bool:
    """Whether a value of one type may be put into a column of another: ints are widened."""
    return same(value, column) or (value is Type.INT and column is Type.FLOAT)


def term_type(term: Term, variables: Mapping[str, Type | None], registry: Registry) -> Type | None:
    match term:
        case Variable(name):
            return variables.get(name)
        case Wildcard():
            return None
        case Constant():
            return term.type
        case ListTerm():
            return Type.LIST
        case Binary(op, left, right):
            sides = term_type(left, variables, registry), term_type(right, variables, registry)
            return arithmetic_type(op, *sides)
        case Call(name, args):
            function = lookup(registry, name)
            types = tuple(term_type(arg, variables, registry) for arg in args)
            return None if function is None else function.result_type(types)
        case _:
            assert_never(term)


_TIME = {
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
    if left.is_numeric and right.is_numeric:
        return Type.FLOAT if op == "/" else wider(left, right)
    if left is Type.DURATION and right.is_numeric and op in "*/":
        return Type.DURATION
    if left.is_numeric and right is Type.DURATION and op == "*":
        return Type.DURATION
    return _TIME.get((op, left, right))


def adds_up(op: str, left: Type | None, right: Type | None) -> bool:
    """Whether arithmetic on these types means anything."""
    computes = (Type.INT, Type.FLOAT, Type.TIMESTAMP, Type.DURATION)
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
        case _:
            return inner[-1] if inner else None


def aggregates(function: str, value: Type | None) -> bool:
    """Whether an aggregate can work on values of this type."""
    if value is None or function not in ("sum", "avg", "msum", "mcount"):
        return True
    return value.is_numeric or value is Type.DURATION
