"""Statistics of a store's rows, from a sample.

The rows of the sample are drawn by a fixed hash of their numbers, so that the same rows give the same statistics
anywhere: plans follow from them, and a replay must choose the same ones. A value counts as frequent if it has several
times as many rows as the average. How many different values the whole column has is estimated from those that
the sample has once (Haas and Stokes's Duj1, which PostgreSQL uses too).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from headwater.engine.store.index import Rows
from headwater.engine.store.states import GONE
from headwater.engine.store.store import Store
from headwater.plan.statistics import ColumnStatistics, TableStatistics

_SAMPLE = 1 << 13
_FREQUENT = 4.0  # times the average
_SEEN = 8  # times that it is in the sample: what is there less often may be so by chance
_MOST = 64  # frequent values that are kept


def measure(store: Store, columns: Iterable[int]) -> TableStatistics:
    """Statistics of the rows alive, for some columns."""
    rows, total = _sampled(store)
    return TableStatistics(total, {column: _column(store.data[rows, column], total) for column in columns})


def _sampled(store: Store) -> tuple[Rows, int]:
    """Numbers of some rows alive, and about how many there are."""
    if store.size <= _SAMPLE:
        rows = store.alive()
        return rows, rows.size
    drawn = np.unique(_mixed(np.arange(_SAMPLE, dtype=np.uint64)) % np.uint64(store.size)).astype(np.int32)
    alive = drawn[store.stamp[drawn] > GONE]
    return alive, round(store.size * alive.size / drawn.size)


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Numbers that look random: the finaliser of SplitMix64."""
    mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _column(values: npt.NDArray[np.integer[np.typing.NBitBase]], total: int) -> ColumnStatistics:
    codes, counts = np.unique(values, return_counts=True)
    if not codes.size:
        return ColumnStatistics(0.0, {}, 0.0)
    size, times = int(counts.sum()), total / int(counts.sum())
    often = np.flatnonzero((counts > _FREQUENT * size / codes.size) & (counts >= _SEEN))
    often = often[np.argsort(-counts[often], kind="stable")][:_MOST]
    frequent = {int(codes[at]): float(counts[at] * times) for at in often}
    others = np.delete(counts, often)  # how many there are is estimated without those that are known well
    distinct = _distinct(others, max(0.0, total - sum(frequent.values())))
    rest = max(0.0, total - sum(frequent.values())) / max(1.0, distinct)
    return ColumnStatistics(distinct + len(frequent), frequent, rest)


def _distinct(counts: npt.NDArray[np.intp], total: float) -> float:
    """How many different values so many rows have, of which a sample has these, so often each."""
    size, found = int(counts.sum()), float(counts.size)
    if total <= size or not size:
        return found
    once = int(np.count_nonzero(counts == 1))
    return min(total, max(found, size * found / (size - once + once * size / total)))
