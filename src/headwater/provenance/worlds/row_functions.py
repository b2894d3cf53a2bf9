"""Rows with their functions: every row that some world has, changed in transactions, and packed to be saved.

A row whose function becomes false in every world is removed. A transaction is committed or undone whole, and so is the
count of nodes that its functions take.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headwater.engine.codes.columns import to_values
from headwater.engine.reading import Codes, Journal, RowSet, Symbols, refuse_unknown, undo
from headwater.plan.model import Table
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function
from headwater.provenance.functions.node_budget import NodeBudget
from headwater.provenance.functions.variables import Fact, Order, Variables, by_value
from headwater.provenance.worlds.all_derivations import Row

Found = dict[Row, Function]


@dataclass(slots=True)
class _Transaction:
    """What undoing needs, and what the strata have changed so far."""

    journal: Journal
    held: int
    replaced: list[tuple[str, int, Function | None]] = field(default_factory=list)
    added: list[Fact] = field(default_factory=list)
    deleted: list[Fact] = field(default_factory=list)
    changed: dict[str, dict[int, Function]] = field(default_factory=dict)  # rows, and what their function gained
    shrunk: set[str] = field(default_factory=set)  # tables with a row that some world has lost


class RowFunctions:
    """The rows of some tables with the function of each, and the variables that stand for base facts."""

    def __init__(self, tables: Iterable[Table], symbols: Symbols, budget: NodeBudget, order: Order) -> None:
        self.budget = budget
        self.symbols = symbols
        self.tables = {table.name: table for table in tables}
        self.stores = {name: RowSet(table) for name, table in self.tables.items()}
        self.functions: dict[str, list[Function | None]] = {name: [] for name in self.stores}
        self.variables = Variables("arrival" if order == "arrival" else self._placing(order))
        self._transaction: _Transaction | None = None

    def _placing(self, order: Order) -> Callable[[str, tuple[Any, ...]], Any]:
        chosen = order if callable(order) else by_value
        return lambda relation, codes: chosen(relation, self._values(relation, codes))

    # Reading

    def function(self, table: str, row: Row) -> Function:
        """The worlds that have a row."""
        number = int(self.stores[table].find(np.array([row], dtype=np.int64).reshape(1, -1))[0])
        found = None if number < 0 else self.functions[table][number]
        return absorption.never() if found is None else found

    def rows(self, table: str) -> Iterable[tuple[Row, Function]]:
        """Every row that some world has."""
        reader = self.stores[table]
        return ((tuple(reader.row(number)), function) for number, function in self.numbered(table))

    def numbered(self, table: str) -> Iterator[tuple[int, Function]]:
        """The number and the function of every row that some world has."""
        functions = self.functions[table]
        for number in self.stores[table].alive().tolist():
            function = functions[number]
            assert function is not None
            yield number, function

    def fact(self, variable: int) -> Fact:
        """The base fact that a variable stands for, as values."""
        relation, codes = self.variables.fact(variable)
        return relation, self._values(relation, codes)

    def _values(self, relation: str, codes: Row) -> tuple[Any, ...]:
        return values_of(self.tables[relation], codes, self.symbols)

    # Transactions

    def commit(self) -> None:
        transaction = self._ended()
        for fact in transaction.deleted:
            self.variables.discard(fact)
        for name, store in self.stores.items():
            alive = store.alive()
            if store.size > 64 and alive.size * 2 < store.size:
                self.functions[name] = [self.functions[name][row] for row in alive.tolist()]
                store.keep_only(alive)

    def undo(self) -> None:
        transaction = self._ended()
        undo(transaction.journal, self.stores)
        for table, row, function in reversed(transaction.replaced):
            self.functions[table][row] = function
        for fact in transaction.added:
            self.variables.discard(fact)
        self.budget.held = transaction.held

    def begin(self) -> None:
        assert self._transaction is None, "one transaction at a time"
        self._transaction = _Transaction(Journal(), self.budget.held)

    @property
    def now(self) -> _Transaction:
        assert self._transaction is not None, "within a transaction"
        return self._transaction

    def _ended(self) -> _Transaction:
        transaction, self._transaction = self.now, None
        return transaction

    def insert(self, inserts: Mapping[str, Codes]) -> None:
        for name, codes in inserts.items():
            if name in self.stores and codes.shape[0]:
                rows = [tuple(row) for row in codes.tolist()]
                new = [(name, row) for row in rows if (name, row) not in self.variables]
                self.variables.add(new)
                self.now.added.extend(new)
                self.assign(name, {row: absorption.literal(self.variables[name, row]) for row in rows})

    def delete(self, deletes: Mapping[str, Codes]) -> None:
        """Facts are false for good: in every function."""
        gone = [(name, tuple(row)) for name, codes in deletes.items() if name in self.stores for row in codes.tolist()]
        if not gone:
            return
        self.now.deleted.extend(gone)
        absent = [self.variables[fact] for fact in gone]
        for name in self.stores:
            for row, function in self.numbered(name):
                if absorption.depends(function, absent):
                    self.put(name, row, absorption.restrict(function, absent))

    def packed(self) -> dict[str, Any]:
        """All rows with their functions, and what the variables stand for, as JSON can hold it."""
        tables: dict[str, Any] = {}
        for name in self.stores:
            held = list(self.rows(name))
            parts = [absorption.to_bytes(function) for _, function in held]
            tables[name] = {
                "rows": [row for row, _ in held],
                "sizes": [len(part) for part in parts],
                "functions": b64encode(b"".join(parts)).decode("ascii"),
            }
        return {"variables": [[*fact, number] for fact, number in self.variables.numbered().items()], "tables": tables}

    def unpack(self, packed: Mapping[str, Any], base: Mapping[str, Codes]) -> None:
        """Take in what `packed` gave; LookupError, TypeError or ValueError if it is something else, or not about the
        `base` rows that users have inserted."""
        self.begin()
        facts = [((name, tuple(codes)), number) for name, codes, number in packed["variables"]]
        if {fact for fact, _ in facts} != {(name, tuple(row)) for name, rows in base.items() for row in rows.tolist()}:
            raise ValueError("its provenance is of other base rows")
        self.variables.restore(facts)
        known = {number for _, number in facts}
        if packed["tables"].keys() != self.stores.keys():
            raise ValueError("its provenance is of other tables")
        for name, saved in packed["tables"].items():
            content, end = b64decode(saved["functions"], validate=True), 0
            found: Found = {}
            for row, size in zip(saved["rows"], saved["sizes"], strict=True):
                function = absorption.from_bytes(content[end : end + size])
                if size < 0 or not known.issuperset(absorption.support(function)) or absorption.is_never(function):
                    raise ValueError(f"the provenance of a row of `{name}` cannot be")
                found[tuple(row)] = function
                end += size
            codes = np.array(list(found), dtype=np.int64).reshape(len(found), len(self.tables[name].types))
            if end != len(content) or codes.tolist() != [list(row) for row in found]:
                raise ValueError(f"the provenance of `{name}` names rows that do not exist")
            refuse_unknown(self.tables[name], codes, self.symbols)
            if self.tables[name].base and not all(self._is_fact(name, *entry) for entry in found.items()):
                raise ValueError(f"the provenance of `{name}` is not that of facts")
            self.assign(name, found)
        self.commit()

    def _is_fact(self, name: str, row: Row, function: Function) -> bool:
        """Whether a function is that of a base row: its own variable, or always true if the program states it."""
        known = (name, row) in self.variables
        own = absorption.literal(self.variables[name, row]) if known else absorption.always()
        return absorption.same(function, own)

    # Rows

    def numbers(self, table: str, rows: Collection[Row]) -> list[int]:
        """The numbers of rows that some world has from now on."""
        store, functions = self.stores[table], self.functions[table]
        codes = np.array(list(rows), dtype=np.int64).reshape(len(rows), len(store.table.types))
        store.add(codes, self.now.journal)
        functions.extend([None] * (store.size - len(functions)))
        return store.find(codes).tolist()

    def assign(self, table: str, found: Found) -> bool:
        """Make these rows, with their worlds, all that a stratum's table has; base tables only gain them."""
        held = [] if self.tables[table].base else self.stores[table].alive().tolist()
        numbers = self.numbers(table, found) if found else []
        lost = set(held).difference(numbers)
        for number in lost:
            self.put(table, number, absorption.never())
        functions = self.functions[table]
        gained: dict[int, Function] = {}
        for number, function in zip(numbers, found.values(), strict=True):
            old = functions[number]
            if old is None or not absorption.same(old, function):
                self.put(table, number, function)
                gained[number] = function
        self.gain(table, gained)
        return bool(lost or gained)

    def put(self, table: str, number: int, function: Function) -> None:
        functions = self.functions[table]
        old = functions[number]
        self.now.replaced.append((table, number, old))
        if old is not None:
            self.budget.release(old)
        if absorption.is_never(function):
            functions[number] = None
            self.stores[table].remove(number, self.now.journal)
        else:
            functions[number] = function
            self.budget.hold(function)

    def gain(self, table: str, gained: dict[int, Function]) -> None:
        changed = self.now.changed.setdefault(table, {})
        for number, function in gained.items():
            self.budget.add(changed, number, function)


def values_of(table: Table, codes: Sequence[int], symbols: Symbols) -> tuple[Any, ...]:
    """One row as values, in the columns that a user wrote."""
    return tuple(
        value
        if at is None
        else to_values(np.array([codes[at]], dtype=np.int64), kind, symbols, nullable=at in table.nullable)[0]
        for at, kind, value in ((column.at, column.type, column.value) for column in table.written)
        if at is not None or value is not None
    )
