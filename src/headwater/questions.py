"""A row that a user asks about, `reachable(a, c)`: values, and variables that stand for any."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from headwater.core.errors import DataError
from headwater.core.source import Source
from headwater.database import Changes
from headwater.language.datalog.parse import parse
from headwater.language.syntax import Constant, Duration, ListTerm, Query, Term, Variable, Wildcard
from headwater.pipeline import CompiledProgram
from headwater.program.nearest import nearest
from headwater.provenance import Bounds, Chances, Critical, Fact, Impact, Proof, WhyNot


class Answering(Protocol):
    """What can be asked about rows: a database, or the state in a checkpoint."""

    @property
    def program(self) -> CompiledProgram: ...

    def apply(self) -> Changes: ...

    def rows(self, relation: str, /) -> set[tuple[Any, ...]]: ...

    def why(self, relation: str, row: tuple[Any, ...], /) -> Proof: ...

    def why_not(self, relation: str, row: tuple[Any, ...], /) -> WhyNot: ...

    def critical(self, relation: str, row: tuple[Any, ...], /) -> Critical: ...

    def witnesses(self, relation: str, row: tuple[Any, ...], limit: int | None = 10, /) -> list[list[Fact]]: ...

    def probability(self, relation: str, row: tuple[Any, ...], facts: Chances, /) -> float | Bounds: ...

    def without(self, facts: Mapping[str, Any], /) -> Changes: ...

    def blast_radius(self, relation: str, /) -> list[Impact]: ...


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value; the same one wherever the name is the same."""

    name: str | None


Argument: TypeAlias = Anything | Any  # a plain Python value, else


@dataclass(frozen=True, slots=True)
class Question:
    """A relation, and a value or a variable for each of its columns."""

    relation: str
    arguments: tuple[Argument, ...]

    @property
    def is_exact(self) -> bool:
        return not any(isinstance(argument, Anything) for argument in self.arguments)


def parse_query(text: str, name: str) -> Query:
    """The query that an atom stands for; raises SyntaxProblem, or DataError where it is not one atom."""
    found = parse(Source(name, f"query {text.strip().removesuffix('.')}."))
    match found.statements:
        case (Query() as query,):
            return query
    raise DataError(f"{text!r} is not one atom, such as 'reachable(a, Y)'")


def parse_question(text: str, db: Answering) -> Question:
    """The question that a text asks of this database; DataError or SyntaxProblem if it makes no sense there."""
    query = parse_query(text, "<question>")
    name, terms = query.atom.relation, query.atom.args
    known = {relation.name: relation for relation in db.program.checked.relations}
    if name not in known:
        close = nearest(name, known)
        meant = f"did you mean `{close}`?" if close else f"there are {', '.join(known)}"
        raise DataError(f"there is no relation `{name}`; {meant}")
    columns = known[name].columns
    if len(terms) != len(columns):
        listed = ", ".join(column.name for column in columns)
        raise DataError(f"`{name}` has {len(columns)} columns ({listed}), not {len(terms)}")
    # An empty transaction has the types that the data has shown.
    schema = db.apply()[name].inserted.schema
    found = tuple(_argument(term, field.type) for term, field in zip(terms, schema, strict=True))
    return Question(name, found)


def _argument(term: Term, kind: pa.DataType) -> Argument:
    match term:
        case Variable(name):
            return Anything(name)
        case Wildcard():
            return Anything(None)
    value = _value(term)
    if value is None:
        return None
    if pa.types.is_string(kind) and not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if pa.types.is_timestamp(kind) and isinstance(value, str):
        return _moment(value)
    if pa.types.is_date(kind) and isinstance(value, str):
        return _date(value)
    return value


def _value(term: Term) -> Any:
    match term:
        case Constant(Duration(microseconds)):
            return dt.timedelta(microseconds=microseconds)
        case Constant(value):
            return value
        case ListTerm(items, None):
            return tuple(_value(item) for item in items)
        case Variable(name):
            raise DataError(f'`{name}` inside a list is a variable; write "{name}" for the value')
    raise DataError("a row holds values only: numbers, words, lists of them")


def _moment(text: str) -> dt.datetime:
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise DataError(f"{text!r} is not a valid timestamp (write 2026-01-31T12:00:00)") from None
    return moment if moment.tzinfo is None else moment.astimezone(dt.UTC).replace(tzinfo=None)


def _date(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise DataError(f"{text!r} is not a valid date (write 2026-01-31)") from None


def matching(question: Question, db: Answering) -> list[tuple[Any, ...]]:
    """The rows that a question with variables means, in order."""
    rows = db.rows(question.relation)
    _refuse_values_as_variables(question, rows)
    return sorted((row for row in rows if _fits(question.arguments, row)), key=_order)


def _fits(arguments: tuple[Argument, ...], row: tuple[Any, ...]) -> bool:
    seen: dict[str, Any] = {}
    for argument, value in zip(arguments, row, strict=True):
        if not isinstance(argument, Anything):
            if argument != value:
                return False
        elif argument.name is not None and seen.setdefault(argument.name, value) != value:
            return False
    return True


def _refuse_values_as_variables(question: Question, rows: set[tuple[Any, ...]]) -> None:
    """`reachable(Oslo, Y)` about a data with an "Oslo" in it hardly means a variable."""
    for place, argument in enumerate(question.arguments):
        if isinstance(argument, Anything) and argument.name and any(row[place] == argument.name for row in rows):
            raise DataError(
                f'`{argument.name}` is a variable here, and also a value of the data; write "{argument.name}" for the '
                "value, or choose another name for the variable"
            )


def _order(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Nulls first."""
    return tuple((value is not None, str(value) if isinstance(value, tuple) else value) for value in row)
