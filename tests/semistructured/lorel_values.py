"""The values of Lorel's oracle: a graph of them, and when a comparison of two of them holds."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Edge = tuple[int, str, int, int]

ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Moment:
    """A time: its text, and its seconds."""

    text: str

    @property
    def seconds(self) -> float:
        return datetime.fromisoformat(self.text).timestamp()


@dataclass(frozen=True)
class Label:
    """The label of an edge as a value: a text that never reads as a number."""

    text: str


@dataclass
class Store:
    """A graph: edges, values of atomic objects, and entry points."""

    edges: set[Edge] = field(default_factory=set)
    atoms: dict[int, Any] = field(default_factory=dict)
    names: dict[str, set[int]] = field(default_factory=dict)

    def copy(self) -> Store:
        return Store(set(self.edges), dict(self.atoms), dict(self.names))

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        atoms = [(oid, *columns(value)) for oid, value in self.atoms.items()]
        return {
            "edge": sorted(self.edges),
            "atom": atoms,
            "name": [(name, oid) for name, found in self.names.items() for oid in sorted(found)],
        }


def columns(value: Any) -> tuple[str, str | None, float | None]:
    """A value as the columns of `atom`."""
    match value:
        case None:
            return "null", None, None
        case bool():
            return "bool", str(value).lower(), None
        case int():
            return "int", str(value), float(value)
        case float():
            return "real", repr(value), value
        case Moment():
            return "time", value.text, value.seconds
        case Label():
            return "string", value.text, None
        case _:
            return "string", value, reads_as(value)


def reads_as(text: str) -> float | None:
    return float(text) if NUMBER.fullmatch(text) and math.isfinite(float(text)) else None


# Comparisons


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_number(value: Any) -> float | None:
    if is_number(value):
        return value
    if isinstance(value, Moment):
        return value.seconds
    return reads_as(value) if isinstance(value, str) else None


def as_text(value: Any) -> str | None:
    return columns(value)[1]


def holds(op: str, left: Any, right: Any) -> bool:
    """The table of docs/lorel.md, row by row."""
    if op == "!=":
        return not holds("=", left, right)
    compare = operator.eq if op == "=" else ORDERS[op]
    if left is None or right is None:
        return op == "=" and left is None and right is None
    if is_number(left) or is_number(right):
        one, other = as_number(left), as_number(right)
        if one is None or other is None:
            return False
        kinds = {type(left), type(right)}
        if op == "=" and kinds == {int, str} and abs(one if isinstance(left, int) else other) >= 2**53:
            return as_text(left) == as_text(right)
        exact = op == "=" and kinds == {int}
        return bool(compare(one, other)) if exact else bool(compare(float(one), float(other)))
    return bool(compare(as_text(left), as_text(right)))


def literal_holds(op: str, value: Any, literal: Any) -> bool:
    """A text in a view that reads as a time is one where it is compared with a time."""
    if isinstance(value, Moment) and isinstance(literal, str) and len(literal) >= 10 and literal[4] == "-":
        try:
            moment = datetime.fromisoformat(literal)
        except ValueError:
            return holds(op, value, literal)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        return bool((operator.eq if op == "=" else operator.ne if op == "!=" else ORDERS[op])(value.seconds, seconds))
    return holds(op, value, literal)
