"""The compiled loop into a table with one row per group: shortest paths, components."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headwater.core.errors import EvaluationError
from headwater.engine.codes.symbols import NULL
from headwater.engine.rules.context import Context
from headwater.engine.rules.probe import CONSTANT, LEFT, NO_ROWS, RIGHT, PickLoop, as_places, column_of
from headwater.engine.store import kernels
from headwater.engine.store.index import Rows
from headwater.engine.store.journal import Journal, Outcome
from headwater.engine.store.standing import Standing
from headwater.engine.store.states import GHOST
from headwater.plan.model import BestLoop, FlatRule

_WORTH = 64  # rows looked at in the time that one takes to be derived step by step


class FusedBest(PickLoop):
    """See `BestLoop`."""

    def __init__(self, loop: BestLoop, start: str, rule: FlatRule, context: Context) -> None:
        super().__init__(loop, start, rule, context)
        self._places = as_places(self._group)
        self._addends = as_places(self._value)
        self._waited = 0  # rows that did without a table of what stands
        self._short: tuple[int, ...] | None = None
        if loop.short:
            (side, column), weight = self._group[0], column_of(self._value, RIGHT)
            self._short = (side, column, column_of(self._value, LEFT), weight, self._constant)
            self._carried = (column if side == RIGHT else -1, weight)

    def count(self, rows: Rows, tick: int) -> int | None:
        """As `FusedCopy.count`."""
        return self._probe.count(rows, None, tick)

    def run(self, rows: Rows, tick: int, after: int, journal: Journal) -> Outcome | None:
        """As `FusedJoin.run`; None when the groups do not lie close enough together for direct addressing.

        Nor is a table of what stands made anew for a few rows, before as many have come as make up for it.
        """
        probe, head = self._probe, self._head
        if rows.size == 0 or probe.meets_nothing(rows.size, tick):
            return NO_ROWS, NO_ROWS
        if head.standing is None:
            self._waited += rows.size
            if self._waited * _WORTH < head.size:
                return None
            self._waited = 0
        low, high = probe.bounds(self._places)
        standing = head.standing or Standing(head)
        assert isinstance(standing, Standing), "a table that keeps one row per group has no lists"
        if not standing.fit(low, high, max(probe.left.size, probe.right.size)):
            return None
        head.stand(standing)
        met = self._join(rows, tick, standing, journal)
        if met < 0:
            head.stand(None)
            raise EvaluationError(f"a sum in `{head.name}` does not fit into 64 bits; use floats (write 1.0 for 1)")
        cells = standing.touched[:met]
        cells.sort()  # rows in the order of their groups meet the rows of the next round side by side
        left, right, lost = standing.left[cells], standing.right[cells], standing.rows[cells]
        standing.left[cells] = -1
        values = standing.values[cells]
        values = ~values if standing.complemented else values
        if int(values.min(initial=0)) < self._least:
            head.stand(None)
            raise EvaluationError(f"a sum in `{head.name}` is {NULL}, which Headwater uses for null; use floats")
        return self._store(left, right, values, lost, cells, after, journal)

    def _join(self, rows: Rows, tick: int, standing: Standing, journal: Journal) -> int:
        probe = self._probe
        reading = probe.reading(tick)
        space = standing.space
        assert space is not None
        if self._short is not None and reading.box[0]:
            any_stamp = probe.right.all_older(reading.newest, rows.size)
            return kernels.join_best_short(
                rows, probe.left.data, probe.key_from[0], probe.right.data, probe.right.stamp, reading.newest,
                any_stamp, reading.arrays,
                *(probe.carried(column, rows.size if any_stamp else 0) for column in self._carried), self._short,
                space.base[0], standing.complemented, standing.arrays,
            )  # fmt: skip
        return kernels.join_best(
            rows, probe.left.data, (probe.key_from, probe.constants), probe.right.data, probe.right.stamp,
            reading.newest, reading.arrays, self._places, self._addends, standing.complemented, space.base,
            space.extent, standing.arrays,
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
        for column, side, source in zip(self._pick.group, *(part.tolist() for part in self._places), strict=True):
            if side == CONSTANT:
                candidates[:, column] = source
            else:
                candidates[:, column] = (
                    probe.left.data[left, source] if side == LEFT else probe.right.data[right, source]
                )
        witnesses = np.empty((values.size, 2), dtype=np.int32)
        witnesses[:, 1 - probe.slot], witnesses[:, probe.slot] = left, right
        lost = lost[lost >= 0]
        if lost.size:
            head.set_state(lost, GHOST, journal)
        head.admit_rows(candidates)
        if head.buried or head.standing is None:
            head.reserve(values.size)
            return head.merge(candidates, witnesses, self._rule, after, journal), lost
        # Every ghost is worse than what stands in its group, and nothing else is left over: these rows are new.
        came = head.append(candidates, witnesses, self._rule, after, journal)
        assert isinstance(head.standing, Standing)
        head.standing.rows[cells] = came
        head.standing.knows_all()
        return came, lost
