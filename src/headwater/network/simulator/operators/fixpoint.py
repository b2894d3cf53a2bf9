"""Fixpoint: the rows of one table on one node, each with its provenance (000, Algorithm 1).

A new derivation, also of a row that is there, goes on to the joins; one that is absorbed does not. A row is in the view
while its provenance holds.

Where this departs from Algorithm 1:

- What goes on is the derivation as it came, or all that is known of the row, whichever is smaller: absorption can make
  the whole simpler than its parts. The algorithm sends `new AND NOT old`, which is not monotone, and wrong once `old`
  has died.
- The algorithm's code sends no deletions (its text says that it does). Here none of a derived row is ever sent: dead
  *facts* are, to every node that may name them, and each node removes them from all its annotations.
- A table with aggregates lets only its best rows into the view (see `selection`), but keeps all.
- With lazy shipping, derivations beyond the first are neither merged nor passed on (see `annotated_rows`): the first
  has already led to all that they lead to.
"""

from __future__ import annotations

from headwater.network.simulator.operators.selection import AggSel
from headwater.network.simulator.provenance.algebra import Algebra, Annotation
from headwater.network.simulator.provenance.annotated_rows import AnnotatedRows
from headwater.network.simulator.rows.table import HashTable
from headwater.plan.model import Pick


class Fixpoint(AggSel[Annotation]):
    """`table` is what the joins see: all rows, or those that passed the selection."""

    def __init__(
        self, algebra: Algebra[Annotation], table: HashTable[Annotation], picks: tuple[Pick, ...], *, lazy: bool
    ) -> None:
        super().__init__(AnnotatedRows(algebra, HashTable() if picks else table, lazy=lazy), table, picks)
