"""Codes to Arrow columns and back: the way out to the user, and the way in and out of user functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import EvaluationError
from headwater.core.types import Type
from headwater.engine.values import SYMBOLIC, Codes, Symbols, code_floats, decode, encode, float_codes

ARROW = {
    Type.INT: pa.int64(),
    Type.FLOAT: pa.float64(),
    Type.STRING: pa.string(),
    Type.ADDRESS: pa.string(),
    Type.BOOL: pa.bool_(),
    Type.TIMESTAMP: pa.timestamp("us"),
    Type.DURATION: pa.duration("us"),
}


def to_arrow(codes: npt.NDArray[np.integer[Any]], kind: Type, symbols: Symbols) -> pa.Array:
    """A column of codes as an Arrow array of its type."""
    match kind:
        case Type.FLOAT:
            return pa.array(code_floats(codes))
        case Type.BOOL:
            return pa.array(codes != 0)
        case Type.STRING | Type.ADDRESS:
            distinct, inverse = np.unique(codes, return_inverse=True)
            words = pa.array([_text(value) for value in decode(distinct, kind, symbols)], type=pa.string())
            return words.take(pa.array(inverse))
        case Type.LIST:
            return _lists(decode(codes, kind, symbols))
        case _:
            return pa.array(codes.astype(np.int64, copy=False)).cast(ARROW[kind])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _lists(values: list[Any]) -> pa.Array:
    if not values:
        return pa.array([], type=pa.list_(pa.string()))
    try:
        found = pa.array([list(value) for value in values])
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
        found = pa.array([[str(item) for item in value] for value in values], type=pa.list_(pa.string()))
    return found.cast(pa.list_(pa.string())) if pa.types.is_null(found.type.value_type) else found


def to_values(codes: npt.NDArray[np.integer[Any]], kind: Type, symbols: Symbols) -> list[Any]:
    """A column of codes as the Python values a user sees."""
    if kind in (Type.TIMESTAMP, Type.DURATION):
        return to_arrow(codes, kind, symbols).to_pylist()
    return decode(codes, kind, symbols)


def string_codes(column: pa.Array | pa.ChunkedArray, symbols: Symbols) -> Codes:
    """Codes of an Arrow string column without nulls: one look-up per distinct word."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    encoded = column.dictionary_encode()
    words = encoded.dictionary.to_pylist()
    numbers = np.fromiter((symbols.number(word) for word in words), dtype=np.int64, count=len(words))
    places = encoded.indices.to_numpy(zero_copy_only=False)
    return numbers[places] if len(words) else np.zeros(len(column), dtype=np.int64)


def from_arrow_values(
    answer: pa.Array, kind: Type, symbols: Symbols, function: str
) -> tuple[Codes, npt.NDArray[np.bool_] | None]:
    """Codes of what a user's function returned, and where it has a value."""
    array = answer.combine_chunks() if isinstance(answer, pa.ChunkedArray) else pa.array(answer)
    good = None if array.null_count == 0 else ~array.is_null().to_numpy(zero_copy_only=False)
    try:
        if kind is Type.LIST:
            codes = np.array([encode(tuple(v or ()), kind, symbols) for v in array.to_pylist()], dtype=np.int64)
        elif kind in SYMBOLIC:
            codes = string_codes(array.cast(pa.string()).fill_null(""), symbols)
        elif kind is Type.FLOAT:
            codes = float_codes(array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False))
        elif kind is Type.BOOL:
            codes = array.fill_null(False).to_numpy(zero_copy_only=False).astype(np.int64)
        else:
            codes = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid as problem:
        raise EvaluationError(
            f"the function `{function}` did not return values of type {kind.value}: {problem}"
        ) from problem
    return codes, good
