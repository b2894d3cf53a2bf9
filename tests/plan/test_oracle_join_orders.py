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
from headwater.core.source import Source
from headwater.core.types import Type
from headwater.engine.store import kernels
from headwater.engine.store.measuring import measure
from headwater.language.datalog.parse import parse
from headwater.language.terms import positive_atoms
from headwater.plan.join_order import Costs
from headwater.plan.model import Join, Reads
from headwater.plan.statistics import ColumnStatistics, TableStatistics
from headwater.program.check import check
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


ALERTS = """
relation trade(a: int, b: int). relation alert(a: int, x: int).
risky(X, Y) :- trade(A, B), alert(A, X), alert(B, Y).
"""
Facts = dict[str, list[tuple[int, int]]]
FEW: Facts = {
    "trade": [(at, (at * 97 + 20) % 3000) for at in range(3000)],
    "alert": [(at % 45, at) for at in range(9000)],
}
ALL: Facts = {"trade": FEW["trade"], "alert": [(at % 3000, at) for at in range(9000)]}


def _alerts(facts: Facts, **options: Any) -> hw.Database:
    db = hw.Database(hw.compile(ALERTS, **options))
    db.apply(insert=facts)
    return db


def _risky(facts: Facts) -> set[tuple[int, int]]:
    alerts: dict[int, list[int]] = {}
    for a, x in facts["alert"]:
        alerts.setdefault(a, []).append(x)
    return {(x, y) for a, b in facts["trade"] for x in alerts.get(a, ()) for y in alerts.get(b, ())}


def test_bindings_are_filtered_by_what_few_of_them_meet() -> None:
    db = _alerts(FEW)
    assert ~2 in db._shard.plan.rules[0].arrive[0].order
    assert "go on if some alert(B, Y) matches by index (a) before this round, join alert(A, X)" in db.plan()
    assert db.rows("risky") == _risky(FEW)


@pytest.mark.parametrize(("facts", "disabled"), [(ALL, []), (FEW, ["semi_joins"])])
def test_bindings_are_not_filtered(facts: Facts, disabled: list[str]) -> None:
    db = _alerts(facts, disabled=disabled)
    assert all(slot >= 0 for order in _orders(db) for slot in order)
    assert db.rows("risky") == _risky(facts)


def test_a_filter_that_lets_most_through_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.engine.rules.delta_rule._TRIED", 100)
    db = _alerts(FEW)
    asked: list[int] = []
    exists = kernels.exists

    def counted(cells: Any, *rest: Any) -> None:
        asked.append(cells.size)
        exists(cells, *rest)

    monkeypatch.setattr(kernels, "exists", counted)
    db.apply(insert={"alert": [(at, at) for at in range(45, 300)]})
    db.apply(insert={"trade": [(at, at + 1) for at in range(45, 250)]})
    assert max(asked) > 100, "it is tried"
    asked.clear()
    db.apply(insert={"trade": [(at, at + 2) for at in range(45, 250)]})
    assert sum(asked) < 100, "and no longer asked"
    monkeypatch.undo()
    assert db.rows("risky") == _risky({name: [*db.rows(name)] for name in FEW})


def test_filters_are_saved_and_opened(tmp_path: Path) -> None:
    db = _alerts(FEW)
    db.save(tmp_path / "db")
    opened = hw.Database.open(tmp_path / "db")
    assert _orders(opened) == _orders(db)
    opened.apply(insert={"trade": [(1, 2)]}, delete={"trade": [(0, 20)]})
    assert opened.rows("risky") == _risky({**FEW, "trade": [(1, 2), *FEW["trade"][1:]]})


@pytest.mark.parametrize("order", [[1, ~1, 2], [~1, ~1, 1, 2], [~5, 1, 2], [~0, 1, 2], [1, 2, ~2]])
def test_forged_filters_are_refused(order: list[int], tmp_path: Path) -> None:
    db = _alerts(FEW)
    joins = db._shard.join_orders()
    joins["orders"][0][2][0] = order
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


@pytest.mark.parametrize("places", list(permutations((1, 2, 3))))
def test_statistics_do_not_change_an_order_that_a_rule_says(places: tuple[int, ...]) -> None:
    rule = "v(X, Z) :- a(X, Y), b(Y, Z), c(Z)"
    declared = "relation a(x: int, y: int). relation b(y: int, z: int). relation c(z: int). "
    rows = {"a": [(at, at % 3) for at in range(1500)], "b": [(at % 3, at) for at in range(1500)], "c": [(0,)]}
    said, free = (
        hw.Database(hw.compile(f"{declared}{rule}{order}.")) for order in (f" plan({', '.join(map(str, places))})", "")
    )
    for db in (said, free):
        db.apply(insert=rows)
        db.apply(insert={"a": [(5000, 1)]})
        assert db.rows("v") == {(x, 0) for x, y in rows["a"] if y == 0}
    assert free._shard.plan.rules[0].arrive[0].order == (2, 1), "c, which has one row, before b"
    for slot, delta_rule in enumerate(said._shard.plan.rules[0].arrive):
        assert delta_rule.order == tuple(place - 1 for place in places if place - 1 != slot)


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
    assert 14_000 < found.columns[1].distinct < 27_000
    assert found.columns[2].distinct == 10
    assert 3_500 < found.columns[2].rest < 4_500


def _costs(**keys: frozenset[int]) -> Costs:
    """Of `e`, 100 rows: ten values in its first column, one of which has half of the rows; 50 in its second."""
    first = ColumnStatistics(10.0, {7: 50.0}, 50 / 9)
    about = TableStatistics(100, {0: first, 1: ColumnStatistics(50.0, {}, 2.0)})
    return Costs({"e": about}, lambda literal, _: int(literal.value), {"e": (Type.INT, Type.INT)}, keys)


@pytest.mark.parametrize(
    ("args", "known", "expected"),
    [
        ("X, Y", (), 100.0),
        ("X, Y", ("X",), 10.0),
        ("X, Y", ("Y",), 2.0),
        ("X, _", ("Y",), 100.0),
        ("7, Y", (), 50.0),
        ("3, Y", (), 50 / 9),
        ("X, X", (), 2.0),
        ("X, Y", ("X", "Y"), 2.0 * 0.1**0.5),
        ("7, Y", ("Y",), 1.0),  # a whole row is there once
    ],
)
def test_rows_that_a_lookup_is_expected_to_give(args: str, known: tuple[str, ...], expected: float) -> None:
    (rule,) = check(parse(Source("<text>", f"v(0) :- e({args})."))).rules
    (atom,) = positive_atoms(rule)
    assert _costs().matches(atom, dict.fromkeys(known)) == pytest.approx(expected)


@pytest.mark.parametrize(("args", "known"), [("X, Y", ("X",)), ("7, Y", ())])
def test_a_lookup_by_a_key_gives_one_row(args: str, known: tuple[str, ...]) -> None:
    (rule,) = check(parse(Source("<text>", f"v(0) :- e({args})."))).rules
    (atom,) = positive_atoms(rule)
    assert _costs(e=frozenset({0})).matches(atom, dict.fromkeys(known)) == 1.0
