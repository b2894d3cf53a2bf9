"""Symbols as an Arrow table, and back: texts, lists of texts and lists of ints in columns of their type.

Each row has one column that is not null: its value. Whatever fits none of the typed columns (lists of lists, of floats,
of several types, texts with half a surrogate pair) stands as JSON, marked by type.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

_TEXT, _TEXTS, _INTS, _OTHER = "text", "texts", "ints", "other"
_TYPES = {
    _TEXT: pa.large_string(),
    _TEXTS: pa.large_list(pa.large_string()),
    _INTS: pa.large_list(pa.int64()),
    _OTHER: pa.large_string(),
}


def to_columns(values: Sequence[Any]) -> pa.Table:
    """The values in order; a column that no value needs is left out."""
    kinds = [_column_of(value) for value in values]
    columns: dict[str, pa.Array] = {}
    for name, kind in _TYPES.items():
        if name in kinds or name == _TEXT:
            given = [value if column == name else None for column, value in zip(kinds, values, strict=True)]
            if name == _OTHER:
                given = [None if value is None else json.dumps(_marked(value)) for value in given]
            columns[name] = pa.array(given, type=kind)
    return pa.table(columns)


def from_columns(table: pa.Table) -> list[Any]:
    """The values that `to_columns` was given; of a table that it did not make, LookupError, TypeError or ValueError."""
    values: list[Any] = [None] * table.num_rows
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if column.type != _TYPES[name]:
            raise ValueError(f"its symbols have a column `{name}` of type {column.type}")
        if name == _TEXT and not column.null_count:
            return column.to_pylist()
        places = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)).tolist()
        for place, value in zip(places, _READERS[name](column.drop_null()), strict=True):
            values[place] = value
    return values


def _column_of(value: Any) -> str:
    if type(value) is str and _is_unicode(value):
        return _TEXT
    if type(value) is tuple:
        kinds = set(map(type, value))
        if kinds == {str} and all(map(_is_unicode, value)):
            return _TEXTS
        if kinds == {int}:
            return _INTS
    return _OTHER


def _is_unicode(text: str) -> bool:
    """Half a surrogate pair is a string to Python, and none to Arrow."""
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _lists(column: pa.Array) -> list[tuple[Any, ...]]:
    """Lists cut out of all their items at once: far quicker than one after the other."""
    if column.values.null_count:
        raise ValueError("its symbols have a list of nulls")
    ends = column.offsets.to_pylist()
    items = column.values.to_pylist()
    return [tuple(items[begin:end]) for begin, end in pairwise(ends)]


def _marked(value: Any) -> Any:
    """Texts as they are; lists, and what is in them, marked by type."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return {"list": [_marked(item) for item in value]}
    if isinstance(value, float):
        return {"float": value.hex()}
    return {type(value).__name__: value}


def _unmarked(value: Any) -> Any:
    match value:
        case str():
            return value
        case {"list": list(items)} if len(value) == 1:
            return tuple(map(_unmarked, items))
        case {"float": str(digits)} if len(value) == 1:
            return float.fromhex(digits)
        case {"int": int(number)} if len(value) == 1 and type(number) is int:
            return number
        case {"bool": bool(truth)} if len(value) == 1:
            return truth
    raise ValueError("its symbols have a value of no type")


_READERS: dict[str, Callable[[pa.Array], list[Any]]] = {
    _TEXT: lambda column: column.to_pylist(),
    _TEXTS: _lists,
    _INTS: _lists,
    _OTHER: lambda column: [_unmarked(json.loads(text)) for text in column.to_pylist()],
}
