"""What is known of the rows of a table, for the planner: how many, how many different values, and which are frequent.

Values are codes, as the engine stores them, so that values of different tables can be compared. The numbers come from a
sample and are estimates; a wrong one makes a plan slow, never wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from headwater.core.types import Type
from headwater.plan.model import Literal


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """The values of one column: the frequent ones with their rows, and the others, which have `rest` rows each."""

    distinct: float
    frequent: Mapping[int, float]
    rest: float

    def rows_with(self, code: int) -> float:
        """Rows that have a value, if it occurs at all."""
        return self.frequent.get(code, self.rest)

    @property
    def others(self) -> float:
        """How many different values are not frequent."""
        return max(0.0, self.distinct - len(self.frequent))


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """The rows of one table; a column that no join asks for has no statistics."""

    rows: int
    columns: Mapping[int, ColumnStatistics]


Statistics: TypeAlias = Mapping[str, TableStatistics]
CodeOf: TypeAlias = Callable[[Literal, Type], int]
"""The code of a constant in a column of some type."""
