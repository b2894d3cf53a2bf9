"""The rows of a query in the order that it asks for, and no more of them than it asks for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headwater.language.tree import Query


def ordered(table: pa.Table, query: Query) -> pa.Table:
    """All columns of a view, hidden ones too, sorted and cut as the query says."""
    if query.order:
        rows = list(range(table.num_rows))
        for one in reversed(query.order):  # the sort is stable: the first column has the last word
            values = table.column(one.column).to_pylist()
            missing = [at for at in rows if values[at] is None]
            present = [at for at in rows if values[at] is not None]
            keys = {at: _key(values[at]) for at in present}
            present.sort(key=keys.__getitem__, reverse=one.descending)
            rows = [*missing, *present] if one.nulls_first else [*present, *missing]
        table = table.take(pa.array(rows, type=pa.int64()))
    if query.limit is None:
        return table.slice(query.offset)
    return table.slice(query.offset, query.limit)


def _key(value: Any) -> tuple[bool, Any]:
    """NaN is larger than any other number, as in Spark."""
    return (True, 0) if value != value else (False, value)
