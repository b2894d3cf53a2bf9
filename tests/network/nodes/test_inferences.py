"""Theorems 1 and 2 of 002: SN, BSN and PSN find the same rows, and no derivation twice."""

from __future__ import annotations

import random

import pytest

import headwater as hw
from headwater.network import Simulation
from tests.network.nodes.scripts import random_topology
from tests.network.nodes.test_oracle_scripts import RULES, TEXT
from tests.oracle.evaluate import bindings, evaluate


def derivations(name: str, links: set[tuple[object, ...]]) -> int:
    """All derivations there are, counted by the oracle."""
    state = {**evaluate(RULES[name], {"link": links, "blocked": set()}), "link": links}
    return sum(len(bindings(rule, state)) for rule in RULES[name].rules[:2])


@pytest.mark.parametrize("name", ["reach", "paths"])
@pytest.mark.parametrize("evaluation", ["sn", "bsn", "psn"])
def test_oracle_no_inference_is_made_twice(name: str, evaluation: str) -> None:
    text = TEXT[name].partition("near(")[0]  # without its negation, which asks rules twice
    for seed in range(6):
        dice = random.Random(seed)
        topology = random_topology(dice, 5, reliable=True)
        links: set[tuple[object, ...]] = {(src, dst, 1) for src, dst, _ in topology.channels}
        sim = Simulation(hw.compile(text), topology, evaluation=evaluation, counts_inferences=True)
        for row in sorted(links):  # one by one, while others are under way
            sim.at(dice.random() / 10, insert={"link": [row]})
        sim.run()
        copies = len(links)  # link rows that are sent to their other end, which is no rule of the program
        assert sim.inferences == derivations(name, links) + copies


def test_inferences_are_counted_on_demand() -> None:
    sim = Simulation(hw.compile(TEXT["reach"]), random_topology(random.Random(0)))
    with pytest.raises(ValueError, match="counts_inferences=True"):
        _ = sim.inferences
