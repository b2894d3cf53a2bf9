"""A program on links: what nodes end up with, what they send, and what is refused."""

from __future__ import annotations

from collections import Counter

import pytest

import headwater as hw
from headwater.core.errors import CheckProblem, DataError, StateError, UnknownRelation
from headwater.network import Link, Simulation, Topology

PATHS = hw.compile(
    """
    relation link(src: string, dst: string, cost: int).
    path(@S, @D, P, C) :- #link(@S, @D, C), P = f_concatPath(link(@S, @D, C), nil).
    path(@S, @D, P, C) :- #link(@S, @Z, C1), path(@Z, @D, P2, C2), f_inPath(P2, S) = false,
                          C = C1 + C2, P = f_concatPath(link(@S, @Z, C1), P2).
    best(@S, @D, min<C>) :- path(@S, @D, P, C).
    query best(@S, @D, C).
    """
)
SQUARE = Topology([Link("a", "b"), Link("b", "c", latency=0.002), Link("c", "d"), Link("d", "a", latency=0.050)])
LINKS = [(a, b, 1) for a, b, _ in SQUARE.channels]


@pytest.mark.parametrize("evaluation", ["psn", "bsn", "sn"])
def test_agree_with_one_database(evaluation: str) -> None:
    sim = Simulation(PATHS, SQUARE, evaluation=evaluation)
    sim.at(0.0, insert={"link": LINKS})
    sim.run()
    database = hw.Database(PATHS)
    database.apply(insert={"link": LINKS})
    assert sim.rows("best") == database.rows("best")
    assert sim.node("a").rows("best") == {row for row in database.rows("best") if row[0] == "a"}
    sim.at(1.0, delete={"link": [("a", "b", 1), ("b", "a", 1)]})
    assert sim.run() > 1.0
    database.apply(delete={"link": [("a", "b", 1), ("b", "a", 1)]})
    assert sim.rows("best") == database.rows("best")


def test_a_change_while_messages_are_under_way() -> None:
    sim = Simulation(PATHS, SQUARE)
    sim.at(0.0, insert={"link": LINKS})
    sim.at(0.011, delete={"link": [("c", "d", 1)]})
    sim.at(0.012, insert={"link": [("c", "d", 7)]})
    sim.run(until=0.013)
    assert not sim.is_quiet
    sim.run()
    database = hw.Database(PATHS)
    database.apply(insert={"link": [*(set(LINKS) - {("c", "d", 1)}), ("c", "d", 7)]})
    assert sim.rows("best") == database.rows("best")


def test_a_message_takes_its_latency_and_its_size_over_the_bandwidth() -> None:
    slow = Topology([Link("a", "b", latency=0.5, bandwidth=800)])
    program = hw.compile("relation link(src: string, dst: string). back(@D, @S) :- #link(@S, @D).")
    sim = Simulation(program, slow, trace=True)
    sim.at(1.0, insert={"link": [("a", "b")]})
    sim.at(1.0, insert={"link": [("b", "a")]})
    sim.run()
    sizes = [message.bytes for message in sim.report.trace]
    assert [message.sent for message in sim.report.trace] == [1.0, 1.0]
    assert sim.now == pytest.approx(1.0 + 0.5 + 8 * sizes[0] / 800, abs=0.002)
    assert sim.report.bytes == sum(sizes)
    assert sim.report.bytes_by_link() == {("a", "b"): sizes[0], ("b", "a"): sizes[1]}
    assert sim.report.bytes_by_node() == {"a": sizes[0], "b": sizes[1]}


def test_rows_in_messages_are_counted_by_relation() -> None:
    sim = Simulation(PATHS, SQUARE, trace=True)
    sim.at(0.0, insert={"link": LINKS})
    sim.at(1.0, delete={"link": [("a", "b", 1)]})
    sim.run()
    told = Counter(relation for message in sim.report.trace for _, relation, _ in message.rows)
    assert len(told) > 1
    assert sim.report.rows_by_relation() == told
    assert sim.report.rows == told.total()


def test_messages_queue() -> None:
    slow = Topology([Link("a", "b", latency=0.0, bandwidth=800)])
    program = hw.compile("relation item(at: string, to: string, n: int). got(@D, N) :- #item(@S, @D, N).")
    sim = Simulation(program, slow)
    sim.at(0.0, insert={"item": [("a", "b", 1)]})
    sim.at(0.1, insert={"item": [("a", "b", 2)]})
    sim.run()
    assert sim.now == pytest.approx(8 * sim.report.bytes / 800, abs=0.002)


def test_the_same_seed_gives_the_same_bytes() -> None:
    lossy = Topology([Link("a", "b", loss=0.3, reorder=0.5), Link("b", "c", loss=0.3, duplicate=0.2)])
    rows = [(a, b, 1) for a, b, _ in lossy.channels]

    def run(seed: int) -> list[object]:
        sim = Simulation(PATHS, lossy, seed=seed, trace=True)
        sim.at(0.0, insert={"link": rows})
        sim.run()
        return [*sim.report.trace, sim.report.bytes, sim.now]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_a_program_that_does_not_say_where_rows_live() -> None:
    with pytest.raises(CheckProblem, match="HW913"):
        Simulation(hw.compile("relation e(a: string). p(X) :- e(X)."), SQUARE)


def test_a_program_with_a_clock() -> None:
    text = "stream link(ts: int, src: string, dst: string) ttl 3. r(S, D) :- link(_, S, D)."
    with pytest.raises(CheckProblem, match="HW91"):
        Simulation(hw.compile(text), SQUARE)


def test_no_message_between_nodes_without_a_link() -> None:
    sim = Simulation(PATHS, SQUARE)
    sim.at(0.0, insert={"link": [("a", "c", 1)]})
    with pytest.raises(StateError, match="no link joins"):
        sim.run()
    with pytest.raises(StateError, match="start another"):
        sim.run()


def test_bad_events() -> None:
    sim = Simulation(PATHS, SQUARE)
    with pytest.raises(DataError, match="'x', which is not a node"):
        sim.at(0.0, insert={"link": [("x", "a", 1)]})
    with pytest.raises(UnknownRelation, match="did you mean `link`"):
        sim.at(0.0, insert={"lnik": [("a", "b", 1)]})
    with pytest.raises(ValueError, match="number of seconds"):
        sim.at(float("nan"), insert={"link": LINKS})
    sim.at(0.0, insert={"link": LINKS})
    sim.run(until=1.0)
    with pytest.raises(DataError, match="in the past"):
        sim.at(0.5, insert={"link": LINKS})
    with pytest.raises(DataError, match="HW801"):
        sim.at(2.0, insert={"link": [("a", "b", "much")]})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Link("a", "b", latency=-1), "a latency is a number of seconds from 0 on, not -1"),
        (lambda: Link("a", "b", bandwidth=0), "more than 0 bits"),
        (lambda: Link("a", "b", loss=1.0), "loss is a chance"),
        (lambda: Link("a", "a"), "two different nodes"),
        (lambda: Topology([Link("a", "b")], nodes=["a", "b", "c"]), "no link reaches node 'c'"),
        (lambda: Topology([Link("a", "node2")], nodes=["a", "node1"]), "did you mean 'node1'"),
        (lambda: Topology([Link("a", "b"), Link("b", "a")]), "keep one of them"),
        (lambda: Topology([Link("a", 1)]), "all alike"),
        (lambda: Topology([]), "one node or more"),
    ],
)
def test_bad_topologies(make: object, words: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=words):
        make()
