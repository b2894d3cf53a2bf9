"""The order in which a rule is joined changes no row, no change and no proof, and may change at any time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import headwater as hw
from headwater.engine.store.measuring import measure
from headwater.plan.model import Join, Reads
from tests.engine.holding import hold, pairs
from tests.engine.opened import Reopened
from tests.exchange.sharded import NotPlaced, Sharded
from tests.oracle.evaluate import Diverges
from tests.oracle.harness import check_maintenance, check_proofs, check_what_if
from tests.oracle.strategies import Case, cases, random_case, random_cases, seeds, template_case
from tests.plan.shuffled import shuffled_orders

JOINS = """
relation a(x: int, y: int). relation b(x: int, y: int). relation c(x: int, y: int). relation d(x: int).
v(X, W) :- a(X, Y), b(Y, Z), c(Z, W), !d(X), X < 1000000.
p(X, Y) :- a(X, Y).
p(X, W) :- p(X, Y), b(Y, Z), p(Z, W).
"""


@pairs(250)
@given(random_cases, seeds)
def test_oracle_in_any_order(case: Case, seed: int) -> None:
    with shuffled_orders(seed):
        hold(check_maintenance, case)


@pairs(60)
@given(cases, seeds)
def test_oracle_in_any_order_saved_and_opened_between(case: Case, seed: int) -> None:
    with shuffled_orders(seed):
        hold(check_maintenance, case, Reopened)


@pairs(60)
@given(cases, seeds)
def test_oracle_proofs_and_what_if_in_any_order(case: Case, seed: int) -> None:
    with shuffled_orders(seed):
        hold(partial(check_proofs, seed=seed), case)
        hold(partial(check_what_if, seed=seed), case)


@pytest.mark.parametrize("shards", [1, 2, 3])
@pairs(60)
@given(seed=seeds)
def test_agree_shards_in_any_order(shards: int, seed: int) -> None:
    with shuffled_orders(seed):
        try:
            check_maintenance(random_case(seed), partial(Sharded, shards=shards, kinds=("exchange",)))
        except (NotPlaced, Diverges):
            return


@pytest.mark.parametrize("kind", ["exchange", "decomposed"])
@pytest.mark.parametrize("name", ["points_to", "same_generation", "path_vector"])
def test_agree_shards_of_templates_in_any_order(name: str, kind: str) -> None:
    for seed in range(3):
        with shuffled_orders(seed):
            try:
                check_maintenance(template_case(name, seed), partial(Sharded, shards=3, kinds=(kind,)))
            except (NotPlaced, Diverges):
                continue


def _loaded() -> hw.Database:
    """A hub in the middle: `a` and `b` meet in one value, `c` is small."""
    db = hw.Database(hw.compile(JOINS))
    hub = [(at, 0) for at in range(2000)]
    db.apply(insert={"a": hub, "b": [(y, x) for x, y in hub], "c": [(5, 1)], "d": [(3,)]})
    return db


def _orders(db: hw.Database) -> list[tuple[int, ...]]:
    return [delta_rule.order for rule in db._shard.plan.rules for delta_rule in rule.delta_rules]


def test_orders_follow_the_data() -> None:
    db = _loaded()
    rule = db._shard.plan.rules[0]
    structural = hw.Database(hw.compile(JOINS))._shard.plan.rules[0]
    assert rule.last is None
    assert rule.arrive[2].order == (1, 0)
    assert [reads.reads for reads in rule.arrive[2].steps if isinstance(reads, Join)] == [Reads.ALL, Reads.ALL]
    assert rule.arrive[0].expected is not None
    assert structural.arrive[0].expected is None
    assert db.rows("v") == {(x, 1) for x in range(2000) if x != 3}


def test_orders_are_saved_and_opened(tmp_path: Path) -> None:
    db = _loaded()
    db.apply(insert={"c": [(at, at) for at in range(5000)]})
    db.save(tmp_path / "db")
    opened = hw.Database.open(tmp_path / "db")
    assert _orders(opened) == _orders(db) != _orders(hw.Database(hw.compile(JOINS)))
    assert opened._shard.join_orders() == db._shard.join_orders()


@pytest.mark.parametrize(
    "change",
    [
        lambda joins: joins["orders"][0].__setitem__(1, 9),
        lambda joins: joins["orders"][0].__setitem__(0, 99),
        lambda joins: joins["orders"][0][2].pop(),
        lambda joins: joins["orders"][0][2].__setitem__(0, [1, 1]),
        lambda joins: joins["orders"][0][2].__setitem__(0, [1, 2.0]),
        lambda joins: joins["planned"].pop(),
        lambda joins: joins["planned"][0][0].popitem(),
        lambda joins: joins["planned"][0][0].update(a=-1),
        lambda joins: joins.pop("orders"),
    ],
)
def test_forged_orders_are_refused(change: Callable[[dict[str, Any]], Any], tmp_path: Path) -> None:
    db = _loaded()
    joins = db._shard.join_orders()
    change(joins)
    db._shard.join_orders = lambda: joins  # type: ignore[method-assign]
    db.save(tmp_path / "db")
    with pytest.raises(hw.StateError, match="join orders"):
        hw.Database.open(tmp_path / "db")


@pytest.mark.parametrize("places", list(permutations((1, 2, 3))))
def test_a_rule_is_joined_in_the_order_that_it_says(places: tuple[int, ...]) -> None:
    said = ", ".join(map(str, places))
    text = "relation e(x: int, y: int). v(X, W) :- e(X, Y), e(Y, Z), e(Z, W), X != W plan({}). w(X) :- v(X, X)."
    db = hw.Database(hw.compile(text.format(said)))
    rows = [(at % 50, (at * 7) % 40) for at in range(4000)]
    db.apply(insert={"e": rows})
    db.apply(delete={"e": rows[:20]})
    left = set(rows) - set(rows[:20])
    assert db.rows("v") == {(x, w) for x, y in left for a, z in left if a == y for b, w in left if b == z and x != w}
    (rule, _) = db._shard.plan.rules
    for slot, delta_rule in enumerate(rule.arrive):
        assert delta_rule.order == tuple(place - 1 for place in places if place - 1 != slot)
    assert rule.pulls[0].delta_rule.order == tuple(place - 1 for place in places)


def test_statistics_find_hubs_and_count_values() -> None:
    db = hw.Database(hw.compile("relation e(x: int, y: int, z: int). v(X) :- e(X, Y, Z)."))
    db.apply(insert={"e": [(at, 0 if at % 2 else at, at % 10) for at in range(40_000)]})
    found = measure(db._shard.stores["e"], [0, 1, 2])
    assert found.rows == 40_000
    assert 30_000 < found.columns[0].distinct <= 40_000
    assert found.columns[0].frequent == {}
    assert found.columns[1].frequent.keys() == {0}
    assert 18_000 < found.columns[1].frequent[0] < 22_000
    assert found.columns[1].rest < 2
    assert found.columns[2].distinct == 10
    assert 3_500 < found.columns[2].rest < 4_500
