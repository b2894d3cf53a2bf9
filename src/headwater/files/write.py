"""Writes rows to files, each whole or not at all: under another name first, then renamed.

The file of a relation lies in its folder, whatever the relation is called (see `names`).
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from headwater.core.errors import FileError
from headwater.files.names import file_name
from headwater.files.rows import CHANGE_TYPE, BadRow


def in_order(table: pa.Table) -> pa.Table:
    """The rows sorted, nulls first, so that equal views print and compare as equal."""
    if not table.num_columns or table.num_rows < 2:
        return table
    keys = [key for column in table.columns for key in _sort_keys(column)]
    named = pa.table(keys, names=[str(at) for at in range(len(keys))])
    order = pc.sort_indices(named, sort_keys=[(name, "ascending") for name in named.column_names])
    return table.take(order)


def _sort_keys(column: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    """Nulls first, then the values in order."""
    if column.null_count:
        yield column.is_valid()
    yield _sortable(column)


def _sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_list(column.type):
        texts = [None if value is None else json.dumps(value, default=_json) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, type=pa.string())])
    return column.cast(pa.int64()) if pa.types.is_duration(column.type) else column


def csv_bytes(table: pa.Table, relation: str) -> bytes:
    """The rows as csv with a header; lists as JSON, spans of time in microseconds, nulls as nothing at all."""
    table = with_a_column(table, relation)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*(_csv_column(column) for column in table.columns), strict=True))
    return out.getvalue().encode("utf-8")


def with_a_column(table: pa.Table, relation: str) -> pa.Table:
    """A view without columns holds or does not: one column that says so."""
    if table.num_columns:
        return table
    return pa.table({relation: pa.array([True] * table.num_rows, type=pa.bool_())})


def _csv_column(column: pa.ChunkedArray) -> Iterable[Any]:
    values = column.to_pylist()
    if pa.types.is_list(column.type):
        write: Callable[[Any], Any] = partial(json.dumps, default=_json, ensure_ascii=False)
    elif pa.types.is_boolean(column.type):
        write = {True: "true", False: "false"}.__getitem__
    elif pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        write = _json
    else:
        return values
    return [None if value is None else write(value) for value in values]


def json_objects(table: pa.Table, extra: dict[str, Any] | None = None) -> Iterator[str]:
    """Each row as a JSON object on a line, behind the `extra` keys."""
    for row in table.to_pylist() if table.num_columns else [{}] * table.num_rows:
        yield json.dumps({**(extra or {}), **row}, default=_json, ensure_ascii=False)


def _json(value: Any) -> Any:
    match value:
        case dt.datetime():
            return value.isoformat()
        case dt.timedelta():
            return value // dt.timedelta(microseconds=1)
    return str(value)


def write_table(folder: Path, relation: str, table: pa.Table, kind: str) -> Path:
    """One view as `relation.csv`, `.jsonl` or `.parquet`."""
    path = folder / f"{file_name(relation)}.{kind}"
    match kind:
        case "csv":
            _write(path, lambda file: file.write(csv_bytes(table, relation)))
        case "jsonl":
            _write(path, _lines(json_objects(table)))
        case _:
            _write(path, lambda file: pyarrow.parquet.write_table(with_a_column(table, relation), file))
    return path


def write_changes(folder: Path, relation: str, changes: Iterable[tuple[str, pa.Table]]) -> Path:
    """The changes of one view, in order, as `relation.changes.jsonl`."""
    path = folder / f"{file_name(relation)}.changes.jsonl"
    _write(path, _lines(line for kind, table in changes for line in json_objects(table, {CHANGE_TYPE: kind})))
    return path


def write_rejected(folder: Path, bad: Iterable[BadRow]) -> Path:
    path = folder / "rejected.jsonl"
    keys = ("file", "line", "relation", "reason", "row")
    _write(path, _lines(json.dumps({key: getattr(row, key) for key in keys}, ensure_ascii=False) for row in bad))
    return path


def write_text(path: Path, text: str) -> None:
    """A file of text; raises FileError."""
    _write(path, lambda file: file.write(text.encode("utf-8")))


def _lines(lines: Iterable[str]) -> Callable[[BinaryIO], None]:
    return lambda file: file.writelines(f"{line}\n".encode() for line in lines)


def _write(path: Path, fill: Callable[[BinaryIO], Any]) -> None:
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                fill(file)
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise FileError(f"{path} cannot be written: {problem.strerror or problem}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise FileError(f"{folder} is a file; --output takes a folder") from None
    except OSError as problem:
        raise FileError(f"{folder} cannot be made: {problem.strerror or problem}") from None
