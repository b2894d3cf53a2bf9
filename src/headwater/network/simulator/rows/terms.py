"""Terms and conditions of a rule over one binding at a time: compiled once, called per row.

A binding is a tuple of values; a term becomes a function of it that gives a Python value (None is null), or NOTHING
where the term has no value. A term with a null in it is null, even if another part has no value. Arithmetic is the
engine's: `/` gives a float, a division by zero has no value, and an int that does not fit into 64 bits raises
`TooLarge`: an error where rows are derived, no derivation where they are only looked for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, assert_never

from headwater.core.functions.function import Function, lookup
from headwater.core.functions.mixed import widened
from headwater.core.functions.operators import calculated, compared
from headwater.core.functions.registry import FUNCTIONS
from headwater.core.types import Type
from headwater.language.syntax import Binary, Call, Comparison, Condition, Constant, ListTerm, Term, Variable, Wildcard
from headwater.plan.model import literal

Row: TypeAlias = tuple[Any, ...]
Getter: TypeAlias = Callable[[Row], Any]

_INT64 = range(-(2**63), 2**63)


NOTHING: Any = type("Nothing", (), {"__repr__": lambda _: "NOTHING"})()
"""What a term is that has no value: the first of an empty list, a quotient by zero."""


class TooLarge(Exception):
    """A number that does not fit into 64 bits."""


def value_of(term: Term, slots: Mapping[str, int]) -> Getter:
    """The term as a function of a binding whose variables stand at `slots`."""
    match term:
        case Variable(name=name):
            return operator.itemgetter(slots[name])
        case Constant():
            value = literal(term).value
            return lambda _: value
        case Binary(op=op, left=left, right=right):
            return _arithmetic(op, value_of(left, slots), value_of(right, slots))
        case ListTerm(items=items, tail=tail):
            return _list([value_of(item, slots) for item in items], None if tail is None else value_of(tail, slots))
        case Call(function=name, args=args):
            function = lookup(FUNCTIONS, name)
            assert function is not None, f"a checked program calls no unknown function {name}"
            return _call(function, [value_of(arg, slots) for arg in args])
        case Wildcard():
            raise AssertionError("a checked term has no wildcard")
        case other:
            assert_never(other)


def holds(goal: Comparison | Condition, slots: Mapping[str, int]) -> Callable[[Row], bool]:
    """The condition as a function of a binding; a condition that is null or has no value does not hold."""
    match goal:
        case Comparison(op=op, left=left, right=right):
            return _comparison(
                partial(compared, op), value_of(left, slots), value_of(right, slots), ordered=op not in ("=", "!=")
            )
        case Condition(call=call, negated=negated):
            answer = value_of(call, slots)
            return lambda binding: (value := answer(binding)) not in (None, NOTHING) and bool(value) is not negated
        case other:
            assert_never(other)


def fitted(getter: Getter, kind: Type) -> Getter:
    """The value under the type of the column or variable it goes to: an int where floats stand is a float.

    A function that takes floats and keeps the type of its argument (`abs`) gives an int back to an int variable.
    """
    if kind.has_floats:
        return lambda binding: widened(getter(binding), kind)
    if kind not in (Type.FLOAT, Type.INT):
        return getter
    given, wanted = (int, float) if kind is Type.FLOAT else (float, int)

    def fitting(binding: Row) -> Any:
        value = getter(binding)
        return wanted(value) if type(value) is given else value

    return fitting


def _arithmetic(op: str, left: Getter, right: Getter) -> Getter:
    def run(binding: Row) -> Any:
        one, other = left(binding), right(binding)
        if one is None or other is None:
            return None
        result = calculated(op, one, other)
        if result is None:
            return NOTHING
        if type(result) is int and result not in _INT64:
            raise TooLarge(f"{one} {op} {other} does not fit into 64 bits; use floats (write 1.0 for 1)")
        return result

    return run


def _list(items: list[Getter], tail: Getter | None) -> Getter:
    def run(binding: Row) -> Any:
        values = tuple(item(binding) for item in items)
        rest = () if tail is None else tail(binding)
        missing = _missing((*values, rest))
        return (*values, *rest) if missing is _FOUND else missing

    return run


def _call(function: Function, args: list[Getter]) -> Getter:
    exact = function.result in (None, Type.INT)  # an int stays one, as a float would lose digits
    floats = [function.parameter(at) is Type.FLOAT and not exact for at in range(len(args))]
    wanted = [fitted(arg, Type.FLOAT) if float_ else arg for arg, float_ in zip(args, floats, strict=True)]
    body = function.scalar or function.of_values
    sees_nulls = function.sees_nulls

    def run(binding: Row) -> Any:
        values = [arg(binding) for arg in wanted]
        missing = _missing(values)
        if missing is NOTHING or (missing is None and not sees_nulls):
            return missing
        try:
            answer = body(*values)
        except (TypeError, ValueError):
            return NOTHING
        except OverflowError as problem:
            raise TooLarge(f"{function.name}{tuple(values)!r} has no 64-bit value") from problem
        return NOTHING if answer is None and not sees_nulls else answer

    return run


_FOUND = object()


def _missing(values: Sequence[Any]) -> Any:
    """What a term of these values is if one of them is missing: null before NOTHING."""
    found: Any = _FOUND
    for value in values:
        if value is None:
            return None
        if value is NOTHING:
            found = NOTHING
    return found


def _comparison(
    compare: Callable[[Any, Any], bool], left: Getter, right: Getter, *, ordered: bool
) -> Callable[[Row], bool]:
    """Null is a value like others, equal to itself; but no order holds for it."""

    def run(binding: Row) -> bool:
        one, other = left(binding), right(binding)
        if one is NOTHING or other is NOTHING or (ordered and (one is None or other is None)):
            return False
        try:
            return bool(compare(one, other))
        except TypeError:
            return False

    return run
