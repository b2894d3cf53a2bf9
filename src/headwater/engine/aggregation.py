"""Aggregates over bags: count, sum, avg, min and max of a group, one row per group.

The cost follows the touched groups: when a binding of a group comes or goes, that group's row is worked out
anew from its bindings, found by index. Sums of floats run over the values in ascending order, so that a
maintained sum equals a recomputed one to the last bit; sums of ints are exact or an error.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headwater.core.errors import EvaluationError
from headwater.core.types import Type
from headwater.engine import kernels
from headwater.engine.expressions import distinct_rows, order_keys
from headwater.engine.selection import rows_with
from headwater.engine.store import Rows, Store
from headwater.engine.strand import Context
from headwater.engine.values import Codes, code_floats, float_codes
from headwater.plan.model import Aggregation, Contribution, Measure

Groups = npt.NDArray[np.intp]


class Aggregator:
    """One aggregate head: remembers the groups touched since it last settled."""

    def __init__(self, plan: Aggregation, number: int, context: Context) -> None:
        self.plan = plan
        self.rule = -2 - number  # how a row's `rules` entry names this aggregation
        self.head: Store = context.stores[plan.table]
        self.sources = [(one, context.stores[one.table]) for one in plan.contributions]
        self._context = context
        self._touched: list[Codes] = []

    def touch(self, store: Store, rows: Rows) -> list[Codes]:
        """Note the groups of rows that came or went; the keys of those groups."""
        keys = [
            store.data[rows][:, list(one.group)].astype(np.int64)
            for one, source in self.sources
            if source is store and rows.size
        ]
        self._touched.extend(keys)
        return keys

    def forget(self) -> None:
        self._touched.clear()

    def settle(self) -> tuple[Codes, Codes]:
        """The touched groups, and the rows that groups with at least one binding have now."""
        if not self._touched:
            return _none(len(self.plan.group)), _none(self.head.width)
        groups, _ = distinct_rows(np.concatenate(self._touched))
        self._touched.clear()
        member, values = self._bindings(groups)
        counts = np.bincount(member, minlength=groups.shape[0])
        present = counts > 0
        rows = np.empty((groups.shape[0], self.head.width), dtype=np.int64)
        for at, column in enumerate(self.plan.group):
            rows[:, column] = groups[:, at]
        for at, (measure, column) in enumerate(zip(self.plan.measures, self.plan.positions, strict=True)):
            rows[:, column] = self._measure(measure, member, values[at], counts)
        return groups, rows[present]

    def _bindings(self, groups: Codes) -> tuple[Groups, list[Codes]]:
        """Every binding of these groups: its group's number, and its value for each measure."""
        members: list[Groups] = []
        values: list[list[Codes]] = [[] for _ in self.plan.measures]
        for one, source in self.sources:
            left, rows = rows_with(source.index(one.group), groups, source)
            members.append(left.astype(np.intp))
            for at, measure in enumerate(self.plan.measures):
                values[at].append(self._value(source, one, at, measure, rows))
        return np.concatenate(members), [np.concatenate(column) for column in values]

    def _value(self, source: Store, one: Contribution, at: int, measure: Measure, rows: Rows) -> Codes:
        column = one.values[at]
        codes: Codes = source.data[rows, column].astype(np.int64)
        if measure.result is Type.FLOAT and source.table.types[column] is Type.INT and measure.function != "avg":
            return float_codes(codes.astype(np.float64))
        return codes

    def _measure(self, measure: Measure, member: Groups, codes: Codes, counts: npt.NDArray[np.intp]) -> Codes:
        total = counts.size
        if measure.function == "count":
            return counts.astype(np.int64)
        if measure.function in ("min", "max"):
            keys = order_keys(codes, measure.type, self._context.symbols)
            order = np.lexsort((keys, member))
            ends = np.cumsum(counts) - (counts if measure.function == "min" else 1)
            out = np.zeros(total, dtype=np.int64)
            out[counts > 0] = codes[order][ends[counts > 0]]
            return out
        floating = measure.type is Type.FLOAT or (measure.function == "sum" and measure.result is Type.FLOAT)
        if floating:
            order = np.lexsort((codes, member))
            sums = np.zeros(total, dtype=np.float64)
            kernels.sum_groups(member[order], code_floats(codes[order]), sums)
            return float_codes(sums / np.maximum(counts, 1) if measure.function == "avg" else sums)
        exact = self._exact_sums(member, codes, total)
        if measure.function == "avg":
            return float_codes(
                np.array([s / max(c, 1) for s, c in zip(exact, counts.tolist(), strict=True)], dtype=np.float64)
            )
        if any(not -(2**63) <= one < 2**63 for one in exact):
            raise EvaluationError(f"a sum in `{self.plan.table}` does not fit into 64 bits; use floats")
        return np.array(exact, dtype=np.int64)

    def _exact_sums(self, member: Groups, codes: Codes, total: int) -> list[int]:
        """Sums without overflow: high and low halves apart, put together as Python ints."""
        high = np.zeros(total, dtype=np.int64)
        low = np.zeros(total, dtype=np.int64)
        np.add.at(high, member, codes >> 32)
        np.add.at(low, member, codes & 0xFFFFFFFF)
        return [(one << 32) + other for one, other in zip(high.tolist(), low.tolist(), strict=True)]


def _none(width: int) -> Codes:
    return np.zeros((0, width), dtype=np.int64)
