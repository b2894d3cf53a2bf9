"""Questions that travel along links: answers are the oracle's at every quiet moment, ended questions leave nothing."""

from __future__ import annotations

import random
from typing import Any

import pytest

import headwater as hw
from headwater.core.errors import DataError
from headwater.network import Link, Simulation, Topology
from headwater.network.nodes.questions import SimulatedQuestion
from headwater.pipeline import CompiledProgram
from tests.network.nodes.scripts import Answers, Script, random_topology, simulated
from tests.network.nodes.test_oracle_scripts import TEXT, from_oracle

ASKED = {  # text, view, parameters and their columns
    "reach by both": (TEXT["reach"] + "query reach($S, $D).", "reach", {"S": 0, "D": 1}),
    "reach by source": (TEXT["reach"] + "query reach($S, @D).", "reach", {"S": 0}),
    "reach by destination": (TEXT["reach"] + "query reach(@S, $D).", "reach", {"D": 1}),
    "far by source": (TEXT["reach"] + "query far($S, @D).", "far", {"S": 0}),
    "cost by both": (TEXT["cost"] + "query cost($S, $D, C).", "cost", {"S": 0, "D": 1}),
    "paths by destination": (TEXT["paths"] + "query path(@S, $D, P).", "path", {"D": 1}),
    "spread by its origin": (TEXT["spread"] + "query spread(@D, $S).", "spread", {"S": 1}),
}


class Asker:
    """Opens and closes random questions while events happen, and compares their answers."""

    def __init__(self, sim: Simulation, view: str, columns: dict[str, int], dice: random.Random) -> None:
        self.sim, self.view, self.columns, self.dice = sim, view, columns, dice
        self.open: list[SimulatedQuestion] = []

    def burst(self, start: float, end: float) -> None:
        for question in [each for each in self.open if self.dice.random() < 0.3]:
            self.open.remove(question)
            question.close(self.dice.uniform(start, end))
        for _ in range(self.dice.randint(0, 3)):
            given: dict[str, Any] = {name: self.dice.choice(self.sim.topology.nodes) for name in self.columns}
            self.open.append(self.sim.follow(self.view, at=self.dice.uniform(start, end), **given))

    def check(self, rows: set[tuple[Any, ...]]) -> None:
        every: set[tuple[Any, ...]] = set()
        for question in self.open:
            wanted = [(at, question.given[name]) for name, at in self.columns.items()]
            expected = {row for row in rows if all(row[at] == value for at, value in wanted)}
            assert question.rows == expected, question
            every |= expected
        assert self.sim.rows(self.view) == every

    def end(self) -> None:
        for question in self.open:
            question.close()
        self.open = []
        self.sim.run()


def check_questions(name: str, seed: int, **options: Any) -> None:
    text, view, columns = ASKED[name]
    answers = from_oracle(name.partition(" ")[0].replace("far", "reach"))
    check_answers(hw.compile(text), view, columns, answers, seed, **options)


def check_answers(
    compiled: CompiledProgram,
    view: str,
    columns: dict[str, int],
    answers: Answers,
    seed: int,
    *,
    most: int = 6,
    **options: Any,
) -> None:
    """Random questions while random events happen on a network of at most so many nodes; then all of them end."""
    dice = random.Random(seed)
    topology = random_topology(dice, most)
    sim = simulated(compiled, topology, dice, messages=50_000, **options)
    script, asker = Script(compiled, topology, dice), Asker(sim, view, columns, dice)
    for number in range(4):
        start = script.now
        script.burst(sim, first=number == 0)
        asker.burst(start, script.now + 0.05)
        sim.run()
        asker.check(answers(script.state)[view])
        script.now = sim.now + 0.1
    asker.end()
    plain = Simulation(compiled, topology, **options)
    plain.at(0.0, insert={each: sorted(rows) for each, rows in script.state.items() if rows})
    plain.run()
    assert sim.rows(view) == set()
    assert present(sim) == present(plain)


def present(sim: Simulation) -> dict[str, set[tuple[Any, ...]]]:
    """All rows of all tables, whatever proofs they came with."""
    assert sim._tables is not None
    tables = sim._tables
    sent = {box.inbox for box in tables.program.boxes if box.sent} | {box.sent for box in tables.program.boxes}
    return {
        name: {row[:-1] if name in sent else row for row in tables.values(name, tables.present(name))}
        for name in tables.shard.stores
    }


