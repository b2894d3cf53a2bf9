"""Terms and conditions over a batch: columns of codes in, a column of codes out.

Arithmetic and comparison of numbers run on arrays. Functions over lists and strings run once per distinct
combination of arguments. Where a term has no value (a division by zero, the first of an empty list) the
binding is dropped; a result that no int64 holds is an error, never a wrong number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from headwater.core.errors import EvaluationError
from headwater.core.functions import FUNCTIONS, Function, lookup
from headwater.core.types import Type
from headwater.engine.batch import Batch
from headwater.engine.columns import from_arrow_values, to_arrow
from headwater.engine.values import SYMBOLIC, Codes, Symbols, code_floats, decode, encode, encode_all, float_codes
from headwater.language.tree import (
    Binary,
    Call,
    Comparison,
    Condition,
    Constant,
    ListTerm,
    Term,
    Variable,
    Wildcard,
)
from headwater.plan.model import literal

Mask = npt.NDArray[np.bool_]
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(slots=True)
class Value:
    """A term's codes and type; `ok` tells where it has a value (None: everywhere)."""

    codes: Codes
    type: Type
    ok: Mask | None = None


def both(left: Mask | None, right: Mask | None) -> Mask | None:
    if left is None or right is None:
        return right if left is None else left
    return left & right


