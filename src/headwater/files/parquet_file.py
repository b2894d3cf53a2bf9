"""A parquet file as rows of a relation; what other formats call a line is here the number of the row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from headwater.core.errors import FileError
from headwater.files.header import HeaderError, match
from headwater.files.json_values import VALUES
from headwater.files.rows import BadRows, Column, Expected, FileRows
from headwater.files.typed_rows import typed_rows


def read_parquet(data: bytes, file: str, expected: Expected, *, feed: bool) -> FileRows:
    try:
        reader = pyarrow.parquet.ParquetFile(pa.BufferReader(data))
        found = match(reader.schema_arrow.names, expected, feed=feed)
        table = reader.read()
        table.validate(full=True)  # above all texts that are not UTF-8
    except HeaderError as problem:
        raise FileError(f"{file}: {problem}") from None
    except (pa.ArrowException, OSError, ValueError, MemoryError) as problem:
        detail = (str(problem) or type(problem).__name__).splitlines()[0][:200]
        raise FileError(f"{file} is not a parquet file, or is damaged: {detail}") from None
    raw = [_plain(table.column(place)) for place in found.places]
    change = None if found.change is None else table.column(found.change).to_pylist()
    lines = np.arange(1, table.num_rows + 1, dtype=np.int64)
    return typed_rows(expected, found, raw, change, lines, BadRows(expected.relation, file), VALUES)


def _plain(column: pa.ChunkedArray) -> Column:
    """One array of the widest type of its kind, so that later steps meet few types."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    given = column.type
    wider = (
        (pa.types.is_large_string(given) or pa.types.is_string_view(given), pa.string()),
        (pa.types.is_integer(given) and given != pa.uint64(), pa.int64()),
        (pa.types.is_floating(given), pa.float64()),
    )
    for applies, kind in wider:
        if applies:
            column = column.cast(kind)
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
