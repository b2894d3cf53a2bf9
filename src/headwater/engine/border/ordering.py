"""The rows of a query in the order that it asks for, and no more of them than it asks for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from headwater.engine.codes.expressions import order_keys
from headwater.engine.codes.symbols import Symbols, null_code
from headwater.engine.store.index import Matrix
from headwater.language.syntax import Query
from headwater.plan.model import Table


def in_order(table: Table, codes: Matrix, symbols: Symbols, query: Query) -> npt.NDArray[np.int64]:
    """Which of these rows a query asks for, sorted and cut as it says; NaN is larger than any other number."""
    rows = np.arange(codes.shape[0], dtype=np.int64)
    columns = replace(table, hidden=0).written  # rows may be sorted by a column that is not shown
    for one in reversed(query.order):  # the sort is stable: the first column has the last word
        column = columns[one.column]
        if column.at is None:
            continue
        found = codes[rows, column.at].astype(np.int64)
        keys = order_keys(found, column.type, symbols)
        null = found == null_code(column.type) if column.at in table.nullable else np.zeros(found.size, dtype=np.bool_)
        missing, present = np.flatnonzero(null), np.flatnonzero(~null)
        # Codes start at the smallest int64, which has no opposite: the other way round is `~`.
        present = present[np.argsort(~keys[present] if one.descending else keys[present], kind="stable")]
        rows = rows[np.concatenate([missing, present] if one.nulls_first else [present, missing])]
    return rows[query.offset :] if query.limit is None else rows[query.offset : query.offset + query.limit]
