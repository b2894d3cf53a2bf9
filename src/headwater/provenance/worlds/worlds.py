"""Every row in every world: the view's rows with their absorption provenance, maintained.

A world is a set of base facts. A row's function of those facts is true in exactly the worlds in which the program
derives the row; the view has the rows whose function is true where all facts are alive. Rows that only other worlds
have (a next best, what a negated fact forbids) are held beside them.

A delete sets the fact's variable to false in every function (000, section 4). Inserts grow functions by semi-naive
rounds where rules only add; a stratum with negation, best rows or aggregates whose input changed is recomputed.

A transaction is committed or undone whole; `BudgetSpent` is raised where functions need too many nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import compress

import numpy as np

from headwater.core.errors import BudgetSpent
from headwater.core.types import Type
from headwater.engine.codes.symbols import NULL, code_of_float, null_code
from headwater.engine.reading import Codes, Symbols, context
from headwater.plan.model import Aggregation, Best, Contribution, Measure, Pick, Plan, PlannedStratum, Table
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function
from headwater.provenance.functions.node_budget import NodeBudget
from headwater.provenance.functions.variables import Order
from headwater.provenance.worlds.all_derivations import DerivationFinder, Row, RuleDerivations, Wanted, is_wanted
from headwater.provenance.worlds.grouped import Binding, aggregated, best_rows
from headwater.provenance.worlds.row_functions import Found, RowFunctions

_ROUNDS = 10_000


class Worlds(RowFunctions):
    """The functions of a program's rows, stratum by stratum."""

    def __init__(
        self,
        plan: Plan,
        symbols: Symbols,
        budget: NodeBudget,
        order: Order = "arrival",
        wanted: Mapping[str, Wanted] | None = None,
    ) -> None:
        """`plan`: one without leases. `wanted`: for each derived table to compute, the rows that are asked for,
        and with them all that these depend on (see `Demand`). None: everything."""
        needed = (table for table in plan.tables if wanted is None or table.base or table.name in wanted)
        super().__init__(needed, symbols, budget, order)
        self.plan = plan
        self._wanted = wanted
        over = context(self.stores, symbols, holds_nulls=plan.holds_nulls)
        self._strata = [
            self._wanted_part(stratum) for stratum in plan.strata if not self.stores.keys().isdisjoint(stratum.tables)
        ]
        rules = [plan.rules[number] for stratum in self._strata for number in stratum.rules]
        self._finders = {rule.id: DerivationFinder(rule, over, self._wanted_of(rule.table)) for rule in rules}

    def _wanted_part(self, stratum: PlannedStratum) -> PlannedStratum:
        rules, aggregations = self.plan.rules, self.plan.aggregations
        return replace(
            stratum,
            tables=tuple(name for name in stratum.tables if name in self.stores),
            rules=tuple(at for at in stratum.rules if rules[at].table in self.stores),
            aggregations=tuple(at for at in stratum.aggregations if aggregations[at].table in self.stores),
        )

    def _wanted_of(self, table: str) -> Wanted | None:
        return None if self._wanted is None else self._wanted[table]

    def load(
        self, facts: Mapping[str, Codes], stated: Mapping[str, Codes], check: Callable[[], None] = lambda: None
    ) -> None:
        """Add base rows, those that are facts and those that the program states, and compute all strata."""
        self.begin()
        for name, codes in stated.items():
            self.assign(name, {tuple(row): absorption.always() for row in codes.tolist()})
        self.insert(facts)
        for stratum in self._strata:
            check()
            self._recompute(stratum, check)
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
                self._update(stratum, check)
        except BaseException:
            self.undo()
            raise

    # Strata

    def _update(self, stratum: PlannedStratum, check: Callable[[], None]) -> None:
        """Bring a stratum up to date with what has changed below it."""
        moved = self.now.changed.keys() | self.now.shrunk
        rules = [self.plan.rules[number] for number in stratum.rules]
        negated = {name for rule in rules for name in rule.negated}
        read = {name for rule in rules for name in rule.atoms} | negated
        plans = (self.plan.aggregations[at] for at in stratum.aggregations)
        read |= {source.table for plan in plans for source in plan.contributions}
        if moved.isdisjoint(read):
            return
        if self._only_adds(stratum) and not negated & moved and not read & self.now.shrunk:
            self._grow(stratum, {name: dict(self.now.changed[name]) for name in read & moved}, check)
        else:
            self._recompute(stratum, check)

    def _only_adds(self, stratum: PlannedStratum) -> bool:
        return not stratum.aggregations and not any(self.tables[name].picks for name in stratum.tables)

    def _grow(self, stratum: PlannedStratum, delta: dict[str, dict[int, Function]], check: Callable[[], None]) -> None:
        """Semi-naive rounds: what functions gained goes through the rules until nothing gains any more."""
        while delta:
            check()
            offered: dict[str, Found] = {}
            for number in stratum.rules:
                finder = self._finders[number]
                found = offered.setdefault(finder.rule.table, {})
                for atom, table in enumerate(finder.rule.atoms):
                    gained = delta.get(table)
                    if gained:
                        for derivations in finder.through(atom, np.array(list(gained), dtype=np.int32)):
                            self._collect(finder, derivations, found, atom, gained)
            delta = {table: self._join_in(table, found) for table, found in offered.items() if found}
            delta = {table: gained for table, gained in delta.items() if gained}

    def _collect(
        self,
        finder: DerivationFinder,
        derivations: RuleDerivations,
        found: Found,
        start: int | None = None,
        gained: Mapping[int, Function] | None = None,
    ) -> None:
        """Add derivations to what is found: a row has the worlds that have all its parents and no row against it."""
        parents = [self.functions[table] for table in finder.rule.atoms]
        against = [self.functions[table] for table in finder.rule.negated]
        budget = self.budget
        for at, head in enumerate(map(tuple, derivations.heads.tolist())):
            function = absorption.always()
            if start is not None and gained is not None:
                function = gained[derivations.parents[start][at]]
            for atom, functions in enumerate(parents):
                if atom != start:
                    part = functions[derivations.parents[atom][at]]
                    assert part is not None
                    function = budget.conjunction(function, part)
            for functions, met in zip(against, derivations.against, strict=True):
                for row in met[at]:
                    part = functions[row]
                    assert part is not None
                    function = budget.difference(function, part)
            if not absorption.is_never(function):
                budget.add(found, head, function)

    def _join_in(self, table: str, found: Found) -> dict[int, Function]:
        """Rows gain worlds; what each of them gained."""
        numbers = self.numbers(table, found)
        functions = self.functions[table]
        gained: dict[int, Function] = {}
        for number, function in zip(numbers, found.values(), strict=True):
            old = functions[number]
            new = function if old is None else self.budget.disjunction(old, function)
            if old is None or not absorption.same(old, new):
                self.put(table, number, new)
                gained[number] = absorption.smaller(function, new)  # joining the old again changes nothing
        self.gain(table, gained)
        return gained

    def _recompute(self, stratum: PlannedStratum, check: Callable[[], None]) -> None:
        """Compute a stratum from nothing, then see what that changed."""
        before = {name: dict(self.numbered(name)) for name in stratum.tables}
        for name in stratum.tables:
            self.assign(name, {})
        if self._only_adds(stratum):
            offered = self._everything(stratum)
            self._grow(stratum, {table: self._join_in(table, found) for table, found in offered.items()}, check)
        else:
            self._alternate(stratum, check)
        for name in stratum.tables:
            self.now.changed.pop(name, None)
            self._compare(name, before[name])

    def _everything(self, stratum: PlannedStratum) -> dict[str, Found]:
        """What the rules of a stratum derive from the rows there are now."""
        offered: dict[str, Found] = {}
        for number in stratum.rules:
            finder = self._finders[number]
            for derivations in finder.everything():
                self._collect(finder, derivations, offered.setdefault(finder.rule.table, {}))
        return offered

    def _compare(self, table: str, before: dict[int, Function]) -> None:
        after = dict(self.numbered(table))
        gained: dict[int, Function] = {}
        for number in before.keys() | after.keys():
            old, new = before.get(number, absorption.never()), after.get(number, absorption.never())
            if not absorption.same(old, new):
                gained[number] = new
                if not absorption.is_never(self.budget.difference(old, new)):
                    self.now.shrunk.add(table)
        if gained:
            self.gain(table, gained)

    def _alternate(self, stratum: PlannedStratum, check: Callable[[], None]) -> None:
        """Best rows and aggregates, round by round from nothing: one round where there is no recursion."""
        plans = {self.plan.aggregations[at].table: self.plan.aggregations[at] for at in stratum.aggregations}
        for _ in range(_ROUNDS):
            check()
            derived = self._everything(stratum)
            moved = False
            for name in stratum.tables:
                if name in plans:
                    continue
                found = derived.get(name, {})
                for table in self._picking(name):
                    found = best_rows(table, found, self.symbols, self.budget)
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
        for source in plan.contributions:
            for row, function in self.rows(source.table):
                codes = self._measured(plan, source, row)
                bindings.setdefault(tuple(row[column] for column in source.group), []).append((codes, function))
        width = len(self.tables[plan.table].types)
        wanted = self._wanted_of(plan.table)
        if wanted is not None and bindings:
            rows = np.zeros((len(bindings), width), dtype=np.int64)
            rows[:, list(plan.group)] = list(bindings)
            asked = is_wanted(rows, wanted).tolist()
            bindings = dict(compress(bindings.items(), asked))
        return aggregated(plan, bindings, width, self.symbols, self.budget)

    def _measured(self, plan: Aggregation, source: Contribution, row: Row) -> tuple[int, ...]:
        """A binding's value for each measure, as the engine adds them up; NULL where there is none."""
        table = self.tables[source.table]
        codes: list[int] = []
        for measure, column in zip(plan.measures, source.values, strict=True):
            kind, code = table.types[column], row[column]
            if column in table.nullable and code == null_code(kind):
                codes.append(NULL)
            elif kind is Type.INT and _added_as(measure) is Type.FLOAT:
                codes.append(code_of_float(float(code)))
            else:
                codes.append(code)
        return tuple(codes)


def _added_as(measure: Measure) -> Type:
    """The type in which a measure takes its values."""
    return measure.type if measure.function in ("avg", "collect") else measure.result
