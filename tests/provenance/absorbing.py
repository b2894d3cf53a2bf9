"""A database with absorption provenance as the oracle's harness sees it, and brute force over all worlds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import headwater as hw
from headwater.provenance.functions import absorption
from tests.engine.opened import Opened
from tests.oracle.harness import meaning
from tests.oracle.program import Program, Row, State, to_text

Fact = tuple[str, Row]


class Absorbing(Opened):
    """Rows are read twice: as the engine has them, and as those whose function is true now."""

    def __init__(self, program: Program, order: str = "arrival") -> None:
        self.outputs = program.outputs
        self.db = hw.Database(hw.compile(to_text(program)), provenance="absorption", nodes=10_000, order=order)  # type: ignore[arg-type]

    def rows(self, relation: str) -> set[Row]:
        found = super().rows(relation)
        worlds = self.db._absorbed.worlds  # type: ignore[union-attr]
        store = self.db._shard.stores[relation]
        true = {row for row, function in worlds.rows(relation) if absorption.holds(function)}
        assert true == {tuple(row) for row in store.data[store.alive()].tolist()}, relation
        return found


def worlds(base: State) -> Iterator[State]:
    """Every subset of some facts."""
    facts = [(relation, row) for relation, rows in base.items() for row in sorted(rows, key=repr)]
    for count in range(len(facts) + 1):
        for chosen in itertools.combinations(facts, count):
            world: State = {}
            for relation, row in chosen:
                world.setdefault(relation, set()).add(row)
            yield world


def facts_of(base: State) -> frozenset[Fact]:
    return frozenset((relation, row) for relation, rows in base.items() for row in rows)


def worlds_with(program: Program, base: State) -> dict[Fact, set[frozenset[Fact]]]:
    """For each row that some world has the worlds, as sets of facts, that have it: by evaluating every one of them."""
    found: dict[Fact, set[frozenset[Fact]]] = {}
    for world in worlds(base):
        for relation, rows in meaning(program, world).items():
            for row in rows:
                found.setdefault((relation, row), set()).add(facts_of(world))
    return found


def minimal(sets: set[frozenset[Fact]]) -> set[frozenset[Fact]]:
    return {one for one in sets if not any(other < one for other in sets)}
