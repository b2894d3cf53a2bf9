"""The guard: how far one transaction may go, and who stops a recursion that goes further.

Two kinds of bounds. Rows and memory hold for every transaction, endless or not. Rounds, and rows that one recursion
computes, are there to stop a recursion that would never end: only recursions that make new values (arithmetic, lists,
sums) are watched, because any other has finitely many rows to find. A long recursion is told from an endless one by
the rows that it starts from: it may make one round for each of them, on top of the bound. Where its own rules keep the
values from growing for ever, rounds are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.core.errors import EvaluationError, GuardError, HeadwaterError
from headwater.engine.store.budget import RowsSpent
from headwater.engine.store.store import MOST_ROWS
from headwater.engine.stratum_names import StratumNames


@dataclass(frozen=True, slots=True)
class Guard:
    """How far one transaction may go on one shard; None: no bound.

    `rows` are the rows that it may add to derived relations. `rounds` are those of one recursion that computes values,
    beyond one for each row that it starts from. `computed` are the rows that such a recursion may make. `memory` is for
    all tables of the database together: bytes (an int), or a share of the memory there is (a float).
    """

    rows: int | None = None
    rounds: int | None = 30_000
    computed: int | None = 20_000_000
    memory: int | float | None = 0.5

    def __post_init__(self) -> None:
        share = isinstance(self.memory, float) and 0 < self.memory <= 1
        if self.memory is not None and not share and (not isinstance(self.memory, int) or self.memory < 1):
            raise ValueError(
                "the memory of a guard is a number of bytes, a share of the memory there is between 0.0 and 1.0, or "
                f"None for no bound, not {self.memory!r}"
            )
        for bound in (self.rows, self.rounds, self.computed):
            if bound is not None and (not isinstance(bound, int) or bound < 1):
                raise ValueError(
                    f"a guard is a number of rows and rounds from 1 on, or None for no bound, not {bound!r}"
                )

    @classmethod
    def of(cls, bound: Guard | int | None) -> Guard:
        """What a user gave for `guard=`: a number bounds rows and rounds alike, None is no bound at all."""
        if isinstance(bound, Guard):
            return bound
        return cls(None, None, None, None) if bound is None else cls(rows=bound, rounds=bound, computed=bound)

    def bytes_of(self, there_are: int | None) -> int | None:
        """The bound on memory, in bytes, where there are so many."""
        if isinstance(self.memory, float):
            return None if there_are is None else int(self.memory * there_are)
        return self.memory


DEFAULT_GUARD = Guard()
NO_GUARD = Guard.of(None)


class Tally:
    """Counts the rows that one transaction has added to derived relations."""

    __slots__ = ("guard", "rows")

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self.rows = 0


class Watch:
    """Counts the rows and rounds of one stratum in one transaction."""

    __slots__ = ("_by_rule", "_limit", "_names", "_rounds", "_rows", "_tally")

    def __init__(self, tally: Tally, names: StratumNames) -> None:
        self._tally = tally
        self._names = names
        self._rows = 0
        self._rounds = 0
        counts = names.stratum.computes and not names.stratum.bounded
        self._limit = tally.guard.rounds if counts else None
        self._by_rule: dict[int, int] = {}

    def came(self, rule: int, count: int) -> None:
        guard, tally = self._tally.guard, self._tally
        tally.rows += count
        self._rows += count
        self._by_rule[rule] = self._by_rule.get(rule, 0) + count
        if guard.rows is not None and tally.rows > guard.rows:
            alone = self._rows > guard.rows
            self._stop(f"{'made' if alone else 'took the transaction to'} more than {guard.rows:,} rows", rule)
        if guard.computed is not None and self._rows > guard.computed and self._names.stratum.computes:
            self._stop(f"made more than {guard.computed:,} rows", rule)

    def round(self) -> None:
        self._rounds += 1
        if self._limit is None or self._rounds <= self._limit:
            return
        bound = self._tally.guard.rounds
        assert bound is not None
        expected = self._names.rounds_to_expect()
        self._limit = bound + expected
        if self._rounds > self._limit:
            made = {rule: count for rule, count in self._by_rule.items() if rule != -1}  # -1: came from other shards
            busiest = max(made, key=lambda rule: made[rule], default=None)
            beyond = " beyond one for each row of its input" if expected else ""
            self._stop(f"made more than {bound:,} rounds{beyond}", busiest)

    def named(self, problem: RowsSpent | EvaluationError, rule: int) -> HeadwaterError:
        """The error of a rule that met a value it cannot compute with, or a table that may not get more rows."""
        if isinstance(problem, EvaluationError):
            return EvaluationError(f"{problem}\n  rule: {self._names.rule(rule)}")
        return GuardError(self._names.explain(f"made more than {self._tally.guard.rows or MOST_ROWS:,} rows", rule))

    def _stop(self, done: str, rule: int | None) -> None:
        raise GuardError(self._names.explain(done, rule))