class Expressions:
    """Evaluates the terms of one rule: knows its variables' types and the symbols.

    A number that fits into no int64 is an error where rows are derived; where derivations are only looked for
    (`searching`), such a binding was never a derivation, and is passed over.
    """

    def __init__(self, types: Mapping[str, Type], symbols: Symbols, *, searching: bool = False) -> None:
        self._types = types
        self._searching = searching
        self._symbols = symbols

    # Terms

    def value(self, term: Term, batch: Batch) -> Value:
        match term:
            case Variable(name=name):
                return Value(batch.columns[name].astype(np.int64, copy=False), self._types[name])
            case Constant(type=kind):
                code = encode(literal(term).value, kind, self._symbols)
                return Value(np.full(batch.size, code, dtype=np.int64), kind)
            case Binary(op=op, left=left, right=right):
                return self._arithmetic(op, self.value(left, batch), self.value(right, batch), term)
            case ListTerm(items=items, tail=tail):
                return self._list(items, tail, batch)
            case Call(function=name, args=args):
                function = lookup(FUNCTIONS, name)
                assert function is not None, f"a checked program calls no unknown function {name}"
                return self._call(function, [self.value(arg, batch) for arg in args], batch)
            case Wildcard():
                raise AssertionError("a checked term has no wildcard")
            case other:
                assert_never(other)

    def cast(self, value: Value, kind: Type) -> Value:
        """The same values under the type of the column or variable they go to."""
        if kind is Type.FLOAT and value.type is Type.INT:
            return Value(float_codes(value.codes.astype(np.float64)), kind, value.ok)
        if kind in SYMBOLIC and value.type not in SYMBOLIC:
            found = decode(value.codes, value.type, self._symbols)
            return Value(encode_all(found, kind, self._symbols), kind, value.ok)
        return Value(value.codes, kind, value.ok)

    def _arithmetic(self, op: str, left: Value, right: Value, term: Binary) -> Value:
        left, right = self._number(left), self._number(right)
        ok = both(left.ok, right.ok)
        if op == "/" or Type.FLOAT in (left.type, right.type):
            x, y = self._floats(left), self._floats(right)
            if op in "/%":
                ok = both(ok, y != 0.0)
                y = np.where(y == 0.0, 1.0, y)
            with np.errstate(all="ignore"):
                return Value(float_codes(_FLOAT_OPS[op](x, y)), Type.FLOAT, ok)
        kind = left.type
        if {left.type, right.type} == {Type.TIMESTAMP, Type.DURATION}:
            kind = Type.TIMESTAMP
        elif (left.type is Type.TIMESTAMP and right.type is Type.TIMESTAMP) or right.type is Type.DURATION:
            kind = Type.DURATION
        a, b = left.codes, right.codes
        if op == "%":
            ok = both(ok, b != 0)
            return Value(np.mod(a, np.where(b == 0, 1, b)), kind, ok)
        out, wrong = _exact(op, a, b)
        if not wrong.any():
            return Value(out, kind, ok)
        if self._searching:
            return Value(out, kind, both(ok, ~wrong))
        if ok is not None:
            wrong &= ok
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            shown = f"{int(a[at])} {op} {int(b[at])}"
            raise EvaluationError(f"{shown} does not fit into 64 bits; use floats (write 1.0 for 1)")
        return Value(out, kind, ok)

    def _number(self, value: Value) -> Value:
        """Values of which only the run tells the type (items of lists), as numbers where they are."""
        if value.type not in SYMBOLIC:
            return value
        found = decode(value.codes, value.type, self._symbols)
        good = np.array([isinstance(one, int | float) and not isinstance(one, bool) for one in found], dtype=np.bool_)
        if all(isinstance(one, int) for one, fine in zip(found, good.tolist(), strict=True) if fine):
            whole = [one if fine else 0 for one, fine in zip(found, good.tolist(), strict=True)]
            return Value(np.array(whole, dtype=np.int64), Type.INT, both(value.ok, good))
        floats = [float(one) if fine else 0.0 for one, fine in zip(found, good.tolist(), strict=True)]
        return Value(float_codes(np.array(floats, dtype=np.float64)), Type.FLOAT, both(value.ok, good))

    def _floats(self, value: Value) -> npt.NDArray[np.float64]:
        return code_floats(value.codes) if value.type is Type.FLOAT else value.codes.astype(np.float64)

    def _list(self, items: tuple[Term, ...], tail: Term | None, batch: Batch) -> Value:
        parts = [self.value(item, batch) for item in items]
        rest = self.value(tail, batch) if tail is not None else None
        if rest is None:
            return self._rowwise("[]", Type.LIST, lambda *given: given, parts, batch.size)
        return self._rowwise("[|]", Type.LIST, lambda *given: (*given[:-1], *given[-1]), [*parts, rest], batch.size)

    def _call(self, function: Function, args: list[Value], batch: Batch) -> Value:
        kinds = tuple(arg.type for arg in args)
        result = function.result_type(kinds) or Type.STRING
        wanted = [
            self.cast(arg, Type.FLOAT) if function.parameter(at) is Type.FLOAT else arg for at, arg in enumerate(args)
        ]
        if function.arrays is not None:
            return self._arrow_call(function, wanted, result, batch.size)
        assert function.scalar is not None
        return self._rowwise(function.name, result, function.scalar, wanted, batch.size)

    def _rowwise(self, name: str, result: Type, body: Callable[..., Any], args: list[Value], size: int) -> Value:
        """A Python function once per distinct combination of arguments."""
        ok: Mask | None = None
        for arg in args:
            ok = both(ok, arg.ok)
        if not args:
            return Value(np.full(size, encode(body(), result, self._symbols), dtype=np.int64), result)
        distinct, inverse = distinct_rows(np.stack([arg.codes for arg in args], axis=1))
        columns = [decode(distinct[:, at], arg.type, self._symbols) for at, arg in enumerate(args)]
        codes = np.zeros(distinct.shape[0], dtype=np.int64)
        good = np.ones(distinct.shape[0], dtype=np.bool_)
        for at, given in enumerate(zip(*columns, strict=True)):
            try:
                answer = body(*given)
                if answer is None:
                    good[at] = False
                else:
                    codes[at] = encode(answer, result, self._symbols)
            except (TypeError, ValueError):
                good[at] = False
            except OverflowError as problem:
                if self._searching:
                    good[at] = False
                    continue
                raise EvaluationError(f"{name}{given!r} has no 64-bit value") from problem
        if not good.all():
            ok = both(ok, good[inverse])
        return Value(codes[inverse], result, ok)

    def _arrow_call(self, function: Function, args: list[Value], result: Type, size: int) -> Value:
        assert function.arrays is not None
        ok: Mask | None = None
        for arg in args:
            ok = both(ok, arg.ok)
        try:
            answer = function.arrays(*(to_arrow(arg.codes, arg.type, self._symbols) for arg in args))
        except Exception as problem:
            raise EvaluationError(
                f"the function `{function.name}` raised {type(problem).__name__}: {problem}"
            ) from problem
        if not hasattr(answer, "__len__"):
            raise EvaluationError(
                f"the function `{function.name}` returned {type(answer).__name__}; it must return an Arrow array"
            )
        if len(answer) != size:
            raise EvaluationError(
                f"the function `{function.name}` returned {len(answer)} values for {size} rows; it must give one each"
            )
        codes, good = from_arrow_values(answer, result, self._symbols, function.name)
        return Value(codes, result, both(ok, good))

    # Conditions

    def holds(self, goal: Comparison | Condition, batch: Batch) -> Mask:
        match goal:
            case Comparison(op=op, left=left, right=right):
                return self._compare(op, self.value(left, batch), self.value(right, batch))
            case Condition(call=call, negated=negated):
                answer = self.value(call, batch)
                truth = answer.codes != 0
                if negated:
                    truth = ~truth
                return truth if answer.ok is None else truth & answer.ok
            case other:
                assert_never(other)

    def _compare(self, op: str, left: Value, right: Value) -> Mask:
        compare = _COMPARE[op]
        ok = both(left.ok, right.ok)
        a: Any
        b: Any
        if left.type in SYMBOLIC or right.type in SYMBOLIC:
            if op in ("=", "!=") and left.type in SYMBOLIC and right.type in SYMBOLIC:
                a, b = left.codes, right.codes
            else:
                pairs, inverse = distinct_rows(np.stack([left.codes, right.codes], axis=1))
                a = decode(pairs[:, 0], left.type, self._symbols)
                b = decode(pairs[:, 1], right.type, self._symbols)
                answers = np.fromiter(
                    (_ordered(compare, x, y) for x, y in zip(a, b, strict=True)), dtype=np.bool_, count=len(a)
                )
                found: Mask = answers[inverse]
                return found if ok is None else found & ok
        elif Type.FLOAT in (left.type, right.type) and left.type is not right.type:
            a, b = self._floats(left), self._floats(right)
        else:
            a, b = left.codes, right.codes
        result: Mask = compare(a, b)
        return result if ok is None else result & ok


