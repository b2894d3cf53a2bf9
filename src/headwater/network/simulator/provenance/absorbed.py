"""Absorption provenance on the wire and in the joins: which facts a row follows from, in which combinations (000, 4).

A formula is kept as what it is. Most rows are told of by one derivation: a *cube*, the facts that must all be
alive, kept as their sorted numbers. Only a disjunction of cubes neither of which absorbs the other becomes a
decision diagram, and what deaths leave of that may be a cube again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TypeAlias

from headwater.network.simulator.rows.terms import Row
from headwater.network.simulator.wire.message import Reader, put_number, put_packed, put_steps
from headwater.provenance.functions import absorption as diagrams
from headwater.provenance.functions.minimal_sets import MinimalSets

Cube: TypeAlias = tuple[int, ...]
Formula: TypeAlias = Cube | diagrams.Function

_CUBE, _APART, _DIAGRAM = 0, 1, 2  # how a formula is told
_FEW = 64  # rows of a message whose provenance is packed


class Absorption:
    """The algebra of absorption provenance; `nodes` bounds the size of one diagram."""

    def __init__(self, nodes: int | None = 2_000_000) -> None:
        self._most = nodes

    def fact(self, number: int) -> Formula:
        return (number,)

    def always(self, table: str, row: Row) -> Formula:
        return ()

    def joined(self, rule: int, table: str, row: Row, parts: Sequence[Formula]) -> Formula:
        if len(parts) == 2:
            left, right = parts
            if type(left) is tuple and type(right) is tuple:
                return tuple(sorted({*left, *right}))
        facts: set[int] = set()
        others = []
        for part in parts:
            if isinstance(part, tuple):
                facts.update(part)
            else:
                others.append(part)
        cube = tuple(sorted(facts))
        if not others:
            return cube
        found = self._diagram(cube)
        for other in others:
            found = diagrams.conjunction(found, other, self._most)
        return found

    def either(self, one: Formula, other: Formula) -> Formula:
        if isinstance(one, tuple) and isinstance(other, tuple):
            if _within(one, other):
                return one
            if _within(other, one):
                return other
        left = self._diagram(one)
        found = diagrams.disjunction(left, self._diagram(other), self._most)
        return one if diagrams.same(found, left) else found

    def without(self, one: Formula, dead: Set[int]) -> Formula | None:
        if isinstance(one, tuple):
            return one if dead.isdisjoint(one) else None
        found = diagrams.restrict(one, dead)
        if diagrams.is_never(found):
            return None
        return one if diagrams.same(found, one) else _plain(found)

    def touched(self, annotations: Iterable[tuple[Row, Formula]], dead: Set[int]) -> list[Row]:
        apart = dead.isdisjoint
        return [row for row, one in annotations if not isinstance(one, tuple) or not apart(one)]

    def facts(self, one: Formula) -> Cube | None:
        return one if isinstance(one, tuple) else None

    def size(self, one: Formula) -> int:
        return len(one) if isinstance(one, tuple) else diagrams.size(one)

    def witnesses(self, one: Formula, steps: int = 100_000) -> frozenset[frozenset[int]]:
        """The minimal sets of facts that the row follows from."""
        if isinstance(one, tuple):
            return frozenset({frozenset(one)})
        return frozenset(frozenset(found) for found in MinimalSets(diagrams.diagram(one), steps))

    def encode(self, annotations: Sequence[Formula]) -> bytes:
        """One after the other, each beginning with what it is and how long.

        The facts of a cube are in order, so that a step from one to the next is told and not the number. Rows that
        leave a node together often follow from the same row: where that is shorter, a cube is told by what it does
        not share with the one before. In a message of few rows, as most are when facts die, numbers are packed bit by
        bit, which takes a third less; many rows are told in whole bytes, because that takes less time.
        """
        out = bytearray()
        packed = len(annotations) <= _FEW
        put_facts = put_packed if packed else put_steps
        put_number(out, len(annotations) << 1 | packed)
        before: set[int] = set()
        for one in annotations:
            if isinstance(one, tuple):
                facts = set(one)
                apart = before ^ facts
                if len(apart) < len(one):
                    put_number(out, len(apart) << 2 | _APART)
                    put_facts(out, sorted(apart))
                else:
                    put_number(out, len(one) << 2 | _CUBE)
                    put_facts(out, one)
                before = facts
            else:
                content = diagrams.to_bytes(one)
                put_number(out, len(content) << 2 | _DIAGRAM)
                out += content
        return bytes(out)

    def decode(self, content: bytes) -> list[Formula]:
        source = Reader(content)
        found: list[Formula] = []
        before: Set[int] = frozenset()
        count = source.number()
        facts_of = source.packed if count & 1 else source.steps
        for _ in range(count >> 1):
            coded = source.number()
            kind, size = coded & 3, coded >> 2
            if kind == _DIAGRAM:
                found.append(diagrams.from_bytes(source.take(size)))
                continue
            facts = facts_of(size)
            if kind == _APART:
                facts = sorted(before ^ set(facts))
            before = set(facts)
            found.append(tuple(facts))
        return found

    def _diagram(self, one: Formula) -> diagrams.Function:
        if not isinstance(one, tuple):
            return one
        found = diagrams.always()
        for fact in reversed(one):
            found = diagrams.conjunction(diagrams.literal(fact), found)
        return found


def _within(one: Cube, other: Cube) -> bool:
    """Whether the one asks for nothing that the other does not ask for, so that it absorbs it."""
    return len(one) <= len(other) and set(one).issubset(other)


def _plain(function: diagrams.Function) -> Formula:
    """A diagram, or the cube that it is: then each of its nodes leads on only where its fact is alive."""
    found = diagrams.diagram(function)
    if all(low == 0 for low in found.low[2:]) and len(set(found.variable[2:])) == found.root - 1:
        return tuple(sorted(found.variable[2:]))
    return function
