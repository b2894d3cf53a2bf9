"""Codes to Arrow columns and back: the way out to the user, and the way in and out of user functions."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import EvaluationError
from headwater.core.functions.casts import moment_of
from headwater.core.functions.time_functions import DAY
from headwater.core.types import Type
from headwater.core.widening import item_of
from headwater.engine.codes.fitting import MOMENTS, fit, is_null
from headwater.engine.codes.symbols import NULL, Codes, Symbols, code_floats, decode, encode, float_codes, null_code

Column: TypeAlias = "pa.ChunkedArray | pa.Array | list[Any]"
_TEXT = (Type.STRING, Type.ADDRESS)

ARROW = {
    Type.INT: pa.int64(),
    Type.FLOAT: pa.float64(),
    Type.STRING: pa.string(),
    Type.ADDRESS: pa.string(),
    Type.BOOL: pa.bool_(),
    Type.TIMESTAMP: pa.timestamp("us"),
    Type.DATE: pa.date32(),
    Type.DURATION: pa.duration("us"),
    Type.ANY: pa.string(),
}
_TIMES = (Type.TIMESTAMP, Type.DATE, Type.DURATION)


def to_arrow(codes: npt.NDArray[np.integer[Any]], kind: Type, symbols: Symbols, *, nullable: bool) -> pa.Array:
    """A column of codes as an Arrow array of its type; `nullable` where one of them may be null."""
    null = codes == null_code(kind) if nullable else None
    match kind:
        case Type.FLOAT:
            return pa.array(code_floats(codes), mask=null)
        case Type.BOOL:
            return pa.array(codes > 0, mask=null)
        case Type.STRING | Type.ADDRESS:
            distinct, inverse = np.unique(codes, return_inverse=True)
            words = decode(distinct, kind, symbols, nullable=nullable)
            return pa.array(words, type=pa.string()).take(pa.array(inverse))
        case Type.ANY:
            values = decode(codes, kind, symbols, nullable=nullable)
            return pa.array([None if value is None else spelt(value) for value in values], type=pa.string())
        case _ if kind.is_list:
            distinct, inverse = np.unique(codes, return_inverse=True)
            values = [arrow_value(value, kind) for value in decode(distinct, kind, symbols, nullable=nullable)]
            return pa.array(values, type=arrow_type(kind)).take(pa.array(inverse))
        case Type.DATE:
            return pa.array((codes // DAY).astype(np.int32), mask=null).cast(ARROW[kind])
        case _:
            return pa.array(codes.astype(np.int64, copy=False), mask=null).cast(ARROW[kind])


def fitted_array(values: list[Any], kind: Type) -> pa.Array:
    """Values that `fit` has taken, or None, as an Arrow array of their type, which is no list."""
    return pa.array([arrow_value(value, kind) for value in values] if kind is Type.DATE else values, type=ARROW[kind])


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type of a column: what may be of any type is text, also inside a list."""
    if not kind.is_list:
        return ARROW[kind]
    items = item_of(kind)
    return pa.list_(pa.string() if items is None else arrow_type(items))


def arrow_value(value: Any, kind: Type | None) -> Any:
    """A value as Arrow takes it, in a column of `arrow_type`."""
    if value is None or kind is None or kind is Type.ANY:
        return value if value is None else spelt(value)
    if not kind.is_list:
        return value // DAY if kind is Type.DATE else value
    mixed = item_of(kind) in (None, Type.ANY)
    return [spelt(item) if mixed else arrow_value(item, kind.part(at)) for at, item in enumerate(value)]


