"""Users' columns to codes of a shard, and its changes to what users see: the one way in and out.

Promise: a row either fits its relation's types and is encoded, or is rejected with a reason; none is dropped and none
is bent to fit. An int fits a float column that can hold it exactly; nothing else is converted, except that moments and
spans of time are kept to the microsecond. Nulls fit where a column is declared to hold them. Out go the rows that the
queries ask for, as Arrow tables.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.types import Type
from headwater.engine.border.bags import net, number_copies
from headwater.engine.border.intake import Intake, Rejected, unfit
from headwater.engine.clock import Clock
from headwater.engine.codes.columns import Column, column_codes, plain, stands_for_null, to_arrow
from headwater.engine.codes.expressions import distinct_rows, order_keys
from headwater.engine.codes.fitting import fit, is_null
from headwater.engine.codes.symbols import NULL, Codes, Symbols, find_code, null_code
from headwater.engine.store.index import Matrix
from headwater.engine.store.store import Store
from headwater.language.syntax import Query, Variable, Wildcard
from headwater.plan.model import Table, literal
from headwater.program.time.program_clock import FOREVER, TOO_FAR

# In


@dataclass(frozen=True, slots=True)
class Encoded:
    """Base rows to insert and to delete, as codes, and those that do not fit."""

    inserts: dict[str, Codes]
    deletes: dict[str, Codes]
    rejected: tuple[Rejected, ...]


def encode_changes(
    stores: Mapping[str, Store],
    inserts: Mapping[str, Intake],
    deletes: Mapping[str, Intake],
    symbols: Symbols,
    *,
    holds_nulls: bool,
    untyped: Collection[str] = (),
) -> Encoded:
    """Changes of base rows as codes, the copies of equal rows numbered.

    `untyped` relations never had a row, and these rows do not show their types: all of them are left out. Where the
    program `holds_nulls`, the number whose code means null does not fit.
    """
    coming: dict[str, Codes] = {}
    going: dict[str, Codes] = {}
    rejected: list[Rejected] = []
    for given, codes in ((inserts, coming), (deletes, going)):
        for name, intake in given.items():
            if name in untyped:
                _reject_untyped(intake)
            else:
                codes[name] = _encode_rows(stores[name].table, intake, symbols, holds_nulls=holds_nulls)
            rejected += intake.rejected
    number_copies(stores, coming, going)
    return Encoded(coming, going, tuple(rejected))


def _reject_untyped(intake: Intake) -> None:
    """Rows of a relation whose types are not known yet: those with a value that no type fits join `rejected`."""
    for at, values in enumerate(zip(*intake.columns, strict=True)):
        row = tuple(map(plain, values))
        for name, value in zip(intake.names, row, strict=True):
            reason = unfit(value)
            if reason is not None:
                place = int(intake.positions[at])
                intake.rejected.append(Rejected(intake.header.relation, place, row, f"column `{name}`: {reason}"))
                break


class ColumnCodes:
    """Codes of the columns of some rows, each encoded once, when it is first asked for."""

    def __init__(self) -> None:
        self.symbols = Symbols()
        self._found: dict[tuple[int, Type, bool], tuple[Codes, list[tuple[int, str]]]] = {}

    def of(self, at: int, column: Column, kind: Type, *, nullable: bool) -> tuple[Codes, list[tuple[int, str]]]:
        """The codes of the column at a place, and the rows that do not fit, with the reason."""
        key = at, kind, nullable
        if key not in self._found:
            self._found[key] = column_codes(column, kind, self.symbols, nullable=nullable)
        return self._found[key]

    def keep(self, rows: npt.NDArray[np.bool_]) -> None:
        """Go on with some of the rows, which all fit."""
        self._found = {key: (codes[rows], []) for key, (codes, _) in self._found.items()}


def _encode_rows(table: Table, intake: Intake, symbols: Symbols, *, holds_nulls: bool) -> Codes:
    """Codes of the rows that fit; the others join `intake.rejected`."""
    columns: list[Codes] = []
    keep = np.ones(intake.size, dtype=np.bool_)
    for name, target, column in zip(intake.names, table.written, intake.columns, strict=True):
        nullable = target.at in table.nullable
        codes, problems = _column(column, target.type, symbols, nullable=nullable, holds_nulls=holds_nulls)
        if target.at is not None and target.at == table.time:
            problems = sorted([*problems, *((int(at), TOO_FAR) for at in np.flatnonzero(codes >= FOREVER))])
        for at, reason in problems:
            if keep[at]:
                keep[at] = False
                row = tuple(plain(other[at]) for other in intake.columns)
                position = int(intake.positions[at])
                intake.rejected.append(Rejected(table.name, position, row, f"column `{name}`: {reason}"))
        columns.append(codes)
    out = np.empty((intake.size, len(columns)), dtype=np.int64)
    for at, codes in enumerate(columns):
        out[:, at] = codes
    return out if keep.all() else out[keep]


def _column(
    column: Column, kind: Type, symbols: Symbols, *, nullable: bool, holds_nulls: bool
) -> tuple[Codes, list[tuple[int, str]]]:
    codes, problems = column_codes(column, kind, symbols, nullable=nullable)
    if holds_nulls:
        taken = [int(at) for at in stands_for_null(codes, kind) if not is_null(plain(column[at]))]
        problems = sorted([*problems, *((at, f"{NULL} does not fit: Headwater uses it for null") for at in taken)])
    return codes, problems


def set_late_aside(
    clock: Clock, inserts: Mapping[str, Codes], now: int | None
) -> tuple[Mapping[str, Codes], dict[str, npt.NDArray[np.bool_]]]:
    """The rows that are in time if the clock shows `now`; and by table which of the rows given are not."""
    late = {name: found for name, rows in inserts.items() if (found := clock.late(name, rows, now)) is not None}
    if not late:
        return inserts, late
    return {name: rows[~late[name]] if name in late else rows for name, rows in inserts.items()}, late


# Out


@dataclass(frozen=True, slots=True)
class Change:
    """The net effect of a transaction on one table, as codes."""

    inserted: Matrix
    deleted: Matrix


def read_change(
    queries: Sequence[Query], table: Table, names: Sequence[str], change: Change | None, symbols: Symbols
) -> tuple[pa.Table, pa.Table]:
    """What users see of the rows of a table that came and that went, the columns under these names."""
    came = went = np.zeros((0, len(table.types)), dtype=np.int64)
    if change is not None:
        came, went = (asked(queries, table, codes, symbols) for codes in (change.inserted, change.deleted))
        came, went = _seen_change(table, came, went)
        if table.hidden:
            came, went = net(table, came, went)
    return arrow_table(table, names, came, symbols), arrow_table(table, names, went, symbols)


def asked(queries: Sequence[Query], table: Table, codes: Matrix, symbols: Symbols) -> Matrix:
    """Of these rows of a table those that a query asks for, if its relation is queried."""
    queried = [query for query in queries if query.atom.relation == table.name]
    own = [query for query in queried if not query.parameters]  # what those ask for comes with each question
    if not queried or any(_asks_all(query) for query in own):
        return codes
    keep = np.zeros(codes.shape[0], dtype=np.bool_)
    for query in own:
        keep |= asks_for(query, table, codes, symbols)
    return codes[keep]


def in_order(table: Table, codes: Matrix, symbols: Symbols, query: Query) -> npt.NDArray[np.int64]:
    """Which of these rows a query asks for, sorted and cut as it says; NaN is larger than any other number."""
    rows = np.arange(codes.shape[0], dtype=np.int64)
    columns = replace(table, hidden=0).written  # rows may be sorted by a column that is not shown
    for key in reversed(query.order):  # the sort is stable: the first column has the last word
        column = columns[key.column]
        if column.at is None:
            continue
        found = codes[rows, column.at].astype(np.int64)
        keys = order_keys(found, column.type, symbols)
        null = found == null_code(column.type) if column.at in table.nullable else np.zeros(found.size, dtype=np.bool_)
        missing, present = np.flatnonzero(null), np.flatnonzero(~null)
        # Codes start at the smallest int64, which has no opposite: the other way round is `~`.
        present = present[np.argsort(~keys[present] if key.descending else keys[present], kind="stable")]
        rows = rows[np.concatenate([missing, present] if key.nulls_first else [present, missing])]
    return rows[query.offset :] if query.limit is None else rows[query.offset : query.offset + query.limit]


def arrow_table(table: Table, names: Sequence[str], codes: Matrix, symbols: Symbols) -> pa.Table:
    """Rows of a table as its relation is written, the columns under these names; times that are not kept are null."""
    arrays = [
        pa.repeat(
            pa.scalar(column.value, to_arrow(_NO_CODES, column.type, symbols, nullable=False).type), codes.shape[0]
        )
        if column.at is None
        else to_arrow(codes[:, column.at], column.type, symbols, nullable=column.at in table.nullable)
        for column in table.written
    ]
    if not arrays:
        return pa.table({"": pa.nulls(codes.shape[0])}).select([])
    return pa.Table.from_arrays(arrays, names=list(names))


def _seen_change(table: Table, inserted: Matrix, deleted: Matrix) -> tuple[Matrix, Matrix]:
    """Of rows that came and went those that differ in what a user sees: a new version of a row is no new row."""
    if table.shown is None or not inserted.shape[0] or not deleted.shape[0]:
        return inserted, deleted
    columns = [column.at for column in table.written if column.at is not None]
    both = np.concatenate([inserted[:, columns], deleted[:, columns]]).astype(np.int64)
    _, which = distinct_rows(np.ascontiguousarray(both))
    came, went = which[: inserted.shape[0]], which[inserted.shape[0] :]
    return inserted[~np.isin(came, went)], deleted[~np.isin(went, came)]


def _asks_all(query: Query) -> bool:
    named = [arg.name for arg in query.atom.args if isinstance(arg, Variable)]
    free = all(isinstance(arg, Variable | Wildcard) for arg in query.atom.args)
    return free and len(named) == len(set(named))


def asks_for(query: Query, table: Table, codes: Matrix, symbols: Symbols) -> npt.NDArray[np.bool_]:
    """Which of these rows of a table a query without parameters asks for."""
    keep = np.ones(codes.shape[0], dtype=np.bool_)
    first: dict[str, int] = {}
    for column, arg in enumerate(query.atom.args):
        if isinstance(arg, Variable):
            earlier = first.setdefault(arg.name, column)
            if earlier != column:
                keep &= codes[:, column] == codes[:, earlier]
        elif not isinstance(arg, Wildcard):
            code = _asked_code(literal(arg).value, table.types[column], symbols)
            keep &= False if code is None else codes[:, column] == code
    return keep


def _asked_code(value: Any, kind: Type, symbols: Symbols) -> int | None:
    """The code of a query's constant, None if no row can hold it.

    Where a column's type is only known at run time, it may hold any value.
    """
    try:
        return find_code(fit(value, kind, nullable=True), kind, symbols)
    except ValueError:
        return symbols.find(value) if kind.is_symbolic else None


_NO_CODES: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
