"""What reading a file gives: the rows that fit, the line of each that does not, and why.

Promise: every row of a file is either in `columns` or in `bad`; none is dropped and none is changed to fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.types import Type
from headwater.engine.codes.columns import plain

Column: TypeAlias = pa.Array | list[Any]  # lists of a user's data stay Python tuples: Arrow's have one item type
Numbers = npt.NDArray[np.int64]

CHANGE_TYPE = "_change_type"
BATCH_ID = "_batch_id"
VERSIONS = ("_commit_version", BATCH_ID)  # the number of a commit, in the change feeds of Delta and of our own views
FEED_COLUMNS = frozenset({CHANGE_TYPE, "_commit_timestamp", *VERSIONS})  # what a feed carries beside the row
CHANGE_TYPES = {"insert": True, "delete": False, "update_preimage": False, "update_postimage": True}
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Expected:
    """The relation that a file is read for. A type that is None is taken from the data.

    In the columns at the `nullable` places an empty csv cell, or a null, is a null; elsewhere it does not fit.
    """

    relation: str
    columns: tuple[str, ...]
    types: tuple[Type | None, ...]
    declared: bool
    nullable: frozenset[int] = frozenset()
    ordered: bool = True  # else rows are matched by the names of their columns alone

    @property
    def text(self) -> str:
        return f"{self.relation}({', '.join(self.columns)})"


def settled(expected: Expected, found: tuple[Type | None, ...]) -> Expected:
    """The same, with the types of a file where none were known."""
    types = zip(expected.types, found, strict=True)
    return replace(expected, types=tuple(known or seen for known, seen in types))


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that was set aside, its line (counted from 1; in parquet, its row) and why."""

    relation: str
    file: str
    line: int
    reason: str
    row: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of one file in the relation's order of columns; `inserts` says which ones a change file inserts."""

    relation: str
    file: str
    names: tuple[str, ...]
    types: tuple[Type | None, ...]
    columns: tuple[Column, ...]
    lines: Numbers
    bad: tuple[BadRow, ...] = ()
    inserts: npt.NDArray[np.bool_] | None = None
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return int(self.lines.size)

    def taken(self, places: Sequence[int] | Numbers) -> Any:
        """Some of the rows, in a form that a database takes."""
        at = np.asarray(places, dtype=np.int64)
        if not self.columns:
            return [()] * at.size
        columns = [_taken(column, at) for column in self.columns]
        if any(isinstance(column, list) for column in columns):
            return list(zip(*map(values_of, columns), strict=True))
        return pa.table(columns, names=list(self.names))

    def slice(self, first: int, last: int) -> FileRows:
        return replace(
            self,
            columns=tuple(column[first:last] for column in self.columns),
            lines=self.lines[first:last],
            inserts=None if self.inserts is None else self.inserts[first:last],
        )

    def tuples(self) -> list[tuple[Any, ...]]:
        if not self.columns:
            return [()] * self.size
        return list(zip(*map(values_of, self.columns), strict=True))


def _taken(column: Column, at: Numbers) -> Column:
    if isinstance(column, list):
        return [column[place] for place in at.tolist()]
    whole = at.size == len(column) and bool((at == np.arange(at.size)).all())
    return column if whole else column.take(pa.array(at))


def values_of(column: Column) -> list[Any]:
    """The Python values of a column; a time that Python cannot hold is a text."""
    if isinstance(column, list):
        return column
    try:
        return column.to_pylist()
    except (OverflowError, ValueError):
        return list(map(plain, column))


@dataclass(slots=True)
class BadRows:
    """Collects the bad rows of one file while it is read."""

    relation: str
    file: str
    rows: list[BadRow] = field(default_factory=list)

    def reject(self, line: int, reason: str, row: str) -> None:
        # What could not be decoded stands in the text as lone surrogates, which no file can hold.
        text = row[:_SHOWN].encode("utf-8", "backslashreplace").decode("utf-8")
        self.rows.append(BadRow(self.relation, self.file, line, reason, text))

    def sort(self) -> tuple[BadRow, ...]:
        return tuple(sorted(self.rows, key=lambda row: row.line))


def shortened(text: str, most: int = 60) -> str:
    """A text for a message."""
    return text if len(text) <= most else text[: most - 3] + "..."


Problems: TypeAlias = Mapping[int, str]  # position in a column -> why the value there does not fit
