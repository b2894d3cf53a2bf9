"""MinShip in its buffered form, close to the letter of 000, Algorithm 3.

Every derivation of a row that is not sent at once is buffered in `Pins` (`kept`), merged into one formula. A death that
touches what was sent of a row is a deletion of that row: it is buffered in `Pdel`, and sent as the row with the dead
facts. Once the buffers have W rows, *eager* sends both; *lazy* sends the deletions, and of `Pins` only the rows that
are deleted, each with its whole formula.

What is as printed and dear: a deletion travels row by row, and every buffered derivation of a row goes out together,
needed or not. `MinShip` sends the number of a dead fact once for all rows, and one derivation at a time.

Where this departs from Algorithm 3:

- Insertions of a batch arrive before its deletions, as the paper's text says. In the printed order of lazy shipping the
  receiver would drop the row and everything built on it before the alternatives arrive.
- What was sent (`Bsent`, here `sent`) loses dead facts and grows with everything that is sent. As printed, a row that
  dies and is derived anew would count as sent, and never be sent again.
- A deletion names the facts of this row that died, and removes them from all rows of the receiver (line 20 does so in
  `Pins`). A row that the receiver owns with another derivation stays.
"""

from __future__ import annotations

from collections.abc import Set

from headwater.network.simulator.operators.minship import BufferedEager, BufferedLazy, MinShip
from headwater.network.simulator.provenance.algebra import Algebra, Annotation
from headwater.network.simulator.rows.terms import Row
from headwater.plan.model import Pick


class BufferedShip(MinShip[Annotation]):
    """An outbox with deletions: `deleted` are the rows to be withdrawn, each with the facts that died."""

    def __init__(
        self, algebra: Algebra[Annotation], picks: tuple[Pick, ...], shipping: BufferedEager | BufferedLazy
    ) -> None:
        super().__init__(algebra, picks, shipping)
        self._lazy = isinstance(shipping, BufferedLazy)
        self._pdel: dict[Row, set[int]] = {}
        self.deleted: dict[Row, set[int]] = {}

    def without(self, dead: Set[int]) -> list[Row]:
        for row in self.sent.touched(dead):
            if facts := self._named(self.sent.table.rows[row], dead):
                self._pdel.setdefault(row, set()).update(facts)
        gone = super().without(dead)
        self._due.update((row, None) for row in self._pdel if row in self.kept)
        return gone

    def full(self) -> list[tuple[Row, Annotation]]:
        return self.flush() if len(self.kept) + len(self._pdel) >= self._batch else []

    def flush(self) -> list[tuple[Row, Annotation]]:
        self.deleted.update(self._pdel)
        self._pdel = {}
        out = [(row, self.kept.pop(row)) for row in self._due]
        for row, kept in out:
            self.sent.add(row, kept)
        self._due = {}
        return out

    def _hold(self, row: Row) -> None:
        """Of rows that are not deleted, lazy shipping sends no second derivation."""
        if not self._lazy or row in self._pdel or row not in self.sent.table.rows:
            super()._hold(row)

    def _named(self, annotation: Annotation, dead: Set[int]) -> set[int]:
        """Which of these facts it rests on."""
        facts = self._algebra.facts(annotation)
        if facts is not None:
            return {fact for fact in facts if fact in dead}
        if self._algebra.without(annotation, dead) is annotation:
            return set()
        return {fact for fact in dead if self._algebra.without(annotation, {fact}) is not annotation}
