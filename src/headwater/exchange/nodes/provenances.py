"""The rows of a table with the provenance of each: merged at once, or only when it matters.

*Eager* merges each derivation into the row's annotation. *Lazy* uses the first and lays later ones aside: while the
first holds, nobody needs to know of another. When it dies, the smallest of those that are left takes its place, and
the others stay aside: a disjunction, which on a dense network soon is larger than any message should be, is computed
only for whoever asks for it.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Generic

from headwater.exchange.nodes.algebra import Algebra, Annotation
from headwater.exchange.nodes.table import HashTable
from headwater.exchange.nodes.terms import Row


class Provenances(Generic[Annotation]):
    def __init__(self, algebra: Algebra[Annotation], table: HashTable[Annotation], *, lazy: bool) -> None:
        self.algebra = algebra
        self.table = table
        self._lazy = lazy
        self._aside: dict[Row, list[Annotation]] = {}

    def add(self, row: Row, provenance: Annotation) -> Annotation | None:
        """A derivation came; what others should know of it, if anything."""
        old = self.table.rows.get(row)
        if old is None:
            self.table.put(row, provenance)
            return provenance
        if self._lazy:
            self._aside.setdefault(row, []).append(provenance)
            return None
        new = self.algebra.either(old, provenance)
        if new is old:
            return None
        self.table.put(row, new)
        return min(provenance, new, key=self.algebra.size)

    def touched(self, dead: Set[int]) -> list[Row]:
        """The rows whose annotation may name one of these facts."""
        return self.algebra.touched(self.table.rows.items(), dead)

    def without(self, dead: Set[int]) -> list[Row]:
        """Facts died; the rows that have no derivation left, which are removed."""
        free = self.algebra.without
        gone: list[Row] = []
        waiting = ((row, one) for row, many in self._aside.items() for one in many)
        for row in set(self.algebra.touched(waiting, dead)):
            left = [new for one in self._aside[row] if (new := free(one, dead)) is not None]
            if left:
                self._aside[row] = left
            else:
                del self._aside[row]
        for row in self.touched(dead):
            old = self.table.rows[row]
            new = free(old, dead)
            if new is None:
                new = self._another(row)
            if new is None:
                self.table.remove(row)
                gone.append(row)
            elif new is not old:
                self.table.put(row, new)
        return gone

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
