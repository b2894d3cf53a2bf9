"""What the parts of a translation ask of each other: a query inside a query as a relation, as rows or as a value.

Queries hold SELECTs, SELECTs hold joins and conditions, and these hold queries again. The parts know this interface,
and `queries` gives them the one that has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from headwater.language.sql.scalar.value import SqlValue
from headwater.language.sql.scope.body import Body
from headwater.language.sql.scope.context import Scope, Translation
from headwater.language.sql.scope.sources import SqlTable
from headwater.language.syntax import Atom, Term, Variable


@dataclass(frozen=True, slots=True)
class Rows:
    """A subquery as a relation that can be asked: `relation(values..., borrowed columns...)`."""

    relation: str
    values: tuple[SqlValue, ...]
    borrowed: tuple[Term, ...]


class Translator(Protocol):
    """Translates queries inside queries."""

    context: Translation
    recursive: set[str]  # relations of the recursion that is being translated

    def named(self, node: exp.Table, scope: Scope) -> SqlTable:
        """The view or table of a name in FROM."""

    def relation(
        self,
        query: exp.Expr,
        scope: Scope,
        name: str,
        *,
        outer: Body | None = None,
        distinct: bool = False,
        order: Sequence[exp.Expr] = (),
    ) -> SqlTable:
        """A query as the relation `name`."""

    def rows(self, query: exp.Expr, body: Body, *, values: bool) -> Rows:
        """A subquery of EXISTS or IN as a relation over its values and the columns it borrows."""

    def read(self, query: exp.Select, body: Body) -> list[tuple[str, SqlValue]]:
        """FROM and WHERE of a plain SELECT into a body; and the names and values of its columns."""

    def answered(self, query: exp.Expr, body: Body, name: str) -> tuple[SqlTable, list[Variable]]:
        """A subquery as the relation `name`: its columns, then those that it borrows; and the variables of these."""

    def scalar(self, query: exp.Expr, body: Body) -> SqlValue:
        """A subquery that gives one value."""

    def asked(self, inner: Body, values: list[SqlValue], place: exp.Expr) -> Atom:
        """A subquery's body as a relation over its values and the columns it borrows, ready to be asked."""

    def domain(self, inner: Body, place: exp.Expr) -> Atom:
        """The values that the columns can have which a subquery borrows."""
