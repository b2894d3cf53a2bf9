"""The shard of an embedded database: its types may come from the rows that users give.

Promise: rows are typed and encoded here on their way in, rows and changes are decoded here on their way out, and an
unknown relation or row is an error. Types that were not declared are learnt from the first rows that have them; then a
new shard with these types takes over the rows of the old one. How a transaction runs is up to the shard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from headwater.core.errors import DataError, UnknownRelation
from headwater.core.memory import memory_for
from headwater.core.types import Type
from headwater.engine.border.changes import Changes, RelationChange
from headwater.engine.border.codec import Change, Encoded, arrow_table, asked, encode_changes, in_order, read_change
from headwater.engine.border.column_names import ColumnNames
from headwater.engine.border.intake import Intake, Rejected, take_in
from headwater.engine.border.learnt_types import Known, all_known, endless_plan, learn, plan_of, untyped
from headwater.engine.border.lookup import (
    answers,
    first_alike,
    named_row,
    not_asked,
    refuse_partial,
    tuples,
    unknown_relation,
)
from headwater.engine.border.reload import base_rows, refill, renumber_symbols
from headwater.engine.codes.symbols import Codes, Symbols, find_code
from headwater.engine.guard import Guard
from headwater.engine.reading import GONE, Matrix, find_identity
from headwater.engine.shard import Shard
from headwater.engine.store.budget import Budget
from headwater.language.syntax import Query
from headwater.pipeline import CompiledProgram
from headwater.plan.model import Plan, Table
from headwater.program.model import Program
from headwater.program.questions import refuse_unasked
from headwater.program.time.program_clock import clock_type

_SYMBOLS_KEPT = 10_000


class LearningShard:
    """A program, the shard that runs it, and the names and types that its rows have taught so far."""

    def __init__(
        self, program: CompiledProgram, guard: Guard, known: Known, symbols: Symbols, *, counts_all: bool = False
    ) -> None:
        self.program = program
        self.guard = guard
        self.known = known
        self.symbols = symbols
        self.names = ColumnNames()
        self._counts_all = counts_all
        self._running = program.alone()
        self._keys = {relation.name: relation.key for relation in self.model.relations if relation.key is not None}
        self._timed = clock_type(self.model) is not None
        self._settled = all_known(self.model, known)
        self.shard = self._new_shard(known, symbols)

    @property
    def model(self) -> Program:
        """The program as it runs."""
        return self._running.rewritten

    def endless_plan(self, shard: Shard, known: Known) -> Plan:
        """The plan of an engine without leases, for provenance."""
        return endless_plan(self._running, known) if self._timed else shard.plan

    # In

    def take(self, rows: Mapping[str, Any] | None) -> dict[str, Intake]:
        """What a user gives, as columns in the order of each relation."""
        if rows is not None and not isinstance(rows, Mapping):
            raise DataError(f"rows come by relation, {{'name': rows}}, not as {type(rows).__name__}")
        return {
            name: take_in(self.names.header(self.base(name), self.model.relation(name)), given)
            for name, given in (rows or {}).items()
        }

    def learnt(self, inserts: Mapping[str, Intake]) -> Known:
        """The types that are known once these rows have come."""
        return self.known if self._settled else learn(self.model, self.known, inserts)

    def typed(self, known: Known) -> Shard:
        """The shard, or one with these types that holds the rows there are."""
        if known == self.known:
            return self.shard
        shard = self._new_shard(known, self.symbols)
        refill(self.shard, shard, base_rows(self.shard))
        return shard

    def encode(
        self, inserts: Mapping[str, Intake], deletes: Mapping[str, Intake], shard: Shard, known: Known
    ) -> Encoded:
        unknown = () if self._settled else untyped(self.model, known)
        nulls = shard.plan.holds_nulls
        return encode_changes(shard.stores, inserts, deletes, self.symbols, holds_nulls=nulls, untyped=unknown)

    def adopt(self, shard: Shard, known: Known) -> None:
        """Go on with a shard that `typed` gave."""
        if shard is not self.shard:
            self.shard, self.known = shard, known
            self._settled = all_known(self.model, known)

    def shed_symbols(self, goes_on: Callable[[Shard], bool]) -> None:
        """Forget strings and lists that no row holds any more, once they are most of those that are known.

        What is left is loaded anew, which costs no more than what went. `goes_on` says whether the new shard will do.
        """
        held = sum(store.count * store.width for store in self.shard.stores.values())
        if len(self.symbols) < max(_SYMBOLS_KEPT, 8 * held):
            return
        fresh = Symbols()
        shard = self._new_shard(self.known, fresh)
        rows = base_rows(self.shard)
        renumber_symbols(self.shard, rows, fresh)
        refill(self.shard, shard, rows)
        if goes_on(shard):
            self.symbols, self.shard = fresh, shard

    def _new_shard(self, known: Known, symbols: Symbols) -> Shard:
        self._running = self._running.fitted(known)
        budget = Budget(self.guard.bytes_of(memory_for()))
        shard = Shard(plan_of(self.model, known), symbols, self._keys, self.guard, budget=budget)
        shard.meter.counts_all = self._counts_all
        return shard

    # Names

    def restore_names(self, columns: Mapping[str, Sequence[str]]) -> None:
        """Give the columns the names that a saved database states."""
        self.names.restore({name: store.table for name, store in self.shard.stores.items()}, columns)

    def table(self, name: str) -> Table:
        """A relation that may be read."""
        store = self.shard.stores.get(name)
        if store is None or store.table.bag or store.table.asks or store.table.part:
            raise UnknownRelation(unknown_relation(name, self.program))
        refuse_partial(self.model.relation(name), self.program.outputs)
        return store.table

    def base(self, name: str, instead: str = "change the base relations it follows from") -> Table:
        """A relation that may be changed."""
        try:
            relation = self.model.relation(name)
        except KeyError:
            raise UnknownRelation(unknown_relation(name, self.program)) from None
        if relation.derived:
            names = ", ".join(f"`{base.name}`" for base in self.program.checked.relations if not base.derived)
            raise DataError(f"`{name}` is derived by rules; {instead} ({names})")
        return self.shard.stores[name].table

    def ordering(self, relation: str) -> Query | None:
        """The query that asks for a relation's rows in an order, or for some of them only."""
        queries = (query for query in self.model.queries if query.atom.relation == relation)
        return next((query for query in queries if query.order or query.offset or query.limit is not None), None)

    # Out

    def tuples(self, relation: str) -> set[tuple[Any, ...]]:
        return set(tuples(self.table(relation), self._asked_for(relation), self.symbols))

    def arrow(self, relation: str) -> pa.Table:
        table = self.table(relation)
        return arrow_table(table, self.names.of(table), self._asked_for(relation), self.symbols)

    def _asked_for(self, relation: str) -> Matrix:
        """The rows that are there, as codes; of those that a query sorts and cuts, what it asks for."""
        codes, query = self.visible(relation), self.ordering(relation)
        return codes if query is None else codes[in_order(self.table(relation), codes, self.symbols, query)]

    def visible(self, relation: str) -> Matrix:
        """The rows of a relation that are there, as codes, each as often as it is there."""
        store = self.shard.stores[self.table(relation).name]
        refuse_unasked(self.model.queries, relation)
        return self.asked(relation, store.data[: store.size][store.stamp[: store.size] > GONE])

    def asked(self, relation: str, codes: Matrix) -> Matrix:
        """Of these rows those that a query asks for, if the relation is queried."""
        return asked(self.model.queries, self.shard.stores[relation].table, codes, self.symbols)

    def answers(self, query: Query) -> set[tuple[Any, ...]]:
        """The rows that a query without parameters asks for."""
        store = self.shard.stores[query.atom.relation]
        return set(tuples(store.table, answers(query, store, self.symbols), self.symbols))

    def changes(
        self, changes: Mapping[str, Change], rejected: tuple[Rejected, ...], late: tuple[Rejected, ...] = ()
    ) -> Changes:
        """What a transaction changed, decoded when it is read."""
        symbols = self.symbols  # the codes are of now; the symbols may be numbered anew later

        def change_of(name: str, queries: Sequence[Query] | None = None) -> RelationChange:
            table = self.table(name)
            asking = self.model.queries if queries is None else queries
            return RelationChange(*read_change(asking, table, self.names.of(table), changes.get(name), symbols))

        touched = sum(len(each.inserted) + len(each.deleted) for each in changes.values())
        return Changes(self.program.outputs, change_of, rejected, late, touched)

    # Single rows

    def row(
        self, relation: str, row: Any, code_of: Callable[[Any, Type, Symbols], int], followed: Iterable[Query]
    ) -> tuple[tuple[Any, ...], Codes]:
        """One row a user asks about, as a tuple and as codes of what is stored; time and lease count for nothing."""
        table = self.table(relation)
        values, codes = named_row(table, self.names.of(table), row, code_of, self.symbols)
        queries = [*self.model.queries, *followed]
        if self.model.relation(relation).ways and not asked(queries, table, codes, self.symbols).size:
            raise not_asked(relation, values, self.model.queries)
        return values, first_alike(table, codes, self.visible(relation)) if table.hidden else codes

    def alive(self, relation: str, row: tuple[Any, ...], followed: Iterable[Query]) -> int:
        """The number of a row that is there."""
        row, codes = self.row(relation, row, find_code, followed)
        found = find_identity(self.shard.stores[relation], codes)
        if found < 0:
            raise DataError(f"{relation}{row!r} is not there; ask why_not({relation!r}, {row!r})")
        return found
