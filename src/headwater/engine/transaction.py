"""What one transaction carries through the strata: its journal, its rounds, and which rows came and went."""

from __future__ import annotations

from collections.abc import Callable

from headwater.core.errors import EvaluationError
from headwater.engine.guard import Guard, Tally
from headwater.engine.store.budget import Budget
from headwater.engine.store.index import Rows
from headwater.engine.store.journal import Journal
from headwater.engine.store.states import EVER, GHOST
from headwater.engine.store.store import Store

_LAST_ROUND = EVER - 4  # rows may be stamped with the round after the next


class Transaction:
    """One transaction of a shard, from its first change of a base row to its commit or undo."""

    def __init__(self, tick: int, guard: Guard, budget: Budget, cancelled: Callable[[], bool]) -> None:
        self.tick = tick
        self.now: int | None = None  # the time of the clock at the end
        self.tally = Tally(guard)
        self.journal = Journal()
        self.came: dict[str, Rows] = {}
        self.went: dict[str, Rows] = {}
        self.fallen: dict[str, Rows] = {}  # ghosts that are gone and that witnesses of higher strata may use
        self.expired: set[str] = set()  # tables that dropped rows whose lease was over
        self.rounds = 0
        self._budget = budget
        self._cancelled = cancelled

    def check(self) -> None:
        """Stop if the caller has asked for it, or if symbols have used up the memory."""
        if self._cancelled():
            raise KeyboardInterrupt
        self._budget.look()

    def next_tick(self) -> int:
        """Begin the next round; its number."""
        self.check()
        if self.tick >= _LAST_ROUND:
            raise EvaluationError(
                f"this transaction made {self.rounds:,} rounds, the most possible; the recursion seems endless\n"
                "  hint: bound what the recursion computes, or keep the guard on"
            )
        self.tick += 1
        self.rounds += 1
        return self.tick

    def close(self, store: Store) -> None:
        """Work out the net effect on a store that does not change any more in this transaction."""
        came, went = self.journal.net(store)
        if came.size:
            self.came[store.name] = came
        if went.size:
            self.went[store.name] = went
        if store.table.lasting:
            fallen = self.truly_lost(store, self.journal.fallen(store))
            if fallen.size:
                self.fallen[store.name] = fallen

    def truly_lost(self, store: Store, rows: Rows) -> Rows:
        """Of rows that went, those that end the witnesses that use them.

        A row that a version with a later lease replaced does not; nor does one whose own lease is over, because then
        the leases of all rows derived from it are over too.
        """
        lost = store.stamp[rows] != GHOST
        if self.now is not None and store.table.lease is not None:
            lost &= store.data[rows, store.table.lease] > self.now
        return rows[lost]
