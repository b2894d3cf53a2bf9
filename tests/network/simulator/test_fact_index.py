"""Deaths find the rows that name them by lists: held against looking through everything."""

from __future__ import annotations

import random

import pytest

from headwater.network.simulator.provenance.absorption import Absorption
from headwater.network.simulator.provenance.annotated_rows import AnnotatedRows
from headwater.network.simulator.provenance.fact_index import FactIndex
from headwater.network.simulator.rows.table import HashTable


@pytest.mark.parametrize("lazy", [True, False])
def test_oracle_rows_come_and_facts_die(lazy: bool) -> None:
    dice = random.Random(5)
    store = AnnotatedRows(Absorption(), HashTable(), lazy=lazy)
    held: dict[tuple[int, ...], set[frozenset[int]]] = {}
    alive = set(range(30))
    for _ in range(400):
        if dice.random() < 0.8:
            row, facts = (dice.randrange(40),), frozenset(dice.sample(sorted(alive), dice.randint(1, 4)))
            held.setdefault(row, set()).add(facts)
            store.add(row, tuple(sorted(facts)))
        else:
            dead = frozenset(dice.sample(sorted(alive), 2))
            naming = {row for row, many in held.items() if any(facts & dead for facts in many)}
            assert lazy <= (naming <= set(store.touched(dead)))  # merged, an absorbed derivation names nothing
            gone = {row for row in naming if all(facts & dead for facts in held[row])}
            assert set(store.without(dead)) == gone
            held = {row: left for row, many in held.items() if (left := {one for one in many if not one & dead})}
            alive = alive - dead | {max(alive) + 1, max(alive) + 2}
        assert store.table.rows.keys() == held.keys()


def test_rows_that_are_gone_do_not_pile_up() -> None:
    held: dict[tuple[int, ...], tuple[int, ...]] = {}
    named = FactIndex(Absorption(), held.items)
    assert not list(named.of({0}))
    for number in range(1, 5_000):
        held[(number,)] = (0, number)
        named.note((number,), (0, number))
        named.drop(held.pop((number,)))
        named.forget({number})
    assert len(list(named.of({0}))) < 2_000
