"""Text files of a scenario, with the place of every cell: so that what is wrong with one is shown where it stands.

A csv file has a header line that names its columns; lines that are empty or begin with `#` are left out. A problem is a
diagnostic with file, line, column and a way out. `Findings` collects them and raises once, as a DataError: nothing has
been built by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import DataError, FileError
from headwater.core.render import render
from headwater.core.source import Source, Span
from headwater.files.read import bytes_of
from headwater.program.nearest import nearest

MOST_SHOWN = 20
MOST_BYTES = 1 << 29


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of text and where it stands."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class CellLine:
    """A line of a csv file: its cells by column; a cell that is empty or missing is not there."""

    cells: dict[str, Cell]
    span: Span


@dataclass(slots=True)
class Findings:
    """What is wrong with a file, in order."""

    found: list[Diagnostic] = field(default_factory=list)

    def add(self, code: str, message: str, span: Span | None, *, note: str | None = None, hint: str) -> None:
        self.found.append(Diagnostic(code, message, span, note=note, hint=hint))

    def settle(self) -> None:
        """Raise what was found, if anything was."""
        if self.found:
            shown = [render(each) for each in self.found[:MOST_SHOWN]]
            if len(self.found) > MOST_SHOWN:
                shown.append(f"... and {len(self.found) - MOST_SHOWN:,} more")
            raise DataError("\n".join(shown))


def read_source(path: Path) -> Source:
    """The text of a file; raises FileError."""
    data = bytes_of(path)
    if len(data) > MOST_BYTES:
        raise FileError(f"{path} has {len(data):,} bytes; at most {MOST_BYTES:,} will do")
    try:
        return Source(str(path), data.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        raise FileError(f"{path} is not UTF-8 (byte {problem.start + 1}); save it as UTF-8") from None


def lines(source: Source) -> Iterator[tuple[int, int, str]]:
    """Number, offset and text of every line that is neither empty nor a comment."""
    offset = 0
    for number, line in enumerate(source.text.split("\n"), 1):
        text = line.rstrip("\r")
        if text.strip() and not text.lstrip().startswith("#"):
            yield number, offset, text
        offset += len(line) + 1


def records(
    source: Source,
    required: tuple[str, ...],
    optional: tuple[str, ...],
    code: str,
    findings: Findings,
    aliases: Mapping[str, str],
) -> Iterator[CellLine]:
    """The lines of a csv file under its header. A file whose header is wrong has none."""
    separator = "\t" if source.name.lower().endswith(".tsv") else ","
    header: list[Cell] | None = None
    for number, offset, text in lines(source):
        cells = cells_of(source, number, offset, text, separator)
        if header is None:
            header = [Cell(aliases.get(cell.text, cell.text), cell.span) for cell in cells]
            if not _header_fits(header, required, optional, code, findings):
                return
            continue
        if len(cells) > len(header):
            findings.add(
                code,
                f"{len(cells)} cells, but the header names {len(header)} columns",
                cells[len(header)].span,
                hint="remove the cell, or name its column in the header",
            )
            continue
        yield CellLine(
            {name.text: cell for name, cell in zip(header, cells, strict=False) if cell.text},
            Span(source, offset, offset + len(text), number, 1),
        )
    if header is None:
        start = Span(source, 0, 0, 1, 1)
        findings.add(code, "the file is empty", start, hint=f"begin it with a header line: {','.join(required)}")


def _header_fits(
    header: list[Cell], required: tuple[str, ...], optional: tuple[str, ...], code: str, findings: Findings
) -> bool:
    fits = True
    given = [cell.text for cell in header]
    known = (*required, *optional)
    for at, cell in enumerate(header):
        if cell.text in given[:at]:
            findings.add(code, f"column `{cell.text}` is there twice", cell.span, hint="remove one of them")
            fits = False
        elif cell.text not in known:
            close = nearest(cell.text, list(known))
            hint = f"did you mean `{close}`?" if close else f"the columns are {', '.join(known)}"
            findings.add(code, f"there is no column `{cell.text}`", cell.span, hint=hint)
            fits = False
    for name in required:
        if name not in given and fits:
            findings.add(code, f"there is no column `{name}`", header[0].span, hint=f"add `{name}` to the header line")
            fits = False
    return fits


def cells_of(source: Source, number: int, offset: int, text: str, separator: str) -> list[Cell]:
    """A line in cells. A quoted cell may hold separators, and quotes twice."""
    found: list[Cell] = []
    at = 0
    while True:
        start = at
        if text[at : at + 1] == '"':
            value, at = _quoted(text, at)
        else:
            end = text.find(separator, at)
            end = len(text) if end < 0 else end
            value, at = text[at:end].strip(), end
        found.append(Cell(value, Span(source, offset + start, offset + at, number, start + 1)))
        if at >= len(text):
            return found
        at += 1


def _quoted(text: str, start: int) -> tuple[str, int]:
    """A quoted cell, and where it ends; what follows the closing quote up to the separator belongs to it."""
    parts: list[str] = []
    at = start + 1
    while True:
        end = text.find('"', at)
        if end < 0:
            return "".join(parts) + text[at:], len(text)
        parts.append(text[at:end])
        if text[end : end + 2] != '""':
            behind = end + 1
            while behind < len(text) and text[behind] not in ",\t":
                behind += 1
            return "".join(parts) + text[end + 1 : behind].rstrip(), behind
        parts.append('"')
        at = end + 2


def number(cell: Cell, what: str, code: str, findings: Findings, *, above: bool = False) -> float | None:
    """A cell as a number from 0 on (`above`: larger than 0); None if it is not one, which is then a finding."""
    try:
        value = float(cell.text)
    except ValueError:
        findings.add(code, f"{cell.text!r} is not a number", cell.span, hint=f"give {what} as a number")
        return None
    if not 0 <= value < float("inf") or (above and value == 0):
        bound = "more than 0" if above else "0 or more"
        findings.add(code, f"{what} is {bound}, not {cell.text}", cell.span, hint=f"give a number that is {bound}")
        return None
    return value
