"""Whatever the strategy, the number of nodes and the delays of messages: at rest, the views are the oracle's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given

from headwater.network.simulator.wire.links import Delays
from tests.engine.holding import pairs
from tests.network.simulator.networked import WAYS, Networked, NotTogether
from tests.oracle.evaluate import Diverges
from tests.oracle.harness import check_maintenance
from tests.oracle.strategies import Case, list_case, null_case, random_case, seeds, template_case

TEMPLATES = (
    "closure",
    "path_vector",
    "carried_ways",
    "points_to",
    "same_generation",
    "shortest",
    "single_source",
    "top_paths",
)


def _agrees(case: Case, way: str, nodes: int, seed: int) -> bool:
    open_ = partial(Networked, way=WAYS[way], nodes=nodes, delays=Delays(0.0, 20.0, seed, tick=seed % 3))
    try:
        check_maintenance(case, open_)
    except (NotTogether, Diverges):
        return False
    return True


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TEMPLATES)
def test_oracle_networks_of_templates(name: str, way: str) -> None:
    agreed = [_agrees(template_case(name, seed), way, 1 + seed, seed) for seed in range(5)]
    assert any(agreed)


@pytest.mark.parametrize("drawn", [random_case, null_case, list_case])
@pytest.mark.parametrize("way", WAYS)
@pairs(25)
@given(seed=seeds)
def test_oracle_networks_of_random_programs(drawn: Callable[[int], Case], seed: int, way: str) -> None:
    _agrees(drawn(seed), way, 1 + seed % 5, seed)


@pytest.mark.parametrize("way", WAYS)
def test_most_random_programs_run_on_nodes(way: str) -> None:
    """The tests above would say nothing if nodes refused whatever is hard."""
    assert sum(_agrees(random_case(seed), way, 3, seed) for seed in range(12)) >= 5
