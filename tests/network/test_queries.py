"""The queries of 000, section 2, as they stand in examples/: on one database, and on nodes by every strategy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.core.types import Type
from headwater.exchange.nodes.network import STRATEGIES, Network
from headwater.network.sensors import Grid, field
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
