"""Search for the rows of one given value, or of two from both of them, along rows that are stored; see `WaySearch`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwater.core.types import Type
from headwater.engine.codes.symbols import Codes
from headwater.engine.store import kernels
from headwater.engine.store.store import Store
from headwater.program.model import WaySearch


@dataclass(frozen=True, slots=True)
class SearchedRow:
    """What a search has found: the least cost (None: there is no way), and the values that it reached from each end."""

    cost: int | None
    reached: tuple[int, int]


def search_between(store: Store, search: WaySearch, start: int, goal: int) -> SearchedRow | None:
    """The way between two codes along the rows of a store; None where costs are no ints or negative."""
    if not _can_search(store, search):
        return None
    cost, here, there = kernels.search_between(
        store.data, store.stamp, store.index((search.leaves,)).arrays, store.index((search.arrives,)).arrays,
        (search.leaves, search.arrives), -1 if search.cost is None else search.cost, search.each, start, goal,
    )  # fmt: skip
    if cost == kernels.CANNOT:
        return None
    return SearchedRow(None if cost == kernels.NO_WAY else int(cost), (int(here), int(there)))


def search_from(store: Store, search: WaySearch, end: int, start: int) -> Codes | None:
    """The rows whose column `end`, the source or the target, is a code, along the rows of a store; None as above."""
    if not _can_search(store, search):
        return None
    near, far = search.leaves, search.arrives
    if end == search.target:
        near, far = far, near
    fine, reached, costs = kernels.search_from(
        store.data, store.stamp, store.index((near,)).arrays, far,
        -1 if search.cost is None else search.cost, search.each, start, 1 << max(6, store.size.bit_length()),
    )  # fmt: skip
    if not fine:
        return None
    other = search.target if end == search.source else search.source
    columns = {end: np.full(reached.size, start, dtype=np.int64), other: reached}
    if search.value is not None:
        columns[search.value] = costs
    return np.column_stack([columns[at] for at in range(len(columns))])


def _can_search(store: Store, search: WaySearch) -> bool:
    types = store.table.types
    fits = search.cost is None or types[search.cost] is Type.INT
    return fits and types[search.leaves] is types[search.arrives]
