"""What a question about one row looks at: its own part of the data, however much lies beside it."""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw
from headwater.provenance.demand.fixed_columns import fixed_columns
from headwater.provenance.demand.magic_sets import Demand, TableQuestion
from headwater.provenance.demand.search import Search
from headwater.provenance.functions.node_budget import NodeBudget
from headwater.provenance.worlds.kept_worlds import without_lease

_NETWORK = """
relation link(a: int, b: int, cost: int). relation down(n: int).
up(X, Y, C) :- link(X, Y, C), !down(X), !down(Y).
reach(X, Y) :- up(X, Y, _).
reach(X, Z) :- up(X, Y, _), reach(Y, Z).
cut(X, Y) :- link(X, _, _), link(_, Y, _), !reach(X, Y).
degree(X, count<Y>) :- up(X, Y, C).
hub(X) :- degree(X, N), N > 1.
near(X, Y, min<C>) :- up(X, Y, C).
near(X, Z, min<C>) :- up(X, Y, C1), near(Y, Z, C2), C = C1 + C2.
far(X, N) :- near(X, 2, C), N := C * 2.
"""
_RING = [(0, 1, 1), (1, 2, 1), (2, 0, 1), (0, 2, 5)]
_MANY = 200


def rings(text: str = _NETWORK) -> hw.Database:
    """Rings of three nodes, each with a node that is down beside it."""
    db = hw.Database(hw.compile(text))
    links = [(10 * ring + a, 10 * ring + b, cost) for ring in range(_MANY) for a, b, cost in _RING]
    db.apply(insert={"link": links, "down": [(10 * ring + 3,) for ring in range(_MANY)]})
    return db


def looked_at(db: hw.Database, relation: str, row: tuple[Any, ...]) -> dict[str, set[tuple[int, ...]]]:
    """The base rows that a question about a row depends on."""
    _, codes = db._present(relation, row)
    plan, shard = db._endless(), db._shard
    table = next(one for one in plan.tables if one.name == relation)
    asked = without_lease(table, shard.stores[relation].table, codes)
    search = Search(shard, Demand(plan, relation, shard.stores[relation].table.time), asked, NodeBudget(), lambda: None)
    return {name: {tuple(fact) for fact in facts.tolist()} for name, facts in search.facts().items() if len(facts)}


@pytest.mark.parametrize(
    ("relation", "row", "links"),
    [
        ("up", (0, 1, 1), {(0, 1, 1)}),
        ("reach", (0, 2), set(_RING)),
        ("cut", (0, 12), {*_RING, (11, 12, 1), (10, 12, 5)}),
        ("degree", (0, 2), {(0, 1, 1), (0, 2, 5)}),
        ("hub", (0,), {(0, 1, 1), (0, 2, 5)}),
        ("near", (0, 2, 2), set(_RING)),
        ("far", (0, 4), set(_RING)),
    ],
)
def test_a_question_looks_at_what_its_row_can_depend_on(
    relation: str, row: tuple[int, ...], links: set[tuple[int, ...]]
) -> None:
    found = looked_at(rings(), relation, row)
    assert found.pop("link") == links
    assert not found, "no node of this ring is down"


def test_what_is_negated_is_looked_at_if_it_is_there() -> None:
    db = rings("relation link(a: int, b: int, cost: int). relation down(n: int). p(X) :- link(X, _, 5), !down(X).")
    db.apply(insert={"down": [(0,)]}, delete={"link": [(0, 2, 5)]})
    db.apply(insert={"link": [(3, 4, 5)]}, delete={"down": [(3,)]})
    assert looked_at(db, "p", (10,)) == {"link": {(10, 12, 5)}}
    db.apply(delete={"down": [(0,)]}, insert={"link": [(0, 2, 5)]})
    assert db.probability("p", (13,), 0.5) == 0.0
    db.apply(insert={"link": [(13, 14, 5)]})
    assert db.probability("p", (13,), 0.5) == 0.25


def test_a_negated_goal_without_bound_columns_is_asked_for_whole() -> None:
    db = rings("relation link(a: int, b: int, cost: int). relation down(n: int). up(X) :- link(X, _, _), !down(_).")
    db.apply(delete={"down": [(10 * ring + 3,) for ring in range(_MANY)]})
    assert db.critical("up", (0,)).facts == []
    db.apply(insert={"down": [(7,), (8,)]})
    assert db.probability("up", (0,), {"down": 0.5}) == 0.25


