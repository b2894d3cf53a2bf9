"""A csv file as rows of a relation.

Two readers, one meaning. `read_quickly` is Arrow's, and gives up at the first oddity; `read_carefully` goes line by
line, sets aside lines that are no rows, and always knows the line of a row. A test compares them.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from headwater.core.errors import FileError
from headwater.files.cell_values import CELLS
from headwater.files.header import HeaderError, Match, by_position, match
from headwater.files.rows import BadRows, Expected, FileRows, Numbers
from headwater.files.typed_rows import typed_rows

_NUMBER = re.compile(r"[+-]?[0-9]+([.][0-9]*)?")
_MOST_OPEN_QUOTES = 20  # each costs a pass over the rest of the file
_LONGEST_FIELD = 2**31 - 1


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
        rows = _rows(quick, found, expected, BadRows(expected.relation, file), names)
        if not rows.bad or quick.knows_lines:
            return rows
    bad = BadRows(expected.relation, file)
    return _rows(read_carefully(data, start, line, width, separator, bad), found, expected, bad, names)


def _rows(text: Text, found: Match, expected: Expected, bad: BadRows, names: list[str]) -> FileRows:
    notes = []
    raw = [text.columns[place] for place in found.places]
    if not found.by_name and raw and _is_value(names, found, raw):
        notes.append(f"{bad.file}: its first line ({', '.join(names)}) is read as a header; if not, pass --no-header")
    change = None if found.change is None else text.columns[found.change]
    return typed_rows(expected, found, raw, change, text.lines, bad, CELLS, notes)


def _looks_like_data(names: list[str]) -> bool:
    return any(_NUMBER.fullmatch(name.strip()) for name in names)


def _is_value(names: list[str], found: Match, raw: list[pa.Array]) -> bool:
    """Whether a name of the header occurs among the values: then it may be no header at all."""
    return any(pc.any(pc.equal(column, names[place])).as_py() for place, column in zip(found.places, raw, strict=True))


@dataclass(frozen=True, slots=True)
class Text:
    """Columns of text with the line in which each row starts, if `knows_lines`."""

    columns: list[pa.Array]
    lines: Numbers
    knows_lines: bool = True


@dataclass(slots=True)
class _Record:
    line: int
    cells: list[str]
    problem: str | None = None
    text: str = ""


def first_record(data: bytes, separator: str) -> tuple[list[str], int, int]:
    """The cells of the first row, where the next one starts, and how many lines went by."""
    lines = _Lines(data, 0, 1)
    for record in _records(lines, separator):
        if record.problem:
            raise ValueError(f"its first line cannot be read: {record.problem}")
        return record.cells, lines.offset, lines.number
    raise ValueError("it holds nothing but empty lines")


def read_quickly(data: bytes, start: int, line: int, width: int, separator: str) -> Text | None:
    """All rows from byte `start` (in line `line`) on, if each is plainly a row of this width."""
    if start >= len(data) or b"\0" in data or data.count(b'"') % 2 or data.count(b"\r") != data.count(b"\r\n"):
        return None
    names = [str(place) for place in range(width)]
    quotes = b'"' in data
    try:
        table = pyarrow.csv.read_csv(
            pa.py_buffer(data).slice(start),
            read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=1 << 22),
            parse_options=pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=quotes),
            convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except pa.ArrowInvalid:
        return None
    columns = [_array(table.column(name).combine_chunks()) for name in names]
    if quotes and table.num_rows and not _ends_with(data, columns[-1][-1].as_py(), separator):
        return None
    ends = data.count(b"\n", start) + (not data.endswith(b"\n"))
    lines = np.arange(line, line + table.num_rows, dtype=np.int64)
    return Text(columns, lines, knows_lines=not quotes and ends == table.num_rows)


def _ends_with(data: bytes, cell: str, separator: str) -> bool:
    """Whether the last cell is closed: Arrow accepts a quote that never is."""
    text = data.rstrip(b"\r\n")
    quoted = cell.replace('"', '""')
    forms = (f"{before}{form}".encode() for before in (separator, "\n") for form in (cell, f'"{quoted}"'))
    return text.endswith(tuple(forms))


def _array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def read_carefully(data: bytes, start: int, line: int, width: int, separator: str, bad: BadRows) -> Text:
    """All rows from byte `start` (in line `line`) on; lines that are no rows of this width are noted in `bad`."""
    rows: list[list[str]] = []
    lines: list[int] = []
    for record in _records(_Lines(data, start, line), separator):
        if record.problem is not None:
            bad.reject(record.line, record.problem, record.text)
        elif len(record.cells) != width:
            count = len(record.cells)
            reason = f"{count} value{'' if count == 1 else 's'} for {width} columns"
            bad.reject(record.line, reason, separator.join(record.cells))
        else:
            rows.append(record.cells)
            lines.append(record.line)
    cells = list(zip(*rows, strict=True)) if rows else [()] * width
    columns = [pa.array(column, type=pa.string()) for column in cells]
    return Text(columns, np.array(lines, dtype=np.int64))


@dataclass(slots=True)
class _Lines:
    """The lines of a file as text, for the csv module; remembers what was wrong with those of one record."""

    data: bytes
    offset: int
    number: int  # of the next line
    problem: str | None = None
    taken: list[str] = field(default_factory=list)
    _stream: io.BytesIO = field(init=False)

    def __post_init__(self) -> None:
        self.restart(self.offset, self.number)

    def restart(self, offset: int, number: int) -> None:
        self._stream = io.BytesIO(self.data)
        self._stream.seek(offset)
        self.offset, self.number = offset, number

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._stream.readline()
        if not line:
            raise StopIteration
        if self.offset == 0:
            line = line.removeprefix(b"\xef\xbb\xbf")
        self.offset = self._stream.tell()
        self.number += 1
        if b"\0" in line:
            self.problem = "it holds a NUL byte"
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as problem:
            self.problem = f"it is not UTF-8 (byte {problem.start + 1} of the line)"
            text = line.decode("utf-8", "surrogateescape")
        self.taken.append(text)
        return text


def _records(lines: _Lines, separator: str) -> Iterator[_Record]:
    csv.field_size_limit(_LONGEST_FIELD)
    open_quotes = 0
    reader = csv.reader(lines, delimiter=separator)
    while True:
        first, offset = lines.number, lines.offset
        lines.problem, lines.taken = None, []
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            yield _Record(first, [], f"it is not csv: {problem}", "".join(lines.taken).rstrip("\r\n"))
            continue
        text = lines.taken[0] if len(lines.taken) == 1 else "".join(lines.taken)
        if lines.offset >= len(lines.data) and _is_open(text, separator):
            # What follows the open quote may well be rows: leave out one line and go on behind it.
            open_quotes += 1
            yield _Record(first, [], "a quote is opened and never closed", lines.taken[0].rstrip("\r\n"))
            if open_quotes == _MOST_OPEN_QUOTES:
                return
            behind = lines.data.find(b"\n", offset) + 1
            if not behind:
                return
            lines.restart(behind, first + 1)
        elif cells or lines.problem:
            yield _Record(first, cells, lines.problem, text.rstrip("\r\n"))


def _is_open(text: str, separator: str) -> bool:
    if '"' not in text:
        return False
    try:
        list(csv.reader(io.StringIO(text), delimiter=separator, strict=True))
    except csv.Error as problem:
        return "end of data" in str(problem)
    return False
