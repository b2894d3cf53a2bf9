"""What a name in FROM stands for: a relation with its columns, and the columns by which equal rows differ.

SQL counts equal rows, relations are sets. So a relation that stands for a bag has hidden columns behind the visible
ones: rows that look equal differ there. A declared table without a key has one hidden column, the number of the
copy, so that deleting one of two equal rows leaves the other; an undeclared table has one where a query counts its
rows. A SELECT keeps the columns that identify the rows of its sources; the parts of a UNION ALL differ by a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.syntax import Variable

COPY = "copy'"  # the hidden column of a table without a key: which of several equal rows it is


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A column of a table or of a query's result."""

    name: str
    type: Type | None = None
    nullable: bool = False
    is_null: bool = False  # nothing but nulls, or not known yet: it goes with every type
    opaque: str | None = None  # the name of a type that is only passed on: its values are texts that stand for others


@dataclass(slots=True)
class SqlTable:
    """A relation as queries see it. `hidden` counts the hidden columns behind the visible ones.

    The columns of a `mentioned` one stand in the order in which the text mentions them, be that of its rows or not.
    `key` are the places that identify its rows (None: all of them, hidden ones too). An `open` table was never
    declared: it has the columns that queries mention.
    """

    relation: str
    columns: list[SqlColumn]
    hidden: int = 0
    key: tuple[int, ...] | None = None
    open: bool = False
    base: bool = False
    mentioned: bool = False
    order: tuple[int, ...] = ()  # the places that its ORDER BY sorts by
    span: Span | None = None

    @property
    def arity(self) -> int:
        return len(self.columns) + self.hidden

    @property
    def is_typed(self) -> bool:
        return all(column.type is not None for column in self.columns)

    def place(self, name: str) -> int | None:
        wanted = name.lower()
        return next((at for at, column in enumerate(self.columns) if column.name.lower() == wanted), None)


@dataclass(slots=True)
class FromItem:
    """A table in a FROM under its alias, with a variable for each column."""

    alias: str
    table: SqlTable
    variables: list[Variable]
    span: Span | None = None
    merged: set[str] = field(default_factory=set)  # columns that USING shows once, in a source before this one

    @property
    def spelt(self) -> str:
        """The alias by which its columns can be named: that of one side, for columns that USING shows once."""
        return self.alias.partition("'")[0]

    def shown(self) -> list[str]:
        """The columns that `*` shows."""
        return [column.name for column in self.table.columns if column.name.lower() not in self.merged]

    def shows(self, name: str) -> bool:
        return self.table.place(name) is not None and name.lower() not in self.merged

    def identity(self) -> list[Variable]:
        """The variables that identify its rows."""
        if self.table.key is None:
            return list(self.variables)
        return [self.variables[place] for place in self.table.key]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a column from outside: see `SqlColumn`."""

    type: Type | None
    opaque: str | None = None


Schema: TypeAlias = Mapping[str, Type | Known | None]
"""Columns of a table that is known from outside, in order, with their types where these are known."""


def known_table(name: str, schema: Schema, *, key: Iterable[str] = ()) -> SqlTable:
    known = [(column, kind if isinstance(kind, Known) else Known(kind)) for column, kind in schema.items()]
    columns = [SqlColumn(column, kind.type, kind.type is not None, opaque=kind.opaque) for column, kind in known]
    places = tuple(list(schema).index(each) for each in key) or None
    return SqlTable(name, columns, hidden=0 if places else 1, key=places, base=True)
