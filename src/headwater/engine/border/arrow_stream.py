"""Arrow tables as bytes, and back from bytes that may be forged.

Arrow's own reader checks the layout of what it reads, but takes lengths at their word: a column of nulls holds any
number of rows in no bytes, and a compressed one may be a thousand times larger than its bytes. So only columns are let
in whose rows take bytes of their own, uncompressed; then a table is never much larger than its bytes. Headwater writes
nothing else. Whatever is wrong is a ValueError (Arrow's errors are).
"""

from __future__ import annotations

import struct

import pyarrow as pa

_WIDE_LISTS = (pa.types.is_list, pa.types.is_large_list)
_PLAIN = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_temporal,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
)
_ROWS_PER_BYTE = 8  # a column of booleans
_NOTHING = 1024  # rows of a table without columns, which stands as one column of nulls
_COMPRESSION, _DICTIONARY_DATA, _HEADER, _HEADER_TYPE = 3, 1, 2, 1  # places in Arrow's own tables (Message.fbs)
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3


def write_stream(table: pa.Table) -> pa.Buffer:
    """A table as an IPC stream."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def read_stream(content: pa.Buffer) -> pa.Table:
    """The one table of an IPC stream, checked down to its last offset."""
    _refuse_compressed(content)
    with pa.ipc.open_stream(content) as reader:
        if not all(_is_plain(field.type) for field in reader.schema) and reader.schema.types != [pa.null()]:
            raise ValueError(f"columns of types {', '.join(map(str, reader.schema.types))}")
        table = reader.read_all()
    most = _NOTHING if table.schema.types == [pa.null()] else _ROWS_PER_BYTE * content.size
    if table.num_rows > most:
        raise ValueError(f"{table.num_rows:,} rows in {content.size:,} bytes")
    table.validate(full=True)
    return table


def _is_plain(kind: pa.DataType) -> bool:
    """Whether every row of a column takes bytes of its own."""
    while any(is_list(kind) for is_list in _WIDE_LISTS):
        kind = kind.value_type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return any(is_kind(kind) for is_kind in _PLAIN)


def _refuse_compressed(content: pa.Buffer) -> None:
    try:
        for message in pa.ipc.MessageReader.open_stream(content):
            if _is_compressed(memoryview(message.metadata)):
                raise ValueError("compressed columns")
    except struct.error as problem:
        raise ValueError("a broken header") from problem


def _is_compressed(metadata: memoryview) -> bool:
    (root,) = struct.unpack_from("<I", metadata)
    kind = _field(metadata, root, _HEADER_TYPE)
    header = _field(metadata, root, _HEADER)
    if kind is None or header is None or metadata[kind] not in (_RECORD_BATCH, _DICTIONARY_BATCH):
        return False
    batch = _followed(metadata, header)
    if metadata[kind] == _DICTIONARY_BATCH:
        inner = _field(metadata, batch, _DICTIONARY_DATA)
        if inner is None:
            return False
        batch = _followed(metadata, inner)
    return _field(metadata, batch, _COMPRESSION) is not None


def _field(metadata: memoryview, table: int, number: int) -> int | None:
    """Where a field of a flatbuffer's table stands; None: it is left out."""
    (back,) = struct.unpack_from("<i", metadata, table)
    places = table - back
    (size,) = struct.unpack_from("<H", metadata, places)
    at = 4 + 2 * number
    if at + 2 > size:
        return None
    (found,) = struct.unpack_from("<H", metadata, places + at)
    return table + found if found else None


def _followed(metadata: memoryview, at: int) -> int:
    (further,) = struct.unpack_from("<I", metadata, at)
    return int(at + further)
