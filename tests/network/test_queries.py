"""The queries of 000, section 2, as they stand in examples/: on one database, and on nodes by every strategy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.core.types import Type
from headwater.network.sensors import Grid, field
from headwater.network.simulator.network import STRATEGIES, Network
from headwater.network.topology import Density, TransitStub, links

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXT, INT = Type.STRING, Type.INT
WEIGHTED = links(TransitStub(1, 2, 1, 3, Density.SPARSE, seed=4))
PLAIN = [(source, target) for source, target, _ in WEIGHTED]
TREE = [("a", "b"), ("a", "c"), ("b", "d"), ("b", "e"), ("e", "f"), ("c", "g")]
FIELD = field(Grid(side=50, regions=3, triggered=0.5, seed=2))
QUERIES: dict[str, dict[str, tuple[tuple[Type, ...], list[Any]]]] = {
    "reachability": {"link": ((TEXT, TEXT), PLAIN)},
    "reachable_within": {"link": ((TEXT, TEXT), PLAIN)},
    "cycles": {"link": ((TEXT, TEXT), PLAIN[::2])},
    "cheapest_and_fewest_hops": {"link": ((TEXT, TEXT, INT), WEIGHTED)},
    "routing_resilience": {"link": ((TEXT, TEXT), PLAIN)},
    "tree_height": {"child": ((TEXT, TEXT), TREE)},
    "same_generation": {"child": ((TEXT, TEXT), TREE)},
    "largest_region": {
        "sensor": ((TEXT, Type.LIST), FIELD.sensors),
        "mainSensorInRegion": ((TEXT, TEXT), FIELD.main),
        "isTriggered": ((TEXT,), FIELD.triggered),
    },
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", QUERIES)
def test_agree_nodes_and_a_database_on_the_queries_of_the_paper(name: str, strategy: str) -> None:
    program = hw.compile_file(EXAMPLES / f"{name}.dl")
    rows = {relation: given for relation, (_, given) in QUERIES[name].items()}
    known = {relation: types for relation, (types, _) in QUERIES[name].items()}
    db, network = hw.Database(program), Network(program, 3, strategy, known=known)
    moving = next(reversed(rows))
    steps: list[tuple[dict[str, list[Any]], dict[str, list[Any]]]] = [
        (rows, {}),
        ({}, {moving: rows[moving][1:3]}),
        ({moving: rows[moving][1:2]}, {moving: rows[moving][-2:]}),
    ]
    for insert, delete in steps:
        db.apply(insert=insert, delete=delete)
        network.apply(insert=insert, delete=delete)
        for view in program.outputs:
            assert network.rows(view) == set(db.rows(view)), view
    assert any(db.rows(view) for view in program.outputs)


LINE = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
RING = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]
DIAMOND = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d")]
ANSWERS: dict[str, tuple[dict[str, list[Any]], dict[str, set[Any]]]] = {
    "reachability": ({"link": LINE[:2]}, {"reachable": {("a", "b"), ("a", "c"), ("b", "c")}}),
    "reachable_within": (
        {"link": LINE},
        {"reachableWithin": {(x, y) for x in "abcde" for y in "abcde" if 1 <= ord(y) - ord(x) <= 3}},
    ),
    "cycles": (
        {"link": RING},
        {"onCycle": {("a",), ("b",), ("c",)}, "sameCycle": {(x, y) for x in "abc" for y in "abc" if x != y}},
    ),
    "routing_resilience": (
        {"link": DIAMOND},
        {"resilience": {("a", "b", 1), ("a", "c", 1), ("b", "d", 1), ("c", "d", 1), ("a", "d", 3)}},
    ),
    "tree_height": (
        {"child": TREE},
        {
            "height": {("a", 3), ("b", 2), ("c", 1), ("e", 1), ("d", 0), ("f", 0), ("g", 0)},
            "imbalance": {("a", 1), ("b", 1), ("c", 0), ("e", 0), ("d", 0), ("f", 0), ("g", 0)},
        },
    ),
    "same_generation": (
        {"child": TREE},
        {"sameGeneration": {(x, y) for level in ("bc", "deg", "f") for x in level for y in level}},
    ),
    "largest_region": (
        {
            "sensor": [("s", (0, 0)), ("t", (10, 0)), ("u", (40, 0))],
            "mainSensorInRegion": [("r1", "s"), ("r2", "u")],
            "isTriggered": [("s",), ("u",)],
        },
        {"largestRegions": {("r1",)}},
    ),
    "cheapest_and_fewest_hops": (
        {"link": [("a", "b", 1), ("b", "c", 1), ("a", "c", 5)]},
        {
            "shortestCheapestPath": {
                ("a", "b", ("a", "b"), 1, ("a", "b"), 1),
                ("b", "c", ("b", "c"), 1, ("b", "c"), 1),
                ("a", "c", ("a", "b", "c"), 2, ("a", "c"), 1),
            }
        },
    ),
}


@pytest.mark.parametrize("provenance", ["witness", "absorption"])
@pytest.mark.parametrize("name", ANSWERS)
def test_the_queries_answer_what_they_ask(name: str, provenance: str) -> None:
    """Worked out by hand."""
    rows, expected = ANSWERS[name]
    db = hw.Database(hw.compile_file(EXAMPLES / f"{name}.dl"), provenance=provenance)
    db.apply(insert=rows)
    assert {view: set(db.rows(view)) for view in expected} == expected


def test_a_route_hangs_on_what_all_its_ways_share() -> None:
    """Resilience asked of provenance: three ways from a to d, and no single link that all of them need."""
    db = hw.Database(hw.compile_file(EXAMPLES / "reachability.dl"))
    db.apply(insert={"link": DIAMOND})
    assert db.critical("reachable", ("a", "d")).facts == []
    assert len(db.witnesses("reachable", ("a", "d"))) == 3
    assert {len(cut) for cut in db.critical("reachable", ("a", "d")).cuts(None)} == {3}
