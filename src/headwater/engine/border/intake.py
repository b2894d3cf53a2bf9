"""Rows as users have them (tuples, dicts, pandas, polars, Arrow) to columns, and the types that they show.

Promise: a row either has the relation's columns or is rejected with a reason. What is no rows at all, or has other
columns than the relation, is a DataError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import DataError
from headwater.core.types import Type, list_of
from headwater.core.widening import widest
from headwater.engine.codes.columns import Column
from headwater.engine.codes.fitting import fit, list_type_of, shown, type_of


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that does not fit: where it stood in its batch, and why it was set aside."""

    relation: str
    position: int
    row: Any
    reason: str

    def __str__(self) -> str:
        return f"{self.relation}, row {self.position + 1}: {self.reason}: {shown(self.row, 200)}"


def rejection(rejected: Sequence[Rejected], hint: str) -> str:
    """The message of an error for rows that do not fit."""
    lines = [f"error[HW801]: {len(rejected)} row(s) do not fit; nothing was applied"]
    lines += [f"  {row}" for row in rejected[:5]]
    if len(rejected) > 5:
        lines.append(f"  ... and {len(rejected) - 5} more")
    lines.append(f"  hint: {hint}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Header:
    """The columns that rows of a relation have; `fixed`: their names were declared, or learnt from earlier data.

    Where they are not `ordered`, rows come with the names of their columns.
    """

    relation: str
    names: tuple[str, ...]
    fixed: bool
    ordered: bool = True


@dataclass(slots=True)
class Intake:
    """Columns of one relation on their way in, with the positions their rows had; not typed yet."""

    header: Header
    columns: list[Column]
    positions: npt.NDArray[np.int64]
    rejected: list[Rejected]
    learnt: tuple[str, ...] | None = None  # what the data calls its columns, where the relation does not say

    @property
    def size(self) -> int:
        return int(self.positions.size)

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are called."""
        return self.learnt or self.header.names


def take_in(header: Header, rows: Any) -> Intake:
    """Any supported container of rows as columns in the relation's order."""
    frame = _as_frame(header.relation, rows)
    if frame is not None:
        return _from_frame(header, *frame)
    if isinstance(rows, np.ndarray):
        rows = rows.tolist()
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise _no_rows(header.relation, rows)
    return _from_rows(header, rows)


def _no_rows(relation: str, given: Any) -> DataError:
    return DataError(
        f"error[HW801]: {shown(given)} where rows of `{relation}` should be; give a list of tuples or dicts, "
        "a pandas or polars frame, or an Arrow table"
    )


def _as_frame(relation: str, rows: Any) -> tuple[list[str], list[Column], int] | None:
    """Names, columns and the number of rows of what has columns."""
    package = type(rows).__module__.partition(".")[0]
    if package in ("pandas", "polars") and type(rows).__name__ not in ("DataFrame", "LazyFrame"):
        raise _no_rows(relation, rows)
    if package == "pandas":
        return _from_pandas(rows)
    if package == "polars":
        rows = (rows.collect() if type(rows).__name__ == "LazyFrame" else rows).to_arrow()
    elif isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    elif hasattr(rows, "__arrow_c_stream__") and not isinstance(rows, pa.Table):
        rows = pa.table(rows)
    return (rows.column_names, rows.columns, rows.num_rows) if isinstance(rows, pa.Table) else None


def _from_pandas(frame: Any) -> tuple[list[str], list[Column], int]:
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        # Objects of several types in one column: they are looked at one by one.
        columns: list[Column] = [frame.iloc[:, at].tolist() for at in range(frame.shape[1])]
        return [str(name) for name in frame.columns], columns, len(frame)
    return table.column_names, table.columns, table.num_rows


def _from_frame(header: Header, given: list[str], columns: list[Column], count: int) -> Intake:
    names = header.names
    distinct = len(set(given)) == len(given)
    if len(given) != len(names):
        raise DataError(
            f"error[HW801]: {len(given)} columns ({', '.join(given)}) for `{header.relation}({', '.join(names)})`"
        )
    if distinct and set(given) == set(names):
        return Intake(header, [columns[given.index(name)] for name in names], _positions(count), [])
    if not header.ordered:
        by_name = {name.lower(): column for name, column in zip(given, columns, strict=True)}
        if len(by_name) == len(given) and set(by_name) == {name.lower() for name in names}:
            return Intake(header, [by_name[name.lower()] for name in names], _positions(count), [])
        raise _unordered(header)
    if header.fixed:
        swapped = next((name for at, name in enumerate(given) if name in names and names[at] != name), None)
        if swapped is not None:
            raise DataError(
                f"error[HW801]: columns {', '.join(given)} do not name those of "
                f"`{header.relation}({', '.join(names)})`, and `{swapped}` stands in another place; name all of them"
            )
    learnt = tuple(given) if distinct and not header.fixed else None
    return Intake(header, list(columns), _positions(count), [], learnt)


def _from_rows(header: Header, rows: Iterable[Any]) -> Intake:
    names, learnt = header.names, None
    good: list[Sequence[Any]] = []
    places: list[int] = []
    rejected: list[Rejected] = []
    width = len(names)

    def reject(at: int, row: Any, reason: str) -> None:
        rejected.append(Rejected(header.relation, at, row, reason))

    for at, row in enumerate(rows):
        if type(row) is tuple and header.ordered:
            pass  # as rows mostly are: to ask what else they might be costs more than all the rest
        elif isinstance(row, Mapping):
            if not header.fixed and learnt is None and len(row) == width and set(row) != set(names):
                names = learnt = tuple(map(str, row))
            missing = [name for name in names if name not in row]
            extra = [str(name) for name in row if name not in names]
            if missing or extra:
                reject(at, dict(row), f"no value for {', '.join(missing)}" if missing else _unknown_columns(extra))
                continue
            row = tuple(row[name] for name in names)
        elif isinstance(row, str | bytes) or not isinstance(row, Sequence):
            reject(at, row, "not a tuple or dict")
            continue
        elif not header.ordered:
            raise _unordered(header)
        if len(row) != width:
            reject(at, row, f"{len(row)} values for {width} columns ({', '.join(names)})")
            continue
        good.append(row)
        places.append(at)
    columns: list[Column] = [list(column) for column in zip(*good, strict=True)] if good else [[] for _ in names]
    return Intake(header, columns, np.array(places, dtype=np.int64), rejected, learnt)


def _unordered(header: Header) -> DataError:
    """An SQL table that is not declared has its columns in the order in which the query mentions them."""
    return DataError(
        f"error[HW801]: rows of `{header.relation}` come by position, but the order of its columns is not known "
        f"({', '.join(header.names)}); give dicts or a frame with these names, "
        f"or declare the table: CREATE TABLE {header.relation} (...), or compile(text, tables=...)"
    )


def _unknown_columns(names: list[str]) -> str:
    return f"unknown column{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _positions(count: int) -> npt.NDArray[np.int64]:
    return np.arange(count, dtype=np.int64)


def guess_types(intake: Intake) -> tuple[Type | None, ...]:
    """The types that an undeclared relation's first data shows, judged by rows that can be kept; None: no such row."""
    unknown = (None,) * len(intake.columns)
    if not all(isinstance(column, list) for column in intake.columns):
        if any(not isinstance(column, list) and column.null_count for column in intake.columns):
            names = list(map(str, range(len(intake.columns))))
            if not pa.table(intake.columns, names=names).drop_null().num_rows:
                return unknown
        found = tuple(map(guess_type, intake.columns))
        return unknown if None in found else found
    first = next((row for row in zip(*intake.columns, strict=True) if not any(map(unfit, row))), None)
    if first is None:
        return unknown
    return tuple(
        guess_type([value, *column]) if type_of(value) in (Type.INT, Type.FLOAT, Type.LIST) else type_of(value)
        for value, column in zip(first, intake.columns, strict=True)
    )


def unfit(value: Any) -> str | None:
    """Why no type fits a value; None: one does."""
    kind = type_of(value)
    if kind is None and value is not None:
        return f"{shown(value)} fits no type"
    try:
        fit(value, list_type_of(value) if kind is Type.LIST else kind or Type.STRING)
    except ValueError as problem:
        return str(problem)
    return None


def guess_type(column: Column) -> Type | None:
    """The type that an undeclared column's first data shows; None: no data."""
    if isinstance(column, list):
        kinds = {type_of(value) for value in column} - {None}
        if kinds == {Type.INT, Type.FLOAT}:
            return Type.FLOAT
        found = next((type_of(value) for value in column if type_of(value) is not None), None)
        if found is Type.LIST:
            return widest(list_type_of(value) for value in column if type_of(value) is Type.LIST)
        return found
    if len(column) == column.null_count:
        return None
    return _arrow_kind(column.type)


def _arrow_kind(given: pa.DataType) -> Type | None:
    """The type of a column of this Arrow type; None: there is none."""
    kind = given.value_type if pa.types.is_dictionary(given) else given
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return list_of(_arrow_kind(kind.value_type))
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
    (pa.types.is_date, Type.DATE),
    (pa.types.is_duration, Type.DURATION),
)
