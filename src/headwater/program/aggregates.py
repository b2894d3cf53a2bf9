"""The aggregate functions: how many arguments, which way their value moves, where they may stand.

A monotone aggregate only ever improves as bindings are added, so it may stand inside a recursion: `min`
falls, `max`, `mcount` and `msum` rise. `count`, `sum` and `avg` may not, unless stages or linearity
justify it (see `headwater.program.stages`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from headwater.language.tree import Aggregate, Head


class Trend(Enum):
    """Which way a value moves as rows are added."""

    FALLS = "falls"
    RISES = "rises"
    WAVERS = "wavers"


@dataclass(frozen=True, slots=True)
class AggregateKind:
    """`pairs`: it takes `(K, N)`. `pools`: a rule without aggregate can add its value as one more binding."""

    name: str
    trend: Trend
    pairs: bool = False
    pools: bool = True

    @property
    def picks(self) -> bool:
        """Whether its value is one of the values it ranges over, so that one binding bears it."""
        return self.monotone and not self.pairs

    @property
    def monotone(self) -> bool:
        return self.trend is not Trend.WAVERS


AGGREGATES: Mapping[str, AggregateKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            AggregateKind("min", Trend.FALLS),
            AggregateKind("max", Trend.RISES),
            AggregateKind("mmin", Trend.FALLS),
            AggregateKind("mmax", Trend.RISES),
            AggregateKind("top", Trend.FALLS),
            AggregateKind("mcount", Trend.RISES, pairs=True, pools=False),
            AggregateKind("msum", Trend.RISES, pairs=True, pools=False),
            AggregateKind("count", Trend.WAVERS, pools=False),
            AggregateKind("sum", Trend.WAVERS),
            AggregateKind("avg", Trend.WAVERS),
        )
    }
)


def aggregate_columns(head: Head) -> tuple[int, ...]:
    """The positions of the head that are aggregates."""
    return tuple(position for position, arg in enumerate(head.args) if isinstance(arg, Aggregate))
