"""The hot loops: compiled functions, kept on disk between processes (see `compiling`).

Rows are matrices of integers: `data[row, column]`, int32 or int64. The `stamp` of a row is its state (see `states`). An
index maps a key to a cell, and a cell to its rows (see `index`). Tables of cells hold `~row`, so that memory fresh from
the system, all zeros, is an empty table.

Every kernel that fills a buffer stops when the buffer is full and returns where to go on, so that memory is bounded and
arrays grow outside compiled code. Kernels share their inner loops as inlined functions of this folder: one that is
changed makes what is kept of all kernels of the folder out of date.
"""

from headwater.engine.store.kernels.best import join_best, join_best_short
from headwater.engine.store.kernels.children import link_rows, mark_children, mark_descendants, unlink_rows
from headwater.engine.store.kernels.frontier import (
    DONE,
    FAILED,
    TOO_WIDE,
    close_frontier,
    enter_frontier,
    join_frontier,
)
from headwater.engine.store.kernels.index import (
    any_until,
    cells_direct,
    cells_hash,
    chain_direct,
    chain_hash,
    count_met,
    exists,
    expand,
    search_ordered,
    sort_by_cell,
    sum_groups,
)
from headwater.engine.store.kernels.lists import (
    keep_frontier,
    list_alone,
    list_frontiers,
    not_needless,
    see_best,
    sift,
)
from headwater.engine.store.kernels.numbers import (
    cells_numbered,
    chain_cells,
    distinct_values,
    number_rows,
    number_values,
)
from headwater.engine.store.kernels.ordering import ASCENDING, GROUPED, extremes_of, order_of, sort_groups
from headwater.engine.store.kernels.search import CANNOT, NO_WAY, search_between, search_from
from headwater.engine.store.kernels.sets import (
    close_merge,
    join_merge,
    join_short,
    merge_rows,
    pull_pairs,
    pull_short,
)

__all__ = [
    "ASCENDING",
    "CANNOT",
    "DONE",
    "FAILED",
    "GROUPED",
    "NO_WAY",
    "TOO_WIDE",
    "any_until",
    "cells_direct",
    "cells_hash",
    "cells_numbered",
    "chain_cells",
    "chain_direct",
    "chain_hash",
    "close_frontier",
    "close_merge",
    "count_met",
    "distinct_values",
    "enter_frontier",
    "exists",
    "expand",
    "extremes_of",
    "join_best",
    "join_best_short",
    "join_frontier",
    "join_merge",
    "join_short",
    "keep_frontier",
    "link_rows",
    "list_alone",
    "list_frontiers",
    "mark_children",
    "mark_descendants",
    "merge_rows",
    "not_needless",
    "number_rows",
    "number_values",
    "order_of",
    "pull_pairs",
    "pull_short",
    "search_between",
    "search_from",
    "search_ordered",
    "see_best",
    "sift",
    "sort_by_cell",
    "sort_groups",
    "sum_groups",
    "unlink_rows",
]