def _ordered(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> bool:
    try:
        return bool(compare(left, right))
    except TypeError:
        return False


_FLOAT_OPS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": np.mod,
}


def _exact(op: str, a: Codes, b: Codes) -> tuple[Codes, Mask]:
    """Integer arithmetic, and where it wrapped around."""
    out: Codes
    if op == "+":
        out = a + b
        return out, ((a ^ out) & (b ^ out)) < 0
    if op == "-":
        out = a - b
        return out, ((a ^ b) & (a ^ out)) < 0
    return a * b, np.abs(a.astype(np.float64) * b.astype(np.float64)) >= 2.0**63


def distinct_rows(matrix: Codes) -> tuple[Codes, npt.NDArray[np.intp]]:
    """The distinct rows of a matrix and, for each row, which of them it is."""
    if matrix.shape[1] == 0:
        return matrix[:1], np.zeros(matrix.shape[0], dtype=np.intp)
    if matrix.shape[1] == 1:
        values, inverse = np.unique(matrix[:, 0], return_inverse=True)
        return values.reshape(-1, 1), inverse
    order = np.lexsort(matrix.T[::-1])
    ordered = matrix[order]
    new = np.ones(matrix.shape[0], dtype=np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    inverse = np.empty(matrix.shape[0], dtype=np.intp)
    inverse[order] = np.cumsum(new) - 1
    return ordered[new], inverse


def order_keys(codes: Codes, kind: Type, symbols: Symbols) -> Codes:
    """Integers that compare as the values do (among the codes given)."""
    if kind not in SYMBOLIC:
        return codes
    distinct, inverse = np.unique(codes, return_inverse=True)
    values = decode(distinct, kind, symbols)
    rank = np.empty(distinct.size, dtype=np.int64)
    rank[sorted(range(distinct.size), key=lambda at: _sortable(values[at]))] = np.arange(distinct.size)
    return rank[inverse]


def _sortable(value: Any) -> Any:
    """A key that orders lists lexicographically even where their items differ in type."""
    if isinstance(value, tuple):
        return (2, tuple(_sortable(item) for item in value))
    return (1, value) if isinstance(value, str) else (0, value)
