"""What a user sees of stored rows: those that the queries ask for, as Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.types import Type
from headwater.engine.columns import to_arrow
from headwater.engine.fitting import fit
from headwater.engine.index import Matrix
from headwater.engine.values import SYMBOLIC, Symbols, find_code
from headwater.language.tree import Query, Variable, Wildcard
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
    """Rows of a table, its columns under these names."""
    arrays = [
        to_arrow(codes[:, at], kind, symbols, nullable=at in table.nullable) for at, kind in enumerate(table.types)
    ]
    if not arrays:
        return pa.table({"": pa.nulls(codes.shape[0])}).select([])
    return pa.Table.from_arrays(arrays, names=list(names))


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
        return symbols.find(value) if kind in SYMBOLIC else None
