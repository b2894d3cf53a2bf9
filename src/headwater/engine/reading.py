"""The engine's face for readers: the rows of a table, the witness of a row, and delta rules to run over both.

Code outside the engine reads a shard through this module and never writes to its stores. Readers that need rows of
their own hold them in a `RowSet`, which delta rules can run over like any table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.engine.best.selection import find_identity, rows_with
from headwater.engine.best.versions import best_first
from headwater.engine.border.lookup import tuples
from headwater.engine.border.soundness import refuse_unknown
from headwater.engine.codes.batch import Batch
from headwater.engine.codes.expressions import order_keys
from headwater.engine.codes.symbols import Codes, Symbols
from headwater.engine.rules.context import Context
from headwater.engine.rules.delta_rule import Runner
from headwater.engine.store.index import Matrix, Rows
from headwater.engine.store.journal import Journal
from headwater.engine.store.states import BASE, EVER, GHOST, GONE
from headwater.engine.store.store import Store
from headwater.plan.model import Table
from headwater.program.time.program_clock import FOREVER

__all__ = [
    "BASE", "EVER", "GHOST", "GONE", "Batch", "Codes", "Context", "Journal", "Matrix", "RowSet", "RowWitness", "Rows",
    "Runner", "Store", "StoreReader", "Symbols", "TableReader", "best_first", "context", "find_identity", "heads_of",
    "order_keys", "refuse_unknown", "rows_with", "tables", "tuples", "undo",
]  # fmt: skip

_ALIVE = 1  # the stamp of every row of a `RowSet`


@dataclass(frozen=True, slots=True)
class RowWitness:
    """The stored derivation of a row: a rule with the row that met each atom, or an aggregation; of a base row None."""

    rule: int | None = None
    rows: tuple[int, ...] = ()
    aggregation: int | None = None


class TableReader:
    """The stored rows of one table. Rows are named by their numbers; a row that is not there has the number -1."""

    __slots__ = ("name", "store", "table")

    def __init__(self, store: Store) -> None:
        self.store = store
        self.name = store.name
        self.table: Table = store.table

    @property
    def size(self) -> int:
        """All rows, alive or not: their numbers are smaller than this."""
        return self.store.size

    def alive(self) -> Rows:
        return self.store.alive()

    def codes(self, rows: Rows | list[int]) -> Codes:
        """What these rows hold."""
        return self.store.data[rows].astype(np.int64)

    def row(self, number: int) -> list[int]:
        codes: list[int] = self.store.data[number].tolist()
        return codes

    def find(self, codes: Codes) -> Rows:
        """The row alive with these codes, for each of them."""
        rows = self.store.find(codes)
        return np.where((rows >= 0) & (self.store.stamp[rows] > GONE), rows, np.int32(-1))

    def find_identity(self, codes: Codes) -> int:
        """The row alive with the identity of this one, whatever its time and lease."""
        return find_identity(self.store, codes)

    def with_keys(self, columns: tuple[int, ...], keys: Codes) -> tuple[Rows, Rows]:
        """All (key number, row) pairs of rows alive that hold one of these keys in these columns."""
        return rows_with(self.store.index(columns), np.ascontiguousarray(keys), self.store)

    def inserted(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Which of these rows came from outside; the program states or derives the others."""
        return self.store.rules[rows] == BASE

    def witness(self, row: int) -> RowWitness:
        rule = int(self.store.rules[row])
        if rule >= 0:
            return RowWitness(rule, tuple(self.store.witness[row].tolist()))
        return RowWitness() if rule == BASE else RowWitness(aggregation=-2 - rule)

    def lease(self, row: int) -> int:
        """When the row ends, if nothing renews it."""
        lease = self.table.lease
        return FOREVER if lease is None else int(self.store.data[row, lease])


class StoreReader:
    """All tables of a database as they are now: rows are asked for by codes, through indexes, and never written.

    A database may number its symbols anew when it changes: ask it for a new reader then.
    """

    __slots__ = ("_stores", "symbols")

    def __init__(self, stores: Mapping[str, Store], symbols: Symbols) -> None:
        self._stores = stores
        self.symbols = symbols

    def table(self, relation: str) -> TableReader:
        return TableReader(self._stores[relation])

    def count(self, relation: str) -> int:
        """How many rows a relation has."""
        return self._stores[relation].count

    def tuples(self, table: TableReader, rows: Rows) -> list[tuple[Any, ...]]:
        """Rows of a table as a user sees them."""
        return list(tuples(table.table, table.codes(rows), self.symbols))

    @property
    def nbytes(self) -> int:
        """Bytes of all rows, indexes and witnesses, and about as many as the symbols take."""
        return sum(store.nbytes for store in self._stores.values()) + self.symbols.nbytes


class RowSet(TableReader):
    """Rows without witnesses that their owner adds and removes; the journal takes both back."""

    __slots__ = ()

    def __init__(self, table: Table) -> None:
        super().__init__(Store(replace(table, depth=0)))

    def add(self, codes: Codes, journal: Journal) -> Rows:
        """Add rows; those that were not there."""
        self.store.admit_rows(codes)
        return self.store.merge(codes, np.zeros((codes.shape[0], 0), dtype=np.int32), BASE, _ALIVE, journal)

    def remove(self, row: int, journal: Journal) -> None:
        self.store.set_state(np.array([row], dtype=np.int32), GONE, journal)

    def keep_only(self, rows: Rows) -> None:
        """Forget all rows but these, and number them anew."""
        self.store.keep_only(rows, rows.size)


def tables(stores: Mapping[str, Store]) -> dict[str, TableReader]:
    return {name: TableReader(store) for name, store in stores.items()}


def context(readers: Mapping[str, TableReader], symbols: Symbols, *, holds_nulls: bool) -> Context:
    """What delta rules over these tables run in."""
    return Context({name: reader.store for name, reader in readers.items()}, symbols, holds_nulls=holds_nulls)


def heads_of(runner: Runner, batch: Batch) -> Codes:
    """The head rows of some bindings."""
    return runner.heads(batch)


def undo(journal: Journal, readers: Mapping[str, RowSet]) -> None:
    """Take back what a journal holds of these rows."""
    journal.undo({name: reader.store for name, reader in readers.items()})
