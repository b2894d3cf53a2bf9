"""Events: failures that overlap in any way leave the rows that should stand, and scripts are read as written."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.network.events import (
    LinkChanges,
    LinkFails,
    LinkReturns,
    NetworkEvent,
    NodeFails,
    NodeReturns,
    Partitioned,
    PartitionHeals,
    RowsChange,
    bursts,
    node_failures,
    partitions,
    read_events,
    write_events,
)
from headwater.network.scenario import prepared
from headwater.network.topologies import random_graph

PROGRAM = """
relation link(src: address, dst: address, cost: float) key(src, dst).
relation request(src: address, dst: address) optional.
reach(@S, @D) :- #link(@S, @D, C), request(@S, @D).
"""
TOPOLOGY = random_graph(8, 14, seed=3)


def random_events(dice: random.Random, count: int) -> list[NetworkEvent]:
    nodes = list(TOPOLOGY.nodes)
    links = [(link.src, link.dst) for link in TOPOLOGY.links]
    found: list[NetworkEvent] = []
    for at in range(count):
        time = float(at // 2)
        one, other = dice.choice(links)
        found.append(
            dice.choice(
                [
                    NodeFails(time, dice.choice(nodes)),
                    NodeReturns(time, dice.choice(nodes)),
                    LinkFails(time, one, other),
                    LinkReturns(time, other, one),
                    LinkChanges(time, one, other, dice.choice([0.5, 2.0])),
                    Partitioned(time, tuple(dice.sample(nodes, 3))),
                    PartitionHeals(time),
                    RowsChange(time, inserts=(("request", (dice.choice(nodes), "n1")),)),
                    RowsChange(time, deletes=(("request", (dice.choice(nodes), "n1")),)),
                ]
            )
        )
    return found


def standing(events: list[NetworkEvent]) -> tuple[set[Any], set[Any]]:
    """What should stand after all of them, from scratch: the last word on each node, link and row counts."""
    down: set[str] = set()
    cut: set[frozenset[str]] = set()
    side: set[str] = set()
    factor: dict[frozenset[str], float] = {}
    asked: set[Any] = set()
    for event in events:
        match event:
            case NodeFails():
                down.add(event.node)
            case NodeReturns():
                down.discard(event.node)
            case LinkFails():
                cut.add(frozenset((event.one, event.other)))
            case LinkReturns():
                cut.discard(frozenset((event.one, event.other)))
            case LinkChanges():
                factor[frozenset((event.one, event.other))] = event.factor
            case Partitioned():
                side = set(event.nodes)
            case PartitionHeals():
                side = set()
            case RowsChange():
                asked -= {row for _, row in event.deletes}
                asked |= {row for _, row in event.inserts}
    links = set()
    for src, dst, _ in TOPOLOGY.channels:
        pair = frozenset((src, dst))
        if not (pair & down or pair in cut or len(pair & side) == 1):
            links.add((src, dst, factor.get(pair, 1.0)))
    return links, {row for row in asked if row[0] not in down}


@pytest.mark.parametrize("seed", range(20))
def test_oracle_failures_may_overlap(seed: int, tmp_path: Path) -> None:
    events = random_events(random.Random(seed), 24)
    path = tmp_path / "events.csv"
    path.write_text(write_events(events))
    read = read_events(path)
    rows: dict[str, set[Any]] = {"link": set(), "request": set()}
    for moment in prepared(hw.compile(PROGRAM), TOPOLOGY, events=read).moments:
        for name, gone in moment.delete.items():
            assert set(gone) <= rows[name]
            rows[name] -= set(gone)
        for name, come in moment.insert.items():
            assert not set(come) & rows[name]
            rows[name] |= set(come)
        links, asked = standing([event for event in events if event.time <= moment.time])
        assert (rows["link"], rows["request"]) == (links, asked)


def test_bursts_are_the_papers() -> None:
    made = bursts(TOPOLOGY, until=60.0, share=0.5)
    assert sorted({event.time for event in made}) == [10, 20, 30, 40, 50]
    assert len([event for event in made if event.time == 10]) == 7
    assert all(isinstance(event, LinkChanges) and 0.9 <= event.factor <= 1.1 for event in made)
    interleaved = bursts(TOPOLOGY, until=30.0, every=(2.0, 8.0))
    assert sorted({event.time for event in interleaved}) == [2, 10, 12, 20, 22]
    assert bursts(TOPOLOGY, until=60.0, seed=1) == bursts(TOPOLOGY, until=60.0, seed=1)
    assert bursts(TOPOLOGY, until=60.0, seed=1) != bursts(TOPOLOGY, until=60.0, seed=2)


def test_nodes_fail_and_return() -> None:
    made = node_failures(TOPOLOGY, until=100.0, every=10.0, away=15.0)
    down: set[str] = set()
    for event in made:
        if isinstance(event, NodeFails):
            assert event.node not in down
            down.add(event.node)
        elif isinstance(event, NodeReturns):
            down.remove(event.node)
    assert sum(isinstance(event, NodeFails) for event in made) == 9


def test_partitions_heal() -> None:
    made = partitions(TOPOLOGY, until=60.0)
    assert [type(event) for event in made] == [Partitioned, PartitionHeals, Partitioned, PartitionHeals]
    assert all(len(event.nodes) == 4 for event in made if isinstance(event, Partitioned))


def test_events_from_dice_are_read_as_written(tmp_path: Path) -> None:
    made = [*bursts(TOPOLOGY, until=30.0), *node_failures(TOPOLOGY, until=30.0), *partitions(TOPOLOGY, until=30.0)]
    path = tmp_path / "events.csv"
    path.write_text(write_events(made))
    assert read_events(path) == sorted(made, key=lambda event: event.time)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: bursts(TOPOLOGY, until=10.0, every=(0.0,)),
        lambda: bursts(TOPOLOGY, until=10.0, share=0.0),
        lambda: bursts(TOPOLOGY, until=10.0, most=1.0),
        lambda: bursts(TOPOLOGY, until=1e12),
        lambda: node_failures(TOPOLOGY, until=10.0, every=0.0),
        lambda: partitions(TOPOLOGY, until=10.0, every=5.0, apart=6.0),
    ],
)
def test_events_that_cannot_be_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):
        wrong()
