"""Terms and conditions over a batch: columns of codes in, a column of codes out.

Arithmetic and comparison of numbers run on arrays. Functions over lists and strings run once per distinct
combination of arguments. Where a term has no value (a division by zero, the first of an empty list) the
binding is dropped; a result that no int64 holds, or a moment outside the years 1 to 9999, is an
error, never a wrong value.

Null is a value: arithmetic and functions make null of it, `=` and `!=` tell it from others, an order (`<`) never
holds for it. Where no null can be, none is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from headwater.core.errors import EvaluationError
from headwater.core.functions.function import Function, lookup
from headwater.core.functions.mixed import compared, is_of, widened
from headwater.core.functions.operators import ARITHMETIC, COMPARE
from headwater.core.functions.registry import FUNCTIONS
from headwater.core.functions.sizes import check_size
from headwater.core.types import Type
from headwater.core.widening import keeps, wider
from headwater.engine.codes.batch import Batch
from headwater.engine.codes.columns import from_arrow_values, seen, stands_for_null, to_arrow
from headwater.engine.codes.fitting import MOMENTS
from headwater.engine.codes.logic import NATIVE
from headwater.engine.codes.symbols import (
    NULL,
    Codes,
    Symbols,
    code_floats,
    decode,
    encode,
    encode_all,
    float_codes,
    null_code,
)
from headwater.engine.codes.term_values import Mask, Value, both, either, null_value
from headwater.engine.codes.texts import at_once
from headwater.engine.codes.ways import ways_of
from headwater.language import syntax
from headwater.plan.model import literal
from headwater.program.types.typing import arithmetic_type, call_type, list_type

_EXTREMES = {"smaller": np.minimum, "smallest": np.minimum, "larger": np.maximum, "largest": np.maximum}
_WHOLE = frozenset({Type.INT, Type.TIMESTAMP, Type.DATE, Type.DURATION})  # codes that are the values themselves


class Expressions:
    """Evaluates the terms of one rule: knows its variables' types and the symbols.

    A number that fits into no int64 is an error where rows are derived; where derivations are only looked for
    (`searching`), such a binding was never a derivation, and is passed over. Where the program `holds_nulls`, the
    number that would have null's code does not fit either.
    """

    def __init__(
        self,
        types: Mapping[str, Type],
        nullable: Collection[str],
        symbols: Symbols,
        *,
        searching: bool = False,
        holds_nulls: bool = False,
    ) -> None:
        self._types = types
        self._nullable = nullable
        self._searching = searching
        self._holds_nulls = holds_nulls
        self.symbols = symbols

    # Terms

    def value(self, term: syntax.Term, batch: Batch, wanted: Type = Type.STRING) -> Value:
        """The value of a term for each binding; a null that nothing gives a type is of the type `wanted`."""
        match term:
            case syntax.Variable(name=name):
                codes = batch.columns[name].astype(np.int64, copy=False)
                return Value(codes, self._types[name], nullable=name in self._nullable)
            case syntax.Constant(value=None, type=kind):
                return null_value(kind or wanted, batch.size)
            case syntax.Constant():
                known = literal(term)
                code = encode(known.value, known.type, self.symbols)
                return Value(np.full(batch.size, code, dtype=np.int64), known.type)
            case syntax.Binary(op=op, left=left, right=right):
                return self.arithmetic(op, *self._sides(left, right, batch))
            case syntax.ListTerm(items=items, tail=tail):
                return self._list(items, tail, batch)
            case syntax.Call(function=name, args=args):
                function = lookup(FUNCTIONS, name)
                assert function is not None, f"a checked program calls no unknown function {name}"
                given = self._arguments(function, args, batch)
                result = call_type(function, args, tuple(arg.type for arg in given)) or Type.ANY
                return self._call(function, given, result, batch)
            case syntax.Wildcard():
                raise AssertionError("a checked term has no wildcard")
            case other:
                assert_never(other)

    def _sides(self, left: syntax.Term, right: syntax.Term, batch: Batch) -> tuple[Value, Value]:
        """Two values; a null without a type has that of the other side."""
        if _is_untyped(left):
            other = self.value(right, batch, Type.INT)
            return null_value(other.type, batch.size), other
        first = self.value(left, batch)
        return first, self.value(right, batch, first.type)

    def _arguments(self, function: Function, args: tuple[syntax.Term, ...], batch: Batch) -> list[Value]:
        """Arguments of a call; a null without a type has that of its parameter, or of another argument of any type."""
        typed = {at: self.value(arg, batch) for at, arg in enumerate(args) if not _is_untyped(arg)}
        alike = next((value.type for at, value in typed.items() if function.parameter(at) is None), Type.STRING)
        return [
            typed[at] if at in typed else null_value(function.parameter(at) or alike, batch.size)
            for at in range(len(args))
        ]

    def cast(self, value: Value, kind: Type) -> Value:
        """The same values under the type of the variable they go to; a mixed one that is of another type has none."""
        return self._under(value, kind, is_of if value.type.is_mixed else _fits)

    def fitted(self, value: Value, kind: Type) -> Value:
        """The same values under the type of the column they go to, where ints are widened also in mixed lists."""
        return self._under(value, kind, _fits)

    def _under(self, value: Value, kind: Type, fits: Callable[[Any, Type], bool]) -> Value:
        if kind is value.type:
            return value
        if keeps(kind, value.type):
            return Value(value.codes, kind, value.ok, value.nullable)
        null = value.nulls
        codes, ok = value.codes, value.ok
        if kind is Type.FLOAT and value.type is Type.INT:
            codes = float_codes(codes.astype(np.float64))
        elif value.type.is_symbolic:
            distinct, inverse = np.unique(codes, return_inverse=True)
            values = decode(distinct, value.type, self.symbols, nullable=True)
            good = [item is None or fits(item, kind) for item in values]
            known = [widened(item, kind) if fine else None for item, fine in zip(values, good, strict=True)]
            codes = encode_all(known, kind, self.symbols)[inverse]
            ok = ok if all(good) else both(ok, np.array(good, dtype=np.bool_)[inverse])
        elif kind.is_symbolic:
            codes = encode_all(decode(codes, value.type, self.symbols, nullable=value.nullable), kind, self.symbols)
        if null is not None:
            codes = np.where(null, null_code(kind), codes)
        return Value(codes, kind, ok, value.nullable)

    def arithmetic(self, op: str, left: Value, right: Value) -> Value:
        if left.type.is_symbolic or right.type.is_symbolic:
            return self._mixed_arithmetic(op, left, right)
        null = either(left.nulls, right.nulls)
        if null is None:
            return self._computed(op, left, right)
        found = self._computed(op, self._filled(left, null), self._filled(right, null))
        return Value(np.where(null, null_code(found.type), found.codes), found.type, found.ok, nullable=True)

    def _filled(self, value: Value, null: Mask) -> Value:
        """With ones, which nothing goes wrong with, where the result is null anyway."""
        codes = np.where(null, encode(1, value.type, self.symbols), value.codes)
        ok = None if value.ok is None else value.ok | null
        return Value(codes, value.type, ok)

    def _computed(self, op: str, left: Value, right: Value) -> Value:
        ok = both(left.ok, right.ok)
        if op == "/" or Type.FLOAT in (left.type, right.type):
            x, y = self._floats(left), self._floats(right)
            if op in "/%":
                ok = both(ok, y != 0.0)
                y = np.where(y == 0.0, 1.0, y)
            with np.errstate(all="ignore"):
                return Value(float_codes(ARITHMETIC[op](x, y)), Type.FLOAT, ok)
        kind = arithmetic_type(op, left.type, right.type) or left.type
        a, b = left.codes, right.codes
        if op == "%":
            ok = both(ok, b != 0)
            return Value(np.mod(a, np.where(b == 0, 1, b)), kind, ok)
        out, wrong = _exact(op, a, b)
        if kind.is_moment:
            wrong |= (out < MOMENTS.start) | (out >= MOMENTS.stop)
        elif self._holds_nulls:
            wrong |= out == NULL
        if not wrong.any():
            return Value(out, kind, ok)
        if self._searching:
            return Value(out, kind, both(ok, ~wrong))
        if ok is not None:
            wrong &= ok
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            if kind.is_moment:
                one, other = (seen(int(side.codes[at]), side.type) for side in (left, right))
                raise EvaluationError(f"{one} {op} {other} lies outside the years 1 to 9999")
            shown = f"{int(a[at])} {op} {int(b[at])}"
            raise EvaluationError(f"{shown} does not fit into 64 bits; use floats (write 1.0 for 1)")
        return Value(out, kind, ok)

    def _mixed_arithmetic(self, op: str, left: Value, right: Value) -> Value:
        """Types are known only while running, pair by pair: ints beside ints are ints, and texts have no sum."""
        sides = [
            [self.cast(side, kind) for kind in (Type.INT, Type.FLOAT)] if side.type.is_symbolic else [side]
            for side in (left, right)
        ]
        size = left.codes.size
        codes, ok = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.bool_)
        null = either(left.nulls, right.nulls)
        if null is not None:
            ok |= null
        for own in sides[0]:
            for other in sides[1]:
                good = both(own.ok, other.ok)
                there = np.flatnonzero(np.ones(size, dtype=np.bool_) if good is None else good)
                if null is not None:
                    there = there[~null[there]]
                if there.size:
                    found = self._computed(op, Value(own.codes[there], own.type), Value(other.codes[there], other.type))
                    codes[there] = self.cast(found, Type.ANY).codes
                    ok[there] = True if found.ok is None else found.ok
        return Value(codes, Type.ANY, ok, nullable=null is not None)

    def _floats(self, value: Value) -> npt.NDArray[np.float64]:
        return code_floats(value.codes) if value.type is Type.FLOAT else value.codes.astype(np.float64)

    def _list(self, items: tuple[syntax.Term, ...], tail: syntax.Term | None, batch: Batch) -> Value:
        parts = [self.value(item, batch) for item in items]
        rest = self.value(tail, batch) if tail is not None else None
        kind = list_type([part.type for part in parts], None if rest is None else rest.type)
        if rest is None:
            return self._around_nulls(_LIST, parts, kind, batch.size)
        return self._around_nulls(_LIST_WITH_TAIL, [*parts, rest], kind, batch.size)

    def _call(self, function: Function, args: list[Value], result: Type, batch: Batch) -> Value:
        wanted = [self._argument(arg, function.parameter(at), result) for at, arg in enumerate(args)]
        native = NATIVE.get(function.name)
        if native is not None:
            return native(self, wanted, result)
        if function.name == "way_of":
            return ways_of(self.symbols, wanted, batch.size)
        if function.sees_nulls:
            assert function.scalar is not None
            return self._rowwise(function.name, result, function.scalar, wanted, batch.size, sees_nulls=True)
        return self._around_nulls(function, wanted, result, batch.size)

    def _argument(self, arg: Value, wanted: Type | None, result: Type) -> Value:
        """An argument as its function takes it; where the result is an int, ints stay ints, as floats lose digits."""
        if wanted is Type.FLOAT and arg.type.is_numeric:
            return arg if result is Type.INT else self.cast(arg, Type.FLOAT)
        if wanted is None or wanted is arg.type or keeps(wanted, arg.type):
            return arg
        if wanted is Type.FLOAT and result in (Type.INT, Type.ANY):
            return arg  # the function sees whether it is a number
        return self.fitted(arg, wanted)

    def _around_nulls(self, function: Function, args: list[Value], result: Type, size: int) -> Value:
        """A call for the bindings without a null argument; the others give null."""
        null: Mask | None = None
        for arg in args:
            null = either(null, arg.nulls)
        if null is None or not null.any():
            found = self._plain_call(function, args, result, size)
            found.nullable = null is not None
            return found
        there = np.flatnonzero(~null)
        some = [Value(arg.codes[there], arg.type, None if arg.ok is None else arg.ok[there]) for arg in args]
        found = self._plain_call(function, some, result, there.size)
        codes = np.full(size, null_code(result), dtype=np.int64)
        codes[there] = found.codes
        ok: Mask | None = None
        if found.ok is not None:
            ok = np.ones(size, dtype=np.bool_)
            ok[there] = found.ok
        return Value(codes, result, ok, nullable=True)

    def _plain_call(self, function: Function, args: list[Value], result: Type, size: int) -> Value:
        if function.arrays is not None:
            return self._arrow_call(function, args, result, size)
        extreme = _EXTREMES.get(function.name)
        if extreme is not None and result in _WHOLE and all(arg.type is result for arg in args):
            ok: Mask | None = None
            for arg in args:
                ok = both(ok, arg.ok)
            return Value(extreme.reduce([arg.codes.astype(np.int64) for arg in args]), result, ok)
        assert function.scalar is not None
        return self._rowwise(function.name, result, function.scalar, args, size)

    def _rowwise(
        self,
        name: str,
        result: Type,
        body: Callable[..., Any],
        args: list[Value],
        size: int,
        *,
        sees_nulls: bool = False,
    ) -> Value:
        """A Python function once per distinct combination of arguments."""
        ok: Mask | None = None
        for arg in args:
            ok = both(ok, arg.ok)
        if not args:
            return Value(np.full(size, encode(body(), result, self.symbols), dtype=np.int64), result)
        found = None if sees_nulls or ok is not None else at_once(name, result, body, args, self.symbols)
        if found is not None:
            return Value(found, result)
        distinct, inverse = distinct_rows(np.stack([arg.codes for arg in args], axis=1))
        columns = [
            decode(distinct[:, at], arg.type, self.symbols, nullable=arg.nullable) for at, arg in enumerate(args)
        ]
        codes = np.zeros(distinct.shape[0], dtype=np.int64)
        good = np.ones(distinct.shape[0], dtype=np.bool_)
        for at, given in enumerate(zip(*columns, strict=True)):
            try:
                answer = body(*given)
                if answer is None and not sees_nulls:
                    good[at] = False
                else:
                    check_size(name, answer)
                    codes[at] = self._fitting(answer, result)
            except (TypeError, ValueError):
                good[at] = False
            except EvaluationError:
                if not self._searching:
                    raise
                good[at] = False
            except OverflowError as problem:
                if self._searching:
                    good[at] = False
                    continue
                raise EvaluationError(f"{name}{given!r} has no 64-bit value") from problem
        if not good.all():
            ok = both(ok, good[inverse])
        return Value(codes[inverse], result, ok, sees_nulls)

    def _fitting(self, answer: Any, result: Type) -> int:
        code = encode(answer, result, self.symbols)
        if self._holds_nulls and answer is not None and code == NULL and not result.is_symbolic:
            raise OverflowError(code)
        return code

    def _arrow_call(self, function: Function, args: list[Value], result: Type, size: int) -> Value:
        assert function.arrays is not None
        ok: Mask | None = None
        for arg in args:
            ok = both(ok, arg.ok)
        try:
            answer = function.arrays(*(to_arrow(arg.codes, arg.type, self.symbols, nullable=False) for arg in args))
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
        codes, good = from_arrow_values(answer, result, self.symbols, function.name)
        taken = stands_for_null(codes, result) if self._holds_nulls else codes[:0]
        if taken.size:
            raise EvaluationError(f"the function `{function.name}` returned {NULL}, which Headwater uses for null")
        return Value(codes, result, both(ok, good))

    # Conditions

    def holds(self, goal: syntax.Comparison | syntax.Condition, batch: Batch) -> Mask:
        match goal:
            case syntax.Comparison(op=op, left=left, right=right):
                return self.compares(op, *self._sides(left, right, batch))
            case syntax.Condition(call=call, negated=negated):
                answer = self.value(call, batch)
                truth = answer.codes == 0 if negated else answer.codes > 0  # a null is neither
                return truth if answer.ok is None else truth & answer.ok
            case other:
                assert_never(other)

    def compares(self, op: str, left: Value, right: Value) -> Mask:
        """Where a comparison holds: `=` and `!=` take null for a value of its own, an order never holds for it."""
        compare = COMPARE[op]
        if left.type.is_list and right.type.is_list and not (left.type.is_mixed or right.type.is_mixed):
            kind = wider(left.type, right.type) or left.type
            left, right = self.cast(left, kind), self.cast(right, kind)
        ok = both(left.ok, right.ok)
        null = None if op in ("=", "!=") else either(left.nulls, right.nulls)
        if null is not None:
            ok = both(ok, ~null)
        a: Any
        b: Any
        if left.type.is_symbolic or right.type.is_symbolic:
            if op in ("=", "!=") and left.type.is_symbolic and right.type.is_symbolic:
                a, b = left.codes, right.codes
            else:
                pairs, inverse = distinct_rows(np.stack([left.codes, right.codes], axis=1))
                a = decode(pairs[:, 0], left.type, self.symbols, nullable=left.nullable)
                b = decode(pairs[:, 1], right.type, self.symbols, nullable=right.nullable)
                answers = np.fromiter(
                    (compared(op, x, y) for x, y in zip(a, b, strict=True)), dtype=np.bool_, count=len(a)
                )
                found: Mask = answers[inverse]
                return found if ok is None else found & ok
        elif Type.FLOAT in (left.type, right.type) and left.type is not right.type:
            a, b = self._mixed(left, right)
        else:
            a, b = left.codes, right.codes
        result: Mask = compare(a, b)
        return result if ok is None else result & ok

    def _mixed(self, left: Value, right: Value) -> tuple[Any, Any]:
        """An int and a float to compare: as floats; where nulls can be as codes, which tell a null from a NaN."""
        if left.nullable or right.nullable:
            return self.cast(left, Type.FLOAT).codes, self.cast(right, Type.FLOAT).codes
        return self._floats(left), self._floats(right)


def _fits(value: Any, kind: Type) -> bool:
    return is_of(widened(value, kind), kind)


def _is_untyped(term: syntax.Term) -> bool:
    return isinstance(term, syntax.Constant) and term.value is None and term.type is None


_LIST = Function("[]", (None,), Type.LIST, lambda *given: given, variadic=True)
_LIST_WITH_TAIL = Function("[|]", (None,), Type.LIST, lambda *given: (*given[:-1], *given[-1]), variadic=True)


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
    if not kind.is_symbolic:
        return codes
    distinct, inverse = np.unique(codes, return_inverse=True)
    values = decode(distinct, kind, symbols, nullable=True)
    rank = np.empty(distinct.size, dtype=np.int64)
    if set(map(type, values)) == {str}:
        rank[sorted(range(distinct.size), key=values.__getitem__)] = np.arange(distinct.size)
        return rank[inverse]
    rank[sorted(range(distinct.size), key=lambda at: _sortable(values[at]))] = np.arange(distinct.size)
    return rank[inverse]


def _sortable(value: Any) -> Any:
    """A key that orders lists lexicographically even where their items differ in type."""
    if value is None:
        return (-1, 0)
    if isinstance(value, tuple):
        return (2, tuple(_sortable(item) for item in value))
    # Of numbers that are equal, and of truth values, which Python takes for numbers, one type comes before the other.
    return (1, value) if isinstance(value, str) else (0, value, type(value).__name__)
