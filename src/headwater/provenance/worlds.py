"""Every row in every world: the view's rows with their absorption provenance, maintained.

A world is a set of base facts that are alive. A row's function of those facts is true in exactly the worlds in which
the program derives the row; the rows of the view are those whose function is true now, where all facts are alive. Rows
that only other worlds have (a next best, what a negated fact forbids) are held beside them.

That makes deletes trivial: the fact's variable is false for good in every function (000, section 4). Inserts
grow functions by semi-naive rounds where rules only add; a level with negation, best rows or aggregates whose
input changed is worked out anew, from nothing, as its meaning in each world is.

A transaction is kept or taken back whole; running out of room raises `BudgetSpent`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

import numpy as np

from headwater.core.errors import BudgetSpent
from headwater.core.types import Type
from headwater.engine.columns import to_values
from headwater.engine.journal import Journal
from headwater.engine.states import BASE, GONE
from headwater.engine.store import Store
from headwater.engine.strand import Context
from headwater.engine.values import NULL, Codes, Symbols, code_of_float, null_code
from headwater.plan.model import Aggregation, Best, Contribution, Level, Pick, Plan, Table
from headwater.provenance import absorption
from headwater.provenance.absorption import Function
from headwater.provenance.grouped import Binding, aggregated, best_rows
from headwater.provenance.room import Room
from headwater.provenance.variables import Fact, Order, Variables, by_value
from headwater.provenance.ways import Derivations, Row, Wanted, Ways, is_wanted

Found = dict[Row, Function]
_ALIVE = 1  # the stamp of every row that some world has
_ROUNDS = 10_000


@dataclass(slots=True)
class _Transaction:
    """What is needed to take it back, and what its levels have changed so far."""

    journal: Journal
    held: int
    replaced: list[tuple[str, int, Function | None]] = field(default_factory=list)
    added: list[Fact] = field(default_factory=list)
    deleted: list[Fact] = field(default_factory=list)
    changed: dict[str, dict[int, Function]] = field(default_factory=dict)  # rows, and what their function gained
    shrunk: set[str] = field(default_factory=set)  # tables with a row that some world has lost


class Worlds:
    def __init__(
        self,
        plan: Plan,
        symbols: Symbols,
        room: Room,
        order: Order = "arrival",
        wanted: Mapping[str, Wanted] | None = None,
    ) -> None:
        """`plan`: one without leases. `wanted`: of each derived table that is to be worked out, the rows that are; to
        ask for a row is to ask for all that it depends on (see `Demand`). None: everything."""
        self.plan = plan
        self.room = room
        self._symbols = symbols
        self._wanted = wanted
        self._tables = {one.name: one for one in plan.tables if wanted is None or one.base or one.name in wanted}
        self.stores = {name: Store(replace(table, depth=0)) for name, table in self._tables.items()}
        self.functions: dict[str, list[Function | None]] = {name: [] for name in self.stores}
        self.variables = Variables("arrival" if order == "arrival" else self._placing(order))
        context = Context(self.stores, symbols, holds_nulls=plan.holds_nulls)
        self._levels = [
            self._wanted_part(level) for level in plan.levels if not self.stores.keys().isdisjoint(level.tables)
        ]
        rules = [plan.rules[number] for level in self._levels for number in level.rules]
        self._ways = {rule.id: Ways(rule, context, self._wanted_of(rule.table)) for rule in rules}
        self._transaction: _Transaction | None = None

    def _placing(self, order: Order) -> Callable[[str, tuple[Any, ...]], Any]:
        chosen = order if callable(order) else by_value
        return lambda relation, codes: chosen(relation, self._values(relation, codes))

    def _wanted_part(self, level: Level) -> Level:
        rules, pooled = self.plan.rules, self.plan.aggregations
        return replace(
            level,
            tables=tuple(name for name in level.tables if name in self.stores),
            rules=tuple(at for at in level.rules if rules[at].table in self.stores),
            aggregations=tuple(at for at in level.aggregations if pooled[at].table in self.stores),
        )

    def _wanted_of(self, table: str) -> Wanted | None:
        return None if self._wanted is None else self._wanted[table]

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
        return values_of(self._tables[relation], codes, self._symbols)

    def _find(self, table: str, row: Row) -> int:
        store = self.stores[table]
        number = int(store.find(np.array([row], dtype=np.int64).reshape(1, store.width))[0])
        return number if number >= 0 and store.stamp[number] > GONE else -1

    # Transactions

    def load(
        self, facts: Mapping[str, Codes], stated: Mapping[str, Codes], check: Callable[[], None] = lambda: None
    ) -> None:
        """Take in base rows, those that are facts and those that the program states, and work everything out."""
        self._begin()
        for name, codes in stated.items():
            self._assign(name, {tuple(row): absorption.always() for row in codes.tolist()})
        self._insert(facts)
        for level in self._levels:
            check()
            self._anew(level, check)
        self.commit()

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

    def unpack(self, packed: Mapping[str, Any]) -> None:
        """Take in what `packed` gave; LookupError or ValueError if it is something else."""
        self._begin()
        self.variables.restore(((name, tuple(codes)), int(number)) for name, codes, number in packed["variables"])
        for name, one in packed["tables"].items():
            content, end = b64decode(one["functions"], validate=True), 0
            found: Found = {}
            for row, size in zip(one["rows"], one["sizes"], strict=True):
                found[tuple(map(int, row))] = absorption.from_bytes(content[end : end + size])
                end += size
            if any(len(row) != self.stores[name].width for row in found):
                raise ValueError(f"rows of `{name}` have another number of columns")
            self._assign(name, found)
        self.commit()

    def apply(
        self, inserts: Mapping[str, Codes], deletes: Mapping[str, Codes], check: Callable[[], None] = lambda: None
    ) -> None:
        """The net changes of base rows; to be followed by `commit` or `undo`. On any error it is undone."""
        self._begin()
        try:
            self._delete(deletes)
            self._insert(inserts)
            for level in self._levels:
                check()
                self._bring_up(level, check)
        except BaseException:
            self.undo()
            raise

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

    def _begin(self) -> None:
        assert self._transaction is None, "one transaction at a time"
        self._transaction = _Transaction(Journal(), self.room.held)

    @property
    def _now(self) -> _Transaction:
        assert self._transaction is not None, "within a transaction"
        return self._transaction

    def _ended(self) -> _Transaction:
        transaction, self._transaction = self._now, None
        return transaction

    def _insert(self, inserts: Mapping[str, Codes]) -> None:
        for name, codes in inserts.items():
            if name in self.stores and codes.shape[0]:
                rows = [tuple(row) for row in codes.tolist()]
                new = [(name, row) for row in rows if (name, row) not in self.variables]
                self.variables.add(new)
                self._now.added.extend(new)
                self._assign(name, {row: absorption.literal(self.variables[name, row]) for row in rows})

    def _delete(self, deletes: Mapping[str, Codes]) -> None:
        """Facts are false for good: in every function."""
        gone = [(name, tuple(row)) for name, codes in deletes.items() if name in self.stores for row in codes.tolist()]
        if not gone:
            return
        self._now.deleted.extend(gone)
        absent = [self.variables[fact] for fact in gone]
        for name, store in self.stores.items():
            functions = self.functions[name]
            for row in store.alive().tolist():
                function = functions[row]
                assert function is not None
                if absorption.depends(function, absent):
                    self._set(name, row, absorption.restrict(function, absent))

    # Levels

    def _bring_up(self, level: Level, check: Callable[[], None]) -> None:
        """Have a level follow what has changed below it."""
        moved = self._now.changed.keys() | self._now.shrunk
        rules = [self.plan.rules[number] for number in level.rules]
        negated = {name for rule in rules for name in rule.negated}
        read = {name for rule in rules for name in rule.atoms} | negated
        read |= {one.table for at in level.aggregations for one in self.plan.aggregations[at].contributions}
        if moved.isdisjoint(read):
            return
        if self._only_adds(level) and not negated & moved and not read & self._now.shrunk:
            self._grow(level, {name: dict(self._now.changed[name]) for name in read & moved}, check)
        else:
            self._anew(level, check)

    def _only_adds(self, level: Level) -> bool:
        return not level.aggregations and not any(self._tables[name].picks for name in level.tables)

    def _grow(self, level: Level, delta: dict[str, dict[int, Function]], check: Callable[[], None]) -> None:
        """Semi-naive rounds: what functions gained goes through the rules until nothing gains any more."""
        while delta:
            check()
            offered: dict[str, Found] = {}
            for number in level.rules:
                ways = self._ways[number]
                for atom, table in enumerate(ways.rule.atoms):
                    gained = delta.get(table)
                    if gained:
                        for some in ways.through(atom, np.array(list(gained), dtype=np.int32)):
                            self._collect(ways, some, offered.setdefault(ways.rule.table, {}), atom, gained)
            delta = {table: self._join_in(table, found) for table, found in offered.items() if found}
            delta = {table: gained for table, gained in delta.items() if gained}

    def _collect(
        self,
        ways: Ways,
        some: Derivations,
        found: Found,
        start: int | None = None,
        gained: Mapping[int, Function] | None = None,
    ) -> None:
        """Add derivations to what is found: a row has the worlds that have all its parents and no row against it."""
        parents = [self.functions[table] for table in ways.rule.atoms]
        against = [self.functions[table] for table in ways.rule.negated]
        room = self.room
        for at, head in enumerate(map(tuple, some.heads.tolist())):
            function = absorption.always() if start is None or gained is None else gained[some.parents[start][at]]
            for atom, functions in enumerate(parents):
                if atom != start:
                    part = functions[some.parents[atom][at]]
                    assert part is not None
                    function = room.conjunction(function, part)
            for functions, met in zip(against, some.against, strict=True):
                for row in met[at]:
                    part = functions[row]
                    assert part is not None
                    function = room.difference(function, part)
            if not absorption.is_never(function):
                found[head] = room.disjunction(found[head], function) if head in found else function

    def _join_in(self, table: str, found: Found) -> dict[int, Function]:
        """Rows gain worlds; what each of them gained."""
        numbers = self._numbers(table, found)
        functions = self.functions[table]
        gained: dict[int, Function] = {}
        for number, function in zip(numbers, found.values(), strict=True):
            old = functions[number]
            new = function if old is None else self.room.disjunction(old, function)
            if old is None or not absorption.same(old, new):
                self._set(table, number, new)
                gained[number] = absorption.smaller(function, new)  # what is new may be told with or without the old
        self._gain(table, gained)
        return gained

    def _gain(self, table: str, gained: dict[int, Function]) -> None:
        changed = self._now.changed.setdefault(table, {})
        for number, function in gained.items():
            changed[number] = self.room.disjunction(changed[number], function) if number in changed else function

    def _anew(self, level: Level, check: Callable[[], None]) -> None:
        """Work a level out from nothing, then see what that changed."""
        before = {name: dict(self._numbered(name)) for name in level.tables}
        for name in level.tables:
            self._assign(name, {})
        if self._only_adds(level):
            offered: dict[str, Found] = {}
            for number in level.rules:
                ways = self._ways[number]
                for some in ways.everything():
                    self._collect(ways, some, offered.setdefault(ways.rule.table, {}))
            self._grow(level, {table: self._join_in(table, found) for table, found in offered.items()}, check)
        else:
            self._alternate(level, check)
        for name in level.tables:
            self._now.changed.pop(name, None)
            self._compare(name, before[name])

    def _compare(self, table: str, before: dict[int, Function]) -> None:
        after = dict(self._numbered(table))
        gained: dict[int, Function] = {}
        for number in before.keys() | after.keys():
            old, new = before.get(number, absorption.never()), after.get(number, absorption.never())
            if not absorption.same(old, new):
                gained[number] = new
                if not absorption.is_never(self.room.difference(old, new)):
                    self._now.shrunk.add(table)
        if gained:
            self._gain(table, gained)

    def _numbered(self, table: str) -> Iterable[tuple[int, Function]]:
        functions = self.functions[table]
        for number in self.stores[table].alive().tolist():
            function = functions[number]
            assert function is not None
            yield number, function

    def _alternate(self, level: Level, check: Callable[[], None]) -> None:
        """Best rows and aggregates, round by round from nothing: one round where there is no recursion."""
        plans = {self.plan.aggregations[at].table: self.plan.aggregations[at] for at in level.aggregations}
        for _ in range(_ROUNDS):
            check()
            offered: dict[str, Found] = {name: {} for name in level.tables if name not in plans}
            for number in level.rules:
                ways = self._ways[number]
                for some in ways.everything():
                    self._collect(ways, some, offered[ways.rule.table])
            moved = False
            for name, found in offered.items():
                for table in self._picking(name):
                    found = best_rows(table, found, self._symbols, self.room)
                moved |= self._assign(name, found)
            for name, plan in plans.items():
                moved |= self._assign(name, self._aggregated(plan))
            if not moved or not level.recursive:
                return
        raise BudgetSpent(f"error[HW903]: the worlds of `{level.tables[0]}` do not settle in {_ROUNDS:,} rounds")

    def _picking(self, name: str) -> list[Table]:
        """The picks that a table's rows go through, one after the other: of equally good rows the earliest is kept."""
        table = self._tables[name]
        if table.time is None or not table.picks:
            return [table] if table.picks else []
        return [table, replace(table, picks=(Pick(table.identity, table.time, Best.MIN),))]

    def _aggregated(self, plan: Aggregation) -> Found:
        bindings: dict[Row, list[Binding]] = {}
        for one in plan.contributions:
            for row, function in self.rows(one.table):
                codes = self._added_up(plan, one, row)
                bindings.setdefault(tuple(row[column] for column in one.group), []).append((codes, function))
        width = len(self._tables[plan.table].types)
        wanted = self._wanted_of(plan.table)
        if wanted is not None and bindings:
            rows = np.zeros((len(bindings), width), dtype=np.int64)
            rows[:, list(plan.group)] = list(bindings)
            asked = is_wanted(rows, wanted).tolist()
            bindings = dict(compress(bindings.items(), asked))
        return aggregated(plan, bindings, width, self._symbols, self.room)

    def _added_up(self, plan: Aggregation, one: Contribution, row: Row) -> tuple[int, ...]:
        """A binding's value for each measure, as the engine adds them up; NULL where there is none."""
        table = self._tables[one.table]
        codes: list[int] = []
        for measure, column in zip(plan.measures, one.values, strict=True):
            kind, code = table.types[column], row[column]
            if column in table.nullable and code == null_code(kind):
                codes.append(NULL)
            elif measure.result is Type.FLOAT and kind is Type.INT and measure.function != "avg":
                codes.append(code_of_float(float(code)))
            else:
                codes.append(code)
        return tuple(codes)

    # Rows

    def _numbers(self, table: str, rows: Collection[Row]) -> list[int]:
        """The numbers of rows that some world has from now on."""
        store, functions = self.stores[table], self.functions[table]
        codes = np.array(list(rows), dtype=np.int64).reshape(len(rows), store.width)
        store.admit([codes[:, column] for column in range(store.width)])
        store.merge(codes, np.zeros((len(rows), 0), dtype=np.int32), BASE, _ALIVE, self._now.journal)
        functions.extend([None] * (store.size - len(functions)))
        return store.find(codes).tolist()

    def _assign(self, table: str, found: Found) -> bool:
        """Make these rows, with their worlds, all that a level's table has; base tables only gain them."""
        held = [] if self._tables[table].base else self.stores[table].alive().tolist()
        numbers = self._numbers(table, found) if found else []
        lost = set(held).difference(numbers)
        for number in lost:
            self._set(table, number, absorption.never())
        functions = self.functions[table]
        gained: dict[int, Function] = {}
        for number, function in zip(numbers, found.values(), strict=True):
            old = functions[number]
            if old is None or not absorption.same(old, function):
                self._set(table, number, function)
                gained[number] = function
        self._gain(table, gained)
        return bool(lost or gained)

    def _set(self, table: str, number: int, function: Function) -> None:
        functions = self.functions[table]
        old = functions[number]
        self._now.replaced.append((table, number, old))
        if old is not None:
            self.room.release(old)
        if absorption.is_never(function):
            functions[number] = None
            self.stores[table].set_state(np.array([number], dtype=np.int32), GONE, self._now.journal)
        else:
            functions[number] = function
            self.room.hold(function)


def values_of(table: Table, codes: Sequence[int], symbols: Symbols) -> tuple[Any, ...]:
    """One row as values, in the columns that a user wrote."""
    return tuple(
        to_values(np.array([codes[one.at]], dtype=np.int64), one.type, symbols, nullable=one.at in table.nullable)[0]
        for one in table.written
        if one.at is not None
    )


def needed_tables(plan: Plan, table: str) -> set[str]:
    """A table and all that its rows rest on, the bags of aggregates included."""
    below: dict[str, set[str]] = {}
    for rule in plan.rules:
        below.setdefault(rule.table, set()).update(rule.atoms, rule.negated)
    for one in plan.aggregations:
        below.setdefault(one.table, set()).update(contribution.table for contribution in one.contributions)
    found: set[str] = set()
    pending = [table]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(below.get(name, ()))
    return found
