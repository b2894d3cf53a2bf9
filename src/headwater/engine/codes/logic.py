"""Functions about nulls, truth and dates, over whole columns: comparisons, three-valued logic, choices between values.

What they give is what `core.logic` and `core.builtins` say of single values; this is the same at the speed of arrays.
One thing only columns can tell: a value that is not chosen (the other branch of an `if`, what follows the first known
value of a `coalesce`) need not exist, so `if(Y != 0, X / Y, null)` is null where Y is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from types import MappingProxyType
from typing import Protocol, TypeAlias

import numpy as np

from headwater.core.functions.time_functions import DAY
from headwater.core.types import Type
from headwater.engine.codes.symbols import NULL, Codes
from headwater.engine.codes.term_values import Mask, Value, both, either


class _Terms(Protocol):
    """What these functions ask of the expressions that they stand in."""

    def cast(self, value: Value, kind: Type) -> Value: ...

    def compares(self, op: str, left: Value, right: Value) -> Mask: ...


Native: TypeAlias = Callable[[_Terms, list[Value], Type], Value]


def _is_null(_: _Terms, args: list[Value], result: Type, *, wanted: bool) -> Value:
    (value,) = args
    null = np.zeros(value.codes.size, dtype=np.bool_) if value.nulls is None else value.nulls
    return Value((null if wanted else ~null).astype(np.int64), result, value.ok)


def _compared(terms: _Terms, args: list[Value], result: Type, *, op: str) -> Value:
    left, right = args
    truth: Codes = terms.compares(op, left, right).astype(np.int64)
    null = either(left.nulls, right.nulls)
    if null is not None:
        truth[null] = _UNKNOWN
    return Value(truth, result, both(left.ok, right.ok), nullable=null is not None)


def _is_same(terms: _Terms, args: list[Value], result: Type) -> Value:
    left, right = args
    return Value(terms.compares("=", left, right).astype(np.int64), result, both(left.ok, right.ok))


_UNKNOWN = -1  # the code of null among the bools


def _ranks(codes: Codes) -> Codes:
    """False below unknown below true."""
    return np.where(codes == _UNKNOWN, 1, 2 * codes)


def _all_true(_: _Terms, args: list[Value], result: Type) -> Value:
    return _from_ranks(reduce(np.minimum, [_ranks(arg.codes) for arg in args]), args, result)


def _any_true(_: _Terms, args: list[Value], result: Type) -> Value:
    return _from_ranks(reduce(np.maximum, [_ranks(arg.codes) for arg in args]), args, result)


def _from_ranks(ranks: Codes, args: list[Value], result: Type) -> Value:
    ok: Mask | None = None
    for arg in args:
        ok = both(ok, arg.ok)
    return Value(np.where(ranks == 1, _UNKNOWN, ranks >> 1), result, ok, any(arg.nullable for arg in args))


def _negated(_: _Terms, args: list[Value], result: Type) -> Value:
    (value,) = args
    return Value(np.where(value.codes == _UNKNOWN, _UNKNOWN, 1 - value.codes), result, value.ok, value.nullable)


def _if(terms: _Terms, args: list[Value], result: Type) -> Value:
    test, yes, no = args
    found = _where(test.codes > 0, terms.cast(yes, result), terms.cast(no, result))
    found.ok = both(test.ok, found.ok)
    return found


def _coalesce(terms: _Terms, args: list[Value], result: Type) -> Value:
    *before, found = (terms.cast(arg, result) for arg in args)
    for value in reversed(before):
        null = value.nulls
        found = value if null is None else _where(null, found, value, nullable=found.nullable)
    return found


def _date_of(_: _Terms, args: list[Value], result: Type) -> Value:
    (moment,) = args
    days = moment.codes - moment.codes % DAY
    null = moment.nulls
    return Value(days if null is None else np.where(null, NULL, days), result, moment.ok, moment.nullable)


def _same_codes(_: _Terms, args: list[Value], result: Type) -> Value:
    (value,) = args
    return Value(value.codes, result, value.ok, value.nullable)


def _where(chosen: Mask, yes: Value, no: Value, *, nullable: bool | None = None) -> Value:
    ok: Mask | None = None
    if yes.ok is not None or no.ok is not None:
        ok = np.where(chosen, True if yes.ok is None else yes.ok, True if no.ok is None else no.ok)
    either_way = yes.nullable or no.nullable if nullable is None else nullable
    return Value(np.where(chosen, yes.codes, no.codes), yes.type, ok, either_way)


NATIVE: Mapping[str, Native] = MappingProxyType(
    {
        "is_null": partial(_is_null, wanted=True),
        "is_not_null": partial(_is_null, wanted=False),
        "is_equal": partial(_compared, op="="),
        "is_unequal": partial(_compared, op="!="),
        "is_less": partial(_compared, op="<"),
        "is_at_most": partial(_compared, op="<="),
        "is_more": partial(_compared, op=">"),
        "is_at_least": partial(_compared, op=">="),
        "is_same": _is_same,
        "all_true": _all_true,
        "any_true": _any_true,
        "negated": _negated,
        "if": _if,
        "coalesce": _coalesce,
        "date_of": _date_of,
        "date_to_timestamp": _same_codes,
    }
)
