"""Aggregate selection on a stream of rows with provenance (000, Algorithm 4): only rows that are best go on.

Of each group, and for each aggregate, the rows with the best value pass (ties too; for `top`, the best few values).
All others are kept back, because one of them is best once those before it are gone. With several aggregates, a row
that is best for one of them passes.

Where this departs from Algorithm 4:

- An overtaken row is not withdrawn downstream: it is still derivable, and what was built on it is overtaken in its
  turn. (The algorithm outputs a deletion of the old best for every improvement.) When it is best again, it passes again
  only with new derivations.
- Ties pass; the algorithm keeps the first of them, so that the result depends on the order of arrival.
- A best row that loses a derivation but not its last one stays best; the algorithm searches again. For an empty group
  nothing is output; the algorithm outputs a null row.
- The provenance of every row is kept up to date, best or not (the algorithm's line 13 compares with an `oldPv` that
  it sets only for deletions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any, Generic

from headwater.network.simulator.provenance.algebra import Annotation
from headwater.network.simulator.provenance.annotated_rows import AnnotatedRows
from headwater.network.simulator.rows.join import picker
from headwater.network.simulator.rows.table import HashTable, key_of
from headwater.network.simulator.rows.terms import Row
from headwater.plan.model import Best, Pick


class _Groups:
    """The rows of one aggregate by group, and the best values of each group."""

    def __init__(self, pick: Pick) -> None:
        self.group: Callable[[Row], Any] = key_of(pick.group)
        self._value = picker(pick.ranked)
        self._largest = pick.best is Best.MAX
        self._limit = pick.limit
        self.rows: dict[Any, dict[Row, None]] = {}
        self._best: dict[Any, list[Row]] = {}

    def add(self, row: Row) -> None:
        group, value = self.group(row), self._value(row)
        self.rows.setdefault(group, {})[row] = None
        best = self._best.setdefault(group, [])
        if value not in best and (len(best) < self._limit or self._before(value, best[-1])):
            best.append(value)
            self._trim(best)

    def remove(self, row: Row) -> None:
        group = self.group(row)
        left = self.rows[group]
        del left[row]
        if not left:
            del self.rows[group], self._best[group]
        elif self._value(row) in self._best[group]:
            best = list({self._value(row): None for row in left})
            self._trim(best)
            self._best[group] = best

    def is_best(self, row: Row) -> bool:
        return self._value(row) in self._best[self.group(row)]

    def _before(self, value: Row, other: Row) -> bool:
        left, right = self._rank(value), self._rank(other)
        return bool(left > right if self._largest else left < right)

    def _trim(self, values: list[Row]) -> None:
        values[:] = sorted(values, key=self._rank, reverse=self._largest)[: self._limit]

    def _rank(self, value: Row) -> Any:
        """A key that orders values; a null is worse than any of them."""
        return [(not self._largest,) if part is None else (self._largest, _sortable(part)) for part in value]


def _sortable(value: Any) -> Any:
    """A key that orders lists even where their items differ in type."""
    if isinstance(value, tuple):
        return (2, tuple(_sortable(item) for item in value))
    return (1, value) if isinstance(value, str) else (0, value)


class BestRows:
    """Which rows of a table with picks are best now."""

    def __init__(self, picks: tuple[Pick, ...]) -> None:
        self._picks = [_Groups(pick) for pick in picks]

    def add(self, row: Row) -> None:
        for pick in self._picks:
            pick.add(row)

    def remove(self, row: Row) -> None:
        for pick in self._picks:
            pick.remove(row)

    def is_best(self, row: Row) -> bool:
        return any(pick.is_best(row) for pick in self._picks)

    def beside(self, rows: Iterable[Row]) -> Iterator[Row]:
        """All rows in the groups of some rows, which may be gone already."""
        for pick in self._picks:
            for group in dict.fromkeys(map(pick.group, rows)):
                yield from pick.rows.get(group, ())


class AggSel(Generic[Annotation]):
    """Rows with their provenance, of which the best pass to `passed`: what the joins see, or what is shipped.

    Without picks every row passes, and `passed` is the table of the store itself.
    """

    def __init__(
        self, store: AnnotatedRows[Annotation], passed: HashTable[Annotation], picks: tuple[Pick, ...]
    ) -> None:
        self.store = store
        self.passed = passed
        self._best = BestRows(picks) if picks else None
        self._lost: dict[Row, None] = {}  # rows beside which others may be best now

    @property
    def known(self) -> Mapping[Row, Annotation]:
        """The rows of which a derivation holds."""
        return self.store.table.rows

    def offer(self, row: Row, provenance: Annotation) -> list[tuple[Row, Annotation]]:
        """A derivation came; what passes because of it."""
        known = row in self.known
        fresh = self.store.add(row, provenance)
        if fresh is None:
            return []
        if self._best is None:
            return [(row, fresh)]
        if not known:
            self._best.add(row)
        return self._passing(self._best, row)

    def without(self, dead: Set[int]) -> list[Row]:
        """Facts died; the rows that are gone. `passing` gives what passes in their place."""
        gone = self.store.without(dead)
        if self._best is None:
            return gone
        for row in gone:
            self._best.remove(row)
        self._lost.update(dict.fromkeys(gone))
        for row in self.store.algebra.touched(self.passed.rows.items(), dead):
            old = self.passed.rows[row]
            new = self.store.algebra.without(old, dead)
            if new is None:
                self.passed.remove(row)
                self._lost[row] = None  # what passed of it is gone; the rest, if any, passes if it is best
            elif new is not old:
                self.passed.put(row, new)
        return gone

    def passing(self) -> list[tuple[Row, Annotation]]:
        """What passes only now, because better rows are gone."""
        if self._best is None:
            return []
        rows = dict.fromkeys(self._best.beside(list(self._lost)))
        self._lost = {}
        return [passing for row in rows for passing in self._passing(self._best, row)]

    def shows(self, row: Row) -> bool:
        """Whether the row is in the view."""
        return row in self.known and (self._best is None or self._best.is_best(row))

    def beside(self, row: Row) -> Iterable[Row]:
        """The rows of its groups."""
        return () if self._best is None else self._best.beside([row])

    def stored(self) -> Iterator[tuple[Row, Annotation]]:
        yield from self.store.stored()
        if self._best is not None:
            yield from self.passed.rows.items()

    def _passing(self, best: BestRows, row: Row) -> list[tuple[Row, Annotation]]:
        now = self.known[row]
        if not best.is_best(row) or self.passed.rows.get(row) is now:
            return []
        self.passed.put(row, now)
        return [(row, now)]
