"""What only provenance can answer about a row: the facts it needs, the minimal sets that derive it, its probability."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from typing import Any, TypeAlias

from headwater.core.errors import DataError
from headwater.core.pictures.html import card, rows_table
from headwater.provenance.functions import absorption
from headwater.provenance.functions.absorption import Function
from headwater.provenance.functions.minimal_sets import MinimalSets
from headwater.provenance.functions.node_budget import NodeBudget
from headwater.provenance.functions.variables import Fact

Chances: TypeAlias = Any  # a number, or a mapping of relations to numbers or to mappings of rows to numbers

_SHOWN = 50  # facts that a notebook shows


@dataclass(frozen=True, slots=True)
class Bounds:
    """A probability that is only known to lie between two numbers, because exact provenance needs too many nodes."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"between {self.low:.6g} and {self.high:.6g}"


class RowProvenance:
    """One row's function of base facts, and the answers read off it."""

    def __init__(self, function: Function, fact: Callable[[int], Fact], nodes: int) -> None:
        self.function = function
        self._fact = fact
        self._nodes = nodes

    @property
    def holds(self) -> bool:
        return absorption.holds(self.function)

    def critical(self) -> list[Fact]:
        """The facts without any one of which the row is gone."""
        return [self._fact(number) for number in absorption.diagram(self.function).needed()]

    def witnesses(self) -> Iterator[list[Fact]]:
        """The minimal sets of facts that are enough for the row, smallest first."""
        return self._sets(absorption.diagram(self.function))

    def cuts(self) -> Iterator[list[Fact]]:
        """The minimal sets of facts whose loss takes the row away, smallest first."""
        return self._sets(absorption.diagram(self.function).dual())

    def _sets(self, nodes: Any) -> Iterator[list[Fact]]:
        monotone = absorption.closed_upwards(nodes, NodeBudget(self._nodes).nodes)
        for members in MinimalSets(absorption.diagram(monotone), self._nodes):
            yield [self._fact(number) for number in members]

    def probability(self, chance: Callable[[Fact], Any]) -> Any:
        return absorption.diagram(self.function).probability(lambda number: chance(self._fact(number)))


class Critical:
    """What a row needs: `facts`, none of which it can lose, and `cuts`, the sets it cannot lose together."""

    def __init__(self, relation: str, row: tuple[Any, ...], provenance: RowProvenance) -> None:
        self.relation = relation
        self.row = row
        self._provenance = provenance
        self.facts: list[Fact] = provenance.critical()

    def cuts(self, limit: int | None = 10) -> list[list[Fact]]:
        """The minimal sets of facts whose loss takes the row away, smallest first; `facts` are those of one member."""
        return first(self._provenance.cuts(), limit)

    def __repr__(self) -> str:
        return f"Critical({self.relation}{self.row!r}: {len(self.facts)} facts)"


@dataclass(frozen=True, slots=True)
class Impact:
    """How many rows of each queried view are there only because of one fact."""

    fact: Fact
    rows: int
    by_view: Mapping[str, int]


class Impacts(list[Impact]):
    """Facts with what rests on each alone, most first."""

    def _repr_html_(self) -> str:
        """The first facts as a table, for notebooks."""
        shown, most = self[:_SHOWN], max([1, *(impact.rows for impact in self)])
        rows = [
            (_named(impact.fact), impact.rows, "█" * round(20 * impact.rows / most), _by_view(impact))
            for impact in shown
        ]
        columns = ("fact", "rows lost without it", "", "by view")
        return card("Blast radius", rows_table(columns, rows, numbers=(1,), left_out=len(self) - len(shown)))


def _named(fact: Fact) -> str:
    return f"{fact[0]}({', '.join(map(str, fact[1]))})"


def _by_view(impact: Impact) -> str:
    return ", ".join(f"{view} {rows:,}" for view, rows in impact.by_view.items())


def ranked(found: Mapping[Fact, Mapping[str, int]]) -> Impacts:
    """Facts by the rows that depend on each alone, most first; at a tie as they came."""
    impacts = [Impact(fact, sum(views.values()), dict(views)) for fact, views in found.items()]
    return Impacts(sorted(impacts, key=lambda impact: -impact.rows))


def first(sets: Iterator[list[Fact]], limit: int | None) -> list[list[Fact]]:
    return list(sets) if limit is None else list(islice(sets, min(_positive(limit), sys.maxsize)))


def _positive(limit: int) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError(f"a limit is a number from 1 on, not {limit!r}")
    return limit


def chance_of(
    chances: Chances, known: Callable[[str], object], kept: Callable[[str, Any], tuple[Any, ...]]
) -> Callable[[Fact], Any]:
    """How probable each fact is: by one number for all, by relation, or by row. Facts not mentioned are certain.

    `known` raises for a relation whose facts cannot be uncertain; `kept` gives a row in the values that facts have, and
    raises if it cannot be a row of the relation.
    """
    if not isinstance(chances, Mapping):
        same = _checked(chances, "all facts")
        return lambda fact: same
    by_relation: dict[str, Any] = {}
    by_row: dict[Fact, Any] = {}
    for relation, given in chances.items():
        known(relation)
        if isinstance(given, Mapping):
            for row, chance in given.items():
                by_row[relation, kept(relation, row)] = _checked(chance, f"{relation}{row!r}")
        else:
            by_relation[relation] = _checked(given, f"`{relation}`")
    return lambda fact: by_row.get(fact, by_relation.get(fact[0], 1))


def _checked(given: Any, what: str) -> Any:
    if isinstance(given, bool) or not isinstance(given, Real) or not 0 <= float(given) <= 1:
        raise DataError(f"error[HW805]: the probability of {what} is a number from 0 to 1, not {given!r}")
    return given
