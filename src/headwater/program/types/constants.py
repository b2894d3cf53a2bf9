"""Terms without variables have a value: this works it out, and writes a value back as a term."""

from __future__ import annotations

from typing import Any, assert_never

from headwater.core.errors import EvaluationError
from headwater.core.functions.function import Function, Registry, lookup
from headwater.core.functions.operators import calculated, is_number
from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.syntax import Binary, Call, Constant, Duration, ListTerm, Term, Variable, Wildcard
from headwater.program.types.calls import settled
from headwater.program.types.typing import adds_up, arithmetic_type, call_type, list_type


class NoValueError(Exception):
    """The term has no value: a variable stands in it, or a function has none for these arguments."""


def fold(term: Term, registry: Registry) -> Constant | ListTerm | None:
    """The literal that a term without variables stands for, or None if it has no value."""
    try:
        return worked_out(settled(term, {}, registry), registry)
    except (NoValueError, TypeError, ValueError, ArithmeticError, AttributeError, EvaluationError):
        return None


def worked_out(term: Term, registry: Registry) -> Constant | ListTerm:
    """The literal that a term without variables stands for, of the term's type.

    Raises NoValueError, or what a function raises on bad types.
    """
    value, kind = _typed(term, registry)
    if value is None or (kind is not None and kind.is_moment and isinstance(value, int)):
        return Constant(value, kind, span=term.span)
    if kind is Type.FLOAT and isinstance(value, int):
        return Constant(float(value), kind, span=term.span)
    return _literal(value, term.span)


def _typed(term: Term, registry: Registry) -> tuple[Any, Type | None]:
    """The Python value of a term, and its type; lists are tuples, null is None, a moment is its microseconds."""
    match term:
        case Constant(value):
            return value, term.type
        case ListTerm(items, tail):
            rest, behind = ((), None) if tail is None else _typed(tail, registry)
            given = [_typed(item, registry) for item in items]
            values = [value for value, _ in given]
            whole = list_type([kind for _, kind in given], behind)
            return (None if rest is None or None in values else (*values, *rest)), whole
        case Binary(op, left, right):
            (one, first), (other, second) = _typed(left, registry), _typed(right, registry)
            if not adds_up(op, first, second):
                raise TypeError(op)
            kind = arithmetic_type(op, first, second)
            return _arithmetic(op, one, other, kind), kind
        case Call(name, args):
            function = lookup(registry, name)
            if function is None:
                raise NoValueError(name)
            given = [_typed(arg, registry) for arg in args]
            result = _call(function, tuple(value for value, _ in given))
            kind = call_type(function, args, tuple(kind for _, kind in given))
            return result, Type.DURATION if isinstance(result, Duration) else kind
        case Variable() | Wildcard():
            raise NoValueError("_")
        case _:
            assert_never(term)


def _literal(value: Any, span: Span | None = None) -> Constant | ListTerm:
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
            return ListTerm(tuple(_literal(item, span) for item in value), span=span)
        case _:
            raise NoValueError(value)


def _arithmetic(op: str, left: Any, right: Any, kind: Type | None) -> Any:
    if left is None or right is None:
        return None
    left, right = (each.microseconds if isinstance(each, Duration) else each for each in (left, right))
    if not is_number(left) or not is_number(right):
        raise TypeError(op)
    result = calculated(op, left, right)
    if result is None:
        raise NoValueError(op)
    return Duration(round(result)) if kind is Type.DURATION else result


def _call(function: Function, values: tuple[Any, ...]) -> Any:
    if None in values and not function.sees_nulls:
        return None
    result = function.of_values(*values)
    if result is None and not function.sees_nulls:
        raise NoValueError(function.name)
    return result