def spelt(value: Any) -> str:
    """A value of any type as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(spelt, value))}]"
    return value if isinstance(value, str) else str(value)


def to_values(codes: npt.NDArray[np.integer[Any]], kind: Type, symbols: Symbols, *, nullable: bool) -> list[Any]:
    """A column of codes as the Python values a user sees."""
    if kind in _TIMES:
        return to_arrow(codes, kind, symbols, nullable=nullable).to_pylist()
    values = decode(codes, kind, symbols, nullable=nullable)
    return [seen(value, kind) for value in values] if holds_times(kind) else values


def holds_times(kind: Type | None) -> bool:
    """Whether values of a type are seen otherwise than they are kept."""
    return kind is not None and (kind in _TIMES or any(map(holds_times, (kind.items, *kind.parts))))


def seen(value: Any, kind: Type | None) -> Any:
    """A value that is kept, as a user sees it: moments and spans of time, also inside lists."""
    if value is None or not holds_times(kind):
        return value
    assert kind is not None
    if kind.is_list:
        return tuple(seen(item, kind.part(at)) for at, item in enumerate(value))
    if kind is Type.DATE:
        return moment_of(value).date()
    return pa.scalar(value, type=pa.int64()).cast(ARROW[kind]).as_py()


def string_codes(column: pa.Array | pa.ChunkedArray, symbols: Symbols) -> Codes:
    """Codes of an Arrow string column without nulls: one look-up per distinct word."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    encoded = column.dictionary_encode()
    words = encoded.dictionary.to_pylist()
    numbers = np.array(symbols.numbers(words), dtype=np.int64)
    places = encoded.indices.to_numpy(zero_copy_only=False)
    return numbers[places] if len(words) else np.zeros(len(column), dtype=np.int64)


def _dictionary_codes(column: pa.Array | pa.ChunkedArray, symbols: Symbols) -> Codes | None:
    """The same for a dictionary of texts, of which only those that are used become symbols; None if one is null."""
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    words = column.dictionary
    if column.null_count or words.null_count:
        return None
    places = column.indices.to_numpy(zero_copy_only=False)
    used = np.flatnonzero(np.bincount(places, minlength=len(words)))
    numbers = np.zeros(len(words), dtype=np.int64)
    numbers[used] = string_codes(words.take(pa.array(used)).cast(pa.string()), symbols)
    return numbers[places]


def column_codes(
    column: Column, kind: Type, symbols: Symbols, *, nullable: bool = False
) -> tuple[Codes, list[tuple[int, str]]]:
    """Codes of a column of a user's values, and where one does not fit (its code means nothing), with the reason.

    Nulls fit where the column is `nullable`.
    """
    if nullable and not isinstance(column, list) and pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    present = _present(column) if nullable else None
    if present is not None:
        return _around_nulls(column, present, kind, symbols)
    codes = _whole_column(column, kind, symbols)
    return _one_by_one(column, kind, symbols) if codes is None else (codes, [])


def _present(column: Column) -> npt.NDArray[np.bool_] | None:
    """Where a column holds values; None: everywhere."""
    if isinstance(column, list):
        there = np.fromiter((not is_null(value) for value in column), dtype=np.bool_, count=len(column))
        return None if there.all() else there
    if not column.null_count:
        return None
    valid = column.is_valid()
    return np.asarray(valid.to_numpy(zero_copy_only=False) if isinstance(valid, pa.Array) else valid.to_numpy())


def _around_nulls(
    column: Column, present: npt.NDArray[np.bool_], kind: Type, symbols: Symbols
) -> tuple[Codes, list[tuple[int, str]]]:
    rest: Column
    if isinstance(column, list):
        rest = [value for value, there in zip(column, present.tolist(), strict=True) if there]
    else:
        rest = column.drop_null()
    found, problems = column_codes(rest, kind, symbols)
    codes = np.full(len(column), null_code(kind), dtype=np.int64)
    codes[present] = found
    places = np.flatnonzero(present)
    return codes, [(int(places[at]), reason) for at, reason in problems]


def stands_for_null(codes: Codes, kind: Type) -> npt.NDArray[np.intp]:
    """Where an int or a span of time has the code that is kept for nulls."""
    if kind not in (Type.INT, Type.DURATION) or not codes.size or int(codes.min()) != NULL:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(codes == NULL)


def plain(value: Any) -> Any:
    """The Python value of what may be an Arrow scalar."""
    if not isinstance(value, pa.Scalar):
        return value
    try:
        return value.as_py()
    except (OverflowError, ValueError):  # a moment that Python has no value for
        return str(value.cast(pa.int64()))


