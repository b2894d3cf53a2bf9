"""The rows of a table with the provenance of each: merged at once, or only when it matters.

*Eager* merges each derivation into the row's annotation. *Lazy* uses the first and lays later ones aside: while the
first holds, nobody needs to know of another. When it dies, the smallest of those that are left takes its place, and
the others stay aside: a disjunction, which on a dense network soon is larger than any message should be, is computed
only for whoever asks for it.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Generic

from headwater.network.simulator.provenance.algebra import Algebra, Annotation
from headwater.network.simulator.provenance.fact_index import Named
from headwater.network.simulator.rows.table import HashTable
from headwater.network.simulator.rows.terms import Row


class Provenances(Generic[Annotation]):
    def __init__(self, algebra: Algebra[Annotation], table: HashTable[Annotation], *, lazy: bool) -> None:
        self.algebra = algebra
        self.table = table
        self._lazy = lazy
        self._aside: dict[Row, list[Annotation]] = {}
        self._named = Named(algebra, self.stored)

    def add(self, row: Row, provenance: Annotation) -> Annotation | None:
        """A derivation came; what others should know of it, if anything."""
        old = self.table.rows.get(row)
        if old is None or self._lazy:
            self._named.note(row, provenance)
        if old is None:
            self.table.put(row, provenance)
            return provenance
        if self._lazy:
            self._aside.setdefault(row, []).append(provenance)
            return None
        new = self.algebra.either(old, provenance)
        if new is old:
            return None
        self._named.drop(old)
        self._named.note(row, new)
        self.table.put(row, new)
        return min(provenance, new, key=self.algebra.size)

    def touched(self, dead: Set[int]) -> list[Row]:
        """The rows that may have an annotation which names one of these facts."""
        found = dict.fromkeys(self._named.of(dead))
        unlisted = ((row, one) for row in self._named.unlisted() for one in self.kept(row))
        found.update(dict.fromkeys(self.algebra.touched(unlisted, dead)))
        return [row for row in found if row in self.table.rows]

    def without(self, dead: Set[int]) -> list[Row]:
        """Facts died; the rows that have no derivation left, which are removed."""
        gone: list[Row] = []
        for row in self.touched(dead):
            self._free_aside(row, dead)
            old = self.table.rows[row]
            new = self._freed(old, dead)
            if new is None:
                new = self._another(row)
            if new is None:
                self.table.remove(row)
                gone.append(row)
            elif new is not old:
                self.table.put(row, new)
        self._named.forget(dead)
        return gone

    def _freed(self, one: Annotation, dead: Set[int]) -> Annotation | None:
        left = self.algebra.without(one, dead)
        if left is None:
            self._named.drop(one)
        return left

    def _free_aside(self, row: Row, dead: Set[int]) -> None:
        aside = self._aside.get(row)
        if aside is not None:
            left = [new for one in aside if (new := self._freed(one, dead)) is not None]
            if left:
                self._aside[row] = left
            else:
                del self._aside[row]

    def kept(self, row: Row) -> list[Annotation]:
        """What is stored of a row: the annotation that the joins see, and those laid aside."""
        held = self.table.rows.get(row)
        return [] if held is None else [held, *self._aside.get(row, ())]

    def stored(self) -> list[tuple[Row, Annotation]]:
        return [*self.table.rows.items(), *((row, one) for row, many in self._aside.items() for one in many)]

    def _another(self, row: Row) -> Annotation | None:
        """The smallest of the derivations laid aside."""
        left = self._aside.pop(row, None)
        if left is None:
            return None
        found = min(left, key=self.algebra.size)
        left.remove(found)
        if left:
            self._aside[row] = left
        return found
