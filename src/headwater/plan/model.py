"""The plan: what the engine runs. Values only; it knows the program's types but none of its data.

A *table* stores the rows of one relation (or of one bag of bindings that an aggregate ranges over). A
*delta rule* is one way through one rule: it starts from rows of one table, takes the rule's other goals in a
chosen order, and ends in head rows. Each rule has a delta rule per positive atom (a row came), two per negated
atom (a row came: what did that forbid? a row went: what does that allow?), one that starts from head
rows or head groups (*pull*), and, if it has no positive atom, one that starts from nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from headwater.core.alarm import Alarm
from headwater.core.types import Type
from headwater.language.syntax import Comparison, Condition, Constant, Duration, Goal, ListTerm, Rule, Term
from headwater.program.model import Keeps
from headwater.program.recursion.strata import Mode
from headwater.program.time.program_clock import Lifetime
from headwater.program.types.typing import list_type


class Reads(Enum):
    """Which rows of an atom a delta rule sees: all that are alive, or those alive before this round."""

    ALL = "all"
    OLD = "old"


class Ships(Enum):
    """What goes through an outbox: all head rows that may live elsewhere, or only those that do."""

    ALL = "all"
    OTHERS = "others"


class Best(Enum):
    """Which end of the values of a group is the best."""

    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Pick:
    """Of each group only the rows with the `limit` best distinct values are kept.

    Rows with equal values are compared by the columns of `then`, in this order, in the same direction.
    """

    group: tuple[int, ...]
    value: int
    best: Best
    limit: int = 1
    then: tuple[int, ...] = ()

    @property
    def ranked(self) -> tuple[int, ...]:
        """The columns that rows of a group are compared by."""
        return (self.value, *self.then)


@dataclass(frozen=True, slots=True)
class Measure:
    """One aggregate of a head: its function and the source column of its value (None: counts rows)."""

    function: str
    result: Type
    type: Type
    nullable: bool = False  # of its values, those that are null do not count


@dataclass(frozen=True, slots=True)
class Contribution:
    """A table whose rows are bindings pooled by an aggregation: its group columns and one value column per measure."""

    table: str
    group: tuple[int, ...]
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """`table` holds one row per group: the group's columns and measures, at the positions given."""

    table: str
    group: tuple[int, ...]
    measures: tuple[Measure, ...]
    positions: tuple[int, ...]
    contributions: tuple[Contribution, ...]
    rule: int  # the rule that a witness names


@dataclass(frozen=True, slots=True)
class WrittenColumn:
    """A column as a user wrote it: where its values stand; None for a time that is not kept, or one `value` of all."""

    name: str
    type: Type
    at: int | None
    value: Any = None


@dataclass(frozen=True, slots=True)
class Table:
    """Where the rows of a relation are stored, and which of them are kept."""

    name: str
    types: tuple[Type, ...]
    columns: tuple[str, ...]
    base: bool = False
    picks: tuple[Pick, ...] = ()
    depth: int = 0  # rows that a witness names, at most
    outbox: bool = False  # the owners of its rows, on other shards, count on every row that has a witness, ghosts too
    bag: bool = False  # no relation of the program: an aggregate's bindings, or rows on their way between shards
    nullable: frozenset[int] = frozenset()  # columns that may hold nulls
    time: int | None = None  # the column with a row's time, which is no part of its identity
    lease: int | None = None  # the column with the moment at which a row ends; no part of its identity either
    keeps: Keeps = Keeps.ALL
    life: Lifetime | None = None  # of a base table: how long its rows live
    shown: tuple[WrittenColumn, ...] | None = None  # the columns as written, where that is not what is stored
    stands_for: str | None = None  # the relation as written whose rows these are
    ordered: bool = True  # rows may be given by position
    hidden: int = 0  # so many of its columns as written, the last ones, only distinguish rows that look equal
    part: bool = False  # its rows are bindings of a part of a rule's body, which no user sees
    asks: bool = False  # its rows are questions, which no user sees
    alarm: Alarm | None = None  # what its rows mean is wrong with the data
    clusters: int | None = None  # a column by whose values rows had best lie side by side

    @property
    def lasting(self) -> bool:
        """Whether a row that gave way to one with a later lease can still be rested on until its own is over."""
        return self.lease is not None and self.keeps in (Keeps.LATEST, Keeps.FRONTIER)

    @property
    def single(self) -> bool:
        """Whether it keeps exactly one row per group: one pick of one value, and no column beside them."""
        if len(self.picks) != 1:
            return False
        (pick,) = self.picks
        plain = not self.types[pick.value].is_symbolic and pick.value not in self.nullable
        return pick.limit == 1 and len(pick.group) == len(self.types) - 1 and plain

    @property
    def listed(self) -> bool:
        """Whether its rows are a group, a value that is a number, if any, a lease, and nothing else."""
        if self.base or self.lease is None or self.time is not None or len(self.picks) != 1:
            return False
        (pick,) = self.picks
        match self.keeps:
            case Keeps.LATEST:
                return pick.value == self.lease and pick.group == self.identity
            case Keeps.FRONTIER:
                plain = not self.types[pick.value].is_symbolic and pick.value not in self.nullable
                return plain and pick.limit == 1 and pick.value != self.lease and len(pick.group) == len(self.types) - 2
            case _:
                return False

    @property
    def identity(self) -> tuple[int, ...]:
        """The columns that distinguish rows."""
        return tuple(at for at in range(len(self.types)) if at not in (self.time, self.lease))

    @property
    def written(self) -> tuple[WrittenColumn, ...]:
        """The columns as a user wrote them."""
        columns = self.shown
        if columns is None:
            named = enumerate(zip(self.columns, self.types, strict=True))
            columns = tuple(WrittenColumn(name, kind, at) for at, (name, kind) in named)
        return columns[: len(columns) - self.hidden]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns as a user wrote them."""
        return tuple(column.name for column in self.written)


@dataclass(frozen=True, slots=True)
class Var:
    """A variable of a rule."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A known value: a scalar (times in microseconds), a tuple for a list, or None for null."""

    value: Any
    type: Type


