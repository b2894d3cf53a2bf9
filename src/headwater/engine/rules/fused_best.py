"""The compiled loop into a table with one row per group: shortest paths, components."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headwater.core.errors import EvaluationError
from headwater.engine.codes.symbols import NULL, Symbols
from headwater.engine.rules.probe import CONSTANT, LEFT, RIGHT, Probe, as_places
from headwater.engine.store import kernels
from headwater.engine.store.index import Rows
from headwater.engine.store.journal import Journal, Outcome
from headwater.engine.store.standing import Standing
from headwater.engine.store.states import GHOST
from headwater.engine.store.store import Store
from headwater.plan.model import FlatRule

_WORTH = 64  # rows looked at in the time that one takes to be derived step by step


class FusedBest:
    """Two atoms into a table with one row per group, whose value is a copy or a sum of ints."""

    def __init__(
        self,
        probe: Probe,
        rule: FlatRule,
        head: Store,
        addends: list[tuple[int, int]],
        symbols: Symbols,
        *,
        holds_nulls: bool,
    ) -> None:
        (self._pick,) = head.table.picks
        self._probe = probe
        self._rule = rule
        self._head = head
        types = head.table.types
        group = [probe.place(rule.head[at], types[at], symbols) for at in self._pick.group]
        self._group = as_places(group)
        self._value = as_places(addends)
        self._least = NULL + holds_nulls  # where nulls can be, a sum must not look like one
        self._waited = 0  # rows that did without a table of what stands
        self._short = _short_form(probe, group, addends)
        if self._short is not None:
            side, column, _, weight, _ = self._short
            self._carried = (column if side == RIGHT else -1, weight)

    def run(self, rows: Rows, tick: int, after: int, journal: Journal) -> Outcome | None:
        """As `FusedSet.run`; None when the groups do not lie close enough together for direct addressing.

        Nor is a table of what stands made anew for a few rows, before as many have come as make up for it.
        """
        probe, head = self._probe, self._head
        if rows.size == 0 or probe.meets_nothing(rows.size, tick):
            return _NO_ROWS, _NO_ROWS
        if head.standing is None:
            self._waited += rows.size
            if self._waited * _WORTH < head.size:
                return None
            self._waited = 0
        low, high = probe.bounds(self._group)
        standing = head.standing or Standing(head)
        assert isinstance(standing, Standing), "a table that keeps one row per group has no lists"
        if not standing.fit(low, high, max(probe.left.size, probe.right.size)):
            return None
        head.standing = standing
        met = self._join(rows, tick, standing, journal)
        if met < 0:
            head.standing = None
            raise EvaluationError(f"a sum in `{head.name}` does not fit into 64 bits; use floats (write 1.0 for 1)")
        cells = standing.touched[:met]
        cells.sort()  # rows in the order of their groups meet the rows of the next round side by side
        left, right, lost = standing.left[cells], standing.right[cells], standing.rows[cells]
        standing.left[cells] = -1
        values = standing.values[cells]
        values = ~values if standing.complemented else values
        if int(values.min(initial=0)) < self._least:
            head.standing = None
            raise EvaluationError(f"a sum in `{head.name}` is {NULL}, whose place is taken by null; use floats")
        return self._store(left, right, values, lost, cells, after, journal)

    def _join(self, rows: Rows, tick: int, standing: Standing, journal: Journal) -> int:
        probe = self._probe
        reading = probe.reading(tick)
        space = standing.space
        assert space is not None
        room = standing.rows, standing.values, standing.left, standing.right, standing.touched
        if self._short is not None and reading.box[0]:
            any_stamp = probe.right.all_older(reading.newest, rows.size)
            return kernels.join_best_short(
                rows, probe.left.data, probe.key_from[0], probe.right.data, *reading.box[1:], *reading.lists,
                *(probe.carried(column, rows.size if any_stamp else 0) for column in self._carried),
                probe.right.stamp, reading.newest, any_stamp, *self._short, space.base, standing.complemented, *room,
            )  # fmt: skip
        return kernels.join_best(
            rows, *reading.arguments, *self._group, *self._value, standing.complemented, space.base,
            space.extent, *room,
        )  # fmt: skip

    def _store(
        self,
        left: Rows,
        right: Rows,
        values: npt.NDArray[np.int64],
        lost: Rows,
        cells: npt.NDArray[np.int64],
        after: int,
        journal: Journal,
    ) -> Outcome:
        probe, head = self._probe, self._head
        candidates = np.empty((values.size, head.width), dtype=np.int64)
        candidates[:, self._pick.value] = values
        for column, side, source in zip(self._pick.group, *(part.tolist() for part in self._group), strict=True):
            if side == CONSTANT:
                candidates[:, column] = source
            else:
                candidates[:, column] = (
                    probe.left.data[left, source] if side == LEFT else probe.right.data[right, source]
                )
        proofs = np.empty((values.size, 2), dtype=np.int32)
        proofs[:, probe.slot], proofs[:, 1 - probe.slot] = left, right
        lost = lost[lost >= 0]
        if lost.size:
            head.set_state(lost, GHOST, journal)
        head.admit_rows(candidates)
        if head.buried or head.standing is None:
            head.reserve(values.size)
            return head.merge(candidates, proofs, self._rule.id, after, journal), lost
        # Every ghost is worse than what stands in its group, and nothing else is left over: these rows are new.
        came = head.append(candidates, proofs, self._rule.id, after, journal)
        assert isinstance(head.standing, Standing)
        head.standing.rows[cells] = came
        head.standing.knows_all()
        return came, lost


def _short_form(
    probe: Probe, group: list[tuple[int, int]], addends: list[tuple[int, int]]
) -> tuple[int, int, int, int, int] | None:
    """What `join_best_short` is told about the head: side and column of the group, columns of the sum, constant."""
    starts = [column for side, column in addends if side == LEFT]
    weights = [column for side, column in addends if side == RIGHT]
    constants = [value for side, value in addends if side == CONSTANT]
    if len(group) != 1 or group[0][0] == CONSTANT or len(probe.columns) != 1 or probe.key_from[0] < 0:
        return None
    if len(starts) > 1 or len(weights) > 1 or len(constants) > 1:
        return None
    columns = (starts[0] if starts else -1, weights[0] if weights else -1)
    return (*group[0], *columns, constants[0] if constants else 0)


_NO_ROWS: Rows = np.zeros(0, dtype=np.int32)
