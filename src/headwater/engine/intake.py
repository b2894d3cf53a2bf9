"""Rows as users have them (tuples, dicts, pandas, polars, Arrow) to columns, and columns to codes.

Promise: a row either fits its relation's types and is encoded, or is rejected with a reason; none is dropped
and none is bent to fit. An int fits a float column; nothing else is converted. Nulls do not fit.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.types import Type
from headwater.engine.columns import ARROW, string_codes
from headwater.engine.values import Codes, Symbols, encode, float_codes

_INT64 = range(-(2**63), 2**63)
_EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that does not fit: where it stood in its batch, and why it was set aside."""

    relation: str
    position: int
    row: Any
    reason: str

    def __str__(self) -> str:
        return f"{self.relation}, row {self.position + 1}: {self.reason}: {self.row!r}"


@dataclass(slots=True)
class Intake:
    """Columns of one relation on their way in, with the positions their rows had; not typed yet."""

    columns: list[pa.ChunkedArray | pa.Array | list[Any]]
    positions: npt.NDArray[np.int64]
    rejected: list[Rejected]

    @property
    def size(self) -> int:
        return int(self.positions.size)


def take_in(relation: str, names: Sequence[str], rows: Any) -> Intake:
    """Any supported container of rows as columns in the relation's order."""
    table = _as_arrow(rows)
    if table is not None:
        return _from_arrow(relation, names, table)
    return _from_rows(relation, names, rows)


def _as_arrow(rows: Any) -> pa.Table | None:
    if isinstance(rows, pa.Table):
        return rows
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    package = type(rows).__module__.partition(".")[0]
    if package == "pandas":
        return pa.Table.from_pandas(rows, preserve_index=False)
    if package == "polars":
        return rows.to_arrow()
    return None


def _from_arrow(relation: str, names: Sequence[str], table: pa.Table) -> Intake:
    if table.num_columns != len(names):
        reason = f"{table.num_columns} columns for {len(names)} ({', '.join(names)})"
        return Intake([[] for _ in names], _positions(0), [Rejected(relation, 0, table.column_names, reason)])
    given = table.column_names
    by_name = set(given) == set(names) and len(set(given)) == len(given)
    columns: list[Any] = [table.column(name if by_name else at) for at, name in enumerate(names)]
    return Intake(columns, _positions(table.num_rows), [])


def _from_rows(relation: str, names: Sequence[str], rows: Iterable[Any]) -> Intake:
    good: list[Sequence[Any]] = []
    places: list[int] = []
    rejected: list[Rejected] = []
    width = len(names)
    for at, row in enumerate(rows):
        if isinstance(row, Mapping):
            missing = [name for name in names if name not in row]
            extra = [name for name in row if name not in names]
            if missing or extra:
                what = (
                    f"no value for {', '.join(missing)}" if missing else f"unknown column {', '.join(map(str, extra))}"
                )
                rejected.append(Rejected(relation, at, dict(row), what))
                continue
            row = tuple(row[name] for name in names)
        elif isinstance(row, str | bytes) or not isinstance(row, Sequence):
            rejected.append(Rejected(relation, at, row, "not a tuple or dict"))
            continue
        if len(row) != width:
            rejected.append(Rejected(relation, at, row, f"{len(row)} values for {width} columns ({', '.join(names)})"))
            continue
        good.append(row)
        places.append(at)
    columns: list[Any] = [list(column) for column in zip(*good, strict=True)] if good else [[] for _ in names]
    return Intake(columns, np.array(places, dtype=np.int64), rejected)


def _positions(count: int) -> npt.NDArray[np.int64]:
    return np.arange(count, dtype=np.int64)


def guess_type(column: pa.ChunkedArray | pa.Array | list[Any]) -> Type | None:
    """The type that an undeclared column's first data shows; None: no data."""
    if isinstance(column, list):
        kinds = {_type_of(value) for value in column} - {None}
        if kinds == {Type.INT, Type.FLOAT}:
            return Type.FLOAT
        return next((_type_of(value) for value in column if _type_of(value) is not None), None)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if len(column) == column.null_count:
        return None
    for test, found in _ARROW_KINDS:
        if test(kind):
            return found
    return None


_ARROW_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Type], ...] = (
    (pa.types.is_boolean, Type.BOOL),
    (pa.types.is_integer, Type.INT),
    (pa.types.is_floating, Type.FLOAT),
    (pa.types.is_string, Type.STRING),
    (pa.types.is_large_string, Type.STRING),
    (pa.types.is_string_view, Type.STRING),
    (pa.types.is_timestamp, Type.TIMESTAMP),
    (pa.types.is_duration, Type.DURATION),
    (pa.types.is_list, Type.LIST),
    (pa.types.is_large_list, Type.LIST),
)


def _type_of(value: Any) -> Type | None:
    if isinstance(value, bool | np.bool_):
        return Type.BOOL
    if isinstance(value, int | np.integer):
        return Type.INT
    if isinstance(value, float | np.floating):
        return Type.FLOAT
    if isinstance(value, str):
        return Type.STRING
    if isinstance(value, list | tuple):
        return Type.LIST
    if isinstance(value, dt.datetime):
        return Type.TIMESTAMP
    if isinstance(value, dt.timedelta):
        return Type.DURATION
    return None


