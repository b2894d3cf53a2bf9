"""Reads a file of rows, or of changes, for a relation: csv, tsv, jsonl or parquet, by its suffix.

Promise: reading gives rows, with every misfit set aside by line and reason, or a FileError that says what to do; no
other exception.
"""

from __future__ import annotations

from pathlib import Path

from headwater.core.errors import FileError
from headwater.files.csv_file import read_csv
from headwater.files.jsonl_file import read_jsonl
from headwater.files.parquet_file import read_parquet
from headwater.files.rows import Expected, FileRows

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
_HEAD = 1 << 16


def read(path: Path, expected: Expected, *, feed: bool = False, header: bool = True) -> FileRows:
    """`feed` says that the rows carry `_change_type`."""
    file = str(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise FileError(f"{file}: its name does not say what it holds; it must end in {', '.join(SUFFIXES)}")
    data = bytes_of(path)
    if suffix == ".parquet":
        return read_parquet(data, file, expected, feed=feed)
    return read_text(data, file, suffix, expected, feed=feed, header=header)


def read_text(data: bytes, file: str, suffix: str, expected: Expected, *, feed: bool, header: bool) -> FileRows:
    """What a file of text holds; `file` is what it is called."""
    if b"\0" in data[:_HEAD]:
        raise FileError(f"{file}: it holds NUL bytes, so it is not text; save it as UTF-8")
    if suffix in (".jsonl", ".ndjson"):
        return read_jsonl(data, file, expected, feed=feed)
    if not data:
        raise FileError(f"{file} is empty; give it at least a header line ({_header(expected, feed)})")
    if not expected.columns and not feed:
        raise FileError(f"{file}: `{expected.relation}` has no columns; state it in a .jsonl file by a line []")
    separator = "\t" if suffix == ".tsv" else ","
    return read_csv(data, file, expected, separator=separator, header=header, feed=feed)


def _header(expected: Expected, feed: bool) -> str:
    return ",".join([*(["_change_type"] if feed else []), *expected.columns])


def bytes_of(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise FileError(f"{path} is a folder; give the files in it, one option each")
        return path.read_bytes()
    except FileNotFoundError:
        raise FileError(f"{path} does not exist; paths are relative to {Path.cwd()}") from None
    except (OSError, ValueError, MemoryError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
        raise FileError(f"{path} cannot be read: {reason}") from None
