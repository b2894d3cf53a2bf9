"""What a cluster promises beside agreeing with the oracle: schemes travel, and transactions are kept by all or none."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.errors import DataError, EvaluationError, GuardError
from headwater.core.types import Type
from headwater.engine.guard import Guard
from headwater.exchange.cluster import Cluster
from headwater.exchange.member import Member
from headwater.exchange.sharding import choose
from headwater.exchange.wire import ship
from tests.exchange.sharded import to_rows

CLOSURE = "relation link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."


def _links(*pairs: tuple[int, int]) -> dict[str, pa.Table]:
    return {"link": pa.table({"x": [x for x, _ in pairs], "y": [y for _, y in pairs]})}


def _sorted(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted(to_rows(table))


def test_a_sharding_survives_pickling() -> None:
    sharding = choose(hw.compile(CLOSURE), {}, 2, kinds=("exchange",))
    again = pickle.loads(pickle.dumps(sharding))
    assert again.plan == sharding.plan
    cluster = Cluster(again, 3)
    before = cluster.traffic.rounds
    outcomes = cluster.apply(_links((1, 2), (2, 3)), {})
    assert _sorted(cluster.rows("reach")) == [(1, 2), (1, 3), (2, 3)]
    assert cluster.traffic.rounds - before == outcomes[0].rounds > 0


def test_rounds_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one more exchange all say that they hold the outcome."""
    exchanges: list[int] = []
    monkeypatch.setattr("headwater.exchange.cluster.ship", lambda sent: (exchanges.append(len(sent)), ship(sent))[1])
    cluster = Cluster(choose(hw.compile(CLOSURE), {}, 2, kinds=("exchange",)), 3)
    exchanges.clear()
    (rounds,) = {outcome.rounds for outcome in cluster.apply(_links((1, 2), (2, 3), (3, 4)), {})}
    assert exchanges == [3] * (rounds + 1)


def test_a_transaction_that_fails_on_one_shard_is_kept_by_none() -> None:
    text = CLOSURE + " big(X, Z) :- reach(X, Y), Z = Y * 4000000000000000000."
    cluster = Cluster(choose(hw.compile(text), {}, 2, kinds=("exchange",)), 3)
    cluster.apply(_links((1, 1), (1, 2)), {})
    before = [_sorted(cluster.rows(view)) for view in ("reach", "big")]
    with pytest.raises(EvaluationError):
        cluster.apply(_links((5, 6), (6, 3), (3, 8), (9, 10), (10, 11)), _links((1, 2)))
    assert [_sorted(cluster.rows(view)) for view in ("reach", "big")] == before
    assert not any(member.shard.replayable for member in cluster.members)
    cluster.apply({}, _links((1, 2)))
    assert _sorted(cluster.rows("reach")) == [(1, 1)]


def test_a_row_that_breaks_a_stated_key_leaves_no_trace() -> None:
    text = "relation at(x: int, y: int) key(x). at(1, 2). p(Y, X) :- at(X, Y)."
    cluster = Cluster(choose(hw.compile(text), {}, 2, kinds=("exchange",)), 2)
    with pytest.raises(DataError):
        cluster.apply({"at": pa.table({"x": [7, 1, 8], "y": [1, 9, 1]})}, {})
    assert _sorted(cluster.rows("p")) == [(2, 1)]


def test_closing_a_transaction_undoes_it() -> None:
    sharding = choose(hw.compile(CLOSURE), {}, 2, kinds=("exchange",))
    member = Member(sharding, 0, 2)
    run = member.transaction(_links((1, 2)), {}, first=True)
    next(run)
    run.close()
    assert member.rows("reach").num_rows == 0
    assert member.shard.stores["link"].alive().size == 0


def test_a_cancelled_transaction_is_undone() -> None:
    member = Member(choose(hw.compile(CLOSURE), {}, 1), 0, 1)
    with pytest.raises(KeyboardInterrupt):
        next(member.transaction(_links((1, 2)), {}, first=True, cancelled=lambda: True))
    assert member.rows("reach").num_rows == 0


