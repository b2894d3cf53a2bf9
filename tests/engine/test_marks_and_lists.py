"""Small parts of the store that large tables rest on, each by itself."""

from __future__ import annotations

import numpy as np

from headwater.engine.store.index import box_of
from headwater.engine.store.kernels import list_frontiers
from headwater.engine.store.kernels.lists import find_group
from headwater.engine.store.marking import distinct


def test_distinct_sorts_rows_and_keeps_each_once() -> None:
    assert distinct(np.array([3, 1, 3, 2, 1], dtype=np.int32)).tolist() == [1, 2, 3]
    ascending = np.array([1, 2, 5], dtype=np.int32)
    assert distinct(ascending) is ascending


def test_groups_whose_only_rows_are_gone_take_all_rows_that_come_in_their_place() -> None:
    data = np.array([[70, 10], [90, 10], [70, 20], [90, 20]], dtype=np.int64)
    stamp = np.array([1, 1, 0, 0], dtype=np.int32)
    following = np.full(4, -1, dtype=np.int32)
    lists = (np.array([0], dtype=np.int64), np.zeros(8, dtype=np.int32), following, *box_of(None))

    def listed(group: int) -> int:
        columns, first, _, direct, base, extent = lists
        return int(~first[find_group(np.array([group]), first, data, columns, direct, base, extent)])

    list_frontiers(np.array([0, 1], dtype=np.int32), data, stamp, 1, True, lists)
    assert (listed(70), listed(90)) == (0, 1)
    stamp[:] = [0, 0, 2, 2]
    list_frontiers(np.array([2, 3], dtype=np.int32), data, stamp, 1, True, lists)
    assert (listed(70), listed(90)) == (2, 3)
