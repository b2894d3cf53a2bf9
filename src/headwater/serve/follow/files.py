"""Changes from files: one that lines are appended to, and a folder that files arrive in."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from pathlib import Path

from headwater.core.errors import FileError
from headwater.database import Database
from headwater.files.applying import expected_of, net_changes
from headwater.files.read import SUFFIXES, read, read_text
from headwater.files.rows import BadRow, Expected, FileRows, settled
from headwater.serve.http.encoding import kind_of, schema_of
from headwater.serve.live import Live

_LINES = (".jsonl", ".ndjson")
_PIECE = 4 << 20
"""Bytes that are read at once of a file that has grown."""
_BATCH = 1_000
"""Changes of a transaction, unless `--batch` says how many."""


class ChangeFile:
    """A file of changes. Lines that are appended to a .jsonl file are applied as they come; other kinds are read once.

    A line counts once its end is written. A file that has become shorter was begun anew, and so is read from its start.
    """

    def __init__(self, relation: str, path: Path, *, header: bool = True, batch: int | None = None) -> None:
        self._relation = relation
        self._path = path
        self._header = header
        self._batch = batch
        self._place = 0
        self._line = 0
        self._done = False

    def poll(self, live: Live) -> bool:
        expected = _expected(live, self._relation)
        if self._path.suffix.lower() not in _LINES:
            if self._done:
                return False
            self._done = True
            self._apply(live, read(self._path, expected, feed=True, header=self._header))
            return True
        data = self._appended()
        if not data:
            return False
        before, name = self._line, str(self._path)
        self._place += len(data)
        self._line += data.count(b"\n")
        try:
            rows = read_text(data, name, ".jsonl", expected, feed=True, header=False)
        except FileError as problem:  # not one line is a change
            live.apply(f"{self._path.name}: nothing that fits", lambda _: ({}, {}), rejected=[str(problem)]).result()
            return True
        self._apply(live, _moved(rows, before))
        return True

    def _appended(self) -> bytes:
        """Whole lines behind those that were read."""
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, 2)
                if size < self._place:
                    self._place = self._line = 0
                file.seek(self._place)
                data = file.read(_PIECE)
        except OSError as problem:
            raise FileError(f"{self._path} cannot be read: {problem.strerror or problem}") from None
        if len(data) == _PIECE and b"\n" not in data:
            raise FileError(f"{self._path}: a line of more than {_PIECE:,} bytes")
        return data[: data.rfind(b"\n") + 1]

    def _apply(self, live: Live, rows: FileRows) -> None:
        size = self._batch or _BATCH
        for first in range(0, max(rows.size, 1), size):
            last = min(first + size, rows.size)
            piece, bad = rows.slice(first, last), rows.bad if not first else ()
            if piece.size or bad:
                apply_rows(live, piece, _title(piece), bad)


class Folder:
    """A folder: each file that arrives in it is a transaction, oldest first. Names that begin with `.` or `_` wait.

    Files hold changes where they have `_change_type`, else rows to insert. They must arrive whole: written under
    another name, then renamed.
    """

    def __init__(self, relation: str, path: Path, *, header: bool = True) -> None:
        self._relation = relation
        self._path = path
        self._header = header
        self._seen: set[str] = set()

    def poll(self, live: Live) -> bool:
        arrived = arrived_in(self._path, self._seen, SUFFIXES)
        for path in arrived:
            self._seen.add(path.name)
            expected = _expected(live, self._relation)
            try:
                rows = read(path, expected, feed=True, header=self._header)
            except FileError:
                rows = read(path, expected, feed=False, header=self._header)
            apply_rows(live, rows, _title(rows), rows.bad)
        return bool(arrived)


def arrived_in(folder: Path, seen: Container[str], suffixes: Container[str]) -> list[Path]:
    """The files that have come into a folder since those that were seen, oldest first."""
    try:
        found = [
            (path.stat().st_mtime_ns, path.name, path)
            for path in folder.iterdir()
            if path.name not in seen and path.name[0] not in "._" and path.suffix.lower() in suffixes
        ]
    except OSError as problem:
        raise FileError(f"{folder} cannot be read: {problem.strerror or problem}") from None
    return [path for *_, path in sorted(found)]


def apply_rows(live: Live, rows: FileRows, title: str, bad: tuple[BadRow, ...]) -> None:
    """The rows of a file as one transaction: its changes, or rows to insert."""

    def changes(db: Database) -> tuple[dict[str, object], dict[str, object]]:
        if rows.inserts is None:
            return {rows.relation: rows.taken(range(rows.size))}, {}
        inserts, deletes = net_changes(db, rows)
        return {rows.relation: inserts}, {rows.relation: deletes}

    live.apply(title, changes, rejected=[str(row) for row in bad]).result()


def _moved(rows: FileRows, lines: int) -> FileRows:
    """The same, as rows behind so many lines of their file."""
    bad = tuple(replace(row, line=row.line + lines) for row in rows.bad)
    return replace(rows, lines=rows.lines + lines, bad=bad)


def _title(rows: FileRows) -> str:
    name = Path(rows.file).name
    if rows.size == 1 and rows.inserts is not None:
        (row,) = rows.tuples()
        word = "insert" if rows.inserts[0] else "delete"
        return f"{name}:{rows.lines[0]}: {word} {rows.relation}({', '.join(map(str, row))})"
    return f"{name}: {rows.size:,} {'change' if rows.size == 1 else 'changes'}"


def _expected(live: Live, relation: str) -> Expected:
    """What rows of a relation must look like, with the types that the data has shown."""

    def question(db: Database) -> Expected:
        expected = expected_of(db.program.checked.relation(relation))
        if not db.count(relation):
            return expected
        return settled(expected, tuple(kind_of(field.type) for field in schema_of(db, relation)))

    return live.ask(question).result()
