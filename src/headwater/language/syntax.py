"""The syntax tree: what a program says, before any check.

Nodes are immutable values; spans never take part in equality. The checked and the rewritten program
use the same nodes in a narrower form (see `headwater.program.model`), so that every stage prints as
text of the same language.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from headwater.core.alarm import Alarm
from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.core.types import Type

Scalar: TypeAlias = int | float | str | bool


class Kind(Enum):
    """Whether the rows of a declared relation carry a time."""

    STREAM = "stream"
    RELATION = "relation"


def _span() -> Any:
    return field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Duration:
    """A span of time, in microseconds; `text` keeps the unit as written (`60 minutes`)."""

    microseconds: int
    text: str = field(compare=False, default="")


@dataclass(frozen=True, slots=True)
class Variable:
    """`X`, or `@X` where it is a location."""

    name: str
    location: bool = False  # written with `@`
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`_`: some value without a name."""

    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. Lists of literals are `ListTerm`s; `nil` is the empty `ListTerm`.

    `null` has the value None; its type is that of its place, None where nothing shows it.
    """

    value: Scalar | Duration | None
    type: Type | None
    location: bool = False
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class ListTerm:
    """`[X, Y]`, or `[H | T]` where `tail` is the rest."""

    items: tuple[Term, ...]
    tail: Term | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Call:
    """`f(X, Y)` as a term. `link(S, D, C)` inside a path function is a call by the link's name."""

    function: str
    args: tuple[Term, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic: `op` is one of `+ - * / %`. A unary minus on a non-literal is `0 - X`."""

    op: str
    left: Term
    right: Term
    span: Span | None = _span()


Term: TypeAlias = Variable | Wildcard | Constant | ListTerm | Call | Binary


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`min<C>`, `mcount<(K, N)>` or, with a limit, `top<k, C>`: only ever an argument of a head."""

    function: str
    args: tuple[Term, ...]
    limit: int | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Atom:
    """`p(X, Y)` in a body; `#p(...)` when it is a link literal."""

    relation: str
    args: tuple[Term, ...]
    link: bool = False
    turn: int | None = field(default=None, kw_only=True)  # its place in the join order, where the rule says one
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Negation:
    """`!p(X)`; after checking, only over relations (a negated condition is a `Condition`)."""

    atom: Atom
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Comparison:
    """`op` is one of `= != < <= > >=`. As written, `=` (or `:=`) may also bind a variable."""

    op: str
    left: Term
    right: Term
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Assign:
    """A variable bound to the value of a term: made by the checks from `=`, `:=` and `larger(T, ...)`."""

    variable: Variable
    term: Term
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Condition:
    """A call that must be true (or, negated, false): made by the checks from `inPath(P, X)`."""

    call: Call
    negated: bool = False
    span: Span | None = _span()


Goal: TypeAlias = Atom | Negation | Comparison | Assign | Condition


@dataclass(frozen=True, slots=True)
class Head:
    """`p(X, min<C>)`: what a rule derives."""

    relation: str
    args: tuple[Term | Aggregate, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class JoinOrder:
    """`plan(2, 1, 3)` behind a body: in which order its relations are joined, counted as they stand from 1 on."""

    places: tuple[int, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Rule:
    """`label: head :- body.`; a fact has no body. `origin` is the rule that users see, where a rewrite made another.

    `note` explains a rule that users see and that a rewrite has changed. A checked rule has no `plan`: its atoms have
    turns.
    """

    head: Head
    body: tuple[Goal, ...] = ()
    label: str | None = None
    plan: JoinOrder | None = None
    origin: Rule | None = field(default=None, compare=False, repr=False, kw_only=True)
    note: str | None = field(default=None, compare=False, repr=False, kw_only=True)
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class ColumnDeclaration:
    """`x: int`, or `x: int?` where it may be null."""

    name: str
    type: Type
    nullable: bool = False  # written `int?`
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Declaration:
    """`stream p(ts: timestamp, x: int) key(x) ttl 30 seconds lateness 5 seconds optional.`"""

    kind: Kind
    relation: str
    columns: tuple[ColumnDeclaration, ...]
    key: tuple[str, ...] | None = None
    ttl: Duration | int | None = None  # a bare number is in the unit of the time column
    lateness: Duration | int | None = None  # how far behind the clock a row may come
    optional: bool = False  # a run need not be given rows for it
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Window:
    """`WINDOW(size, slide)` of a query."""

    size: Duration | int
    slide: Duration | int | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Ordering:
    """One column that a query's rows are sorted by when they are read."""

    column: int
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class Query:
    """What is shown. Only SQL's queries have an order and a limit, which hold whenever the view is read as a whole.

    `parameters` are variables written `$X`, whose values come with each question.
    """

    atom: Atom
    window: Window | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    parameters: tuple[str, ...] = ()
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Include:
    """`#include "file"`, or `#include(SP1, SP2)`: the rules with these labels from the files included so far.

    Resolved while parsing; a tree that the parser returns holds none.
    """

    path: str | None = None
    labels: tuple[str, ...] = ()
    span: Span | None = _span()


Statement: TypeAlias = Declaration | Rule | Query


@dataclass(frozen=True, slots=True)
class Heading:
    """The names of a relation's columns, where no declaration has them; the last ones may be `hidden`.

    Where they are not `ordered`, their order is not known: they stand in the order in which a text mentions them.

    By hidden columns, rows differ that look equal: a relation is a set, SQL's tables are bags.
    """

    relation: str
    columns: tuple[str, ...]
    hidden: int = 0
    ordered: bool = True
    alarm: Alarm | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """Statements; and, of a program that was not written in this language, headings and the text it came from."""

    statements: tuple[Statement, ...]
    headings: tuple[Heading, ...] = ()
    text: str | None = None
    notes: tuple[Diagnostic, ...] = field(default=(), compare=False)  # what the translation has to say
