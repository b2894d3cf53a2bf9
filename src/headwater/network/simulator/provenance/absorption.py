"""Absorption provenance on the wire and in the joins: which facts a row follows from, in which combinations (000, 4).

Most rows have one derivation: a *cube*, the facts that must all be alive, as their sorted numbers. Only a disjunction
of cubes neither of which absorbs the other becomes a decision diagram, and deaths may turn that into a cube again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TypeAlias

from headwater.network.simulator.rows.terms import Row
from headwater.network.simulator.wire.message import WireReader, put_number, put_packed, put_steps
from headwater.provenance.functions import absorption as diagrams
from headwater.provenance.functions.minimal_sets import MinimalSets

Cube: TypeAlias = tuple[int, ...]
Formula: TypeAlias = Cube | diagrams.Function

_CUBE, _APART, _DIAGRAM = 0, 1, 2  # how a formula is written
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

    def either(self, old: Formula, new: Formula) -> Formula:
        if isinstance(old, tuple) and isinstance(new, tuple):
            if _within(old, new):
                return old
            if _within(new, old):
                return new
        left = self._diagram(old)
        found = diagrams.disjunction(left, self._diagram(new), self._most)
        return old if diagrams.same(found, left) else found

    def without(self, annotation: Formula, dead: Set[int]) -> Formula | None:
        if isinstance(annotation, tuple):
            return annotation if dead.isdisjoint(annotation) else None
        found = diagrams.restrict(annotation, dead)
        if diagrams.is_never(found):
            return None
        return annotation if diagrams.same(found, annotation) else _plain(found)

    def touched(self, annotations: Iterable[tuple[Row, Formula]], dead: Set[int]) -> list[Row]:
        apart = dead.isdisjoint
        return [row for row, formula in annotations if not isinstance(formula, tuple) or not apart(formula)]

    def facts(self, annotation: Formula) -> Cube | None:
        return annotation if isinstance(annotation, tuple) else None

    def size(self, annotation: Formula) -> int:
        return len(annotation) if isinstance(annotation, tuple) else diagrams.size(annotation)

    def witnesses(self, annotation: Formula, steps: int = 100_000) -> frozenset[frozenset[int]]:
        """The minimal sets of facts that the row follows from."""
        if isinstance(annotation, tuple):
            return frozenset({frozenset(annotation)})
        return frozenset(frozenset(found) for found in MinimalSets(diagrams.diagram(annotation), steps))

    def encode(self, annotations: Sequence[Formula]) -> bytes:
        """One after the other, each with its kind and length in front.

        The facts of a cube are in order, and written as steps from one to the next. Rows that leave a node together
        often follow from the same row: where that is shorter, a cube is written as its difference from the one before.
        In a message of few rows, as most are when facts die, numbers are packed bit by bit, which takes a third less
        space; many rows are written in whole bytes, which takes less time.
        """
        out = bytearray()
        packed = len(annotations) <= _FEW
        put_facts = put_packed if packed else put_steps
        put_number(out, len(annotations) << 1 | packed)
        before: set[int] = set()
        for formula in annotations:
            if isinstance(formula, tuple):
                facts = set(formula)
                apart = before ^ facts
                if len(apart) < len(formula):
                    put_number(out, len(apart) << 2 | _APART)
                    put_facts(out, sorted(apart))
                else:
                    put_number(out, len(formula) << 2 | _CUBE)
                    put_facts(out, formula)
                before = facts
            else:
                content = diagrams.to_bytes(formula)
                put_number(out, len(content) << 2 | _DIAGRAM)
                out += content
        return bytes(out)

    def decode(self, content: bytes) -> list[Formula]:
        source = WireReader(content)
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

    def _diagram(self, formula: Formula) -> diagrams.Function:
        if not isinstance(formula, tuple):
            return formula
        found = diagrams.always()
        for fact in reversed(formula):
            found = diagrams.conjunction(diagrams.literal(fact), found)
        return found


def _within(cube: Cube, other: Cube) -> bool:
    """Whether a cube needs no fact that the other does not need, so that it absorbs the other."""
    return len(cube) <= len(other) and set(cube).issubset(other)


def _plain(function: diagrams.Function) -> Formula:
    """A diagram, or the cube that it equals: each of its nodes then leads on only where its fact is alive."""
    found = diagrams.diagram(function)
    if all(low == 0 for low in found.low[2:]) and len(set(found.variable[2:])) == found.root - 1:
        return tuple(sorted(found.variable[2:]))
    return function
