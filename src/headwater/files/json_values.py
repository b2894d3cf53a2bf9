"""Values of jsonl and parquet files as values of a type."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.types import Type
from headwater.engine.border.intake import guess_type
from headwater.engine.codes.columns import ARROW, fitted_array
from headwater.engine.codes.fitting import fit, is_null
from headwater.files.cell_values import storable, text_value
from headwater.files.rows import Column, Problems, values_of
from headwater.files.typed_rows import Conversion

_KINDS: dict[type, Type] = {bool: Type.BOOL, int: Type.INT, float: Type.FLOAT, str: Type.STRING, list: Type.LIST}
# Values of these Python types fit a column of the type as they are.
_FITTING: dict[Type, frozenset[type]] = {
    Type.INT: frozenset({int}),
    Type.FLOAT: frozenset({int, float}),
    Type.STRING: frozenset({str}),
    Type.ADDRESS: frozenset({str}),
    Type.BOOL: frozenset({bool}),
}
_WRITTEN_AS_TEXT = (Type.TIMESTAMP, Type.DATE, Type.DURATION)  # JSON has no way of its own


def guess_values(column: Column) -> Type | None:
    """The type of most values of an undeclared column; whole numbers among floats are floats."""
    if not isinstance(column, list):
        return guess_type(column)
    kinds = Counter({_KINDS[found]: count for found, count in Counter(map(type, column)).items() if found in _KINDS})
    if not kinds:
        return None
    ints, floats = kinds[Type.INT], kinds[Type.FLOAT]
    if ints and floats and 2 * (ints + floats) > kinds.total():
        return Type.FLOAT
    return kinds.most_common(1)[0][0]


def null_values(column: Column, _: Type) -> npt.NDArray[np.bool_]:
    """Where a column holds a null."""
    if isinstance(column, list):
        return np.fromiter(map(is_null, column), dtype=np.bool_, count=len(column))
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)


def typed_values(column: Column, kind: Type) -> tuple[Column, Problems]:
    """The values of a column, and where one does not fit (the value there is meaningless)."""
    quick = _all_at_once(column, kind)
    if quick is not None:
        return quick, {}
    values: list[Any] = []
    problems: dict[int, str] = {}
    for at, value in enumerate(values_of(column)):
        try:
            if kind in _WRITTEN_AS_TEXT and isinstance(value, str):
                value = text_value(value, kind)
            values.append(storable(fit(value, kind)))
        except (ValueError, OverflowError, RecursionError) as problem:
            values.append(None)
            problems[at] = str(problem)
    return (values if kind.is_list or kind is Type.ANY else fitted_array(values, kind)), problems


def _all_at_once(column: Column, kind: Type) -> pa.Array | None:
    if not isinstance(column, list):
        fits = not kind.is_list and column.null_count == 0 and kind is not Type.ANY and column.type == ARROW[kind]
        return column if fits else None
    if kind not in _FITTING or not _FITTING[kind].issuperset(map(type, column)):
        return None
    try:
        return pa.array(column, type=ARROW[kind])
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
        return None


VALUES = Conversion(guess_values, typed_values, null_values)
