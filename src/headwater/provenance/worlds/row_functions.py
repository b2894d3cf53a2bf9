"""Rows with their functions: every row that some world has, held in transactions, and packed to be saved.

A function is never held that is false in every world: a row that loses its last world is gone. A transaction is kept or
taken back whole, and so is the room that its functions take.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headwater.engine.border.soundness import refuse_unknown
from headwater.engine.codes.columns import to_values
from headwater.engine.codes.symbols import Codes, Symbols
from headwater.engine.store.journal import Journal
from headwater.engine.store.states import BASE, GONE
from headwater.engine.store.store import Store
from headwater.plan.model import Table
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function
from headwater.provenance.functions.node_budget import Room
from headwater.provenance.functions.variables import Fact, Order, Variables, by_value
from headwater.provenance.worlds.all_derivations import Row

Found = dict[Row, Function]
_ALIVE = 1  # the stamp of every row that some world has


@dataclass(slots=True)
class _Transaction:
    """What is needed to take it back, and what its strata have changed so far."""

    journal: Journal
    held: int
    replaced: list[tuple[str, int, Function | None]] = field(default_factory=list)
    added: list[Fact] = field(default_factory=list)
    deleted: list[Fact] = field(default_factory=list)
    changed: dict[str, dict[int, Function]] = field(default_factory=dict)  # rows, and what their function gained
    shrunk: set[str] = field(default_factory=set)  # tables with a row that some world has lost


class Held:
    def __init__(self, tables: Iterable[Table], symbols: Symbols, room: Room, order: Order) -> None:
        self.room = room
        self.symbols = symbols
        self.tables = {one.name: one for one in tables}
        self.stores = {name: Store(replace(table, depth=0)) for name, table in self.tables.items()}
        self.functions: dict[str, list[Function | None]] = {name: [] for name in self.stores}
        self.variables = Variables("arrival" if order == "arrival" else self._placing(order))
        self._transaction: _Transaction | None = None

    def _placing(self, order: Order) -> Callable[[str, tuple[Any, ...]], Any]:
        chosen = order if callable(order) else by_value
        return lambda relation, codes: chosen(relation, self._values(relation, codes))

    # Reading

    def function(self, table: str, row: Row) -> Function:
        """The worlds that have a row."""
        number = self._find(table, row)
        found = None if number < 0 else self.functions[table][number]
        return absorption.never() if found is None else found

    def rows(self, table: str) -> Iterable[tuple[Row, Function]]:
        """Every row that some world has."""
        store, functions = self.stores[table], self.functions[table]
        for number in store.alive().tolist():
            function = functions[number]
            assert function is not None
            yield tuple(store.data[number].tolist()), function

    def fact(self, variable: int) -> Fact:
        """The base fact that a variable stands for, as values."""
        relation, codes = self.variables.fact(variable)
        return relation, self._values(relation, codes)

    def _values(self, relation: str, codes: Row) -> tuple[Any, ...]:
        return values_of(self.tables[relation], codes, self.symbols)

    def _find(self, table: str, row: Row) -> int:
        store = self.stores[table]
        number = int(store.find(np.array([row], dtype=np.int64).reshape(1, store.width))[0])
        return number if number >= 0 and store.stamp[number] > GONE else -1

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
        transaction.journal.undo(self.stores)
        for table, row, function in reversed(transaction.replaced):
            self.functions[table][row] = function
        for fact in transaction.added:
            self.variables.discard(fact)
        self.room.held = transaction.held

    def begin(self) -> None:
        assert self._transaction is None, "one transaction at a time"
        self._transaction = _Transaction(Journal(), self.room.held)

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
        for name, store in self.stores.items():
            functions = self.functions[name]
            for row in store.alive().tolist():
                function = functions[row]
                assert function is not None
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
        for name, one in packed["tables"].items():
            content, end = b64decode(one["functions"], validate=True), 0
            found: Found = {}
            for row, size in zip(one["rows"], one["sizes"], strict=True):
                function = absorption.from_bytes(content[end : end + size])
                if size < 0 or not known.issuperset(absorption.support(function)) or absorption.is_never(function):
                    raise ValueError(f"the provenance of a row of `{name}` cannot be")
                found[tuple(row)] = function
                end += size
            codes = np.array(list(found), dtype=np.int64).reshape(len(found), self.stores[name].width)
            if end != len(content) or codes.tolist() != [list(row) for row in found]:
                raise ValueError(f"the provenance of `{name}` has rows that cannot be")
            refuse_unknown(self.tables[name], codes, self.symbols)
            if self.tables[name].base and not all(self._is_fact(name, *one) for one in found.items()):
                raise ValueError(f"the provenance of `{name}` is not that of facts")
            self.assign(name, found)
        self.commit()

    def _is_fact(self, name: str, row: Row, function: Function) -> bool:
        """Whether a function is that of a base row: its own variable, or always true if the program states it."""
        known = (name, row) in self.variables
        return absorption.same(
            function, absorption.literal(self.variables[name, row]) if known else absorption.always()
        )

    # Rows

    def numbers(self, table: str, rows: Collection[Row]) -> list[int]:
        """The numbers of rows that some world has from now on."""
        store, functions = self.stores[table], self.functions[table]
        codes = np.array(list(rows), dtype=np.int64).reshape(len(rows), store.width)
        store.admit([codes[:, column] for column in range(store.width)])
        store.merge(codes, np.zeros((len(rows), 0), dtype=np.int32), BASE, _ALIVE, self.now.journal)
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
            self.room.release(old)
        if absorption.is_never(function):
            functions[number] = None
            self.stores[table].set_state(np.array([number], dtype=np.int32), GONE, self.now.journal)
        else:
            functions[number] = function
            self.room.hold(function)

    def gain(self, table: str, gained: dict[int, Function]) -> None:
        changed = self.now.changed.setdefault(table, {})
        for number, function in gained.items():
            changed[number] = self.room.disjunction(changed[number], function) if number in changed else function

    def numbered(self, table: str) -> Iterable[tuple[int, Function]]:
        functions = self.functions[table]
        for number in self.stores[table].alive().tolist():
            function = functions[number]
            assert function is not None
            yield number, function


def values_of(table: Table, codes: Sequence[int], symbols: Symbols) -> tuple[Any, ...]:
    """One row as values, in the columns that a user wrote."""
    return tuple(
        to_values(np.array([codes[one.at]], dtype=np.int64), one.type, symbols, nullable=one.at in table.nullable)[0]
        for one in table.written
        if one.at is not None
    )
