"""Mistakes that change nothing that anybody can see, by name, with the reason; they are not drawn."""

from __future__ import annotations

from collections.abc import Mapping

_ESTIMATE = "a byte more or less of what is estimated in millions"
_WAY = "chooses between two ways to the same rows, one of which is quicker"

EQUIVALENT: Mapping[str, str] = {
    "engine/store/kernels/ordering.py _compared: off by one: `1` -> `2` #1": "only the sign of a comparison counts",
    "engine/store/kernels/ordering.py _compared: off by one: `1` -> `2` #2": "only the sign of a comparison counts",
    "engine/store/budget.py Budget.rows: comparison: `most >= wanted` -> `most > wanted`": (
        "where both are equal, `most` is returned in place of `wanted`"
    ),
    "engine/store/budget.py Budget.look: comparison: `self.held > self.limit` -> `self.held >= self.limit`": _ESTIMATE,
    "engine/rules/fused_best.py FusedBest.run: comparison: `head.standing is None` -> `head.standing is not None`": (
        _WAY
    ),
    "engine/rules/fused_set.py _Merging._merge: off by one: `8` -> `9`": _WAY,
    "engine/store/index.py Index.cover: plus/minus: `size - held` -> `(size + held)`": _WAY,
    "engine/store/index.py Space.numbered: plus/minus: `store.size + more` -> `(store.size - more)`": _WAY,
    "engine/codes/texts.py at_once: comparison: `name not in _CHEAP` -> `name in _CHEAP`": _WAY,
    "engine/store/store.py Store.reserve: plus/minus: `self.size + more` -> `(self.size - more)` #1": _WAY,
    "engine/store/numbering.py number_columns: off by one: `1` -> `2`": "a cell more of a box than is needed",
    "plan/join_order.py _computed: flag: `True` -> `False`": _WAY,
    "engine/store/index.py _most_cells: comparison: `rows >= _THRIFTY_FROM` -> `rows > _THRIFTY_FROM`": _WAY,
    "engine/store/frontier.py Frontiers.__init__: off by one: `0` -> `1`": (
        "set when the lists are made, before it is read"
    ),
    "engine/rules/probe.py RowProbe.bounds: off by one: `0` -> `1` #1": (
        "sides and columns of places are equally many"
    ),
    "engine/store/budget.py Budget._is_free: comparison: `self.held + more <= limit` -> `(self.held + more) < limit`": (
        "room that tables do not use is given back, and then the same is asked again"
    ),
    "engine/clock.py Clock._begin: off by one: `0` -> `1`": "base tables keep no witnesses",
    "engine/clock.py Clock.__init__: and/or: `store.table.base and store.table.life is not None` -> "
    "`(store.table.base or (store.table.life is not None))`": "only those have a table of rows that wait",
    "engine/store/store.py Store.identify: comparison: `self.identified == 0` -> `self.identified != 0`": _WAY,
    "engine/store/store.py Store.append: off by one: `0` -> `1` #1": "less than the rows that are there",
    "engine/border/soundness.py _check_rows: off by one: `1` -> `2`": "a table has rows of its own or a rule for them",
    "engine/border/soundness.py _check_rows: off by one: `1` -> `2` #1": "one more number that is no rule of the table",
    "engine/store/index.py Index.cover: off by one: `2` -> `3`": _WAY,
    "exchange/rendezvous.py Rendezvous._wait: comparison: `time.monotonic() < ends` -> `time.monotonic() <= ends`": (
        "a nanosecond more of a wait"
    ),
    "spark/state/snapshot_policy.py is_due: off by one: `0` -> `1`": "both are less than `_FEW_ROWS`",
    "engine/store/frontier.py Frontiers.make_room: comparison: `self._store.size + more > self._limit` -> "
    "`(self._store.size + more) >= self._limit`": "the lists are made anew a row earlier",
    "engine/rules/fused_best.py FusedBest.__init__: off by one: `0` -> `1`": _WAY,
    "engine/store/kernels/lists.py not_needless: swapped arguments: `next_row(place, last, linked, order, chain)` -> "
    "`next_row(last, place, linked, order, chain)`": "a needless row that is not seen here is dropped after sorting",
    "engine/border/sound_kernels.py find_unsound: comparison: `state > 0` -> `state >= 0`": (
        "rows that are gone have been passed over"
    ),
    "engine/store/store.py Store.admit_range: off by one: `0` -> `1` #1": "compared with what 32 bits hold",
    "engine/border/bags.py _with_number: off by one: `1` -> `2`": "numpy takes any negative length for what is left",
    "engine/store/store.py Store.all_older: twin: `stamps.max` -> `stamps.min`": (
        "rows of this round are met in it and not in the next: the best rows are the same"
    ),
    "engine/best/selection.py best_part: comparison: `pick.best is Best.MAX` -> `pick.best is not Best.MAX`": _WAY,
    "spark/state/checkpoint.py Checkpoint._refuse_missing: flag: `True` -> `False`": (
        "looks for all files of a batch, not only for the new ones"
    ),
    "spark/state/checkpoint.py Checkpoint.prepared: off by one: `0` -> `1`": "who commits has an epoch; the first is 1",
    "engine/turns.py Turns.next: twin: `min` -> `max`": _WAY,
    "rewrite/unfold_views.py _view: and/or: `here.location is not None and there.location is not None` -> "
    "`((here.location is not None) or (there.location is not None))`": (
        "a program names locations everywhere or nowhere (HW601)"
    ),
    "engine/shard.py Shard.__init__: off by one: `0` -> `1` #1": "the number of the first round says nothing",
    "engine/store/index.py Index.cover: comparison: `self.columns.size == 1` -> `self.columns.size != 1`": _WAY,
    "exchange/asking.py _holding: comparison: `keys.shape[0] > 1` -> `keys.shape[0] >= 1`": (
        "the columns of one key are compared one by one before"
    ),
    "exchange/asking.py StoredRows.codes: off by one: `0` -> `1`": (
        "rows without columns are equal, and are so with a column of zeros"
    ),
}
