"""How a stratum is called in messages: its rules as written, its cycle of relations, rows as text."""

from __future__ import annotations

import numpy as np

from headwater.engine.codes.fitting import shown
from headwater.engine.codes.symbols import decode
from headwater.engine.rules.context import Context
from headwater.language.datalog.printer import print_rule
from headwater.language.terms import body_atoms
from headwater.plan.model import Plan, PlannedStratum, Table


class StratumNames:
    """The names of one stratum, its rules and its rows in messages."""

    def __init__(self, stratum: PlannedStratum, plan: Plan, context: Context) -> None:
        self.stratum = stratum
        self._plan = plan
        self._context = context

    def rule(self, rule: int) -> str:
        """A rule as it was written: a flat one by its number, an aggregation as a row's `rules` entry names it."""
        found = self._plan.program_rules[self._origin(rule)]
        return print_rule(found if found.origin is None or not self._is_part(rule) else found.origin)

    def _is_part(self, rule: int) -> bool:
        """Whether a rule was written as one with others, or with columns that are not stored."""
        if rule < 0:
            return False
        flat, stores = self._plan.rules[rule], self._context.stores
        tables = [stores[name].table for name in (flat.table, *flat.atoms)]
        return any(table.part or any(column.value is not None for column in table.written) for table in tables)

    def _origin(self, rule: int) -> int:
        if rule >= 0:
            return self._plan.rules[rule].origin
        aggregation = self._plan.aggregations[-2 - rule]
        around = (
            number
            for number, one in enumerate(self._plan.program_rules)
            if one.head.relation == aggregation.table
            and any(atom.relation in self.stratum.tables for atom, _ in body_atoms(one))
        )
        return next(around, aggregation.rule)

    def rounds_to_expect(self) -> int:
        """Rounds that the stratum may need if it ends: each of its tables once for every row that it starts from.

        The best way to a row visits no row twice; one that still finds better ones then goes round in circles.
        """
        stores = self._context.stores
        below = {table for number in self.stratum.rules for table in self._plan.rules[number].atoms}
        below.update(one.table for at in self.stratum.aggregations for one in self._plan.aggregations[at].contributions)
        return len(self.stratum.tables) * sum(stores[name].size for name in below.difference(self.stratum.tables))

    def explain(self, done: str, rule: int | None) -> str:
        """The guard's message: what was done past which bound, rule, cycle, and the newest rows as samples."""
        names = [f"`{name}`" for name in self.stratum.tables if not _is_inner(self._context.stores[name].table)]
        what = f"the recursion through {', '.join(names)}" if self.stratum.recursive else f"the rules of {names[0]}"
        lines = [f"error[HW901]: {what} {done} and {'was' if self.stratum.recursive else 'were'} stopped"]
        if rule is not None and rule != -1:
            lines.append(f"  rule: {self.rule(rule)}")
            relation = self._plan.program_rules[self._origin(rule)].head.relation
            samples = self._samples(relation if relation in self._context.stores else names[0].strip("`"))
            if samples:
                lines.append(f"  newest rows of `{relation}`: {'; '.join(samples)}")
        lines.append("  note: the transaction was rolled back; the database is as it was before it")
        lines.append(f"  hint: {self._way_out()}")
        return "\n".join(lines)

    def _way_out(self) -> str:
        adds = any(
            measure.function not in ("min", "max")
            for at in self.stratum.aggregations
            for measure in self._plan.aggregations[at].measures
        )
        if self.stratum.recursive and adds:
            return (
                "a sum that rests on itself has no end where the data has a cycle: remove the cycle, stop at a stage "
                "(`J1 = J + 1, J1 < 100`), or raise the bound with `guard=`"
            )
        if self.stratum.computes and any(self._context.stores[name].table.picks for name in self.stratum.tables):
            return (
                "the best value never settles where a cycle makes it better each time round (a cost below zero): "
                "remove the cycle, bound the value (`C > 0`), or raise the bound with `guard=`"
            )
        if self.stratum.computes:
            return (
                "bound the values that grow (`C < 100`, `!inPath(P, X)`), aggregate them (`min<C>`), "
                "or raise the bound with `guard=`"
            )
        return "ask for less (a query with constants, a tighter rule), or raise the bound with `guard=`"

    def _samples(self, table: str, count: int = 3) -> list[str]:
        store = self._context.stores[table]
        rows = store.alive()[-count:]
        if not rows.size:  # the last of them may have lost their place to one that there was no room for
            rows = np.arange(max(0, store.size - count), store.size, dtype=np.int32)
        columns = [
            decode(store.data[rows, at], kind, self._context.symbols, nullable=at in store.table.nullable)
            for at, kind in enumerate(store.table.types)
        ]
        for at, column in enumerate(store.table.written):
            if column.value is not None:
                columns.insert(at, [column.value] * rows.size)
        return [shown(row, 120) for row in zip(*columns, strict=True)]


def _is_inner(table: Table) -> bool:
    """Whether no relation that a user knows has these rows."""
    return table.bag or table.part
