"""The guard: stops a recursion that grows past its bound, and says which rule made it grow.

Only recursions that compute values (arithmetic, lists) are watched: any other has finitely many rows to find.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.core.errors import GuardError
from headwater.engine.level_names import LevelNames


@dataclass(frozen=True, slots=True)
class Guard:
    """How far one transaction may drive one recursion; None: no bound."""

    rows: int | None = 20_000_000
    rounds: int | None = 30_000

    def __post_init__(self) -> None:
        for bound in (self.rows, self.rounds):
            if bound is not None and (not isinstance(bound, int) or bound < 1):
                raise ValueError(
                    f"a guard is a number of rows and rounds from 1 on, or None for no bound, not {bound!r}"
                )


DEFAULT_GUARD = Guard()
NO_GUARD = Guard(None, None)


class Watch:
    """Counts the rows and rounds of one level in one transaction."""

    __slots__ = ("_by_rule", "_guard", "_names", "_rounds", "_rows")

    def __init__(self, guard: Guard, names: LevelNames) -> None:
        self._guard = guard
        self._names = names
        self._rows = 0
        self._rounds = 0
        self._by_rule: dict[int, int] = {}

    def came(self, rule: int, count: int) -> None:
        self._rows += count
        self._by_rule[rule] = self._by_rule.get(rule, 0) + count
        if self._guard.rows is not None and self._rows > self._guard.rows:
            self._stop(f"more than {self._guard.rows:,} rows", rule)

    def round(self) -> None:
        self._rounds += 1
        if self._guard.rounds is not None and self._rounds > self._guard.rounds:
            latest = max(self._by_rule, key=lambda rule: self._by_rule[rule], default=None)
            self._stop(f"more than {self._guard.rounds:,} rounds", latest)

    def _stop(self, bound: str, rule: int | None) -> None:
        raise GuardError(self._names.explain(bound, rule))
