"""Random programs with events, stored tables, limits, deletions and timers: nodes do what the plainest reading says."""

from __future__ import annotations

import random

import pytest

from headwater.network import Link, Topology
from headwater.network.rapidnet import EventSimulation, event_program
from tests.network.rapidnet.oracle import Oracle

NODES = ["a", "b", "c", "d"]
HEAD = """
materialize(link, infinity, infinity, keys(1,2)).
materialize(mark, infinity, infinity, keys(1,2)).
materialize(low, infinity, infinity, keys(1)).
materialize(many, infinity, infinity, keys(1)).
"""
MOST = 400  # rows that nodes send
TYPES = dict.fromkeys(("e", "f"), ("string", "int", "int"))
RULES = (
    "keep(@X,A,V) :- e(@X,A,V).",
    "keep(@X,A,V) :- f(@X,A,V), V > 2.",
    "keep(@Y,A,V) :- e(@X,A,V), link(@X,Y), V < 4.",
    "log(@X,V,A) :- f(@X,A,V).",
    "log(@X,A,V) :- keep(@X,A,V), V > 1.",
    "log(@Y,A,V) :- f(@X,A,W), keep(@X,A,V), link(@X,Y).",
    "e(@Y,A,V) :- f(@X,A,W), link(@X,Y), W < 4, V := W + 1.",
    "f(@X,A,V) :- e(@X,A,W), W < 5, V := W + 1.",
    "f(@Y,A,V) :- e(@X,A,V), mark(@X,Y), V < 3, A != 0.",
    "f(@X,A,V) :- keep(@X,A,V), V == 3.",
    "f(@Y,V,C) :- low(@X,V,A), link(@X,Y), C := 5.",
    "log(@X,A,a_COUNT<*>) :- e(@X,A,V), keep(@X,B,W), W >= V.",
    "f(@X,A,a_MIN<W>) :- e(@X,A,V), log(@X,B,W), W > V.",
    "log(@X,A,a_MAX<W>) :- f(@X,A,V), keep(@X,B,W).",
    "delete keep(@X,A,V) :- f(@X,A,V).",
    "delete keep(@X,A,W) :- e(@X,A,V), keep(@X,A,W), W < V.",
    "delete log(@X,A,V) :- log(@X,A,V), V == 4.",
    "low(@X,a_MIN<V>,A) :- keep(@X,A,V).",
    "many(@X,a_COUNT<*>) :- log(@X,A,V).",
    "many(@X,a_COUNT<*>) :- keep(@X,A,V), log(@X,A,W), W != V.",
    "e(@X,A,V) :- periodic(@X,E,PERIOD), keep(@X,A,V).",
    "f(@Y,A,V) :- periodic(@X,E,PERIOD), link(@X,Y), keep(@X,V,A), A in [V,W), W := 4.",
)


def text(dice: random.Random) -> str:
    limits = [dice.choice(("infinity", "0.05", "0.2")), dice.choice(("infinity", "2", "1"))]
    lines = [HEAD, f"materialize(keep, {limits[0]}, {limits[1]}, keys(1,2))."]
    lines.append(
        f"materialize(log, {dice.choice(('infinity', '0.1'))}, infinity, keys({dice.choice(('1', '1,2', '1,2,3'))}))."
    )
    chosen = ["keep(@X,A,V) :- e(@X,A,V).", "log(@X,V,A) :- f(@X,A,V).", *dice.sample(RULES, dice.randint(3, 9))]
    chosen = list(dict.fromkeys(chosen))
    if sum(rule.startswith("many") for rule in chosen) > 1:
        chosen.remove(RULES[18])
    period = dice.choice(("0.03", "0.1", "0.05"))
    ringed = [rule.replace("A in [V,W), W := 4", "W := 4, A in [V,W)") for rule in chosen]
    return "\n".join([*lines, *(f"r{at} {rule}".replace("PERIOD", period) for at, rule in enumerate(ringed))])


def check(seed: int) -> None:
    dice = random.Random(seed)
    program = text(dice)
    topology = Topology([Link("a", "b", 0.01, 1e15), Link("b", "c", 0.01, 1e15), Link("a", "d", 0.01, 1e15)])
    oracle = Oracle(program, NODES, 10)
    ours = EventSimulation(event_program(program, types=TYPES), topology, seed=seed)
    pairs = [(src, dst) for src, dst, _ in topology.channels]
    for tick, name, row, delete in script(dice, pairs):
        if f" {name}(@" not in program:
            continue
        oracle.give(tick, name, row, delete=delete)
        change = {name: [row]}
        ours.at(tick / 1000, insert={} if delete else change, delete=change if delete else {})
    for tick in sorted(dice.sample(range(1, 400), 6)):
        oracle.run(tick)
        if oracle.sent > MOST:
            return  # events that multiply
        ours.run(until=tick / 1000)
        for name in ("keep", "log", "low", "many"):
            if name in ours.outputs:
                assert ours.rows(name) == oracle.rows(name), (name, tick, program)
    assert ours.report.rows == oracle.sent, program


def script(dice: random.Random, pairs: list[tuple[str, str]]) -> list[tuple[int, str, tuple[object, ...], bool]]:
    found: list[tuple[int, str, tuple[object, ...], bool]] = [(0, "link", pair, False) for pair in pairs]
    found += [(0, "mark", (pair[0], pair[1]), False) for pair in dice.sample(pairs, 2)]
    for _ in range(dice.randint(2, 8)):
        node, tick = dice.choice(NODES), dice.randrange(0, 300)
        found.append((tick, dice.choice("ef"), (node, dice.randrange(3), dice.randrange(5)), False))
    if dice.random() < 0.5:
        pair = dice.choice(pairs)
        found += [(dice.randrange(50, 200), "link", pair, True), (250, "link", pair, False)]
    return sorted(found, key=lambda each: each[0])


@pytest.mark.parametrize("block", range(8))
def test_oracle_random_programs(block: int) -> None:
    for seed in range(block * 5, block * 5 + 5):
        check(seed)


@pytest.mark.soak
def test_oracle_many_random_programs() -> None:
    for seed in range(1000, 2000):
        check(seed)
