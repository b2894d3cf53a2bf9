"""What others see of a table of frontiers: of each group the row that is best now, the first of its list.

It is brought up to date group by group, without a join: only groups of which rows came or went are looked at. What a
run of a stratum does in steps for any table with a pick, this does at once where both tables have lists (`Frontiers`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headwater.engine.store.frontier import Frontiers, is_seen
from headwater.engine.store.index import Rows
from headwater.engine.store.journal import Journal
from headwater.engine.store.kernels import see_best
from headwater.engine.store.store import Store
from headwater.plan.model import FlatRule, Var


class Seen:
    """One rule that copies the best rows of `kept` into `store`."""

    def __init__(self, kept: Store, store: Store, rule: int) -> None:
        self.kept = kept
        self.store = store
        self._rule = rule

    @classmethod
    def of(cls, tables: Sequence[str], rules: Sequence[FlatRule], stores: Mapping[str, Store]) -> Seen | None:
        """A stratum as such a rule, if it is one."""
        if len(tables) != 1 or len(rules) != 1 or len(rules[0].atoms) != 1 or len(rules[0].arrive[0].steps):
            return None
        (rule,) = rules
        kept, store, start = stores[rule.atoms[0]], stores[tables[0]], rule.arrive[0].start
        assert start is not None
        straight = tuple((at, one.name) for at, one in enumerate(rule.head) if isinstance(one, Var))
        if not is_seen(store.table, kept.table) or start.binds != straight or len(straight) != store.width:
            return None
        return cls(kept, store, rule.id)

    def follow(self, rows: Rows, tick: int, journal: Journal) -> bool:
        """Bring the groups of these rows up to date; False if the tables have no lists."""
        if not rows.size:
            return True
        kept, store = self.kept, self.store
        (pick,) = kept.table.picks
        group = list(pick.group)
        low, high = kept.bounds.low[group], kept.bounds.high[group]
        ahead, lists = Frontiers.of(kept, low, high, rows.size), Frontiers.of(store, low, high, rows.size)
        if ahead is None or lists is None:
            return False
        if store.data.dtype != kept.data.dtype:
            store.widen()
            kept.widen()
        journal.begin(store)
        lists.make_room(rows.size)
        lost_rows = np.empty(rows.size, dtype=np.int32)
        lost_stamps = np.empty(rows.size, dtype=np.int32)
        size, lost = see_best(
            rows, kept.data, kept.stamp, ahead.arrays, lists.arrays, store.arrays, self._rule, tick, store.size,
            lost_rows, lost_stamps,
        )  # fmt: skip
        if lost:
            store.lost(lost_rows[:lost].copy(), lost_stamps[:lost].copy(), journal)
        start = store.size
        store.appended(size, journal)
        store.admit_written(start)
        lists.knows_all()
        return True
