"""A program that acts on events, as nodes run it: rules of ours that say what holds, and what to do where they hold.

The rules of `program` are all local, but those of views over links. Rows of an event are there for one transaction, in
a base relation of their own (`moments`), with the number of the moment as their last column. An `Action` reads a
derived relation: each row that comes to it is an event, a row to store, or a row to delete, at the node that it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from headwater.core.diagnostics import Diagnostic
from headwater.pipeline import CompiledProgram


class ActionKind(Enum):
    """What an action does with a row; in this order, of all that is done at once."""

    DELETE = "1 delete"  # the row of a table with this key
    STORE = "2 store"  # a row of a table, in place of another with its key
    HAPPEN = "3 happen"  # an event at a node


@dataclass(frozen=True, slots=True)
class Action:
    """Rows that come to `derived` (where the rule ran, then the moment if an event caused it, then the row)."""

    derived: str
    deed: ActionKind
    relation: str  # the event, or the table
    momentary: (
        bool  # an event caused it; else it follows tables, and a stored row goes when it does not follow any more
    )
    label: str

    @property
    def first(self) -> int:
        """The column of `derived` at which the row begins; it is the node that the row is for."""
        return 2 if self.momentary else 1


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table whose rows come by actions or expire: its key, how long a row lives, how many a node holds."""

    key: tuple[int, ...]
    lifetime: float | None
    size: int | None
    given: bool  # no rule derives it


@dataclass(frozen=True, slots=True)
class EventTimer:
    """An event that comes to every node once in so many seconds, so many times (None: for ever)."""

    moments: str
    seconds: float
    times: int | None


@dataclass(frozen=True, slots=True)
class EventProgram:
    """Rules, and what nodes do with what they derive."""

    program: CompiledProgram
    actions: tuple[Action, ...]
    events: Mapping[str, str]  # the base relation that holds the rows of an event for a moment
    tables: Mapping[str, StoredTable]
    timers: tuple[EventTimer, ...]
    clock: str | None  # the relation with the time of a moment, if a rule asks for it
    chances: str | None  # the relation with random numbers of a moment
    chance_count: int
    links: tuple[str, ...]  # tables that a topology fills
    views: tuple[str, ...]  # tables that rules fill, in order

    @property
    def text(self) -> str:
        """The rules as ours."""
        return self.program.text

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return self.program.warnings

    @property
    def never_quiet(self) -> bool:
        """Whether a timer goes off for ever."""
        return any(timer.times is None for timer in self.timers)
