"""MinShip: of many derivations of a row, one is sent and the others wait (000, Algorithm 3).

The first derivation of a row goes out at once. Later ones, unless absorbed by what was sent, are kept. *Eager*
sends them on in batches of W rows; *lazy* keeps them until what was sent has died, and sends them then, because
only then do they matter to anyone else. At the end of a stream both send what is due.

Where this departs from Algorithm 3:

- What was sent (`Bsent`) is freed of dead facts and grows with everything that is sent. The algorithm sets it once:
  a row that dies and is derived anew would count as sent, and be kept back for ever.
- The algorithm answers a deletion by sending it (DEL) and then the derivations it has kept (INS), while its text
  has the other order. In between the receiver would drop the row and everything built on it. Here no DEL is sent,
  because the receiver learns of the dead facts itself; the derivations kept travel alone.
- A deletion takes away kept derivations of all rows that rest on the dead fact, not only when the deleted tuple has
  been sent; a row whose every derivation died while it waited is forgotten.
- W counts the rows that are due, so with lazy shipping the alternatives of up to W rows go into one batch.
- What lazy shipping would keep (`Pins`) is what the node's own tables say: every local derivation of the row. So it
  is not kept but worked out when it is needed (`Annotated` pulls it), and a derivation of a row that has been sent
  costs nothing.
- Lazy shipping sends *one* other derivation, the smallest, where the algorithm sends all that were kept as one
  formula. That is what its text says of lazy propagation, and it keeps messages small: on a field of 200 sensors
  the formulas of one delete come to megabytes, the smallest derivations to kilobytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Generic, TypeAlias

from headwater.network.simulator.operators.selection import AggSel
from headwater.network.simulator.provenance.algebra import Algebra, Annotation
from headwater.network.simulator.provenance.fact_index import Named
from headwater.network.simulator.provenance.provenances import Provenances
from headwater.network.simulator.rows.table import HashTable
from headwater.network.simulator.rows.terms import Row
from headwater.plan.model import Pick


@dataclass(frozen=True, slots=True)
class Eager:
    """Send every new derivation, in batches of `batch` rows."""

    batch: int = 1


@dataclass(frozen=True, slots=True)
class Lazy:
    """Send another derivation only when those sent have died, in batches of `batch` rows."""

    batch: int = 1


Shipping: TypeAlias = Eager | Lazy


class MinShip(Generic[Annotation]):
    def __init__(self, algebra: Algebra[Annotation], picks: tuple[Pick, ...], shipping: Shipping) -> None:
        self.sent: dict[Row, Annotation] = {}
        self.kept: dict[Row, Annotation] = {}
        self._algebra = algebra
        self._named = Named(algebra, self.sent.items)
        store = Provenances(algebra, HashTable[Annotation](), lazy=isinstance(shipping, Lazy))
        self.selection = AggSel(store, HashTable[Annotation](), picks) if picks else None
        self._batch = shipping.batch
        self._due: dict[Row, None] = {}

    @property
    def known(self) -> Mapping[Row, Annotation]:
        """The rows of which a derivation holds that was sent, or need not be because better rows were."""
        return self.sent if self.selection is None else self.selection.store.table.rows

    def offer(self, row: Row, provenance: Annotation) -> list[tuple[Row, Annotation]]:
        """A derivation came; what is to be sent now."""
        if self.selection is None:
            return self._take(row, provenance)
        return [one for passing in self.selection.offer(row, provenance) for one in self._take(*passing)]

    def without(self, dead: Set[int]) -> list[Row]:
        """Facts died; the rows of which nothing that holds is known here any more."""
        free = self._algebra.without
        for row in self._algebra.touched(self.kept.items(), dead):
            new = free(self.kept[row], dead)
            if new is None:
                del self.kept[row]
                self._due.pop(row, None)
            else:
                self.kept[row] = new
        gone = []
        for row in self._sent_naming(dead):
            old = self.sent[row]
            new = free(old, dead)
            if new is not None:
                self.sent[row] = new
                continue
            del self.sent[row]
            self._named.drop(old)
            if row in self.kept:
                self._due[row] = None
            else:
                gone.append(row)
        self._named.forget(dead)
        return gone if self.selection is None else self.selection.without(dead)

    def _sent_naming(self, dead: Set[int]) -> list[Row]:
        unlisted = ((row, self.sent[row]) for row in self._named.unlisted() if row in self.sent)
        found = dict.fromkeys((*self._named.of(dead), *self._algebra.touched(unlisted, dead)))
        return [row for row in found if row in self.sent]

    def passing(self) -> list[tuple[Row, Annotation]]:
        """What is to be sent only now, because better rows are gone."""
        if self.selection is None:
            return []
        return [one for row, told in self.selection.passing() for one in self._take(row, told)]

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
            told = self.kept.pop(row)
            sent = self.sent.get(row)
            whole = told if sent is None else self._algebra.either(sent, told)
            if whole is not sent:
                self._tell(row, whole)
            out.append((row, min(told, whole, key=self._algebra.size)))
        self._due = {}
        return out

    def stored(self) -> Iterator[tuple[Row, Annotation]]:
        """All that is stored here, row by row."""
        yield from self.sent.items()
        yield from self.kept.items()
        if self.selection is not None:
            yield from self.selection.store.stored()

    def _tell(self, row: Row, provenance: Annotation) -> None:
        """This is what was sent of a row from now on."""
        old = self.sent.get(row)
        if old is not None:
            self._named.drop(old)
        self.sent[row] = provenance
        self._named.note(row, provenance)

    def _take(self, row: Row, provenance: Annotation) -> list[tuple[Row, Annotation]]:
        kept, sent = self.kept.get(row), self.sent.get(row)
        if sent is None and kept is None:
            self._tell(row, provenance)
            return [(row, provenance)]
        if sent is not None and self._algebra.either(sent, provenance) is sent:
            return []
        self.kept[row] = provenance if kept is None else self._algebra.either(kept, provenance)
        self._due[row] = None
        return self.full()
