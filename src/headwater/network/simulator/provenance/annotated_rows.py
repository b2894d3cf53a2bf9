"""The rows of a table with the provenance of each: merged at once, or only when it matters.

*Eager* merges each derivation into the row's annotation. *Lazy* uses the first and lays later ones aside: while the
first holds, no other is needed. When it dies, the smallest of the others takes its place. A disjunction, which on a
dense network soon is larger than any message should be, is computed only on demand.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Generic

from headwater.network.simulator.provenance.algebra import Algebra, Annotation
from headwater.network.simulator.provenance.fact_index import FactIndex
from headwater.network.simulator.rows.table import HashTable
from headwater.network.simulator.rows.terms import Row


class AnnotatedRows(Generic[Annotation]):
    """`table` has the annotation of each row that the joins see."""

    def __init__(self, algebra: Algebra[Annotation], table: HashTable[Annotation], *, lazy: bool) -> None:
        self.algebra = algebra
        self.table = table
        self._lazy = lazy
        self._aside: dict[Row, list[Annotation]] = {}
        self._index = FactIndex(algebra, self.stored)

    def add(self, row: Row, provenance: Annotation) -> Annotation | None:
        """A derivation came; what is to be passed on of it, if anything."""
        old = self.table.rows.get(row)
        if old is None or self._lazy:
            self._index.note(row, provenance)
        if old is None:
            self.table.put(row, provenance)
            return provenance
        if self._lazy:
            self._aside.setdefault(row, []).append(provenance)
            return None
        new = self.algebra.either(old, provenance)
        if new is old:
            return None
        self._index.drop(old)
        self._index.note(row, new)
        self.table.put(row, new)
        return min(provenance, new, key=self.algebra.size)

    def touched(self, dead: Set[int]) -> list[Row]:
        """The rows that may have an annotation which names one of these facts."""
        found = dict.fromkeys(self._index.of(dead))
        unlisted = ((row, annotation) for row in self._index.unlisted() for annotation in self.kept(row))
        found.update(dict.fromkeys(self.algebra.touched(unlisted, dead)))
        return [row for row in found if row in self.table.rows]

    def without(self, dead: Set[int]) -> list[Row]:
        """Facts died; the rows that have no derivation left, which are removed."""
        gone: list[Row] = []
        for row in self.touched(dead):
            aside = [left for kept in self._aside.get(row, ()) if (left := self._freed(kept, dead)) is not None]
            old = self.table.rows[row]
            new = self._freed(old, dead)
            if new is None and aside:
                new = min(aside, key=self.algebra.size)
                aside.remove(new)
                del self._aside[row]
            if aside:
                self._aside[row] = aside
            else:
                self._aside.pop(row, None)
            if new is None:
                self.table.remove(row)
                gone.append(row)
            elif new is not old:
                self.table.put(row, new)
        self._index.forget(dead)
        return gone

    def _freed(self, annotation: Annotation, dead: Set[int]) -> Annotation | None:
        left = self.algebra.without(annotation, dead)
        if left is None:
            self._index.drop(annotation)
        return left

    def kept(self, row: Row) -> list[Annotation]:
        """What is stored of a row: the annotation that the joins see, and those laid aside."""
        held = self.table.rows.get(row)
        return [] if held is None else [held, *self._aside.get(row, ())]

    def stored(self) -> list[tuple[Row, Annotation]]:
        return [*self.table.rows.items(), *((row, kept) for row, aside in self._aside.items() for kept in aside)]
