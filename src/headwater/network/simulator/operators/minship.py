"""MinShip: of many derivations of a row, one is sent and the others wait (000, Algorithm 3).

The first derivation of a row is sent at once. Later ones, unless absorbed by what was sent, are kept. *Eager* sends
them in batches of W rows; *lazy* keeps them until what was sent has died, because only then do they matter to others.
At the end of a stream both send what is due.

Where this departs from Algorithm 3:

- What was sent (`Bsent`) loses dead facts and grows with everything that is sent. The algorithm sets it once: a row
  that dies and is derived anew would count as sent, and never be sent again.
- The algorithm answers a deletion by sending it (DEL) and then the derivations it has kept (INS); its text has the
  other order. In between the receiver would drop the row and everything built on it. Here no DEL is sent: the receiver
  learns of the dead facts itself.
- A dead fact removes kept derivations of all rows that rest on it, sent or not.
- W counts the rows that are due, so with lazy shipping the alternatives of up to W rows go into one batch.
- Lazy shipping keeps nothing (`Pins`): the node's own tables have every local derivation of the row, and
  `AnnotatedNode` pulls them when they are needed. It then sends *one*, the smallest, where the algorithm sends all as
  one formula. That is what its text says of lazy propagation, and it keeps messages small: on a field of 200 sensors
  the formulas of one delete come to megabytes, the smallest derivations to kilobytes.

`buffered_ship` has the algorithm nearer to its letter, for comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Generic, TypeAlias

from headwater.network.simulator.operators.selection import AggSel
from headwater.network.simulator.provenance.algebra import Algebra, Annotation
from headwater.network.simulator.provenance.annotated_rows import AnnotatedRows
from headwater.network.simulator.rows.table import HashTable
from headwater.network.simulator.rows.terms import Row
from headwater.plan.model import Pick


@dataclass(frozen=True, slots=True)
class Eager:
    """Send every new derivation, in batches of `batch` rows; news of dead facts wait for each other up to `notices`."""

    batch: int = 1
    notices: int = 1


@dataclass(frozen=True, slots=True)
class Lazy:
    """Send another derivation only when those sent have died, in batches of `batch` rows; `notices` as for `Eager`."""

    batch: int = 1
    notices: int = 1


@dataclass(frozen=True, slots=True)
class BufferedEager:
    """Eager as Algorithm 3 prints it: deletions travel row by row; both kinds wait until `batch` rows are buffered."""

    batch: int = 1


@dataclass(frozen=True, slots=True)
class BufferedLazy:
    """Lazy as Algorithm 3 prints it: all derivations are buffered; a deleted row goes with all that are left."""

    batch: int = 1


Shipping: TypeAlias = Eager | Lazy | BufferedEager | BufferedLazy
"""How rows leave a node. Whatever a batch still lacks is sent when no message is under way any more."""


class MinShip(Generic[Annotation]):
    """The rows of one outbox: `sent`, with all that was sent of each and still holds, and those kept back."""

    def __init__(self, algebra: Algebra[Annotation], picks: tuple[Pick, ...], shipping: Shipping) -> None:
        self.sent = AnnotatedRows(algebra, HashTable[Annotation](), lazy=False)
        self.kept: dict[Row, Annotation] = {}
        self._algebra = algebra
        store = AnnotatedRows(algebra, HashTable[Annotation](), lazy=isinstance(shipping, Lazy))
        self.selection = AggSel(store, HashTable[Annotation](), picks) if picks else None
        self._batch = shipping.batch
        self._due: dict[Row, None] = {}

    @property
    def known(self) -> Mapping[Row, Annotation]:
        """The rows of which a derivation holds that was sent, or need not be because better rows were."""
        return self.sent.table.rows if self.selection is None else self.selection.known

    def offer(self, row: Row, provenance: Annotation) -> list[tuple[Row, Annotation]]:
        """A derivation came; what is to be sent now."""
        if self.selection is None:
            return self._take(row, provenance)
        return [due for passing in self.selection.offer(row, provenance) for due in self._take(*passing)]

    def without(self, dead: Set[int]) -> list[Row]:
        """Facts died; the rows of which nothing that holds is known here any more."""
        for row in self._algebra.touched(self.kept.items(), dead):
            new = self._algebra.without(self.kept[row], dead)
            if new is None:
                del self.kept[row]
                self._due.pop(row, None)
            else:
                self.kept[row] = new
        gone = []
        for row in self.sent.without(dead):
            if row in self.kept:
                self._due[row] = None
            else:
                gone.append(row)
        return gone if self.selection is None else self.selection.without(dead)

    def passing(self) -> list[tuple[Row, Annotation]]:
        """What is to be sent only now, because better rows are gone."""
        if self.selection is None:
            return []
        return [due for passing in self.selection.passing() for due in self._take(*passing)]

    def replace(self, row: Row, provenance: Annotation) -> None:
        """Another derivation for a row of which everything sent has died; it is due."""
        self.kept[row] = provenance
        self._due[row] = None

    def full(self) -> list[tuple[Row, Annotation]]:
        """What is due, if that fills a batch."""
        return self.flush() if len(self._due) >= self._batch else []

    def flush(self) -> list[tuple[Row, Annotation]]:
        """Everything that is due."""
        out = []
        for row in self._due:
            kept = self.kept.pop(row)
            self.sent.add(row, kept)
            out.append((row, min(kept, self.sent.table.rows[row], key=self._algebra.size)))
        self._due = {}
        return out

    def stored(self) -> Iterator[tuple[Row, Annotation]]:
        """All that is stored here, row by row."""
        yield from self.sent.stored()
        yield from self.kept.items()
        if self.selection is not None:
            yield from self.selection.store.stored()

    def _take(self, row: Row, provenance: Annotation) -> list[tuple[Row, Annotation]]:
        kept, sent = self.kept.get(row), self.sent.table.rows.get(row)
        if sent is None and kept is None:
            self.sent.add(row, provenance)
            return [(row, provenance)]
        if sent is not None and self._algebra.either(sent, provenance) is sent:
            return []
        self.kept[row] = provenance if kept is None else self._algebra.either(kept, provenance)
        self._hold(row)
        return self.full()

    def _hold(self, row: Row) -> None:
        """A derivation of a row was kept that the receiver may need."""
        self._due[row] = None
