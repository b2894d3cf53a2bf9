"""Routing: which shard owns a row, and rows as they travel.

Shards number symbols each for themselves, so rows travel as values, in Arrow columns, and are owned by a hash of
their location's value that is the same everywhere and in every run.
"""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.types import Type
from headwater.engine.columns import from_arrow_values, to_arrow
from headwater.engine.index import Matrix
from headwater.engine.values import SYMBOLIC, Codes, Symbols, decode
from headwater.plan.model import Table

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def owners(column: Matrix, kind: Type, symbols: Symbols, shards: int) -> npt.NDArray[np.int64]:
    """The shard that owns each row, by the value of its location column."""
    if kind in SYMBOLIC:
        distinct, inverse = np.unique(column, return_inverse=True)
        values = decode(distinct, kind, symbols)
        texts = [repr(value).encode("utf-8", "surrogatepass") for value in values]
        hashed = np.array([zlib.crc32(text) for text in texts], dtype=np.uint64)[inverse]
    else:
        hashed = column.astype(np.int64).view(np.uint64) * _MULTIPLIER >> np.uint64(33)
    return (hashed % np.uint64(shards)).astype(np.int64)


def pack(table: Table, rows: Matrix, symbols: Symbols) -> pa.Table:
    """Rows as they travel."""
    arrays = [to_arrow(rows[:, at], kind, symbols) for at, kind in enumerate(table.types)]
    if not arrays:
        return pa.table({"": pa.nulls(rows.shape[0])})
    return pa.Table.from_arrays(arrays, names=list(table.columns))


def unpack(table: Table, batch: pa.Table, symbols: Symbols) -> Codes:
    """Rows that have arrived, as codes of this shard."""
    out = np.empty((batch.num_rows, len(table.types)), dtype=np.int64)
    for at, kind in enumerate(table.types):
        codes, _ = from_arrow_values(batch.column(at), kind, symbols, table.name)
        out[:, at] = codes
    return out
