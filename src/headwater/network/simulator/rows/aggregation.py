"""Aggregates over bindings (count, sum, avg, several in one head): the last step, computed when a stage begins.

A localised program has brought the bindings of a group to one node. Only groups with changed bindings are computed.
Floats are summed in ascending order, so that maintained equals recomputed to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headwater.core.errors import EvaluationError
from headwater.core.types import Type
from headwater.network.simulator.rows.join import picker
from headwater.network.simulator.rows.table import RowChange
from headwater.network.simulator.rows.terms import Row
from headwater.plan.model import Aggregation, Measure, Table

_INT64 = range(-(2**63), 2**63)


class GroupAggregator:
    """The rows of one aggregate head on one node, by group."""

    def __init__(self, plan: Aggregation, tables: Mapping[str, Table]) -> None:
        self.plan = plan
        sources = plan.contributions
        self.bags = tuple(dict.fromkeys(source.table for source in sources))
        self._width = len(tables[plan.table].types)
        self._group = [picker(source.group) for source in sources]
        self._kinds = [[tables[source.table].types[at] for at in source.values] for source in sources]
        self._members: dict[Row, dict[tuple[int, Row], None]] = {}
        self._rows: dict[Row, Row] = {}

    def settle(self, changes: Mapping[str, RowChange]) -> RowChange:
        """The change of the aggregates that follows from changes of the bindings."""
        touched: dict[Row, None] = {}
        for at, source in enumerate(self.plan.contributions):
            for row in changes[source.table].went:
                group = self._group[at](row)
                self._members[group].pop((at, row))
                touched[group] = None
            for row in changes[source.table].came:
                group = self._group[at](row)
                self._members.setdefault(group, {})[at, row] = None
                touched[group] = None
        found = RowChange()
        for group in touched:
            old, new = self._rows.pop(group, None), self._row(group)
            if new is not None:
                self._rows[group] = new
            else:
                self._members.pop(group, None)
            if old != new:
                found.went += [] if old is None else [old]
                found.came += [] if new is None else [new]
        return found

    def _row(self, group: Row) -> Row | None:
        members = self._members.get(group)
        if not members:
            return None
        row: list[Any] = [None] * self._width
        for value, column in zip(group, self.plan.group, strict=True):
            row[column] = value
        for at, (measure, column) in enumerate(zip(self.plan.measures, self.plan.positions, strict=True)):
            row[column] = self._measure(measure, [self._value(member, at, measure) for member in members])
        return tuple(row)

    def _value(self, member: tuple[int, Row], at: int, measure: Measure) -> Any:
        contribution, row = member
        value = row[self.plan.contributions[contribution].values[at]]
        widens = measure.result is Type.FLOAT and self._kinds[contribution][at] is Type.INT
        return float(value) if widens and value is not None and measure.function != "avg" else value

    def _measure(self, measure: Measure, values: list[Any]) -> Any:
        """The aggregate of the values that are not null; null if there is none."""
        values = [value for value in values if value is not None]
        match measure.function:
            case "count":
                return len(values)
            case _ if not values:
                return None
            case "min":
                return min(values)
            case "max":
                return max(values)
            case "sum":
                return self._fits(_ordered_sum(values))
            case "collect":
                return tuple(sorted(values))
            case "avg":
                return _ordered_sum(values) / len(values)
        raise AssertionError(f"a checked program has no aggregate {measure.function}")

    def _fits(self, total: Any) -> Any:
        if isinstance(total, int) and total not in _INT64:
            raise EvaluationError(f"a sum in `{self.plan.table}` does not fit into 64 bits; use floats")
        return total


def _ordered_sum(values: list[Any]) -> Any:
    first, *rest = sorted(values)
    for value in rest:
        first = first + value
    return first