def _whole_column(column: Column, kind: Type, symbols: Symbols) -> Codes | None:
    """A whole column at once, or None where values must be looked at one by one."""
    if isinstance(column, list):
        return _list_column(column, kind, symbols)
    if pa.types.is_dictionary(column.type):
        codes = _dictionary_codes(column, symbols) if kind in _TEXT and _is_text(column.type.value_type) else None
        if codes is not None:
            return codes
        column = column.cast(column.type.value_type)
    if column.null_count:
        return None
    try:
        return _arrow_column(column, kind, symbols)
    except pa.ArrowInvalid:  # some value does not fit
        return None


def _arrow_column(column: pa.ChunkedArray | pa.Array, kind: Type, symbols: Symbols) -> Codes | None:
    given = column.type
    if kind in _TEXT:
        return string_codes(column.cast(pa.string()), symbols) if _is_text(given) else None
    if kind is Type.FLOAT and (pa.types.is_floating(given) or pa.types.is_integer(given)):
        return float_codes(column.cast(pa.float64()).to_numpy())
    if kind is Type.INT and pa.types.is_integer(given):
        return column.cast(pa.int64()).to_numpy()
    if kind is Type.BOOL and pa.types.is_boolean(given):
        return (
            column.to_numpy(zero_copy_only=False).astype(np.int64)
            if isinstance(column, pa.Array)
            else column.to_numpy().astype(np.int64)
        )
    if kind is Type.TIMESTAMP and pa.types.is_timestamp(given):
        codes = _microseconds(column, kind)
        return codes if _are_moments(codes) else None
    if kind.is_moment and pa.types.is_date(given):
        codes = column.cast(pa.date32()).cast(pa.int32()).to_numpy().astype(np.int64) * DAY
        return codes if _are_moments(codes) else None
    if kind is Type.DURATION and pa.types.is_duration(given):
        return _microseconds(column, kind)
    return None


def _are_moments(codes: Codes) -> bool:
    return not codes.size or (int(codes.min()) in MOMENTS and int(codes.max()) in MOMENTS)


def _is_text(given: pa.DataType) -> bool:
    return pa.types.is_string(given) or pa.types.is_large_string(given) or pa.types.is_string_view(given)


def _microseconds(column: pa.ChunkedArray | pa.Array, kind: Type) -> Codes:
    finer = column.type.unit == "ns"  # is cut; what is coarser may be too large
    return column.cast(ARROW[kind], safe=not finer).cast(pa.int64()).to_numpy()


def _list_column(column: list[Any], kind: Type, symbols: Symbols) -> Codes | None:
    if kind is Type.INT and all(type(value) is int for value in column):
        try:
            return np.array(column, dtype=np.int64)
        except OverflowError:
            return None
    if kind is Type.FLOAT and all(type(value) is float for value in column):
        return float_codes(np.array(column, dtype=np.float64))
    if kind in _TEXT and all(type(value) is str for value in column):
        try:
            return string_codes(pa.array(column, type=pa.string()), symbols)
        except UnicodeEncodeError:
            return None
    return None


def _one_by_one(column: Column, kind: Type, symbols: Symbols) -> tuple[Codes, list[tuple[int, str]]]:
    codes = np.zeros(len(column), dtype=np.int64)
    problems: list[tuple[int, str]] = []
    for at, value in enumerate(column):
        try:
            codes[at] = encode(fit(plain(value), kind), kind, symbols)
        except ValueError as problem:
            problems.append((at, str(problem)))
    return codes, problems


def from_arrow_values(
    answer: Any, kind: Type, symbols: Symbols, function: str
) -> tuple[Codes, npt.NDArray[np.bool_] | None]:
    """Codes of what a user's function returned, and where it has a value."""
    try:
        array = answer if isinstance(answer, pa.Array | pa.ChunkedArray) else pa.array(answer)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as problem:
        raise EvaluationError(f"the function `{function}` did not return an Arrow array: {problem}") from problem
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    good = None if array.null_count == 0 else ~array.is_null().to_numpy(zero_copy_only=False)
    found, problems = column_codes(array if good is None else array.drop_null(), kind, symbols)
    if problems:
        raise EvaluationError(f"the function `{function}` did not return values of type {kind.value}: {problems[0][1]}")
    if good is None:
        return found, None
    codes = np.zeros(len(array), dtype=np.int64)
    codes[good] = found
    return codes, good
