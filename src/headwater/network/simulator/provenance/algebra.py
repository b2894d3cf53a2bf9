"""What a strategy with provenance asks of an annotation: four operations and a form on the wire (000, Figure 6).

An annotation says from which facts, in which combinations, its row follows. Facts are numbers, one for each time
that a base row comes: a row that goes and comes back is a new fact. A dead fact never lives again, so it may be removed
from an annotation at any time, on any node, any number of times, and messages that arrive late are still right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Protocol, TypeVar

from headwater.network.simulator.rows.terms import Row

Annotation = TypeVar("Annotation")


class Algebra(Protocol[Annotation]):
    """The operations of a kind of provenance."""

    def fact(self, number: int) -> Annotation:
        """Follows from this fact alone."""

    def always(self, table: str, row: Row) -> Annotation:
        """Follows from nothing: a fact of the program itself."""

    def joined(self, rule: int, table: str, row: Row, parts: Sequence[Annotation]) -> Annotation:
        """A row that a rule derives from all of its parts together."""

    def either(self, old: Annotation, new: Annotation) -> Annotation:
        """One derivation or the other. The very object `old` if the new one adds nothing."""

    def without(self, annotation: Annotation, dead: Set[int]) -> Annotation | None:
        """What is left when facts die; None: nothing. The same object if it names none of them."""

    def touched(self, annotations: Iterable[tuple[Row, Annotation]], dead: Set[int]) -> list[Row]:
        """The rows whose annotation may name one of these facts: none that does is left out."""

    def facts(self, annotation: Annotation) -> Sequence[int] | None:
        """The facts that it names; None where listing them takes too long."""

    def size(self, annotation: Annotation) -> int:
        """How much it names: of two derivations that both hold, the smaller is the better one to send."""

    def encode(self, annotations: Sequence[Annotation]) -> bytes:
        """Annotations as they travel, those of one message together."""

    def decode(self, content: bytes) -> list[Annotation]:
        """What `encode` wrote."""
