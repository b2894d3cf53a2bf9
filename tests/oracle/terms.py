"""The terms of the oracle's programs, and their text in Headwater's language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

Value: TypeAlias = Any  # int, float, str, bool, or a tuple of them; None is null


@dataclass(frozen=True, slots=True)
class Var:
    name: str


@dataclass(frozen=True, slots=True)
class Wild:
    pass


@dataclass(frozen=True, slots=True)
class Const:
    value: Value


@dataclass(frozen=True, slots=True)
class Items:
    """`[X, Y]`, or `[X | T]`."""

    items: tuple[Term, ...]
    tail: Term | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """`link(S, D, C)` as the argument of a path function: it stands for the list `[S, D]`."""

    relation: str
    args: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    args: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Op:
    op: str
    left: Term
    right: Term


Term: TypeAlias = Var | Wild | Const | Items | Link | Call | Op


def term_text(term: Term) -> str:
    match term:
        case Var(name):
            return name
        case Wild():
            return "_"
        case Const(value):
            return _literal(value)
        case Items((), None):
            return "nil"
        case Items(items, tail):
            rest = "" if tail is None else f" | {term_text(tail)}"
            return f"[{', '.join(term_text(item) for item in items)}{rest}]"
        case Link(relation, args):
            return f"{relation}({', '.join(term_text(arg) for arg in args)})"
        case Call(function, args):
            return f"{function}({', '.join(term_text(arg) for arg in args)})"
        case Op(op, left, right):
            return f"{_operand(left)} {op} {_operand(right)}"
        case _:
            assert_never(term)


def _operand(term: Term) -> str:
    return f"({term_text(term)})" if isinstance(term, Op) else term_text(term)


def _literal(value: Value) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return repr(value).lower()
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case tuple():
            return f"[{', '.join(_literal(item) for item in value)}]" if value else "nil"
        case _:
            return repr(value)
