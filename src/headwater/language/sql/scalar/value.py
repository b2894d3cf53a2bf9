"""The value of an SQL expression: its term, and what is known of the term."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.syntax import Call, Constant, Term, Variable


@dataclass(frozen=True, slots=True)
class SqlValue:
    """A term with its type, and whether it may be null."""

    term: Term
    type: Type | None = None
    nullable: bool = True
    is_null: bool = False  # nothing but null, or not known yet: it goes with every type
    opaque: str | None = None  # a column of this type, which is only passed on

    @property
    def is_list(self) -> bool:
        return self.type is not None and self.type.is_list

    @property
    def is_variable(self) -> bool:
        return isinstance(self.term, Variable)


NULL = SqlValue(Constant(None, None), None, True, True)


def constant(value: object, kind: Type, span: Span | None = None) -> SqlValue:
    return SqlValue(Constant(value, kind, span=span), kind, False)  # type: ignore[arg-type]


def called(
    name: str, values: list[SqlValue], kind: Type | None, span: Span | None, *, nullable: bool = False
) -> SqlValue:
    """A call, which gives null where an argument is null."""
    term = Call(name, tuple(value.term for value in values), span=span)
    return SqlValue(term, kind, nullable or any(value.nullable for value in values))
