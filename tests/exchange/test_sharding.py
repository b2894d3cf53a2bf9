"""Which sharding a program gets, and why."""

from __future__ import annotations

import pyarrow as pa
import pytest

import headwater as hw
from headwater.exchange.cluster import Cluster
from headwater.exchange.sharding import ByColumn, Place, Sharding, choose
from headwater.plan.model import Owned
from tests.exchange.sharded import to_rows

LINK = "relation link(x: int, y: int). "
LEFT = LINK + "reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), link(Z, Y). "
RIGHT = LINK + "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y). "
SQUARE = LINK + "reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), reach(Z, Y). "


def _sharding(text: str) -> Sharding:
    return choose(hw.compile(text), {}, 2)


@pytest.mark.parametrize(("text", "column"), [(LEFT, 0), (RIGHT, 1), (SQUARE, 0)])
def test_a_closure_keeps_the_end_that_its_recursion_hands_on(text: str, column: int) -> None:
    sharding = _sharding(text)
    assert sharding.kind == "decomposed"
    assert sharding.homes == {"link": Place.EVERYWHERE, "reach": ByColumn(column)}
    assert not sharding.plan.shipments


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SQUARE.replace("reach(Z, Y).", "reach(Z, Y), Z > 3."), "`reach` keeps no column"),
        (LEFT + "both(X, Y) :- reach(X, Y), reach(Y, X). ", "`both` needs rows"),
        (LEFT + "lonely(X) :- link(X, _), !reach(_, X). ", "`lonely` needs rows"),
        (LEFT + "into(Y, count<X>) :- reach(X, Y). ", "`into` needs rows"),
        (LINK + "near(X, Y) :- link(X, Y). near(X, Y) :- link(Y, X). "
         "comp(X, min<X>) :- near(X, _). comp(Y, min<V>) :- comp(X, V), near(X, Y).", "`comp` keeps no column"),
        (LINK + "from(1). from(Y) :- from(X), link(X, Y).", "`from` keeps no column"),
    ],
)  # fmt: skip
def test_what_is_not_kept_together_is_no_decomposition(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        choose(hw.compile(text), {}, 2, kinds=("decomposed",))
    assert _sharding(text).kind == "exchange"


@pytest.mark.parametrize(
    "more",
    [
        "out(X, count<Y>) :- reach(X, Y).",
        "dead(X, Y) :- reach(X, Y), !link(Y, X).",
        "far(X, Y) :- reach(X, Y), !link(X, Y).",
        "other(X, Y) :- link(X, Y), !reach(X, X).",
        "degree(X, count<Y>) :- link(X, Y). busy(X, N) :- reach(X, _), degree(X, N).",
        "into(Y, count<X>) :- link(X, Y). busy(X, N) :- reach(X, Y), into(Y, N).",
        "top(max<Y>) :- link(_, Y). best(X) :- reach(X, Y), top(Y).",
        "reach(7, 1). reach(8, 2).",
        "lone(X, Z) :- reach(X, Y), Z = Y + 1. lone(0, 5).",
        "two(X, Z) :- link(X, Y), link(Y, Z).",
        "none() :- !link(1, 1). far(X) :- reach(X, 3), none().",
    ],
)
@pytest.mark.parametrize("shards", [2, 3])
def test_agree_what_rests_on_a_closure_side_by_side(more: str, shards: int) -> None:
    program = hw.compile(LEFT + more)
    sharding = choose(program, {}, shards, kinds=("decomposed",))
    cluster, db = Cluster(sharding, shards), hw.Database(program)
    edges = [(one, (one * 3 + step) % 11) for one in range(11) for step in (1, 4)]
    for insert, delete in ((edges, []), ([(3, 3)], edges[5:9]), (edges[5:7], edges[:3]), ([], edges)):
        cluster.apply({"link": _table(insert)}, {"link": _table(delete)})
        db.apply({"link": insert}, {"link": delete})
        for view in program.outputs:
            found = to_rows(cluster.rows(view))
            assert len(found) == len(set(found))
            assert set(found) == db.rows(view)


def _table(rows: list[tuple[int, int]]) -> pa.Table:
    return pa.table({"x": pa.array([x for x, _ in rows], pa.int64()), "y": pa.array([y for _, y in rows], pa.int64())})


def test_every_shard_holds_about_its_share() -> None:
    cluster = Cluster(_sharding(LEFT), 4)
    cluster.apply({"link": _table([(one, (one * 7 + step) % 200) for one in range(200) for step in (1, 3)])}, {})
    sizes = [member.rows("reach").num_rows for member in cluster.members]
    assert min(sizes) > 0.5 * sum(sizes) / 4
    assert cluster.traffic.rows == cluster.traffic.rounds == 0


def test_a_program_with_many_relations_is_decided_soon() -> None:
    rules = [f"p{at}(X, Y, Z) :- p{at - 1}(Y, Z, X), p{at - 1}(Z, X, Y)." for at in range(1, 30)]
    text = "p0(X, Y, Z) :- link(X, Y), link(Y, Z). " + " ".join(rules)
    assert _sharding(LINK + text).kind == "exchange"


COMPONENTS = LINK + (
    "low(X, min<X>) :- link(X, _). low(Y, min<Y>) :- link(_, Y). "
    "low(Y, min<L>) :- link(X, Y), low(X, L). low(X, min<L>) :- link(X, Y), low(Y, L)."
)


def test_base_rows_that_rules_meet_at_two_columns_are_fed_to_both_and_never_shipped() -> None:
    sharding = choose(hw.compile(COMPONENTS), {}, 2, kinds=("exchange",))
    assert sharding.tables_of("link") == ("link", "link_at_y")
    assert sharding.travels == ("low",)
    assert "link_at_y(x, y): by y, with link" in sharding.explain()
    cluster = Cluster(sharding, 2)
    cluster.apply({"link": pa.table({"x": [1, 2, 5, 6], "y": [2, 3, 6, 5]})}, {})
    assert set(to_rows(cluster.rows("low"))) == {(1, 1), (2, 1), (3, 1), (5, 5), (6, 5)}
    cluster.apply({}, {"link": pa.table({"x": [2], "y": [3]})})
    assert set(to_rows(cluster.rows("low"))) == {(1, 1), (2, 1), (5, 5), (6, 5)}


def test_facts_of_the_program_are_in_every_copy_of_their_relation() -> None:
    sharding = choose(hw.compile(COMPONENTS + " link(7, 8). link(9, 8)."), {}, 3, kinds=("exchange",))
    assert set(to_rows(Cluster(sharding, 3).rows("low"))) == {(7, 7), (8, 7), (9, 7)}


def test_a_keyed_relation_is_copied_by_a_rule() -> None:
    text = COMPONENTS.replace("link(x: int, y: int)", "link(x: int, y: int) key(x)")
    sharding = choose(hw.compile(text), {}, 2, kinds=("exchange",))
    assert sharding.tables_of("link") == ("link",)
    cluster = Cluster(sharding, 2)
    cluster.apply({"link": pa.table({"x": [2, 3], "y": [1, 2]})}, {})
    cluster.apply({"link": pa.table({"x": [3], "y": [4]})}, {})
    assert set(to_rows(cluster.rows("low"))) == {(1, 1), (2, 1), (3, 3), (4, 3)}


def test_inside_a_recursion_nobody_asks_who_owns_a_row() -> None:
    plan = choose(hw.compile(COMPONENTS), {}, 2, kinds=("exchange",)).plan
    recursion = next(stratum for stratum in plan.strata if stratum.recursive)
    delta_rules = [delta_rule for number in recursion.rules for delta_rule in plan.rules[number].arrive]
    assert not any(isinstance(step, Owned) for delta_rule in delta_rules for step in delta_rule.steps)
    parted = {table.name for table in plan.tables if "'" in table.name and table.name.startswith("link")}
    assert parted == {"link'here1", "link'away1", "link_at_y'here0", "link_at_y'away0"}
