"""What all parts of a translation share: the text, the rules made so far, the names that are taken, the tables.

A first pass finds the columns of undeclared tables: there, a table takes on every column that a query mentions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.core.alarm import Alarm
from headwater.core.diagnostics import Diagnostic
from headwater.core.functions.function import Registry
from headwater.core.functions.registry import FUNCTIONS
from headwater.core.source import Span
from headwater.language.sql.scope.rules import Choices, Piece, made
from headwater.language.sql.scope.sources import SqlColumn, SqlTable
from headwater.language.sql.text.parsed import SqlText
from headwater.language.syntax import Aggregate, Rule, Term


@dataclass(slots=True)
class Translation:
    """What one pass over a text has found and made so far."""

    text: SqlText
    tables: dict[str, SqlTable]  # base tables, by name in lower case
    rules: list[Rule] = field(default_factory=list)
    made: dict[str, SqlTable] = field(default_factory=dict)  # every relation that rules define
    notes: list[Diagnostic] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    registry: Registry = field(default_factory=lambda: FUNCTIONS)
    taken: set[str] = field(default_factory=set)  # names of relations, in lower case
    union_all: str = "bag"  # what UNION ALL in a recursion means: see `wording.UNION_ALL`
    timed: bool = False  # a table is a stream, or its rows have a ttl
    sets: frozenset[str] = frozenset()  # recursions of which no copies are counted: sets give the same answers
    bags: list[SqlTable] = field(default_factory=list)  # recursions that are bags
    alarms: dict[str, Alarm] = field(default_factory=dict)  # by the relation whose rows ring them

    def relation(self, wanted: str) -> str:
        """A name for a relation that is not taken yet."""
        name, number = wanted, 2
        while name.lower() in self.taken:
            name = f"{wanted}_{number}"
            number += 1
        self.taken.add(name.lower())
        return name

    def emit(
        self,
        name: str,
        head: Sequence[Term | Aggregate],
        goals: Iterable[Piece],
        choices: Choices,
        span: Span | None,
        columns: list[SqlColumn] | None = None,
    ) -> SqlTable:
        """A relation with its rules; without columns, one that only rules read."""
        self.rules += made(name, head, goals, choices, span)
        found = [SqlColumn(f"c{at}") for at in range(len(head))] if columns is None else columns
        return self.define(SqlTable(name, found, hidden=len(head) - len(found), span=span))

    def marked(self) -> _Mark:
        """Where the translation stands, to come `back_to` it."""
        return _Mark(list(self.rules), set(self.taken), list(self.notes))

    def back_to(self, mark: _Mark) -> None:
        """Forget the rules, names and notes that were made since."""
        self.rules[:], self.taken, self.notes[:] = mark.rules, set(mark.taken), mark.notes

    def define(self, table: SqlTable) -> SqlTable:
        self.made[table.relation] = table
        return table


@dataclass(frozen=True, slots=True)
class _Mark:
    """The rules, names and notes of a translation at some time."""

    rules: list[Rule]
    taken: set[str]
    notes: list[Diagnostic]


class Scope:
    """The names that a FROM may use: WITH views of this query, then those around it, then the program's."""

    def __init__(self, parent: Scope | None, views: Mapping[str, SqlTable] | None = None) -> None:
        self.parent = parent
        self.views: dict[str, SqlTable] = dict(views or {})

    def find(self, name: str) -> SqlTable | None:
        found = self.views.get(name.lower())
        if found is None and self.parent is not None:
            return self.parent.find(name)
        return found
