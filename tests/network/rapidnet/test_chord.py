"""Chord in RapidNet's dialect, under churn: once nobody comes or goes any more, the ring is the true one."""

from __future__ import annotations

import random

import pytest

from headwater.network.churn import ChurnedRing, churned_ring
from headwater.network.protocols import event_protocol
from headwater.network.rapidnet import EventSimulation
from headwater.network.topologies import mesh

SIZE = 65536


def check_ring(ring: ChurnedRing) -> None:
    """Successors, predecessors and fingers beside the sorted positions of those who are there."""
    up = sorted((ring.places[node], node) for node in ring.places if ring.simulation.is_up(node))
    names = [node for _, node in up]
    assert set(names) == ring.there(ring.ends)
    rows = {name: ring.simulation.rows(name) for name in ("next", "predecessor", "successor", "finger")}
    around = {node: names[(at + 1) % len(names)] for at, node in enumerate(names)}
    assert {(row[0], row[2]) for row in rows["next"]} == set(around.items())
    assert {row[:2] for row in rows["predecessor"]} == {(after, node) for node, after in around.items()}
    for at, node in enumerate(names):
        following = [names[(at + step) % len(names)] for step in range(1, min(5, len(names)))]
        assert {row[1] for row in rows["successor"] if row[0] == node} - {node} == set(following)
        for number in range(16):
            start = (ring.places[node] + 2**number) % SIZE
            owner = min(up, key=lambda each: (each[0] - start) % SIZE)[1]
            mine = {row[2] for row in rows["finger"] if row[:2] == (node, number)}
            assert mine == ({owner} - {node})


@pytest.mark.parametrize("seed", range(2))
def test_oracle_the_ring_after_churn(seed: int) -> None:
    ring = churned_ring(nodes=6, session=25.0, churn=25.0, quiet=30.0, seed=seed)
    assert any(not up for _, _, up in ring.turns), "nobody left: the test tests nothing"
    check_ring(ring)
    asked, answered, right = ring.outcomes(ring.ends - 10.0, ring.ends)
    assert asked == answered == right > 0
    asked, answered, right = ring.outcomes(ring.churn_begins, ring.churn_ends)
    assert asked >= answered >= right > asked / 4


@pytest.mark.soak
def test_oracle_rings_after_churn() -> None:
    for seed in range(100, 120):
        check_ring(churned_ring(nodes=12, session=30.0, churn=60.0, quiet=60.0, seed=seed))


def test_a_ring_of_one_answers_itself() -> None:
    simulation = EventSimulation(event_protocol("chord_ring"), mesh(2))
    simulation.stop(0.0, "n1")
    given = {"node": [("n0", 7), ("n1", 9)], "landmark": [("n1", "n0")], "create": [("n0",)]}
    simulation.at(0.0, insert=given)
    simulation.at(9.0, insert={"ask": [("n0", random.Random(0).randrange(SIZE), 1)]})
    simulation.run(until=12.0)
    assert {row[3] for row in simulation.rows("owner")} == {"n0"}
