"""A csv file as rows of a relation."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import FileError
from headwater.files.cell_values import CELLS
from headwater.files.csv_text import Text, first_record, read_carefully, read_quickly
from headwater.files.header import HeaderError, Match, by_position, match
from headwater.files.rows import Expected, FileRows, Sieve
from headwater.files.typed_rows import typed_rows

_NUMBER = re.compile(r"[+-]?[0-9]+([.][0-9]*)?")


def read_csv(data: bytes, file: str, expected: Expected, *, separator: str, header: bool, feed: bool) -> FileRows:
    """`header=False` says that the first line is a row already."""
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    try:
        names, start, line = first_record(data, separator)
        found = match(names, expected, feed=feed) if header else by_position(len(names), expected, feed=feed)
    except HeaderError as problem:
        hint = "" if feed or not header else "; give it a header line"
        raise FileError(f"{file}: {problem}{hint if _looks_like_data(names) else ''}") from None
    except ValueError as problem:
        raise FileError(f"{file}: {problem}") from None
    if not header:
        start, line = 0, 1
        if data.startswith(b"\xef\xbb\xbf"):
            data = data[3:]
    elif not found.by_name and _looks_like_data(names):
        raise FileError(
            f"{file}: its first line ({', '.join(names)}) looks like a row; "
            f"add a header line ({', '.join(expected.columns)}), or pass --no-header"
        )
    width = len(names)
    quick = read_quickly(data, start, line, width, separator)
    if quick is not None:
        rows = _rows(quick, found, expected, Sieve(expected.relation, file), names)
        if not rows.bad or quick.knows_lines:
            return rows
    sieve = Sieve(expected.relation, file)
    return _rows(read_carefully(data, start, line, width, separator, sieve), found, expected, sieve, names)


def _rows(text: Text, found: Match, expected: Expected, sieve: Sieve, names: list[str]) -> FileRows:
    notes = []
    raw = [text.columns[place] for place in found.places]
    if not found.by_name and raw and _is_value(names, found, raw):
        notes.append(f"{sieve.file}: its first line ({', '.join(names)}) is read as a header; if not, pass --no-header")
    change = None if found.change is None else text.columns[found.change]
    return typed_rows(expected, found, raw, change, text.lines, sieve, CELLS, notes)


def _looks_like_data(names: list[str]) -> bool:
    return any(_NUMBER.fullmatch(name.strip()) for name in names)


def _is_value(names: list[str], found: Match, raw: list[pa.Array]) -> bool:
    """Whether a name of the header occurs among the values: then it may be no header at all."""
    return any(pc.any(pc.equal(column, names[place])).as_py() for place, column in zip(found.places, raw, strict=True))
