"""The kinds of events, as values. Times are in seconds from the start of a simulation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headwater.core.source import Span


@dataclass(frozen=True, slots=True)
class RowsChange:
    """Base rows come and go; `(relation, row)` each."""

    time: float
    inserts: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    deletes: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class NodeFails:
    """A node is gone, with its links and the base rows that it holds."""

    time: float
    node: str
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class NodeReturns:
    """A node that failed is back, with what it had."""

    time: float
    node: str
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class LinkFails:
    """A link is gone, in both directions."""

    time: float
    one: str
    other: str
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class LinkReturns:
    """A link that failed is back."""

    time: float
    one: str
    other: str
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class LinkChanges:
    """The cost of a link becomes `factor` times what it was at the start, in both directions."""

    time: float
    one: str
    other: str
    factor: float
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Partitioned:
    """All links between these nodes and the others are gone."""

    time: float
    nodes: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class PartitionHeals:
    """The partition ends."""

    time: float
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


NetworkEvent: TypeAlias = (
    RowsChange | NodeFails | NodeReturns | LinkFails | LinkReturns | LinkChanges | Partitioned | PartitionHeals
)
