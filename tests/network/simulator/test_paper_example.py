"""000, Figures 2, 3 and 5 on three nodes: provenance row by row, what is shipped, what a failing link costs."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

import headwater as hw
from headwater.network.simulator.network import Network
from headwater.network.simulator.operators.minship import Eager, Lazy, Shipping
from headwater.network.simulator.provenance.absorption import Absorption
from headwater.network.simulator.wire.links import Delays
from tests.engine.dred import delete_and_rederive
from tests.network.simulator.test_network import closure
from tests.oracle.program import Row

LINKS = [("A", "B"), ("B", "C"), ("C", "A"), ("C", "B")]
P1, P2, P3, P4 = LINKS
ALL_PAIRS = {(x, y) for x in "ABC" for y in "ABC"}
PROGRAM = hw.compile(
    "relation link(src: string, dst: string).\n"
    "reachable(X, Y) :- link(X, Y).\n"
    "reachable(X, Y) :- link(X, Z), reachable(Z, Y).\n"
)
PV = {  # the column `pv` of derivation step 4
    ("A", "A"): [{P1, P2, P3}],
    ("A", "B"): [{P1}],
    ("A", "C"): [{P1, P2}],
    ("B", "A"): [{P2, P3}],
    ("B", "B"): [{P2, P4}, {P1, P2, P3}],
    ("B", "C"): [{P2}],
    ("C", "A"): [{P3}],
    ("C", "B"): [{P4}, {P1, P3}],
    ("C", "C"): [{P2, P4}, {P1, P2, P3}],
}


def network(strategy: str, shipping: Shipping | None = None, seed: int = 0, spread: float = 0.0) -> Network:
    places = {"A": 0, "B": 1, "C": 2}
    made = Network(PROGRAM, 3, strategy, shipping=shipping, places=places, delays=Delays(5.0, 5.0 + spread, seed))
    made.apply(insert={"link": LINKS})
    assert made.rows("reachable") == ALL_PAIRS
    return made


def witnesses(made: Network, row: Row) -> set[frozenset[Row]]:
    algebra = made.algebra
    assert isinstance(algebra, Absorption)
    found = algebra.witnesses(made.provenance("reachable", row))
    return {frozenset(made.numbers.names[fact][1] for fact in one) for one in found}


@pytest.mark.parametrize("shipping", [Eager(), Eager(4)])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("row", PV, ids="".join)
def test_eager_shipping_gives_the_provenance_of_figure_2(row: Row, seed: int, shipping: Shipping) -> None:
    made = network("absorption", shipping, seed, spread=30.0)
    assert witnesses(made, row) == {frozenset(one) for one in PV[row]}


@pytest.mark.parametrize("seed", range(12))
def test_eager_shipping_finds_every_minimal_witness_of_every_row(seed: int) -> None:
    """By brute force: the smallest sets of links, of all sets that there are, from which the row follows."""
    dice = random.Random(seed)
    rows = dice.sample([(x, y) for x in "ABCD" for y in "ABCD" if x != y], 7)
    gone = dice.sample(rows, 2)
    made = Network(PROGRAM, 1 + seed % 4, "absorption", shipping=Eager(1 + seed % 3), delays=Delays(0.0, 30.0, seed))
    made.apply(insert={"link": rows})
    made.apply(delete={"link": gone})
    made.apply(insert={"link": gone[:1]})
    alive = [row for row in rows if row != gone[1]]
    worlds = [frozenset(some) for size in range(len(alive) + 1) for some in combinations(alive, size)]
    having = {world: closure(set(world)) for world in worlds}
    for row in made.rows("reachable"):
        enough = [world for world in worlds if row in having[world]]
        assert witnesses(made, row) == {one for one in enough if not any(other < one for other in enough)}, row


@pytest.mark.parametrize("row", PV, ids="".join)
def test_lazy_shipping_knows_of_every_row_a_part_of_its_provenance(row: Row) -> None:
    made = network("absorption", Lazy())
    assert all(any(one >= whole for whole in PV[row]) for one in witnesses(made, row))
    assert witnesses(made, row)


def test_without_provenance_or_with_lazy_shipping_16_rows_travel() -> None:
    assert network("dred").traffic.rows == 16
    assert network("witness").traffic.rows == 16
    assert network("absorption", Lazy()).traffic.rows == 16


def test_eager_shipping_sends_up_to_four_more_for_their_provenance() -> None:
    """Figure 2 marks four with a star; MinShip absorbs one of them by what it has sent before."""
    assert network("absorption", Eager()).traffic.rows == 19


@pytest.mark.parametrize("shipping", [Eager(), Lazy()])
def test_a_failing_link_costs_two_messages_and_no_row(shipping: Shipping) -> None:
    made = network("absorption", shipping)
    outcome = made.apply(delete={"link": [P4]})
    assert outcome.changes["reachable"] == ([], [])
    if isinstance(shipping, Eager):
        assert (outcome.traffic.messages, outcome.traffic.rows) == (2, 0)
    assert made.rows("reachable") == ALL_PAIRS
    assert all(P4 not in one for row in PV for one in witnesses(made, row))


def test_delete_and_rederive_ships_the_view_again() -> None:
    made = network("dred")
    outcome = made.apply(delete={"link": [P4]})
    honest = delete_and_rederive(set(LINKS), P4)
    assert outcome.changes["reachable"] == ([], [])
    assert outcome.traffic.rows >= honest.shipped == 16


def test_our_witnesses_touch_only_what_rested_on_the_link() -> None:
    made = network("witness")
    outcome = made.apply(delete={"link": [P4]})
    assert outcome.changes["reachable"] == ([], [])
    assert outcome.traffic.rows == 10
    assert made.rows("reachable") == ALL_PAIRS
