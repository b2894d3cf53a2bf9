"""Terms without variables have a value: this works it out, and writes a value back as a term.

Arithmetic here is the arithmetic of the engine: `/` always gives a float, a division by zero has no value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, assert_never

from headwater.core.functions import Function, Registry, lookup
from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.tree import Binary, Call, Constant, Duration, ListTerm, Term, Variable, Wildcard

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}


class NoValueError(Exception):
    """The term has no value: a variable stands in it, or a function has none for these arguments."""


def fold(term: Term, registry: Registry) -> Constant | ListTerm | None:
    """The literal that a term without variables stands for, or None if it has no value."""
    try:
        return literal(evaluate(term, registry), term.span)
    except (NoValueError, TypeError, ValueError, ArithmeticError, AttributeError):
        return None


def evaluate(term: Term, registry: Registry) -> Any:
    """The Python value of a term; lists are tuples, null is None.

    Raises NoValueError, or whatever a function raises on bad types.
    """
    match term:
        case Constant(value):
            return value
        case ListTerm(items, tail):
            rest = () if tail is None else evaluate(tail, registry)
            values = [evaluate(item, registry) for item in items]
            return None if rest is None or None in values else (*values, *rest)
        case Binary(op, left, right):
            return _arithmetic(op, evaluate(left, registry), evaluate(right, registry))
        case Call(name, args):
            function = lookup(registry, name)
            if function is None:
                raise NoValueError(name)
            return _call(function, tuple(evaluate(arg, registry) for arg in args))
        case Variable() | Wildcard():
            raise NoValueError("_")
        case _:
            assert_never(term)


def literal(value: Any, span: Span | None = None) -> Constant | ListTerm:
    """A Python value as a term."""
    match value:
        case None:
            return Constant(None, None, span=span)
        case bool():
            return Constant(value, Type.BOOL, span=span)
        case int():
            return Constant(value, Type.INT, span=span)
        case float():
            return Constant(value, Type.FLOAT, span=span)
        case str():
            return Constant(value, Type.STRING, span=span)
        case Duration():
            return Constant(value, Type.DURATION, span=span)
        case tuple():
            return ListTerm(tuple(literal(item, span) for item in value), span=span)
        case _:
            raise NoValueError(value)


def _arithmetic(op: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    spans = isinstance(left, Duration), isinstance(right, Duration)
    left, right = (each.microseconds if isinstance(each, Duration) else each for each in (left, right))
    if isinstance(left, bool | str | tuple) or isinstance(right, bool | str | tuple):
        raise TypeError(op)
    if op in "/%" and right == 0:
        raise NoValueError(op)
    result = _ARITHMETIC[op](left, right)
    is_span = (
        (spans == (True, True) and op in "+-%") or (spans == (True, False) and op in "*/") or spans == (False, True)
    )
    return Duration(round(result)) if is_span else result


def _call(function: Function, values: tuple[Any, ...]) -> Any:
    if None in values and not function.sees_nulls:
        return None
    if function.scalar is not None:
        result = function.scalar(*values)
    elif function.arrays is not None:
        import pyarrow as pa

        result = function.arrays(*(pa.array([value]) for value in values)).to_pylist()[0]
        result = tuple(result) if isinstance(result, list) else result
    else:
        result = None
    if result is None and not function.sees_nulls:
        raise NoValueError(function.name)
    return result
