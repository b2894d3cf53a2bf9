"""Every row in every world: the view's rows with their absorption provenance, maintained.

A world is a set of base facts that are alive. A row's function of those facts is true in exactly the worlds in which
the program derives the row; the rows of the view are those whose function is true now, where all facts are alive. Rows
that only other worlds have (a next best, what a negated fact forbids) are held beside them.

That makes deletes trivial: the fact's variable is false for good in every function (000, section 4). Inserts
grow functions by semi-naive rounds where rules only add; a stratum with negation, best rows or aggregates whose
input changed is worked out anew, from nothing, as its meaning in each world is.

A transaction is kept or taken back whole; running out of room raises `BudgetSpent`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import compress

import numpy as np

from headwater.core.errors import BudgetSpent
from headwater.core.types import Type
from headwater.engine.codes.symbols import NULL, Codes, Symbols, code_of_float, null_code
from headwater.engine.rules.context import Context
from headwater.plan.model import Aggregation, Best, Contribution, Pick, Plan, PlannedStratum, Table
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function
from headwater.provenance.functions.node_budget import Room
from headwater.provenance.functions.variables import Order
from headwater.provenance.worlds.all_derivations import Derivations, Row, Wanted, Ways, is_wanted
from headwater.provenance.worlds.grouped import Binding, aggregated, best_rows
from headwater.provenance.worlds.row_functions import Found, Held

_ROUNDS = 10_000


class Worlds(Held):
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
        needed = (one for one in plan.tables if wanted is None or one.base or one.name in wanted)
        super().__init__(needed, symbols, room, order)
        self.plan = plan
        self._wanted = wanted
        context = Context(self.stores, symbols, holds_nulls=plan.holds_nulls)
        self._strata = [
            self._wanted_part(stratum) for stratum in plan.strata if not self.stores.keys().isdisjoint(stratum.tables)
        ]
        rules = [plan.rules[number] for stratum in self._strata for number in stratum.rules]
        self._ways = {rule.id: Ways(rule, context, self._wanted_of(rule.table)) for rule in rules}

    def _wanted_part(self, stratum: PlannedStratum) -> PlannedStratum:
        rules, pooled = self.plan.rules, self.plan.aggregations
        return replace(
            stratum,
            tables=tuple(name for name in stratum.tables if name in self.stores),
            rules=tuple(at for at in stratum.rules if rules[at].table in self.stores),
            aggregations=tuple(at for at in stratum.aggregations if pooled[at].table in self.stores),
        )

    def _wanted_of(self, table: str) -> Wanted | None:
        return None if self._wanted is None else self._wanted[table]

    def load(
        self, facts: Mapping[str, Codes], stated: Mapping[str, Codes], check: Callable[[], None] = lambda: None
    ) -> None:
        """Take in base rows, those that are facts and those that the program states, and work everything out."""
        self.begin()
        for name, codes in stated.items():
            self.assign(name, {tuple(row): absorption.always() for row in codes.tolist()})
        self.insert(facts)
        for stratum in self._strata:
            check()
            self._anew(stratum, check)
        self.commit()

    def apply(
        self, inserts: Mapping[str, Codes], deletes: Mapping[str, Codes], check: Callable[[], None] = lambda: None
    ) -> None:
        """The net changes of base rows; to be followed by `commit` or `undo`. On any error it is undone."""
        self.begin()
        try:
            self.delete(deletes)
            self.insert(inserts)
            for stratum in self._strata:
                check()
                self._bring_up(stratum, check)
        except BaseException:
            self.undo()
            raise

    # Strata

    def _bring_up(self, stratum: PlannedStratum, check: Callable[[], None]) -> None:
        """Have a stratum follow what has changed below it."""
        moved = self.now.changed.keys() | self.now.shrunk
        rules = [self.plan.rules[number] for number in stratum.rules]
        negated = {name for rule in rules for name in rule.negated}
        read = {name for rule in rules for name in rule.atoms} | negated
        read |= {one.table for at in stratum.aggregations for one in self.plan.aggregations[at].contributions}
        if moved.isdisjoint(read):
            return
        if self._only_adds(stratum) and not negated & moved and not read & self.now.shrunk:
            self._grow(stratum, {name: dict(self.now.changed[name]) for name in read & moved}, check)
        else:
            self._anew(stratum, check)

    def _only_adds(self, stratum: PlannedStratum) -> bool:
        return not stratum.aggregations and not any(self.tables[name].picks for name in stratum.tables)

    def _grow(self, stratum: PlannedStratum, delta: dict[str, dict[int, Function]], check: Callable[[], None]) -> None:
        """Semi-naive rounds: what functions gained goes through the rules until nothing gains any more."""
        while delta:
            check()
            offered: dict[str, Found] = {}
            for number in stratum.rules:
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
        numbers = self.numbers(table, found)
        functions = self.functions[table]
        gained: dict[int, Function] = {}
        for number, function in zip(numbers, found.values(), strict=True):
            old = functions[number]
            new = function if old is None else self.room.disjunction(old, function)
            if old is None or not absorption.same(old, new):
                self.put(table, number, new)
                gained[number] = absorption.smaller(function, new)  # what is new may be told with or without the old
        self.gain(table, gained)
        return gained

    def _anew(self, stratum: PlannedStratum, check: Callable[[], None]) -> None:
        """Work a stratum out from nothing, then see what that changed."""
        before = {name: dict(self.numbered(name)) for name in stratum.tables}
        for name in stratum.tables:
            self.assign(name, {})
        if self._only_adds(stratum):
            offered: dict[str, Found] = {}
            for number in stratum.rules:
                ways = self._ways[number]
                for some in ways.everything():
                    self._collect(ways, some, offered.setdefault(ways.rule.table, {}))
            self._grow(stratum, {table: self._join_in(table, found) for table, found in offered.items()}, check)
        else:
            self._alternate(stratum, check)
        for name in stratum.tables:
            self.now.changed.pop(name, None)
            self._compare(name, before[name])

    def _compare(self, table: str, before: dict[int, Function]) -> None:
        after = dict(self.numbered(table))
        gained: dict[int, Function] = {}
        for number in before.keys() | after.keys():
            old, new = before.get(number, absorption.never()), after.get(number, absorption.never())
            if not absorption.same(old, new):
                gained[number] = new
                if not absorption.is_never(self.room.difference(old, new)):
                    self.now.shrunk.add(table)
        if gained:
            self.gain(table, gained)

    def _alternate(self, stratum: PlannedStratum, check: Callable[[], None]) -> None:
        """Best rows and aggregates, round by round from nothing: one round where there is no recursion."""
        plans = {self.plan.aggregations[at].table: self.plan.aggregations[at] for at in stratum.aggregations}
        for _ in range(_ROUNDS):
            check()
            offered: dict[str, Found] = {name: {} for name in stratum.tables if name not in plans}
            for number in stratum.rules:
                ways = self._ways[number]
                for some in ways.everything():
                    self._collect(ways, some, offered[ways.rule.table])
            moved = False
            for name, found in offered.items():
                for table in self._picking(name):
                    found = best_rows(table, found, self.symbols, self.room)
                moved |= self.assign(name, found)
            for name, plan in plans.items():
                moved |= self.assign(name, self._aggregated(plan))
            if not moved or not stratum.recursive:
                return
        raise BudgetSpent(f"error[HW903]: the worlds of `{stratum.tables[0]}` do not settle in {_ROUNDS:,} rounds")

    def _picking(self, name: str) -> list[Table]:
        """The picks that a table's rows go through, one after the other: of equally good rows the earliest is kept."""
        table = self.tables[name]
        if table.time is None or not table.picks:
            return [table] if table.picks else []
        return [table, replace(table, picks=(Pick(table.identity, table.time, Best.MIN),))]

    def _aggregated(self, plan: Aggregation) -> Found:
        bindings: dict[Row, list[Binding]] = {}
        for one in plan.contributions:
            for row, function in self.rows(one.table):
                codes = self._added_up(plan, one, row)
                bindings.setdefault(tuple(row[column] for column in one.group), []).append((codes, function))
        width = len(self.tables[plan.table].types)
        wanted = self._wanted_of(plan.table)
        if wanted is not None and bindings:
            rows = np.zeros((len(bindings), width), dtype=np.int64)
            rows[:, list(plan.group)] = list(bindings)
            asked = is_wanted(rows, wanted).tolist()
            bindings = dict(compress(bindings.items(), asked))
        return aggregated(plan, bindings, width, self.symbols, self.room)

    def _added_up(self, plan: Aggregation, one: Contribution, row: Row) -> tuple[int, ...]:
        """A binding's value for each measure, as the engine adds them up; NULL where there is none."""
        table = self.tables[one.table]
        codes: list[int] = []
        for measure, column in zip(plan.measures, one.values, strict=True):
            kind, code = table.types[column], row[column]
            if column in table.nullable and code == null_code(kind):
                codes.append(NULL)
            elif kind is Type.INT and (measure.type if measure.function == "avg" else measure.result) is Type.FLOAT:
                codes.append(code_of_float(float(code)))
            else:
                codes.append(code)
        return tuple(codes)
