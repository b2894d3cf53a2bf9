"""THE model: a program that has passed its checks. Rewrites map it to itself; the planner reads it.

What a checked program promises, so that later stages need not look:

- every relation that occurs is in `relations`, with one entry per column, in order of first mention;
- arguments of body atoms (negated ones too) are variables, wildcards or constants: anything else was
  lifted into an `Assign` or a `Comparison` of a fresh variable (`X'1`; never a name a user can write);
- a goal `=` that binds is an `Assign` whose term's variables are bound by goals before it or by atoms;
  every `Comparison` and `Condition` has all its variables bound by positive atoms and `Assign`s;
  `larger(T, A, B)` and `largest(T, ...)` are `Assign(T, larger(A, B))`; `encd`/`decd` likewise: every
  goal that is not an atom is an `Assign`, a `Comparison` or a `Condition` over registered functions;
- list patterns were lowered to calls of list functions: a `ListTerm` builds a list and has no tail; path
  functions with a `link(S, D, ...)` argument got a list `[S, D]` in its place;
- location marks and `#` stay on the nodes for printing and for the network rules, and mean nothing else;
- facts (rules without a body) have constant arguments (after folding), or lists of constants;
- head arguments are variables, constants or aggregates over variables or constants.

Facts about a program (types, strata, locality) live in functions beside this file, not here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from headwater.core.alarm import Alarm
from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.syntax import Constant, Duration, Kind, Query, Rule, Window


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a relation."""

    name: str  # as declared, else made from the first variable that stands there, else `c0`, `c1`, ...
    type: Type | None = None  # declared or inferred; None: the data will show
    nullable: bool = False  # declared with `?`, or nulls flow into it


@dataclass(frozen=True, slots=True)
class Selection:
    """Of the rows that agree on the `group` columns, those whose `value` column is best; ties are kept."""

    group: tuple[int, ...]
    value: int
    best: Literal["min", "max"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A column as written: where its values stand; None for a time that is not kept, or where all have one `value`."""

    column: Column
    at: int | None
    value: Constant | None = None


@dataclass(frozen=True, slots=True)
class Asking:
    """What the rows of a relation of questions are: values of these columns of a relation that are asked for."""

    relation: str
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WaySearch:
    """How to search for the rows of one or two values, in the columns `source` and `target`, without deriving any.

    They are the cheapest ways, or any ways, along the rows of a base relation, the steps; `value` is the column for
    their cost. A step leads from its column `leaves` to its column `arrives` and costs what is in its column `cost`, or
    else `each`. `given` are the sets of ends that questions give.
    """

    source: int
    target: int
    value: int | None
    steps: str
    leaves: int
    arrives: int
    cost: int | None
    each: int
    given: tuple[tuple[int, ...], ...] = ()

    @property
    def ends(self) -> tuple[int, int]:
        return self.source, self.target


class Keeps(Enum):
    """Which versions of a row a relation keeps where rows have a time or a lease beside their identity."""

    ALL = "all"  # a row is its identity
    LATEST = "latest"  # the version with the latest lease
    FRONTIER = "frontier"  # those that are best now, or can become best when others end
    BEST = "best"  # those that are best now


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation, and everything that is known of it."""

    name: str
    columns: tuple[Column, ...]
    kind: Kind = Kind.RELATION
    derived: bool = False  # as written, the head of at least one rule with a body (a rewrite may have dropped them all)
    declared: bool = False
    named: bool = False  # its columns' names are known, and rows may be given by name
    ordered: bool = True  # rows may be given by position; else the order of the columns is not known
    hidden: int = 0  # so many columns at the end only number rows that look equal
    key: tuple[int, ...] | None = None  # positions of the key columns, if declared
    ttl: Duration | int | None = None
    lateness: Duration | int | None = None  # rows further behind the clock are set aside
    optional: bool = False  # a run need not be given rows for it
    window: Window | None = None
    location: int | None = None  # position of the `@` column, if the program says so
    time: int | None = None  # position (0) of the time, for streams and relations derived with their time
    selections: tuple[Selection, ...] = ()  # if any, a row is kept only while best for at least one of them
    replicated: bool = False  # every shard holds all rows, whatever the location says
    gathered: bool = False  # one shard holds all rows: no column says where they live
    lease: int | None = None  # position of the column that `leases` added: the moment at which a row ends
    shown: tuple[Shown, ...] | None = None  # the columns as written, where that is not what is stored
    keeps: Keeps = Keeps.ALL
    stands_for: str | None = None  # the relation as written whose rows these are, where a rewrite split it
    part_of: str | None = None  # its rows are bindings of a part of a rule of this relation: no user sees them
    asks: Asking | None = None  # its rows are questions: no user sees them
    ways: tuple[tuple[int, ...], ...] = ()  # if any, only rows asked for, by one of these sets of columns, are derived
    exact: tuple[int, ...] = ()  # columns that must not turn out to be floats, because sums are taken in another order
    made_linear: bool = False  # as written, its recursive rule has two recursive goals
    alarm: Alarm | None = None  # what its rows mean is wrong with the data
    search: WaySearch | None = None  # how rows are searched for of which an end or both are given
    whole: str | None = None  # why all of it is derived, although only some of it is asked for
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def arity(self) -> int:
        return len(self.columns)

    @property
    def visible(self) -> tuple[Column, ...]:
        """The columns that a user sees and gives."""
        columns = self.columns if self.shown is None else tuple(each.column for each in self.shown)
        return columns[: len(columns) - self.hidden]


@dataclass(frozen=True, slots=True)
class Program:
    """Relations, rules and queries that have passed the checks."""

    relations: tuple[Relation, ...]
    rules: tuple[Rule, ...]
    queries: tuple[Query, ...]
    filters: bool = True  # joins may be filtered by goals that are joined later
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False)

    def relation(self, name: str) -> Relation:
        for relation in self.relations:
            if relation.name == name:
                return relation
        raise KeyError(name)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the queried views, in order; all derived relations if none is queried."""
        if self.queries:
            return tuple(dict.fromkeys(query.atom.relation for query in self.queries))
        return tuple(relation.name for relation in self.relations if relation.derived and relation.part_of is None)
