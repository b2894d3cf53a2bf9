"""Rows in hash tables: the rows of one table on one node, with an index for each key that a join asks by.

Every row carries a value: its provenance, its witness, whatever the strategy keeps. Rows may be *hidden*: only joins
that look at the past still find them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Generic, TypeVar

from headwater.network.simulator.rows.terms import Row

Value = TypeVar("Value")


@dataclass(slots=True)
class RowChange:
    """Rows of one table that came and went; no row is in both."""

    came: list[Row] = field(default_factory=list)
    went: list[Row] = field(default_factory=list)


def key_of(columns: tuple[int, ...]) -> Callable[[Row], Any]:
    """What a row is looked up by: the value of one column, or a tuple of several, or nothing."""
    return itemgetter(*columns) if columns else lambda _: ()


class HashTable(Generic[Value]):
    """The rows of one table on one node."""

    __slots__ = ("_indexes", "hidden", "rows")

    def __init__(self) -> None:
        self.rows: dict[Row, Value] = {}
        self.hidden: set[Row] = set()
        self._indexes: dict[tuple[int, ...], tuple[Callable[[Row], Any], dict[Any, dict[Row, Value]]]] = {}

    def index(self, columns: tuple[int, ...]) -> Mapping[Any, Mapping[Row, Value]]:
        """Rows by the values of some columns; the mapping stays the same object while rows come and go."""
        if columns not in self._indexes:
            key, found = key_of(columns), dict[Any, dict[Row, Value]]()
            for row, value in self.rows.items():
                found.setdefault(key(row), {})[row] = value
            self._indexes[columns] = key, found
        return self._indexes[columns][1]

    def put(self, row: Row, value: Value) -> None:
        """Add a row, or give it another value."""
        self.rows[row] = value
        for key, found in self._indexes.values():
            at = key(row)
            if at in found:
                found[at][row] = value
            else:
                found[at] = {row: value}

    def remove(self, row: Row) -> None:
        del self.rows[row]
        self.hidden.discard(row)
        for key, found in self._indexes.values():
            at = key(row)
            del found[at][row]
            if not found[at]:
                del found[at]

    def alive(self) -> list[Row]:
        return [row for row in self.rows if row not in self.hidden] if self.hidden else list(self.rows)

    def __contains__(self, row: Row) -> bool:
        return row in self.rows and row not in self.hidden
