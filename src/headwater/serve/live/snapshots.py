"""Pages of a relation: its rows sorted, filtered and cut on the server, so that a browser never holds a whole view.

A table of a view is kept until the view changes. Where making it takes long, it is kept for ten times as long even
then, so that readers never take more than a tenth of the database's time; each page says after which transaction it is.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.core.errors import DataError
from headwater.database import Database
from headwater.files.write import in_order
from headwater.questions import Anything, Question

MOST = 1_000
"""Rows of a page, at most."""
_TABLES = 24  # sorted and filtered tables that are kept
_BYTES = 512 << 20
_CHEAP = 0.05  # seconds: a table that is made within them is never old
_SORTED = 200_000  # rows that are put in order without being asked for


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows of a relation: sorted by columns (`-` in front: downwards), asked for by an atom, holding a text."""

    relation: str
    sort: tuple[str, ...] = ()
    question: Question | None = None
    find: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a relation, how many there are like them and in all, and after which transaction that was so."""

    table: pa.Table
    matching: int
    total: int
    transaction: int


@dataclass(slots=True)
class _Kept:
    table: pa.Table
    transaction: int
    until: float  # it may be shown so long, however much has changed
    total: int


class Snapshots:
    """Tables as they were looked at last; used by the thread that owns the database."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Wanted, _Kept] = OrderedDict()

    def page(self, db: Database, wanted: Wanted, first: int, most: int, transaction: int, at_least: int = 0) -> Page:
        """Rows `first` to `first + most`; `transaction` is the last one, `at_least` the oldest that will do."""
        kept = self._table(db, wanted, transaction, at_least)
        cut = sliced(kept.table, first, min(most, MOST))
        return Page(cut, kept.table.num_rows, kept.total, kept.transaction)

    def whole(self, db: Database, relation: str, transaction: int) -> pa.Table:
        """All rows of a relation."""
        return self._table(db, Wanted(relation), transaction, 0).table

    def _table(self, db: Database, wanted: Wanted, transaction: int, at_least: int) -> _Kept:
        found, now = self._kept.get(wanted), time.monotonic()
        if found is not None and (
            found.transaction == transaction or (found.transaction >= at_least and now < found.until)
        ):
            self._kept.move_to_end(wanted)
            return found
        plain = Wanted(wanted.relation)
        if wanted == plain:
            table = db.table(wanted.relation)
            if not db.is_ordered(wanted.relation) and table.num_rows <= _SORTED:
                table = in_order(table)
            total = table.num_rows
        else:
            whole = self._table(db, plain, transaction, at_least)
            table, total, transaction = selected(whole.table, wanted), whole.total, whole.transaction
        cost = time.monotonic() - now
        made = _Kept(table, transaction, now + (11 * cost if cost > _CHEAP else 0.0), total)
        self._kept[wanted] = made
        self._kept.move_to_end(wanted)
        while len(self._kept) > 1 and (len(self._kept) > _TABLES or self._nbytes() > _BYTES):
            self._kept.popitem(last=False)
        return made

    def _nbytes(self) -> int:
        return sum(kept.table.nbytes for kept in self._kept.values())


def sliced(table: pa.Table, first: int, most: int) -> pa.Table:
    """Some rows of a table; Arrow forgets how many rows a table without columns has."""
    if table.num_columns:
        return table.slice(first, most)
    return table if first == 0 and most else pa.table({})


def selected(table: pa.Table, wanted: Wanted) -> pa.Table:
    """The rows of a table that are wanted, in the order that is."""
    if wanted.question is not None:
        table = asked(table, wanted.question)
    if wanted.find:
        table = holding(table, wanted.find)
    return ordered(table, wanted.sort) if wanted.sort else table


def asked(table: pa.Table, question: Question) -> pa.Table:
    """The rows that an atom matches: equal values, and one value per variable."""
    keep: Any = None
    places: dict[str, int] = {}
    for at, argument in enumerate(question.arguments):
        column = table.column(at)
        if not isinstance(argument, Anything):
            fits = column.is_null() if argument is None else _equal(column, argument)
        elif argument.name is not None and argument.name in places:
            fits = pc.equal(_text(column), _text(table.column(places[argument.name])))
        else:
            places[argument.name or ""] = at
            continue
        fits = pc.fill_null(fits, False)
        keep = fits if keep is None else pc.and_(keep, fits)
    return table if keep is None else table.filter(keep)


def _equal(column: pa.ChunkedArray, value: Any) -> Any:
    if pa.types.is_list(column.type):
        listed = list(value) if isinstance(value, tuple | list) else value
        return pa.array([item == listed for item in column.to_pylist()], type=pa.bool_())
    try:
        return pc.equal(column, pa.scalar(value, type=column.type))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([False] * len(column), type=pa.bool_())  # no value of this column is like it


def holding(table: pa.Table, text: str) -> pa.Table:
    """The rows of which a column holds a text, in capitals or not."""
    keep: Any = None
    for column in table.columns:
        fits = pc.fill_null(pc.match_substring(_text(column), text, ignore_case=True), False)
        keep = fits if keep is None else pc.or_(keep, fits)
    return table if keep is None else table.filter(keep)


def ordered(table: pa.Table, sort: Sequence[str]) -> pa.Table:
    """The rows by some columns; rows that are equal there stay as they were."""
    keys, columns = [], []
    for at, name in enumerate(sort):
        down = name.startswith("-")
        if name.removeprefix("-") not in table.column_names:
            raise DataError(f"there is no column `{name.removeprefix('-')}`; there are {', '.join(table.column_names)}")
        columns.append(_sortable(table.column(name.removeprefix("-"))))
        keys.append((str(at), "descending" if down else "ascending"))
    keyed = pa.table(columns, names=[key for key, _ in keys])
    numbered = keyed.append_column("row", pa.array(range(table.num_rows), type=pa.int64()))
    return table.take(pc.sort_indices(numbered, sort_keys=[*keys, ("row", "ascending")]))


def _sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_duration(column.type):
        return column.cast(pa.int64())
    return _text(column) if pa.types.is_list(column.type) else column


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_string(column.type):
        return column
    if pa.types.is_list(column.type):
        texts = [
            None if value is None else json.dumps(value, default=str, ensure_ascii=False)
            for value in column.to_pylist()
        ]
        return pa.chunked_array([pa.array(texts, type=pa.string())])
    if pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    return column.cast(pa.string())