Source: TypeAlias = Var | Literal


def literal(term: Term) -> Literal:
    """The value of a term without variables or calls."""
    match term:
        case Constant(value=Duration(microseconds=microseconds)):
            return Literal(microseconds, Type.DURATION)
        case Constant(value=value, type=kind):
            return Literal(value, Type.STRING if kind is None else kind)
        case ListTerm(items=items, tail=tail):
            found = [literal(item) for item in items]
            rest = Literal((), Type.LIST) if tail is None else literal(tail)
            values = tuple(item.value for item in found)
            kind = list_type([item.type for item in found], None if tail is None else rest.type)
            return Literal(None if rest.value is None or None in values else values + rest.value, kind)
    raise AssertionError(f"no literal: {term!r}")


@dataclass(frozen=True, slots=True)
class Pattern:
    """How an atom meets a row of its table.

    `key` columns are known before (and looked up by index), `binds` columns give variables, `equal` pairs of
    columns must agree, because one new variable stands in both.
    """

    table: str
    key: tuple[tuple[int, Source], ...]
    binds: tuple[tuple[int, str], ...]
    equal: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Join:
    """Meet the rows of a positive atom."""

    atom: int  # the position among the rule's positive atoms: the slot of its row in a witness
    pattern: Pattern
    reads: Reads
    keep: tuple[str, ...]  # variables that later steps ask for
    any: bool = False  # one match is as good as all


@dataclass(frozen=True, slots=True)
class Filter:
    """Go on with the bindings for which an atom that is joined later has a row: a semi-join.

    `pattern` binds nothing. Where most bindings turn out to pass, the engine stops asking.
    """

    atom: int
    pattern: Pattern
    reads: Reads


@dataclass(frozen=True, slots=True)
class Absent:
    """Go on with the bindings for which a negated atom has no row."""

    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Let:
    """Compute a variable; a binding without a value for it goes no further."""

    variable: str
    type: Type
    term: Term


@dataclass(frozen=True, slots=True)
class Test:
    """Go on with the bindings for which a goal holds."""

    goal: Comparison | Condition


@dataclass(frozen=True, slots=True)
class Owned:
    """Only bindings go on whose value here this shard owns, or, if not `mine`, which another shard owns."""

    source: Source
    type: Type
    mine: bool = True


Step: TypeAlias = Join | Filter | Absent | Let | Test | Owned


class Side(Enum):
    """The two rows that a compiled loop holds: the one that it starts from, and the one that it meets."""

    START = "start"
    MET = "met"


@dataclass(frozen=True, slots=True)
class Copied:
    """A value that a compiled loop copies from a column of one of its rows."""

    side: Side
    column: int


LoopValue: TypeAlias = Copied | Literal


@dataclass(frozen=True, slots=True)
class Probe:
    """How a compiled loop finds the rows of `table` that a starting row meets: by the index on `columns`."""

    table: str
    columns: tuple[int, ...]
    key: tuple[int | Literal, ...]  # what is looked up: columns of the starting row, and constants
    reads: Reads
    atom: int  # the slot of the row met in a witness

    @property
    def by_column(self) -> int | None:
        """The column of the starting row that is looked up, if that is the whole key."""
        match self.key:
            case (int(column),):
                return column
            case _:
                return None


@dataclass(frozen=True, slots=True)
class StepByStep:
    """No compiled loop: each step makes a batch of bindings for the next one."""

    why: str


@dataclass(frozen=True, slots=True)
class CopyLoop:
    """One atom into a table that keeps all rows: columns are moved about, no row is met."""

    head: tuple[LoopValue, ...]
    owner: int | None  # the column that says which shard follows a row
    distinct: bool  # different rows give different rows
    same: bool  # a row gives an equal row


@dataclass(frozen=True, slots=True)
class JoinLoop:
    """Two atoms into a table that keeps all rows.

    With `carries`, the last join of a longer rule: it starts from bindings of these variables instead of rows.
    """

    probe: Probe
    head: tuple[LoopValue, ...]
    short: bool  # one column is looked up, and one or two are copied
    carries: tuple[str, ...] | None = None
    closes: bool = False  # while few rows come, it goes on from them until none comes any more


