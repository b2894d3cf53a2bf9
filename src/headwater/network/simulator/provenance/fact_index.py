"""Which rows have an annotation that names a fact: so that a death costs what it touches, not what is stored.

The lists are made when a fact dies for the first time, so inserts alone pay nothing for them. From then on rows are
listed with each annotation they get, and never taken out one by one: a fact's list has the rows that may name it, among
them some that no longer do. When those are too many, the lists are made anew. Rows whose annotations cannot list
their facts cheaply are *unlisted*: they must always be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import Generic

from headwater.network.simulator.provenance.algebra import Algebra, Annotation
from headwater.network.simulator.rows.terms import Row

_FEW = 1_000


class FactIndex(Generic[Annotation]):
    """Rows by the facts that their annotations name; a row may have several annotations."""

    def __init__(self, algebra: Algebra[Annotation], stored: Callable[[], Iterable[tuple[Row, Annotation]]]) -> None:
        """`stored` gives all rows with their annotations."""
        self._facts = algebra.facts
        self._stored = stored
        self._lists: dict[int, list[Row]] | None = None
        self._unlisted: dict[Row, None] = {}
        self._noted = 0
        self._dropped = 0

    def note(self, row: Row, annotation: Annotation) -> None:
        """A row has an annotation from now on, maybe beside others."""
        lists = self._lists
        if lists is None:
            return
        facts = self._facts(annotation)
        if facts is None:
            self._noted += 1
            self._unlisted[row] = None
            return
        self._noted += len(facts)
        for fact in facts:
            if fact in lists:
                lists[fact].append(row)
            else:
                lists[fact] = [row]

    def drop(self, annotation: Annotation) -> None:
        """An annotation is no longer there."""
        if self._lists is not None:
            facts = self._facts(annotation)
            self._dropped += 1 if facts is None else len(facts)

    def of(self, dead: Set[int]) -> Iterable[Row]:
        """The listed rows that may have an annotation which names one of these facts."""
        lists = self._made()
        return dict.fromkeys(row for fact in dead for row in lists.get(fact, ()))

    def unlisted(self) -> Iterable[Row]:
        """The rows that may have an annotation which is not listed."""
        self._made()
        return self._unlisted

    def forget(self, dead: Set[int]) -> None:
        """Nothing names these facts any more."""
        if self._dropped > _FEW and 2 * self._dropped > self._noted:
            self._lists = None
        if self._lists is not None:
            for fact in dead:
                self._lists.pop(fact, None)

    def _made(self) -> dict[int, list[Row]]:
        if self._lists is None:
            self._lists, self._unlisted = {}, {}
            self._noted = self._dropped = 0
            for row, annotation in self._stored():
                self.note(row, annotation)
        return self._lists
