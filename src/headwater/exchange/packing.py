"""Rows as they travel between shards, and back: exact, whatever their values.

Shards number symbols each for themselves, so symbols travel as values: each distinct one once per parcel, as a
string, or as JSON where a column holds lists or values of several types. All other columns travel as their codes, which
mean the same everywhere.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import StateError
from headwater.engine.border.soundness import refuse_unknown
from headwater.engine.codes.symbols import Codes, Symbols
from headwater.engine.reading import Matrix
from headwater.plan.model import Table

_SPARSE = 8  # so many times more symbols than rows: sorting the rows is cheaper than a table of all symbols


def pack(table: Table, rows: Matrix, symbols: Symbols) -> pa.Table:
    if not table.types:
        return pa.table({"0": pa.nulls(rows.shape[0])})
    arrays = [
        _words(rows[:, at], symbols) if kind.is_symbolic else pa.array(np.ascontiguousarray(rows[:, at]))
        for at, kind in enumerate(table.types)
    ]
    return pa.Table.from_arrays(arrays, names=[str(at) for at in range(len(arrays))])


def unpack(table: Table, parcel: pa.Table, symbols: Symbols) -> Codes:
    """Rows that have arrived, as codes of this shard."""
    if parcel.num_columns != max(1, len(table.types)):
        raise StateError(f"rows of `{table.name}` arrived with {parcel.num_columns} columns")
    out = np.empty((parcel.num_rows, len(table.types)), dtype=np.int64)
    for at, kind in enumerate(table.types):
        column = parcel.column(at).combine_chunks()
        if kind.is_symbolic:
            out[:, at] = _numbers(table, column, symbols)
        elif pa.types.is_signed_integer(column.type) and not column.null_count:
            out[:, at] = column.to_numpy()
        else:
            raise StateError(f"rows of `{table.name}` arrived with {column.type} instead of codes")
    return out


def refuse_unsound(table: Table, parcel: pa.Table) -> None:
    """Raise StateError, TypeError or ValueError if rows from a file are none that `pack` can have made."""
    symbols = Symbols()
    refuse_unknown(table, unpack(table, parcel, symbols), symbols)


def _words(codes: npt.NDArray[np.integer[Any]], symbols: Symbols) -> pa.Array:
    if codes.size * _SPARSE < len(symbols):
        distinct, places = np.unique(codes, return_inverse=True)
    else:
        there = np.zeros(len(symbols), dtype=np.bool_)
        there[codes] = True
        distinct = np.flatnonzero(there)
        place = np.empty(len(symbols), dtype=np.int32)
        place[distinct] = np.arange(distinct.size, dtype=np.int32)
        places = place[codes]
    values = [symbols.values[code] for code in distinct.tolist()]
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32, copy=False)), _spelt(values))


def _spelt(values: list[Any]) -> pa.Array:
    if all(value is None or type(value) is str for value in values):
        try:
            return pa.array(values, type=pa.string())
        except UnicodeEncodeError:  # half a surrogate pair is a string to Python, and none to Arrow
            pass
    return pa.array([json.dumps(value).encode("ascii") for value in values], type=pa.binary())


def _numbers(table: Table, column: pa.Array, symbols: Symbols) -> Codes:
    if not pa.types.is_dictionary(column.type) or column.null_count:
        raise StateError(f"rows of `{table.name}` arrived with {column.type} instead of strings")
    words = column.dictionary.to_pylist()
    if pa.types.is_binary(column.dictionary.type):
        words = [_frozen(json.loads(word)) for word in words]
    numbers = np.fromiter((symbols.number(word) for word in words), dtype=np.int64, count=len(words))
    return numbers[column.indices.to_numpy()]


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