@dataclass(frozen=True, slots=True)
class PullLoop:
    """Marked rows of a table that keeps all rows, derived again by two atoms.

    The first is met by index; the row of the second in `table` is then known whole.
    """

    probe: Probe
    table: str
    row: tuple[LoopValue, ...]
    short: bool


@dataclass(frozen=True, slots=True)
class BestLoop:
    """Two atoms into a table with one row per group, whose value is a copy or a sum of ints."""

    probe: Probe
    group: tuple[LoopValue, ...]
    value: tuple[LoopValue, ...]  # the summands
    short: bool  # one column is looked up, one is the group, and each row gives the sum at most one


@dataclass(frozen=True, slots=True)
class FrontierLoop:
    """Two atoms into a table that keeps the frontier of value and lease."""

    probe: Probe
    group: tuple[LoopValue, ...]
    value: tuple[LoopValue, ...]  # the summands; none where rows have a lease only
    lease: tuple[LoopValue, ...]  # the smallest of these
    sieves: tuple[int | None, int | None]  # of either side: a value of which the rule needs only the best
    closes: bool  # it goes on from the rows that come until none comes any more
    clusters: int | None  # the column of the head by whose values its rows had best lie side by side


Loop: TypeAlias = StepByStep | CopyLoop | JoinLoop | PullLoop | BestLoop | FrontierLoop


@dataclass(frozen=True, slots=True)
class DeltaRule:
    """`start` binds the first variables: from rows of a table, from the columns of a key, or from nothing."""

    rule: int
    start: Pattern | None
    atom: int | None  # the slot of the starting row in a witness, for a positive atom
    steps: tuple[Step, ...]
    loop: Loop = StepByStep("it is searched for derivations")
    expected: float | None = None  # bindings per starting row, where statistics chose the order

    @property
    def order(self) -> tuple[int, ...]:
        """The atoms that are joined, in order; `~atom` stands where bindings are filtered by one of them."""
        met = (step for step in self.steps if isinstance(step, Join | Filter))
        return tuple(step.atom if isinstance(step, Join) else ~step.atom for step in met)


@dataclass(frozen=True, slots=True)
class Pull:
    """A delta rule that starts from values of some head columns and finds derivations of such rows."""

    columns: tuple[int, ...]
    delta_rule: DeltaRule


@dataclass(frozen=True, slots=True)
class FlatRule:
    """A rule as the engine sees it: one head table, atoms in text order, and the delta rules through it."""

    id: int
    origin: int  # index of the rule in the program
    table: str
    head: tuple[Source, ...]
    body: tuple[Goal, ...]
    atoms: tuple[str, ...]  # tables of the positive atoms: the slots of a witness
    negated: tuple[str, ...]
    types: dict[str, Type]
    nullable: frozenset[str]  # variables that may hold a null
    arrive: tuple[DeltaRule, ...]  # a row of a positive atom came
    forbid: tuple[DeltaRule, ...]  # a row of a negated atom came
    allow: tuple[DeltaRule, ...]  # a row of a negated atom went
    spontaneous: DeltaRule | None
    pulls: tuple[Pull, ...]
    weights: Mapping[str, int] = field(default_factory=dict)  # as in its draft, from which it can be planned anew
    keys: Mapping[str, frozenset[int]] = field(default_factory=dict)
    owned: Source | None = None
    mine: bool = True
    filtered: bool = True  # as in its draft
    last: int | None = None  # the atom that starts where all rows come at once, if that is not the last one

    @property
    def delta_rules(self) -> tuple[DeltaRule, ...]:
        """All ways through it in which atoms are joined."""
        return (*self.arrive, *self.forbid, *self.allow, *(pull.delta_rule for pull in self.pulls))


@dataclass(frozen=True, slots=True)
class PlannedStratum:
    """One stratum: tables, flat rules by id, aggregations by index."""

    tables: tuple[str, ...]
    rules: tuple[int, ...]
    aggregations: tuple[int, ...]
    recursive: bool
    mode: Mode
    computes: bool  # values are built around the recursion: it may never end
    bounded: bool = False  # it computes values that its own rules keep from growing for ever


@dataclass(frozen=True, slots=True)
class Shipment:
    """Head rows that are derived on one shard and live on another: they go from an outbox to an inbox.

    The value of `column` names the owner (None: the first shard owns a table without columns); a table that is held
    `everywhere` gets them on all shards. An inbox has the sender's number before the columns.
    """

    table: str
    outbox: str
    inbox: str
    column: int | None
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """All that the engine runs for a program."""

    tables: tuple[Table, ...]
    rules: tuple[FlatRule, ...]
    aggregations: tuple[Aggregation, ...]
    strata: tuple[PlannedStratum, ...]
    facts: tuple[int, ...]  # rules that put facts into base tables
    program_rules: tuple[Rule, ...]
    holds_nulls: bool  # a null can be somewhere: then the code of null is kept free of numbers, everywhere
    shipments: tuple[Shipment, ...] = ()  # in a plan for several shards
