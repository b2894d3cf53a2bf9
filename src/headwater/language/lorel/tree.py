"""The syntax tree of Lorel: what views, queries and updates over documents say, before any check.

Nodes are immutable values; spans never take part in equality. A path's root is an identifier that is a variable
where one is in scope, and the name of an entry point otherwise: the tree does not decide. `OldValue` and `OldPath`
speak of the state before an update; only the maintenance statements of 001 have them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headwater.core.source import Span

AtomicValue: TypeAlias = int | float | str | bool | None


def _span() -> Any:
    return field(default=None, compare=False, repr=False, kw_only=True)


# Steps of a path


@dataclass(frozen=True, slots=True)
class Places:
    """`[2]`, or `[0-2]`: items of an array, counted from 0, both ends included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ByLabel:
    """`.Entree`: one edge with this label; `.Entree@L` binds the label to `variable`."""

    label: str
    places: Places | None = None
    variable: Identifier | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class ByPattern:
    """`.addr%`: one edge with a label of this form; `%` stands for any part of a label. `.%@L` binds the label."""

    pattern: str
    places: Places | None = None
    variable: Identifier | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class AnyPath:
    """`.#`: any number of edges with any labels, also none."""

    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Choice:
    """`.(a|b.c)`: one of several paths."""

    branches: tuple[tuple[PathStep, ...], ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Repeat:
    """`.(a|b)*`, `.(a)+` or `.(a)?`: such a path at least `least` times, and at most once unless `endless`."""

    path: Choice
    least: int
    endless: bool
    span: Span | None = _span()


PathStep: TypeAlias = ByLabel | ByPattern | AnyPath | Choice | Repeat


# What has objects or values


@dataclass(frozen=True, slots=True)
class ObjectId:
    """`&10`."""

    oid: int
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Identifier:
    """A variable, or the name of an entry point."""

    name: str
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class PathExpression:
    """`r.Entree.Name`: the objects that the steps reach from the root; without steps, the root itself."""

    root: Identifier | ObjectId
    steps: tuple[PathStep, ...] = ()
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class LorelLiteral:
    """A number, a text, `true`, `false` or `null`."""

    value: AtomicValue
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class AggregateOf:
    """`count(r.Entree)`: `function` is one of count, sum, min, max, avg."""

    function: str
    source: ObjectSource
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Subquery:
    """`(select ...)` inside another query, whose variables it may use."""

    query: SelectQuery
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class UnionOf:
    """`(r.Entree union {&9})`: the objects of a path, and these."""

    source: ObjectSource
    objects: tuple[ObjectId, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class OldPath:
    """`OldPath(r.Entree)`: one step of a path as it was before the update."""

    path: PathExpression
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class OldValue:
    """`OldVal(x)`: the value of an object before the update."""

    path: PathExpression
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`op` is one of `+ - * /`; it has a value where both sides have numbers."""

    op: str
    left: Operand
    right: Operand
    span: Span | None = _span()


ObjectSource: TypeAlias = PathExpression | Subquery | UnionOf | OldPath
Operand: TypeAlias = ObjectSource | LorelLiteral | AggregateOf | OldValue | Arithmetic


# Conditions


@dataclass(frozen=True, slots=True)
class Compared:
    """`op` is one of `= != < <= > >=`, `==` (the same object) and `like`. True if it holds for some of the objects."""

    op: str
    left: Operand
    right: Operand
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class ExistsIn:
    """`exists x in r.Name: x = "a"`. In place of a variable there may be an object, which then must be among them."""

    variable: Identifier | ObjectId
    source: ObjectSource
    condition: LorelCondition | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class ForAll:
    """`for all x in r.Name: x = "a"`: true also where there is none."""

    variable: Identifier
    source: ObjectSource
    condition: LorelCondition
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class Exists:
    """`exists r.Name`, `exists (select ...)`."""

    source: ObjectSource
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class MemberOf:
    """`x in r.Name`: the same object for an object, an equal value for a value."""

    item: Operand
    source: ObjectSource
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class AllOf:
    """`a and b and c`."""

    parts: tuple[LorelCondition, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """`a or b or c`."""

    parts: tuple[LorelCondition, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class NotSo:
    """`not a`."""

    part: LorelCondition
    span: Span | None = _span()


LorelCondition: TypeAlias = Compared | ExistsIn | ForAll | Exists | MemberOf | AllOf | AnyOf | NotSo


# Queries, views and updates


@dataclass(frozen=True, slots=True)
class SelectItem:
    """`r.Name`, or with a label: `name: r.Name`, `r.Name as name`."""

    operand: Operand
    label: str | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class FromItem:
    """`Guide.Restaurant r`."""

    source: ObjectSource
    variable: Identifier | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class WithItem:
    """`e.Ingredient i`: edges, and the objects they lead to, that come into the view with the selected object `e`."""

    path: PathExpression
    variable: Identifier | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class OrderItem:
    """`e.Price desc`."""

    operand: Operand
    descending: bool = False
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class SelectQuery:
    """`select ... from ... where ... with ... order by ...`."""

    items: tuple[SelectItem, ...]
    sources: tuple[FromItem, ...] = ()
    where: LorelCondition | None = None
    adjuncts: tuple[WithItem, ...] = ()
    order: tuple[OrderItem, ...] = ()
    limit: int | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """`Entrees = select ...`: one statement of a view."""

    name: str
    query: SelectQuery
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    """`define view V as A = select ...; B = select ...;`. A query alone defines a view `Answer`."""

    name: str
    parts: tuple[NamedQuery, ...]
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class UpdateStatement:
    """`update r.Entree += &15 from ... where ...`: `op` is `:=`, `+=` or `-=`, and `target` ends with a label."""

    target: PathExpression
    op: str
    value: Operand
    sources: tuple[FromItem, ...] = ()
    where: LorelCondition | None = None
    span: Span | None = _span()


@dataclass(frozen=True, slots=True)
class InsertEdge:
    """`Ins(&10, Ingredient, &15)` (001, section 2.5)."""

    parent: int
    label: str
    child: int


@dataclass(frozen=True, slots=True)
class DeleteEdge:
    """`Del(&3, Entree, &9)`."""

    parent: int
    label: str
    child: int


@dataclass(frozen=True, slots=True)
class ChangeValue:
    """`Chg(&7, "Baghdad Cafe", "Wendy's")`: the old value, and the new one."""

    oid: int
    old: AtomicValue
    new: AtomicValue


ElementaryUpdate: TypeAlias = InsertEdge | DeleteEdge | ChangeValue
LorelStatement: TypeAlias = ViewDefinition | UpdateStatement | InsertEdge | DeleteEdge | ChangeValue


@dataclass(frozen=True, slots=True)
class LorelTree:
    """The statements of a text, in order."""

    statements: tuple[LorelStatement, ...]

    @property
    def views(self) -> tuple[ViewDefinition, ...]:
        return tuple(each for each in self.statements if isinstance(each, ViewDefinition))

    @property
    def updates(self) -> tuple[UpdateStatement | ElementaryUpdate, ...]:
        return tuple(each for each in self.statements if not isinstance(each, ViewDefinition))