def test_results_of_aggregates_and_what_is_computed_around_a_recursion_are_not_fixed() -> None:
    fixed = fixed_columns(rings()._shard.plan)
    assert fixed["near"] == (0, 1)
    assert fixed["degree"] == (0,)
    assert fixed["far"] == (0,)
    assert fixed["link"] == (0, 1, 2)


def test_a_recursion_whose_questions_would_not_end_is_asked_for_whole() -> None:
    text = """
    relation start(n: int). relation stop(n: int).
    up(N) :- start(N).
    up(M) :- up(N), !stop(N), M := N + 1, M < 12.
    down(N) :- stop(N).
    down(N) :- M := N + 1, down(M), start(N).
    odd(N) :- up(N), !down(N).
    """
    db = hw.Database(hw.compile(text))
    db.apply(insert={"start": [(1,), (5,)], "stop": [(6,), (9,)]})
    kept = hw.Database(hw.compile(text), provenance="absorption")
    kept.apply(insert={"start": [(1,), (5,)], "stop": [(6,), (9,)]})
    assert db.rows("odd") == {(1,), (2,), (3,), (4,)}
    for number in range(13):
        assert db.probability("odd", (number,), 0.5) == kept.probability("odd", (number,), 0.5)


def test_a_question_that_looks_at_too_much_says_so() -> None:
    db = hw.Database(hw.compile(_NETWORK), nodes=300)
    db.apply(insert={"link": [(at, at + 1, 1) for at in range(400)]})
    with pytest.raises(hw.BudgetSpent, match=r"HW903.*300 nodes"):
        db.critical("near", (0, 400, 400))
    assert db.critical("near", (396, 400, 4)).facts != []
    assert db.probability("near", (0, 400, 400), 0.9) == hw.provenance.demand.questions.Bounds(0.0, 1.0)


def test_a_long_chain_of_views_can_be_asked() -> None:
    steps = "".join(f"v{at + 1}(X) :- v{at}(X), !off(X, {at}). " for at in range(400))
    db = hw.Database(hw.compile(f"relation off(n: int, at: int). v0(X) :- start(X). {steps}"))
    db.apply(insert={"start": [(1,), (2,)], "off": [(2, 7)]})
    assert db.critical("v400", (1,)).facts == [("start", (1,))]
    assert db.probability("v400", (2,), 0.5) == 0.25


def test_a_table_that_is_asked_in_too_many_ways_is_asked_for_whole() -> None:
    columns = [f"C{at}" for at in range(6)]
    rules = [f"p({', '.join(columns)}) :- b({', '.join(columns)}), !off(C0)."]
    for at in range(6):
        one = [*columns[1:], columns[0]]
        other = ["_" if name == columns[at] else name for name in columns]
        rules.append(f"p({', '.join(one)}) :- p({', '.join(other)}), k(C{at}).")
    text = f"relation off(n: int). relation k(n: int). relation b({', '.join(f'c{at}: int' for at in range(6))})."
    db = hw.Database(hw.compile(text + "\n".join(rules)))
    db.apply(insert={"b": [(1, 1, 1, 1, 1, 1)], "k": [(1,)], "off": [(2,)]})
    asked = Demand(db._shard.plan, "p").questions["p"]
    assert TableQuestion("p", ()) in asked
    assert len(asked) == 17
    assert db.critical("p", (1,) * 6).facts == [("b", (1,) * 6)]


def test_base_rows_that_live_by_the_clock_rest_on_themselves() -> None:
    text = "stream tick(ts: int) ttl 5. stream seen(ts: int, n: int) ttl 5. p(X) :- seen(_, X), tick(_)."
    db = hw.Database(hw.compile(text))
    db.apply(insert={"tick": [(1,), (3,)], "seen": [(2, 7), (2, 8)]})
    assert db.critical("seen", (2, 7)).facts == [("seen", (2, 7))]
    assert [relation for relation, _ in db.critical("tick", (None,)).facts] == ["tick"]
    assert {relation for relation, _ in db.critical("p", (7,)).facts} == {"seen", "tick"}
