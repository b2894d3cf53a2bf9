"""The aggregate functions: how many arguments, which way their value moves, where they may stand.

A monotone aggregate only ever improves as bindings are added, so it may stand inside a recursion: `min`
falls, `max`, `mcount` and `msum` rise. `count`, `sum`, `avg` and `collect` may not, unless stages or linearity
justify it (see `headwater.program.recursion.stages`).

`min<(C, P)>` in a head stands for two columns, the least C and the P that goes with it: `spread` makes of it
`min<C>, with<P>`. Of several P of the least C, the least is taken; `max<(C, P)>` takes the largest C, then the
largest P. So the pair is picked by one total order, whatever the order in which bindings come. A binding whose C is
null does not count; a P that is null is worse than any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType

from headwater.language.syntax import Aggregate, Head, Rule, Statement, Term, Tree


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


class Trend(Enum):
    """Which way a value moves as rows are added."""

    FALLS = "falls"
    RISES = "rises"
    WAVERS = "wavers"


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
            AggregateKind("collect", Trend.WAVERS, pools=False),
            AggregateKind("with", Trend.FALLS),
        )
    }
)


WITH = "with"
"""The aggregate of what goes with the best value of the `min` or `max` beside it."""

PICK_ONE = frozenset({"min", "max", "mmin", "mmax"})
"""The aggregates that keep one best value per group, with which others can be carried along."""


def spread(tree: Tree) -> Tree:
    """The tree with a column for each part of `min<(C, P)>`."""
    return replace(tree, statements=tuple(map(_spread_statement, tree.statements)))


def _spread_statement(statement: Statement) -> Statement:
    if not isinstance(statement, Rule) or not any(map(_is_spread, statement.head.args)):
        return statement
    args = tuple(part for arg in statement.head.args for part in _parts(arg))
    return replace(statement, head=replace(statement.head, args=args))


def _is_spread(arg: Term | Aggregate) -> bool:
    return isinstance(arg, Aggregate) and arg.function in PICK_ONE and arg.limit is None and len(arg.args) > 1


def _parts(arg: Term | Aggregate) -> tuple[Term | Aggregate, ...]:
    if not isinstance(arg, Aggregate) or not _is_spread(arg):
        return (arg,)
    first, *rest = arg.args
    carried = (Aggregate(WITH, (each,), span=each.span or arg.span) for each in rest)
    return (replace(arg, args=(first,)), *carried)


def value_columns(head: Head) -> tuple[int, ...]:
    """The positions of the head that are aggregates of their own, and not carried along with another."""
    return tuple(at for at in aggregate_columns(head) if at not in carried_columns(head))


def carried_columns(head: Head) -> tuple[int, ...]:
    """The positions of the head that go with the best value of another."""
    return tuple(at for at, arg in enumerate(head.args) if isinstance(arg, Aggregate) and arg.function == WITH)


def aggregate_columns(head: Head) -> tuple[int, ...]:
    """The positions of the head that are aggregates."""
    return tuple(position for position, arg in enumerate(head.args) if isinstance(arg, Aggregate))
