"""Files that arrive in a folder, as a stream of rows and changes.

Text (csv, tsv, jsonl) is read on the executors by the same code as without Spark, so a file means the same in both;
Parquet is read by Spark. A file without a column `_change_type` holds rows to insert. Lines that cannot be read are set
aside, with file and reason: the stream goes on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headwater.core.errors import FileError
from headwater.core.types import Type
from headwater.engine.codes.columns import ARROW, arrow_type, arrow_value
from headwater.files.read import SUFFIXES, bytes_of, read, read_text
from headwater.files.rows import CHANGE_TYPE, Column, Expected, FileRows, settled
from headwater.spark.inputs.column_types import spark_type

_CONTENT = "path string, modificationTime timestamp, length bigint, content binary"
_CORRUPT = "_corrupt_record"
_TABLES = (".csv", ".tsv")


def arriving(spark: Any, expected: Expected, place: Path, *, header: bool) -> Any:
    """The streaming DataFrame of the files that are in a folder and will be, each a batch, oldest first.

    The first of them settles the types of columns that have none; `header` says that csv files have a header line.
    """
    first = _first_file(place)
    reader = spark.readStream.option("maxFilesPerTrigger", 1).option("pathGlobFilter", f"*{first.suffix}")
    if first.suffix == ".parquet":
        return _parquet(spark, reader, first, expected)
    feed = _is_feed(bytes_of(first), first.suffix, expected)
    rows = read(first, expected, feed=feed, header=header)
    texts = _Texts(settled(expected, rows.types), first.suffix, header=header)
    return reader.format("binaryFile").schema(_CONTENT).load(str(place)).mapInArrow(texts.rows, texts.schema)


def arriving_documents(spark: Any, place: Path, key: str) -> Any:
    """The streaming DataFrame of documents in the files of a folder, a document per line, each file a batch.

    A line `{"_key": K, "_change_type": "delete"}` removes a document. Other changes than of whole documents are set
    aside.
    """
    first = _first_file(place, (".jsonl", ".ndjson"))
    reader = spark.readStream.option("maxFilesPerTrigger", 1).option("pathGlobFilter", f"*{first.suffix}")
    return reader.text(str(place)).mapInArrow(_DocumentLines(key).rows, f"document string, {CHANGE_TYPE} string")


@dataclass(frozen=True, slots=True)
class _DocumentLines:
    """Reads lines as documents or changes of documents, in the tasks of a query."""

    key: str

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            lines = [line for line in batch.column(0).cast(pa.binary()).to_pylist() if line and line.strip()]
            found = [self._change(line) for line in lines]
            columns = [pa.array([text for text, _ in found], pa.binary()).cast(pa.string(), safe=False)]
            columns.append(pa.array([kind for _, kind in found], pa.string()))
            yield pa.RecordBatch.from_arrays(columns, ["document", CHANGE_TYPE])

    def _change(self, line: bytes) -> tuple[bytes, str]:
        if not any(word in line for word in (b'"_key"', b'"_patch"', b'"_change_type"')):
            return line, "insert"
        try:
            said = json.loads(line)
        except ValueError:
            return line, "insert"
        if not isinstance(said, dict):
            return line, "insert"
        if "_patch" in said:
            return line, "patch"
        kind = said.pop(CHANGE_TYPE, "insert")
        named = said.pop("_key", None)
        if kind == "delete" and named is not None:
            document: Any = named
            for member in reversed(self.key.split(".")):
                document = {member: document}
            said = document
        return json.dumps(said).encode(), str(kind)


def _parquet(spark: Any, reader: Any, first: Path, expected: Expected) -> Any:
    try:
        pq.read_schema(first)
    except (OSError, pa.ArrowException) as problem:
        raise FileError(f"{first} cannot be read as Parquet: {problem}") from None
    schema = spark.read.parquet(str(first)).schema
    if CHANGE_TYPE in expected.columns:
        return reader.schema(schema).parquet(str(first.parent))
    if CHANGE_TYPE not in schema.names:
        schema = schema.add(CHANGE_TYPE, "string")
    return reader.schema(schema).parquet(str(first.parent)).fillna("insert", [CHANGE_TYPE])


@dataclass(frozen=True, slots=True)
class _Texts:
    """Reads files of text, in the tasks of a query."""

    expected: Expected
    suffix: str
    header: bool

    @property
    def kinds(self) -> list[Type]:
        return [kind or Type.STRING for kind in self.expected.types]

    @property
    def schema(self) -> str:
        columns = zip(self.expected.columns, self.kinds, strict=True)
        own = [f"`{name.replace('`', '``')}` {ddl(kind)}" for name, kind in columns]
        return ", ".join([*own, *(f"{name} string" for name in self._beside)])

    @property
    def _beside(self) -> list[str]:
        return [*([] if CHANGE_TYPE in self.expected.columns else [CHANGE_TYPE]), _CORRUPT]

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path, content in zip(batch.column("path"), batch.column("content"), strict=True):
                yield from self._file(path.as_py().removeprefix("file:"), content.as_py())

    def _file(self, file: str, data: bytes) -> Iterator[pa.RecordBatch]:
        if not data.strip():
            return
        feed = _is_feed(data, self.suffix, self.expected)
        try:
            found = read_text(data, file, self.suffix, self.expected, feed=feed, header=self.header)
        except FileError as problem:
            lines = data.decode("utf-8", "backslashreplace").splitlines()[int(self.header and self.suffix in _TABLES) :]
            yield self._set_aside([f"{problem}: {line}" for line in lines if line.strip()] or [str(problem)])
            return
        if found.size:
            yield self._taken(found)
        if found.bad:
            yield self._set_aside([f"{row}: {row.row}" for row in found.bad])

    def _taken(self, found: FileRows) -> pa.RecordBatch:
        columns = [_arrow(column, kind) for column, kind in zip(found.columns, self.kinds, strict=True)]
        if CHANGE_TYPE in self._beside:
            inserts = np.ones(found.size, dtype=np.bool_) if found.inserts is None else found.inserts
            columns.append(pa.array(np.where(inserts, "insert", "delete"), pa.string()))
        return pa.RecordBatch.from_arrays([*columns, pa.nulls(found.size, pa.string())], self._names)

    def _set_aside(self, texts: list[str]) -> pa.RecordBatch:
        nothing = [pa.nulls(len(texts), arrow_type(kind)) for kind in self.kinds]
        change = [pa.nulls(len(texts), pa.string())] * (len(self._beside) - 1)
        return pa.RecordBatch.from_arrays([*nothing, *change, pa.array(texts, pa.string())], self._names)

    @property
    def _names(self) -> list[str]:
        return [*self.expected.columns, *self._beside]


def _is_feed(data: bytes, suffix: str, expected: Expected) -> bool:
    """Whether the rows of a text file say if they are inserted or deleted."""
    said = data.partition(b"\n")[0] if suffix in _TABLES else data
    return CHANGE_TYPE not in expected.columns and CHANGE_TYPE.encode() in said


def ddl(kind: Type | None) -> str:
    """The Spark type that a column of a file is read as; its times have no zone, so they mean the same everywhere."""
    return str(spark_type(arrow_type(kind or Type.STRING)).simpleString())


def _arrow(column: Column, kind: Type) -> pa.Array:
    if kind.is_list or kind is Type.ANY:
        values = column if isinstance(column, list) else column.to_pylist()
        return pa.array([arrow_value(value, kind) for value in values], arrow_type(kind))
    if isinstance(column, list):
        return pa.array(column, ARROW[kind])
    return column.cast(ARROW[kind])


def _first_file(place: Path, suffixes: tuple[str, ...] = SUFFIXES) -> Path:
    if not place.is_dir():
        raise FileError(f"{place} is not a folder; --stream takes the folder that files arrive in")
    held = [path for path in sorted(place.iterdir()) if _counts(path, suffixes)]
    if not held:
        raise FileError(
            f"{place} holds no file that ends in {', '.join(suffixes)}; put the first one there, so that its columns "
            "can be seen"
        )
    other = next((path for path in held if path.suffix != held[0].suffix), None)
    if other is not None:
        raise FileError(
            f"{place} holds files of several kinds, {held[0].name} and {other.name} among them; a folder takes one "
            "kind, so give each its own folder"
        )
    return held[0]


def _counts(path: Path, suffixes: tuple[str, ...]) -> bool:
    return path.suffix in suffixes and not path.name.startswith((".", "_"))
