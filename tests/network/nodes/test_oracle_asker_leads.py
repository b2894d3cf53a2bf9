"""Recursions that are followed from the node that asks: answers are the oracle's, and ended questions leave nothing."""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw
from headwater.network import Simulation
from headwater.network.topologies.made import random_graph
from tests.network.nodes.scripts import Answers, State
from tests.network.nodes.test_questions import check_answers
from tests.oracle.evaluate import evaluate
from tests.oracle.program import Call, Goal, Items, Program, Var
from tests.oracle.shorthand import agg, atom, head, holds, let, plus, program, rule

LINK = "relation link(src: address, dst: address, cost: int). relation up(at: address).\n"
BASES = {"link": ("string", "string", "int"), "up": ("string",)}


def best(function: str, first: Goal | None, joined: Goal, *tests: Goal) -> Program:
    return program(
        BASES,
        rule(head("cost", "S", "D", agg(function, "C")), atom("link", "S", "D", "_" if first else "C"), *_some(first)),
        rule(
            head("cost", "S", "D", agg(function, "C")),
            atom("link", "S", "Z", "A"),
            atom("cost", "Z", "D", "B"),
            joined,
            *tests,
        ),
    )


def _some(goal: Goal | None) -> tuple[Goal, ...]:
    return () if goal is None else (goal,)


STEP, PATH = Items((Var("S"), Var("D"))), Items((Var("S"), Var("Z")))
CASES: dict[str, tuple[str, str, dict[str, int], Program]] = {
    "reach": (
        """reach(@S, @D) :- #link(@S, @D, _), up(@S).
        reach(@S, @D) :- #link(@S, @Z, _), up(@S), reach(@Z, @D).
        query reach($S, @D).""",
        "reach",
        {"S": 0},
        program(
            BASES,
            rule(head("reach", "S", "D"), atom("link", "S", "D", "_"), atom("up", "S")),
            rule(head("reach", "S", "D"), atom("link", "S", "Z", "_"), atom("up", "S"), atom("reach", "Z", "D")),
        ),
    ),
    "heard, stored at its end": (
        """heard(@D, @S) :- #link(@S, @D, _).
        heard(@D, @S) :- #link(@Z, @D, _), heard(@Z, @S).
        query heard($D, @S).""",
        "heard",
        {"D": 0},
        program(
            BASES,
            rule(head("heard", "D", "S"), atom("link", "S", "D", "_")),
            rule(head("heard", "D", "S"), atom("link", "Z", "D", "_"), atom("heard", "Z", "S")),
        ),
    ),
    "cost": (
        """cost(@S, @D, min<C>) :- #link(@S, @D, C).
        cost(@S, @D, min<C>) :- #link(@S, @Z, A), cost(@Z, @D, B), C = A + B.
        query cost($S, @D, C).""",
        "cost",
        {"S": 0},
        best("min", None, let("C", plus("A", "B"))),
    ),
    "hops between different nodes": (
        """cost(@S, @D, min<C>) :- #link(@S, @D, _), C = 1.
        cost(@S, @D, min<C>) :- #link(@S, @Z, _), cost(@Z, @D, B), S != D, C = B + 1.
        query cost($S, @D, C).""",
        "cost",
        {"S": 0},
        best("min", let("C", 1), let("C", plus("B", 1)), holds("S", "!=", "D")),
    ),
    "widest": (
        """cost(@S, @D, max<C>) :- #link(@S, @D, C).
        cost(@S, @D, max<C>) :- #link(@S, @Z, A), cost(@Z, @D, B), smaller(C, A, B).
        query cost($S, @D, C).""",
        "cost",
        {"S": 0},
        best("max", None, let("C", Call("smaller", (Var("A"), Var("B"))))),
    ),
    "shortest paths": (
        """path(@S, @D, @D, P, C) :- #link(@S, @D, C), P = f_concatPath(link(@S, @D, C), nil).
        path(@S, @D, @Z, P, C) :- #link(@S, @Z, A), path(@Z, @D, _, Q, B), C = A + B,
            P = f_concatPath(link(@S, @Z, A), Q).
        least(@S, @D, min<C>) :- path(@S, @D, _, _, C).
        shortest(@S, @D, @Z, P, C) :- least(@S, @D, C), path(@S, @D, @Z, P, C).
        query shortest($S, @D, @Z, P, C).""",
        "shortest",
        {"S": 0},
        program(
            BASES,
            rule(
                head("path", "S", "D", "D", "P", "C"),
                atom("link", "S", "D", "C"),
                let("P", Call("concatPath", (STEP, Items(())))),
            ),
            rule(
                head("path", "S", "D", "Z", "P", "C"),
                atom("link", "S", "Z", "A"),
                atom("path", "Z", "D", "_", "Q", "B"),
                let("C", plus("A", "B")),
                holds("C", "<", 13),  # no best way of a few nodes is longer
                let("P", Call("concatPath", (PATH, Var("Q")))),
            ),
            rule(head("least", "S", "D", agg("min", "C")), atom("path", "S", "D", "_", "_", "C")),
            rule(
                head("shortest", "S", "D", "Z", "P", "C"),
                atom("least", "S", "D", "C"),
                atom("path", "S", "D", "Z", "P", "C"),
            ),
        ),
    ),
}


def answers_of(rules: Program) -> Answers:
    def answers(state: State) -> dict[str, set[tuple[Any, ...]]]:
        return dict(evaluate(rules, {"link": set(), "up": set(), **state}))

    return answers


def check(name: str, seed: int, **options: Any) -> None:
    text, view, columns, rules = CASES[name]
    most = 4 if name == "shortest paths" else 6
    check_answers(hw.compile(LINK + text), view, columns, answers_of(rules), seed, most=most, **options)


@pytest.mark.parametrize("name", CASES)
def test_oracle_questions_from_the_asker(name: str) -> None:
    assert f"{CASES[name][1]}'way" in explained(name) or "path'way" in explained(name)
    for seed in range(500, 504):
        check(name, seed)


@pytest.mark.soak
@pytest.mark.parametrize("name", CASES)
def test_oracle_many_questions_from_the_asker(name: str) -> None:
    for seed in range(3000, 3100):
        check(name, seed)


def explained(name: str, **options: Any) -> str:
    text = CASES[name][0]
    topology = random_graph(5, 8, 0)
    return Simulation(hw.compile(LINK + text, **options), topology).explain()


def test_it_can_be_left_out_by_name() -> None:
    assert "cost'way" not in explained("cost", disabled=["asker_leads"])


def test_a_source_asks_its_neighbours_once_and_not_for_all_pairs() -> None:
    """003, Figure 3: rows from one source follow the links, and not the links times the nodes."""
    topology = random_graph(60, 180, 0)
    rows = {}
    for off in ((), ("asker_leads",)):
        sim = Simulation(hw.compile(LINK + CASES["cost"][0], disabled=off), topology, evaluation="sn")
        sim.at(0.0, insert={"link": [(src, dst, 1) for src, dst, _ in topology.channels]})
        question = sim.follow("cost", S=topology.nodes[0], at=0.0)
        sim.run()
        assert {(dst, 1) for src, dst, _ in topology.channels if src == topology.nodes[0]} <= {
            row[1:] for row in question.rows
        }
        assert len(question.rows) == 60
        rows[off] = sim.report.rows
    channels = len(list(topology.channels))
    assert channels <= rows[()] <= 2 * channels + 60 * 4
    assert rows["asker_leads",] > 30 * rows[()]
