"""What a user sees of stored rows: those that the queries ask for, as Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.types import Type
from headwater.engine.codes.columns import to_arrow
from headwater.engine.codes.expressions import distinct_rows
from headwater.engine.codes.fitting import fit
from headwater.engine.codes.symbols import Symbols, find_code
from headwater.engine.store.index import Matrix
from headwater.language.syntax import Query, Variable, Wildcard
from headwater.plan.model import Table, literal


def asked(queries: Sequence[Query], table: Table, codes: Matrix, symbols: Symbols) -> Matrix:
    """Of these rows of a table those that a query asks for, if its relation is queried."""
    own = [query for query in queries if query.atom.relation == table.name]
    if not own or any(_asks_all(query) for query in own):
        return codes
    keep = np.zeros(codes.shape[0], dtype=np.bool_)
    for query in own:
        keep |= _matches(query, codes, table.types, symbols)
    return codes[keep]


def arrow_table(table: Table, names: Sequence[str], codes: Matrix, symbols: Symbols) -> pa.Table:
    """Rows of a table as its relation is written, the columns under these names; times that are not kept are null."""
    arrays = [
        pa.nulls(codes.shape[0], to_arrow(_NO_CODES, one.type, symbols, nullable=False).type)
        if one.at is None
        else to_arrow(codes[:, one.at], one.type, symbols, nullable=one.at in table.nullable)
        for one in table.written
    ]
    if not arrays:
        return pa.table({"": pa.nulls(codes.shape[0])}).select([])
    return pa.Table.from_arrays(arrays, names=list(names))


def seen_change(table: Table, inserted: Matrix, deleted: Matrix) -> tuple[Matrix, Matrix]:
    """Of rows that came and went those that differ in what a user sees: a new version of a row is no new row."""
    if table.shown is None or not inserted.shape[0] or not deleted.shape[0]:
        return inserted, deleted
    columns = [one.at for one in table.written if one.at is not None]
    both = np.concatenate([inserted[:, columns], deleted[:, columns]]).astype(np.int64)
    _, which = distinct_rows(np.ascontiguousarray(both))
    came, went = which[: inserted.shape[0]], which[inserted.shape[0] :]
    return inserted[~np.isin(came, went)], deleted[~np.isin(went, came)]


def _asks_all(query: Query) -> bool:
    named = [arg.name for arg in query.atom.args if isinstance(arg, Variable)]
    free = all(isinstance(arg, Variable | Wildcard) for arg in query.atom.args)
    return free and len(named) == len(set(named))


def _matches(query: Query, codes: Matrix, types: tuple[Type, ...], symbols: Symbols) -> npt.NDArray[np.bool_]:
    keep = np.ones(codes.shape[0], dtype=np.bool_)
    first: dict[str, int] = {}
    for column, arg in enumerate(query.atom.args):
        if isinstance(arg, Variable):
            keep &= codes[:, column] == codes[:, first.setdefault(arg.name, column)]
        elif not isinstance(arg, Wildcard):
            code = _asked_code(literal(arg).value, types[column], symbols)
            keep &= False if code is None else codes[:, column] == code
    return keep


def _asked_code(value: Any, kind: Type, symbols: Symbols) -> int | None:
    """The code of a query's constant, None if no row can hold it.

    Where only the run tells a column's type, it may hold any value.
    """
    try:
        return find_code(fit(value, kind, nullable=True), kind, symbols)
    except ValueError:
        return symbols.find(value) if kind.is_symbolic else None


_NO_CODES: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
