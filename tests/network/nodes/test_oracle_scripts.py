"""Random events on random networks: at every quiet moment, the rows of all nodes are the oracle's."""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw
from headwater.core.errors import GuardError
from headwater.network.protocols import PROTOCOLS
from tests.network.nodes.scripts import Answers, State, check_script, from_database
from tests.oracle.evaluate import evaluate
from tests.oracle.program import Call, Items, Program, Var
from tests.oracle.shorthand import agg, atom, head, holds, let, no, plus, program, rule

LINK = {"link": ("string", "string", "int"), "blocked": ("string",)}
TEXT = {
    "reach": """
        relation link(src: address, dst: address, cost: int).
        reach(@S, @D) :- #link(@S, @D, _).
        reach(@S, @D) :- #link(@S, @Z, _), reach(@Z, @D).
        near(@S, @D) :- #link(@S, @D, _).
        far(@S, @D) :- reach(@S, @D), !near(@S, @D).
    """,
    "cost": """
        relation link(src: address, dst: address, cost: int).
        cost(@S, @D, min<C>) :- #link(@S, @D, C).
        cost(@S, @D, min<C>) :- #link(@S, @Z, C1), cost(@Z, @D, C2), C = C1 + C2, C < 12.
    """,
    "paths": """
        relation link(src: address, dst: address, cost: int).
        path(@S, @D, P) :- #link(@S, @D, _), P = [S, D].
        path(@S, @D, P) :- #link(@S, @Z, _), path(@Z, @D, P2), member(S, P2) = false, P = concat([S], P2).
    """,
    "spread": """
        relation link(src: address, dst: address, cost: int).
        relation blocked(at: address).
        spread(@D, @S) :- #link(@S, @D, C), C > 2, !blocked(@S).
        spread(@D, X) :- #link(@Z, @D, _), spread(@Z, X), !blocked(@Z), !quiet(@Z).
        quiet(@S) :- #link(@S, @D, C), C = 1.
        told(@S, @D, N) :- #link(@S, @D, _), heard(@D, N).
        heard(@D, count<X>) :- spread(@D, X).
    """,
}
RULES: dict[str, Program] = {
    "reach": program(
        LINK,
        rule(head("reach", "S", "D"), atom("link", "S", "D", "_")),
        rule(head("reach", "S", "D"), atom("link", "S", "Z", "_"), atom("reach", "Z", "D")),
        rule(head("near", "S", "D"), atom("link", "S", "D", "_")),
        rule(head("far", "S", "D"), atom("reach", "S", "D"), no("near", "S", "D")),
    ),
    "cost": program(
        LINK,
        rule(head("cost", "S", "D", agg("min", "C")), atom("link", "S", "D", "C")),
        rule(
            head("cost", "S", "D", agg("min", "C")),
            atom("link", "S", "Z", "C1"),
            atom("cost", "Z", "D", "C2"),
            let("C", plus("C1", "C2")),
            holds("C", "<", 12),
        ),
    ),
    "paths": program(
        LINK,
        rule(head("path", "S", "D", "P"), atom("link", "S", "D", "_"), let("P", Items((Var("S"), Var("D"))))),
        rule(
            head("path", "S", "D", "P"),
            atom("link", "S", "Z", "_"),
            atom("path", "Z", "D", "P2"),
            holds(Call("member", (Var("S"), Var("P2"))), "=", False),
            let("P", Call("concat", (Items((Var("S"),)), Var("P2")))),
        ),
    ),
    "spread": program(
        LINK,
        rule(head("spread", "D", "S"), atom("link", "S", "D", "C"), holds("C", ">", 2), no("blocked", "S")),
        rule(
            head("spread", "D", "X"),
            atom("link", "Z", "D", "_"),
            atom("spread", "Z", "X"),
            no("blocked", "Z"),
            no("quiet", "Z"),
        ),
        rule(head("quiet", "S"), atom("link", "S", "D", "C"), holds("C", "=", 1)),
        rule(head("told", "S", "D", "N"), atom("link", "S", "D", "_"), atom("heard", "D", "N")),
        rule(head("heard", "D", agg("count", "X")), atom("spread", "D", "X")),
    ),
}


def from_oracle(name: str) -> Answers:
    compiled = hw.compile(TEXT[name])

    def answers(state: State) -> dict[str, set[tuple[Any, ...]]]:
        found = evaluate(RULES[name], {"link": set(), "blocked": set(), **state})
        return {view: found.get(view, set()) for view in compiled.outputs}

    return answers


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("block", range(4))
def test_oracle_scripts(name: str, block: int) -> None:
    compiled, answers = hw.compile(TEXT[name]), from_oracle(name)
    for seed in range(8 * block, 8 * block + 8):
        check_script(compiled, seed, answers)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_agree_protocols(name: str) -> None:
    compiled = PROTOCOLS[name].compiled()
    for seed in range(5):
        check_script(compiled, seed, from_database(compiled), bursts=2)


def test_counting_is_wrong_where_rows_support_each_other() -> None:
    """Without proofs, nodes of a ring go on telling each other of nodes that have left."""
    compiled, answers = hw.compile(TEXT["reach"]), from_oracle("reach")
    wrong = 0
    for seed in range(5):
        try:
            check_script(compiled, seed, answers, maintenance="count")
        except (AssertionError, GuardError):
            wrong += 1
    assert wrong


def test_paths_are_right_by_counting_and_by_proofs() -> None:
    compiled, answers = hw.compile(TEXT["paths"]), from_oracle("paths")
    for seed in range(40, 44):
        check_script(compiled, seed, answers, maintenance="count")
        check_script(compiled, seed, answers, maintenance="proofs")


@pytest.mark.soak
@pytest.mark.parametrize("name", [*TEXT, *PROTOCOLS])
def test_oracle_many_scripts(name: str) -> None:
    compiled = hw.compile(TEXT[name]) if name in TEXT else PROTOCOLS[name].compiled()
    answers = from_oracle(name) if name in TEXT else from_database(compiled)
    for seed in range(1000, 1150):
        check_script(compiled, seed, answers, bursts=4)