def encode_rows(relation: str, names: Sequence[str], types: Sequence[Type], intake: Intake, symbols: Symbols) -> Codes:
    """Codes of the rows that fit; the others join `intake.rejected`."""
    columns: list[Codes] = []
    keep = np.ones(intake.size, dtype=np.bool_)
    for name, kind, column in zip(names, types, intake.columns, strict=True):
        codes = _fast_codes(column, kind, symbols)
        if codes is None:
            codes, problems = _slow_codes(column, kind, symbols)
            for at, reason in problems:
                if keep[at]:
                    keep[at] = False
                    row = tuple(_plain(other[at]) for other in intake.columns)
                    place = int(intake.positions[at])
                    intake.rejected.append(Rejected(relation, place, row, f"column `{name}`: {reason}"))
        columns.append(codes)
    out = np.empty((intake.size, len(columns)), dtype=np.int64)
    for at, codes in enumerate(columns):
        out[:, at] = codes
    return out if keep.all() else out[keep]


def _plain(value: Any) -> Any:
    return value.as_py() if isinstance(value, pa.Scalar) else value


def _fast_codes(column: pa.ChunkedArray | pa.Array | list[Any], kind: Type, symbols: Symbols) -> Codes | None:
    """A whole column at once, or None where values must be looked at one by one."""
    if isinstance(column, list):
        return _fast_list_codes(column, kind)
    if column.null_count:
        return None
    given = column.type
    if pa.types.is_dictionary(given):
        column = column.cast(given.value_type)
        given = column.type
    if kind in (Type.STRING, Type.ADDRESS):
        text = pa.types.is_string(given) or pa.types.is_large_string(given) or pa.types.is_string_view(given)
        return string_codes(column.cast(pa.string()), symbols) if text else None
    if kind is Type.FLOAT and (pa.types.is_floating(given) or pa.types.is_integer(given)):
        return float_codes(column.cast(pa.float64()).to_numpy())
    if kind is Type.INT and pa.types.is_integer(given) and given != pa.uint64():
        return column.cast(pa.int64()).to_numpy()
    if kind is Type.BOOL and pa.types.is_boolean(given):
        return (
            column.to_numpy(zero_copy_only=False).astype(np.int64)
            if isinstance(column, pa.Array)
            else column.to_numpy().astype(np.int64)
        )
    if (kind is Type.TIMESTAMP and pa.types.is_timestamp(given)) or (
        kind is Type.DURATION and pa.types.is_duration(given)
    ):
        return column.cast(ARROW[kind], safe=False).cast(pa.int64()).to_numpy()
    return None


def _fast_list_codes(column: list[Any], kind: Type) -> Codes | None:
    if kind is Type.INT and all(type(value) is int for value in column):
        try:
            return np.array(column, dtype=np.int64)
        except OverflowError:
            return None
    if kind is Type.FLOAT and all(type(value) is float for value in column):
        return float_codes(np.array(column, dtype=np.float64))
    return None


def _slow_codes(
    column: pa.ChunkedArray | pa.Array | list[Any], kind: Type, symbols: Symbols
) -> tuple[Codes, list[tuple[int, str]]]:
    values = column if isinstance(column, list) else column.to_pylist()
    codes = np.zeros(len(values), dtype=np.int64)
    problems: list[tuple[int, str]] = []
    for at, value in enumerate(values):
        try:
            codes[at] = encode(fit(value, kind), kind, symbols)
        except ValueError as problem:
            problems.append((at, str(problem)))
    return codes, problems


def fit(value: Any, kind: Type) -> Any:
    """The value as the engine keeps it, or ValueError with the reason why it does not fit."""
    found = _type_of(value)
    if value is None:
        raise ValueError("a null does not fit")
    match kind:
        case Type.INT if found is Type.INT:
            return _whole(value)
        case Type.FLOAT if found in (Type.FLOAT, Type.INT):
            return float(value)
        case Type.STRING | Type.ADDRESS if found is Type.STRING:
            return value
        case Type.BOOL if found is Type.BOOL:
            return bool(value)
        case Type.LIST if found is Type.LIST:
            return _tuple(value)
        case Type.TIMESTAMP:
            return _moment(value, found)
        case Type.DURATION if found is Type.DURATION:
            return value // dt.timedelta(microseconds=1)
        case Type.DURATION if found is Type.INT:
            return _whole(value)
    raise ValueError(f"{_shown(value)} is no {kind.value}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _whole(value: Any) -> int:
    number = int(value)
    if number not in _INT64:
        raise ValueError(f"{_shown(value)} does not fit into 64 bits")
    return number


def _tuple(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_tuple(item) for item in value)
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, str | int | float | bool):
        raise ValueError(f"a list may not hold {_shown(value)}")
    return value


def _moment(value: Any, found: Type | None) -> int:
    """Microseconds since 1970 in UTC, from a datetime, an ISO text or a number of microseconds."""
    if found is Type.INT:
        return _whole(value)
    if found is Type.STRING:
        try:
            value = dt.datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{_shown(value)} is no timestamp (write 2026-01-31T12:00:00)") from None
    if not isinstance(value, dt.datetime):
        raise ValueError(f"{_shown(value)} is no timestamp")
    if value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    return (value - _EPOCH) // dt.timedelta(microseconds=1)
