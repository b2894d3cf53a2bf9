"""The rows of a table with the provenance of each: merged at once, or only when it matters.

*Eager* merges each derivation into the row's annotation. *Lazy* uses the first and lays later ones aside: while the
first holds, nobody needs to know of another, so a disjunction that nothing may ever ask for is not computed.
"""

from __future__ import annotations

from collections.abc import Collection
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
        return provenance

    def touched(self, dead: Collection[int]) -> list[Row]:
        """The rows whose annotation names one of these facts."""
        free = self.algebra.without
        return [row for row, one in self.table.rows.items() if free(one, dead) is not one]

    def without(self, dead: Collection[int]) -> list[Row]:
        """Facts died; the rows that have no derivation left, which are removed."""
        free = self.algebra.without
        gone: list[Row] = []
        changed = [(row, new) for row, old in self.table.rows.items() if (new := free(old, dead)) is not old]
        for row in [row for row, many in self._aside.items() if any(free(one, dead) is not one for one in many)]:
            left = [new for one in self._aside[row] if (new := free(one, dead)) is not None]
            if left:
                self._aside[row] = left
            else:
                del self._aside[row]
        for row, new in changed:
            held = new if new is not None else self._merged(row)
            if held is None:
                self.table.remove(row)
                gone.append(row)
            else:
                self.table.put(row, held)
        return gone

    def all(self, row: Row) -> Annotation | None:
        """All that is known of a row."""
        found = self.table.rows.get(row)
        for one in self._aside.get(row, ()):
            found = one if found is None else self.algebra.either(found, one)
        return found

    def stored(self) -> list[tuple[Row, Annotation]]:
        return [*self.table.rows.items(), *((row, one) for row, many in self._aside.items() for one in many)]

    def _merged(self, row: Row) -> Annotation | None:
        found: Annotation | None = None
        for one in self._aside.pop(row, ()):
            found = one if found is None else self.algebra.either(found, one)
        return found
