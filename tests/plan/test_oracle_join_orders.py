"""The order in which a rule is joined changes no row, no change and no proof, and may change at any time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import headwater as hw
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
