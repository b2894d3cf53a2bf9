"""Whose turn it is among sums that rest on one another: a group waits for those below it.

The height of a group is the length of the longest chain of sums below it, as far as one has been seen. It is kept with
the group's row, and grows when a binding comes that rests on a higher one. Heights never decide what is right, only
what is done first: where one is too low, as in a first load, where nothing is known yet, a group is worked out more
than once. So what a change costs follows the groups that it reaches, not the ways on which it reaches them. A few
groups do not wait for each other: a round costs more than they do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from headwater.engine.aggregation import Aggregator
from headwater.engine.best.selection import rows_with
from headwater.engine.codes.expressions import distinct_rows
from headwater.engine.codes.symbols import Codes
from headwater.engine.store.journal import Journal

Heights = npt.NDArray[np.int32]
_FEW = 256  # so many groups are worked out in the time that one more round takes


class Turns:
    """The groups of a stratum's sums that are still to be worked out, in one transaction."""

    def __init__(self, aggregators: Iterable[Aggregator]) -> None:
        self._waiting: dict[Aggregator, tuple[Codes, Heights]] = {}
        for aggregator in aggregators:
            aggregator.head.keep_heights()
            self._waiting[aggregator] = np.zeros((0, len(aggregator.plan.group)), dtype=np.int64), _NONE

    def __bool__(self) -> bool:
        return any(groups.shape[0] for groups, _ in self._waiting.values())

    def next(self, journal: Journal) -> Iterator[tuple[Aggregator, Codes, Heights]]:
        """Of the groups that may have changed and have had no turn since those that have it now; their heights."""
        for aggregator, waiting in self._waiting.items():
            self._waiting[aggregator] = _merged(aggregator, waiting, *aggregator.touched(journal))
        every = [heights for _, heights in self._waiting.values() if heights.size]
        if sum(heights.size for heights in every) < _FEW:
            highest = max((int(heights.max()) for heights in every), default=0)
        else:
            highest = min(int(heights.min()) for heights in every)
        for aggregator, (groups, heights) in self._waiting.items():
            now = heights <= highest
            if now.any():
                self._waiting[aggregator] = groups[~now], heights[~now]
                yield aggregator, groups[now], heights[now]


def _merged(
    aggregator: Aggregator, waiting: tuple[Codes, Heights], groups: Codes, heights: Heights
) -> tuple[Codes, Heights]:
    if not groups.shape[0]:
        return waiting
    head = aggregator.head
    heights = heights.copy()
    at, rows = rows_with(head.index(aggregator.plan.group), groups, head)
    np.maximum.at(heights, at, head.heights[rows])
    if not waiting[1].size:
        return groups, heights
    every, member = distinct_rows(np.concatenate([waiting[0], groups]))
    highest = np.zeros(every.shape[0], dtype=np.int32)
    np.maximum.at(highest, member, np.concatenate([waiting[1], heights]))
    return every, highest


_NONE: Heights = np.zeros(0, dtype=np.int32)
