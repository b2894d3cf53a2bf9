"""Aggregates over bags: count, sum, avg, min, max and the list of a group, one row per group.

The cost follows the change: when bindings of a group come or go, the totals of a large group are moved by them, and
a small group is added up anew from its bindings, found by index. Sums of ints are exact or an error. Sums of
floats always run anew over the group's values in ascending order, so that a maintained sum equals a recomputed one
to the last bit; so do min and max beside other aggregates. Nulls are left out: a count is of the values that are none,
and the sum, average, min or max of no value at all is null.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from headwater.core.errors import EvaluationError
from headwater.core.functions.sizes import check_size
from headwater.core.types import Type
from headwater.engine.best.selection import rows_with
from headwater.engine.codes.expressions import distinct_rows, order_keys
from headwater.engine.codes.symbols import NULL, Codes, code_floats, decode, encode_all, float_codes, null_code
from headwater.engine.rules.context import Context
from headwater.engine.store import kernels
from headwater.engine.store.index import Rows
from headwater.engine.store.journal import Journal
from headwater.engine.store.store import Store
from headwater.plan.model import Aggregation, Contribution, Measure

Groups = npt.NDArray[np.intp]
Key = tuple[int, ...]
Totals = tuple[int, ...]  # of a group: its bindings, then one exact sum per measure
_LARGE = 64


@dataclass(slots=True)
class _Moved:
    """Bindings that came (sign 1) or went (-1), and the keys of their groups."""

    source: Store
    contribution: Contribution
    rows: Rows
    sign: int
    keys: Codes
    member: Groups = field(default_factory=lambda: np.zeros(0, dtype=np.intp))  # which group each belongs to


class Aggregator:
    """One aggregate head. Its totals are those of the moment it last settled; `undo` takes a transaction back."""

    def __init__(self, plan: Aggregation, number: int, context: Context) -> None:
        self.plan = plan
        self.rule = -2 - number  # how a row's `rules` entry names this aggregation
        self.head: Store = context.stores[plan.table]
        self.sources = [(contribution, context.stores[contribution.table]) for contribution in plan.contributions]
        self._context = context
        self._least = NULL + 1 if context.holds_nulls else NULL  # a sum must not look like a null
        self._asked: list[Codes] = []
        self._seen: dict[str, int] = {}
        self._totals: dict[Key, Totals] = {}
        self._before: dict[Key, Totals | None] = {}
        self._adds = all(_is_added(measure) and not measure.nullable for measure in plan.measures)

    def begin(self) -> None:
        """A new transaction."""
        self._asked.clear()
        self._seen.clear()
        self._before.clear()

    def undo(self) -> None:
        """The transaction is taken back: so are the totals."""
        for key, totals in self._before.items():
            if totals is None:
                self._totals.pop(key, None)
            else:
                self._totals[key] = totals
        self.begin()

    def reads(self, store: Store) -> bool:
        return any(source is store for _, source in self.sources)

    def groups_of(self, store: Store, rows: Rows) -> Codes:
        """Keys of the groups that rows of a source belong to, with repetitions."""
        return np.concatenate(
            [_keys(contribution, store, rows) for contribution, source in self.sources if source is store]
        )

    def ask(self, groups: Codes) -> None:
        """Have these groups worked out at the next settling, even if none of their bindings comes or goes."""
        self._asked.append(groups)

    def settle(self, journal: Journal) -> tuple[Codes, Codes]:
        """The groups that may have changed since the last settling, and the rows they have now, if any."""
        groups, _ = self.touched(journal)
        return groups, self.rows(groups)

    def touched(self, journal: Journal) -> tuple[Codes, npt.NDArray[np.int32]]:
        """The groups that may have changed since this was last asked; and how high the sums lie that bindings which
        have come rest on, if heights are kept."""
        moved = self._moved(journal)
        keys = [*self._asked, *(part.keys for part in moved)]
        asked = sum(map(len, self._asked))
        self._asked = []
        if not keys:
            return _none(len(self.plan.group)), np.zeros(0, dtype=np.int32)
        groups, member = distinct_rows(np.concatenate(keys))
        heights = np.zeros(groups.shape[0], dtype=np.int32)
        at = asked
        for part in moved:
            part.member = member[at : at + part.keys.shape[0]]
            at += part.keys.shape[0]
            if part.sign > 0 and self.head.heights.size:
                np.maximum.at(heights, part.member, part.source.heights_below(part.rows))
        if self._totals:
            self._move(groups, moved)
        return groups, heights

    def rows(self, groups: Codes) -> Codes:
        """The rows that these groups have now, if any."""
        if not self._totals or not groups.shape[0]:
            return self._anew(groups)
        names = [tuple(key) for key in groups.tolist()]
        held = np.fromiter((name in self._totals for name in names), dtype=np.bool_, count=len(names))
        fresh = self._anew(groups[~held])
        if not held.any():
            return fresh
        known = [name for name, there in zip(names, held, strict=True) if there]
        return np.concatenate([fresh, self._from_totals(groups[held], known)])

    def _moved(self, journal: Journal) -> list[_Moved]:
        """Bindings that came or went since the last settling."""
        found: list[_Moved] = []
        for contribution, source in self.sources:
            came, went = journal.since(source, self._seen.get(source.name, 0))
            for rows, sign in ((came, 1), (went, -1)):
                if rows.size:
                    found.append(_Moved(source, contribution, rows, sign, _keys(contribution, source, rows)))
        for _, source in self.sources:
            self._seen[source.name] = journal.position(source)
        return found

    def _move(self, groups: Codes, moved: list[_Moved]) -> None:
        """Move the totals of the groups that are held by the bindings that came and went."""
        names = [tuple(key) for key in groups.tolist()]
        counts = np.zeros(groups.shape[0], dtype=np.int64)
        sums = [[0] * groups.shape[0] for _ in self.plan.measures]
        for part in moved:
            np.add.at(counts, part.member, part.sign)
            for position, measure in enumerate(self.plan.measures):
                if measure.function != "count":
                    values = part.source.data[part.rows, part.contribution.values[position]].astype(np.int64)
                    for group, total in enumerate(_exact_sums(part.member, values, groups.shape[0])):
                        sums[position][group] += part.sign * total
        for group, name in enumerate(names):
            old = self._totals.get(name)
            if old is not None:
                self._before.setdefault(name, old)
                self._totals[name] = (
                    old[0] + int(counts[group]),
                    *(o + s[group] for o, s in zip(old[1:], sums, strict=True)),
                )

    def _from_totals(self, groups: Codes, names: list[Key]) -> Codes:
        rows = self._rows(groups)
        totals = [self._totals[name] for name in names]
        counts = np.array([total[0] for total in totals], dtype=np.int64)
        for at, (measure, column) in enumerate(zip(self.plan.measures, self.plan.positions, strict=True)):
            rows[:, column] = self._finish(measure, counts, [total[1 + at] for total in totals])
        for name, total in zip(names, totals, strict=True):
            if total[0] < _LARGE // 2:
                del self._totals[name]
        return rows[counts > 0]

    def _rows(self, groups: Codes) -> Codes:
        rows = np.empty((groups.shape[0], self.head.width), dtype=np.int64)
        for at, column in enumerate(self.plan.group):
            rows[:, column] = groups[:, at]
        return rows

    def _anew(self, groups: Codes) -> Codes:
        """The rows of these groups, worked out from all their bindings."""
        member, values = self._bindings(groups)
        counts = np.bincount(member, minlength=groups.shape[0])
        rows = self._rows(groups)
        sums: list[list[int]] = []
        for at, (measure, column) in enumerate(zip(self.plan.measures, self.plan.positions, strict=True)):
            if measure.nullable:
                rows[:, column] = self._around_nulls(measure, member, values[at], counts.size)
            elif _is_added(measure):
                sums.append(_exact_sums(member, values[at], counts.size) if _is_sum(measure) else [0] * counts.size)
                rows[:, column] = self._finish(measure, counts, sums[-1])
            else:
                rows[:, column] = self._measure(measure, member, values[at], counts)
        if self._adds:
            for group in np.flatnonzero(counts >= _LARGE).tolist():
                name = tuple(groups[group].tolist())
                self._before.setdefault(name, None)
                self._totals[name] = (int(counts[group]), *(column[group] for column in sums))
        return rows[counts > 0]

    def _around_nulls(self, measure: Measure, member: Groups, codes: Codes, total: int) -> Codes:
        """A measure over the values that are no nulls; where there are none, a count is 0, and all else null."""
        there = codes != NULL
        member, codes = member[there], codes[there]
        counts = np.bincount(member, minlength=total)
        if _is_added(measure):
            sums = _exact_sums(member, codes, total) if _is_sum(measure) else [0] * total
            found = self._finish(measure, counts, sums)
        else:
            found = self._measure(measure, member, codes, counts)
        return found if measure.function == "count" else np.where(counts > 0, found, null_code(measure.result))

    def _bindings(self, groups: Codes) -> tuple[Groups, list[Codes]]:
        """Every binding of these groups: its group's number, and its value for each measure."""
        members: list[Groups] = []
        values: list[list[Codes]] = [[] for _ in self.plan.measures]
        for contribution, source in self.sources:
            left, rows = rows_with(source.index(contribution.group), groups, source)
            members.append(left.astype(np.intp))
            for at, measure in enumerate(self.plan.measures):
                values[at].append(self._value(source, contribution, at, measure, rows))
        return np.concatenate(members), [np.concatenate(column) for column in values]

    def _value(self, source: Store, contribution: Contribution, at: int, measure: Measure, rows: Rows) -> Codes:
        """The codes of a measure's values in one source; NULL where a value is null."""
        column = contribution.values[at]
        kind = source.table.types[column]
        codes: Codes = source.data[rows, column].astype(np.int64)
        null = codes == null_code(kind) if column in source.table.nullable else None
        wanted = measure.type if measure.function in ("avg", "collect") else measure.result
        if wanted is Type.FLOAT and kind is Type.INT:
            codes = float_codes(codes.astype(np.float64))
        return codes if null is None else np.where(null, NULL, codes)

    def _finish(self, measure: Measure, counts: npt.NDArray[np.int64], sums: list[int]) -> Codes:
        """A count, an exact sum or the average of ints, per group."""
        if measure.function == "count":
            return counts.astype(np.int64)
        if measure.function == "avg":
            return float_codes(
                np.array([s / max(c, 1) for s, c in zip(sums, counts.tolist(), strict=True)], dtype=np.float64)
            )
        if any(not self._least <= total < 2**63 for total in sums):
            raise EvaluationError(f"a sum in `{self.plan.table}` does not fit into 64 bits; use floats")
        return np.array(sums, dtype=np.int64)

    def _measure(self, measure: Measure, member: Groups, codes: Codes, counts: npt.NDArray[np.intp]) -> Codes:
        """The best value, or the sum or average of floats, per group."""
        total = counts.size
        keys = order_keys(codes, measure.type, self._context.symbols)
        order = np.lexsort((keys, member))
        if measure.function in ("min", "max"):
            ends = np.cumsum(counts) - (counts if measure.function == "min" else 1)
            out = np.zeros(total, dtype=np.int64)
            out[counts > 0] = codes[order][ends[counts > 0]]
            return out
        if measure.function == "collect":
            return self._collected(measure, codes[order], counts)
        sums = np.zeros(total, dtype=np.float64)
        kernels.sum_groups(member[order], code_floats(codes[order]), sums)
        return float_codes(sums / np.maximum(counts, 1) if measure.function == "avg" else sums)

    def _collected(self, measure: Measure, codes: Codes, counts: npt.NDArray[np.intp]) -> Codes:
        """The sorted list of the values of each group; the codes are in the order of their groups."""
        symbols = self._context.symbols
        values = decode(codes, measure.type, symbols, nullable=False)
        ends = np.cumsum(counts).tolist()
        lists = [tuple(values[end - count : end]) for end, count in zip(ends, counts.tolist(), strict=True)]
        for each in lists:
            check_size("collect", each)
        return encode_all(lists, measure.result, symbols)


def _is_added(measure: Measure) -> bool:
    """Whether a measure is worked out by exact addition."""
    return measure.function == "count" or (_is_sum(measure) and _is_whole(measure))


def _is_sum(measure: Measure) -> bool:
    return measure.function in ("sum", "avg")


def _is_whole(measure: Measure) -> bool:
    return measure.type is not Type.FLOAT and (measure.function == "avg" or measure.result is not Type.FLOAT)


def _keys(contribution: Contribution, store: Store, rows: Rows) -> Codes:
    return store.data[rows][:, list(contribution.group)].astype(np.int64)


def _exact_sums(member: Groups, codes: Codes, total: int) -> list[int]:
    """Sums without overflow: high and low halves apart, put together as Python ints."""
    high = np.zeros(total, dtype=np.int64)
    low = np.zeros(total, dtype=np.int64)
    np.add.at(high, member, codes >> 32)
    np.add.at(low, member, codes & 0xFFFFFFFF)
    return [(upper << 32) + lower for upper, lower in zip(high.tolist(), low.tolist(), strict=True)]


def _none(width: int) -> Codes:
    return np.zeros((0, width), dtype=np.int64)