def test_rows_are_routed_in_order_under_their_relation_s_names() -> None:
    sharding = choose(hw.compile("p(Y) :- link(X, Y). q(X) :- link(X, _)."), {"link": (Type.STRING, Type.INT)}, 2,
                    columns={"link": ("from", "to")}, kinds=("exchange",))  # fmt: skip
    rows = pa.table({"to": list(range(100)), "from": [f"n{one % 7}" for one in range(100)]})
    routed = [(number, part["link"]) for number, part in enumerate(sharding.route_changes({"link": rows}, 3)) if part]
    assert sum(part.num_rows for _, part in routed) == 100
    for _, part in routed:
        assert part.column_names == ["from", "to"]
        assert part["to"].to_pylist() == sorted(part["to"].to_pylist())
    owners = {word: number for number, part in routed for word in part["from"].to_pylist()}
    assert all(owners[word] == number for number, part in routed for word in part["from"].to_pylist())
    with pytest.raises(DataError, match="from"):
        sharding.route_changes({"link": pa.table({"from": ["a", None], "to": [1, 2]})}, 2)


def test_a_query_for_base_rows_shows_the_data_s_names() -> None:
    sharding = choose(hw.compile("p(Y) :- link(X, Y). query link(X, 2). query p(Y)."),
                    {"link": (Type.INT, Type.INT)}, 2, columns={"link": ("from", "to")})  # fmt: skip
    cluster = Cluster(sharding, 2)
    outcomes = cluster.apply({"link": pa.table({"from": [1, 2, 3], "to": [2, 2, 5]})}, {})
    assert cluster.rows("link").column_names == ["from", "to"]
    assert _sorted(cluster.rows("link")) == [(1, 2), (2, 2)]
    assert sorted(row for one in outcomes for row in to_rows(one.changes["link"][0])) == [(1, 2), (2, 2)]


def test_a_program_that_cannot_be_taken_apart_runs_on_one_shard() -> None:
    text = "relation part(p: int, s: int). cost(P, 1.0) :- part(P, _). cost(P, sum<C>) :- part(P, S), cost(S, C)."
    sharding = choose(hw.compile(text), {}, 2)
    assert sharding.kind == "single"
    assert "cost" in sharding.reason
    cluster = Cluster(sharding, 2)
    cluster.apply({"part": pa.table({"p": [1, 1], "s": [2, 3]})}, {})
    assert _sorted(cluster.rows("cost")) == [(1, 1.0)]


def test_a_recursion_that_never_ends_is_stopped_on_all_shards() -> None:
    text = "relation e(x: int, y: int). far(X, 0) :- e(X, _). far(Y, N) :- far(X, M), e(X, Y), N = M + 1."
    cluster = Cluster(choose(hw.compile(text), {}, 2, kinds=("exchange",)), 3, Guard.of(50))
    edges = pa.table({"x": list(range(12)), "y": [(at + 1) % 12 for at in range(12)]})
    with pytest.raises(GuardError, match=r"the recursion through `far` .* more than 50 ro"):
        cluster.apply({"e": edges}, {})
    assert cluster.rows("far").num_rows == cluster.rows("e").num_rows == 0


@pytest.mark.parametrize("shards", [1, 2, 3])
@pytest.mark.parametrize("kind", ["exchange", "decomposed"])
def test_rules_that_need_no_rows_fire_once_however_many_shards_there_are(kind: str, shards: int) -> None:
    text = CLOSURE + " reach(7, 8). reach(X, Y) :- X = 1 + 2, Y = 3 * 3. size(Y, count<X>) :- reach(X, Y)."
    cluster = Cluster(choose(hw.compile(text), {}, 2, kinds=(kind,)), shards)
    cluster.apply(_links((1, 7), (2, 3)), {})
    assert _sorted(cluster.rows("reach")) == [(1, 7), (1, 8), (2, 3), (2, 9), (3, 9), (7, 8)]
    assert _sorted(cluster.rows("size")) == [(3, 1), (7, 1), (8, 2), (9, 2)]
