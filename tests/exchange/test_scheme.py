"""Which scheme a program gets, and why."""

from __future__ import annotations

import pyarrow as pa
import pytest

import headwater as hw
from headwater.exchange.cluster import Cluster
from headwater.exchange.scheme import ByColumn, Place, Scheme, choose
from tests.exchange.sharded import to_rows

LINK = "relation link(x: int, y: int). "
LEFT = LINK + "reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), link(Z, Y). "
RIGHT = LINK + "reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y). "
SQUARE = LINK + "reach(X, Y) :- link(X, Y). reach(X, Y) :- reach(X, Z), reach(Z, Y). "


def _scheme(text: str) -> Scheme:
    return choose(hw.compile(text), {}, 2)


@pytest.mark.parametrize(("text", "column"), [(LEFT, 0), (RIGHT, 1)])
def test_a_closure_keeps_the_end_that_its_recursion_hands_on(text: str, column: int) -> None:
    scheme = _scheme(text)
    assert scheme.kind == "decomposed"
    assert scheme.homes == {"link": Place.EVERYWHERE, "reach": ByColumn(column)}
    assert not scheme.plan.shipments


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SQUARE, "`reach` keeps no column"),
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
    assert _scheme(text).kind == "exchange"


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
    scheme = choose(program, {}, shards, kinds=("decomposed",))
    cluster, db = Cluster(scheme, shards), hw.Database(program)
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
    cluster = Cluster(_scheme(LEFT), 4)
    cluster.apply({"link": _table([(one, (one * 7 + step) % 200) for one in range(200) for step in (1, 3)])}, {})
    sizes = [member.rows("reach").num_rows for member in cluster.members]
    assert min(sizes) > 0.5 * sum(sizes) / 4
    assert cluster.traffic.rows == cluster.traffic.rounds == 0


def test_a_program_with_many_relations_is_decided_soon() -> None:
    rules = [f"p{at}(X, Y, Z) :- p{at - 1}(Y, Z, X), p{at - 1}(Z, X, Y)." for at in range(1, 30)]
    text = "p0(X, Y, Z) :- link(X, Y), link(Y, Z). " + " ".join(rules)
    assert _scheme(LINK + text).kind == "exchange"
