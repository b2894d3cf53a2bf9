"""However many shards evaluate a program together, its views are the oracle's after every transaction."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given

from tests.engine.holding import pairs
from tests.exchange.sharded import NotPlaced, Sharded
from tests.oracle.evaluate import Diverges
from tests.oracle.harness import check_maintenance
from tests.oracle.strategies import Case, list_case, null_case, random_case, seeds, template_case
from tests.thresholds import no_room

EXCHANGED = (
    "closure",
    "company_control",
    "components",
    "regions",
    "path_vector",
    "points_to",
    "same_generation",
    "shortest",
    "single_source",
    "tallies",
    "top_paths",
    "unpriced",
)

DECOMPOSED = ("company_control", "path_vector", "path_vector_as_printed", "top_paths")


def _agrees(case: Case, shards: int, kind: str) -> bool:
    try:
        check_maintenance(case, partial(Sharded, shards=shards, kinds=(kind,)))
    except (NotPlaced, Diverges):
        return False
    return True


@pytest.mark.parametrize("shards", [1, 2, 3, 8])
@pytest.mark.parametrize("name", EXCHANGED)
def test_agree_shards_that_exchange(name: str, shards: int) -> None:
    assert any(_agrees(template_case(name, seed), shards, "exchange") for seed in range(4))


@pytest.mark.parametrize("shards", [1, 2, 3, 8])
@pytest.mark.parametrize("name", DECOMPOSED)
def test_agree_shards_side_by_side(name: str, shards: int) -> None:
    assert any(_agrees(template_case(name, seed), shards, "decomposed") for seed in range(4))


@pytest.mark.parametrize("kind", ["decomposed", "exchange"])
@pytest.mark.parametrize("shards", [2, 3])
@pairs(100)
@given(seed=seeds)
def test_agree_shards_of_random_programs(seed: int, shards: int, kind: str) -> None:
    _agrees(random_case(seed), shards, kind)


@pytest.mark.parametrize("kind", ["decomposed", "exchange"])
@pairs(40)
@given(seed=seeds)
def test_agree_shards_of_programs_with_nulls(seed: int, kind: str) -> None:
    _agrees(null_case(seed), 3, kind)


@pytest.mark.parametrize("kind", ["decomposed", "exchange"])
@pairs(40)
@given(seed=seeds)
def test_agree_shards_of_programs_about_lists(seed: int, kind: str) -> None:
    _agrees(list_case(seed), 3, kind)


@pytest.mark.parametrize("kind", ["decomposed", "exchange"])
@pairs(30)
@given(seed=seeds)
def test_agree_shards_with_no_room_to_spare(seed: int, kind: str) -> None:
    """Whatever is decided by size is decided as if there were many rows."""
    with no_room(seed):
        _agrees(random_case(seed), 3, kind)


@pairs(30)
@given(seed=seeds)
def test_agree_keyed_relations_that_live_elsewhere(seed: int) -> None:
    _agrees(keyed_by_last_column(random_case(seed)), 3, "exchange")


def keyed_by_last_column(case: Case) -> Case:
    """The same rows, but every base relation without facts replaces rows that agree in the last column."""
    stated = {rule.relation for rule in case.program.rules if not rule.body}
    bases = tuple(
        replace(base, key=(len(base.types) - 1,), declared=True)
        if len(base.types) > 1 and base.name not in stated
        else base
        for base in case.program.bases
    )
    program = replace(case.program, bases=bases)
    return replace(case, program=program, reference=program)


def test_a_sender_ships_each_row_once() -> None:
    text = "relation link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
    sharded = Sharded.of_text(text, ("reach",), shards=3, kinds=("exchange",))
    sharded.apply({"link": [(one, (7 * one + step) % 20) for one in range(20) for step in (1, 3, 9)]}, {})
    cluster = sharded.cluster
    away = 0
    for member in cluster.members:
        for shipment in cluster.sharding.plan.shipments:
            store = member.shard.stores[shipment.outbox]
            away += int((member.receivers(shipment, store.data[store.alive()]) != member.number).sum())
    assert sharded.rows("reach")
    assert cluster.traffic.rows == away


def test_only_improving_values_travel() -> None:
    text = """
        relation near(x: int, y: int).
        comp(X, min<X>) :- near(X, _).
        comp(Y, min<V>) :- comp(X, V), near(X, Y).
    """
    sharded = Sharded.of_text(text, ("comp",), shards=2, kinds=("exchange",))
    ring = [(one, (one + step) % 60) for one in range(60) for step in (1, 7, 59)]
    sharded.apply({"near": ring}, {})
    assert sharded.rows("comp") == {(one, 0) for one in range(60)}
    cluster = sharded.cluster
    for member in cluster.members:
        (shipment,) = cluster.sharding.plan.shipments
        store = member.shard.stores[shipment.outbox]
        ever = store.data[: store.size]
        assert (member.receivers(shipment, ever) != member.number).all(), "what stays is in no outbox"
    before = cluster.traffic.rows
    assert before < 60 * 4, "a node hears of few labels, not of every label of every neighbour"
    sharded.apply({"near": [(one, (one + 11) % 60) for one in range(60)]}, {})
    assert cluster.traffic.rows - before <= 60, "each label that was sent before is not sent again"