@pytest.mark.parametrize("name", ASKED)
def test_oracle_questions(name: str) -> None:
    for seed in range(300, 304):
        check_questions(name, seed)


@pytest.mark.parametrize("name", ["reach by both", "cost by both", "far by source"])
def test_oracle_questions_with_caches(name: str) -> None:
    for seed in range(320, 323):
        check_questions(name, seed, caching=random.Random(seed).choice([0.02, 0.2, 5.0]))


@pytest.mark.soak
@pytest.mark.parametrize("name", ASKED)
def test_oracle_many_questions(name: str) -> None:
    for seed in range(2000, 2150):
        check_questions(name, seed, caching=random.Random(seed).choice([0.0, 0.0, 0.05, 1.0]))


LINE = Topology([Link("a", "b"), Link("b", "c"), Link("c", "d"), Link("a", "e"), Link("e", "d", latency=0.05)])
COST = hw.compile(ASKED["cost by both"][0])


def line(**options: Any) -> Simulation:
    sim = Simulation(COST, LINE, **options)
    sim.at(0.0, insert={"link": [(src, dst, 2 if "e" in (src, dst) else 1) for src, dst, _ in LINE.channels]})
    sim.run()
    return sim


def test_a_question_stops_at_a_node_that_has_the_answer() -> None:
    sim = line()
    assert sim.report.messages == 0
    first = sim.follow("cost", S="a", D="d")
    sim.run()
    assert first.rows == {("a", "d", 3)}
    sent = sim.report.messages
    second = sim.follow("cost", S="b", D="d")  # on the reverse path of the first
    sim.run()
    assert second.rows == {("b", "d", 2)}
    assert sim.report.messages == sent
    first.close()
    sim.run()
    assert (first.rows, second.rows) == (set(), {("b", "d", 2)})


def test_a_cache_outlives_its_question_and_follows_the_links() -> None:
    sim = line(caching=10.0)
    first = sim.follow("cost", S="a", D="d", at=1.0)
    first.close(at=2.0)
    sim.at(3.0, delete={"link": [("b", "c", 1)]})
    sim.run(until=5.0)
    assert sim.rows("cost") == set()
    sent = sim.report.messages
    second = sim.follow("cost", S="a", D="d")
    sim.run(until=6.0)
    assert second.rows == {("a", "d", 4)}
    assert sim.report.messages == sent
    second.close()
    sim.run()
    assert sim.stored_rows == line().stored_rows - 1


def test_questions_that_end_give_their_state_back() -> None:
    sim = line()
    before = sim.stored_rows
    questions = [sim.follow("cost", S=src, D=dst) for src, dst in (("a", "d"), ("d", "a"), ("a", "d"))]
    sim.run()
    assert sim.stored_rows > before
    for question in questions:
        question.close()
        question.close()
    sim.run()
    assert sim.stored_rows == before


def test_all_is_derived_where_questions_would_not_travel_along_links() -> None:
    text = """
        relation link(src: address, dst: address, cost: int).
        relation item(at: address, word: string).
        found(@S, @T, W) :- item(@S, W), T = S.
        found(@S, @T, W) :- #link(@S, @Z, _), found(@Z, @T, W).
        query found(@S, @T, $W).
    """
    sim = Simulation(hw.compile(text), LINE)
    sim.at(0.0, insert={"link": [(src, dst, 1) for src, dst, _ in LINE.channels], "item": [("a", "x"), ("b", "y")]})
    assert "found is derived whole: what is asked of it would not travel along links" in sim.explain()
    question = sim.follow("found", W="y", at=1.0)
    sim.run()
    assert question.rows == {(node, "b", "y") for node in "abcde"}
    question.close()
    sim.run()
    assert question.rows == set()


def test_bad_questions() -> None:
    sim = line()
    with pytest.raises(DataError, match="'x', which is not a node of the topology"):
        sim.follow("cost", S="x", D="a")
    with pytest.raises(DataError, match="HW824"):
        sim.follow("cost", S="a")
    with pytest.raises(DataError, match="in the past"):
        sim.run(until=sim.now + 1) and sim.follow("cost", S="a", D="b", at=0.0)
    with pytest.raises(DataError, match="cannot end before"):
        sim.follow("cost", S="a", D="b", at=sim.now + 2).close(at=sim.now + 1)
    with pytest.raises(ValueError, match="0 seconds or more"):
        Simulation(COST, LINE, caching=-1.0)
