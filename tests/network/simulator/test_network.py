"""What a network of nodes promises beside its answers: windows, budgets, order, honest bytes, clear refusals."""

from __future__ import annotations

import random

import pytest

import headwater as hw
from headwater.core.errors import CheckProblem, DataError, EvaluationError, GuardError, StateError, UnknownRelation
from headwater.core.types import Type
from headwater.network.sensors import Grid, field
from headwater.network.simulator.network import STRATEGIES, Network, TransactionBudget
from headwater.network.simulator.operators.minship import Eager, Lazy
from headwater.network.simulator.provenance.absorption import Absorption
from headwater.network.simulator.provenance.relative import Relative
from headwater.network.simulator.wire.links import Delays, Delivery, Links
from headwater.network.simulator.wire.message import MessagePart, PartKind, decode, encode
from headwater.network.topology import Density, TransitStub, links
from tests.network.simulator.networked import WAYS

REACHABLE = hw.compile(
    "relation link(src: string, dst: string).\n"
    "reachable(X, Y) :- link(X, Y).\n"
    "reachable(X, Y) :- link(X, Z), reachable(Z, Y).\n"
)
CHAIN = [("a", "b"), ("b", "c"), ("c", "d")]


def closure(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    found = set(pairs)
    while more := {(x, w) for x, y in found for z, w in pairs if y == z} - found:
        found |= more
    return found


@pytest.mark.parametrize("way", WAYS)
def test_base_rows_go_when_their_window_ends_and_derived_rows_with_them(way: str) -> None:
    made = Network(REACHABLE, 3, WAYS[way].strategy, shipping=WAYS[way].shipping, windows={"link": 10.0})
    made.apply(insert={"link": CHAIN}, now=0.0)
    made.apply(insert={"link": [("c", "d"), ("a", "c")]}, now=6.0)
    assert made.rows("reachable") == closure({*CHAIN, ("a", "c")})
    gone = made.advance(10.0).changes["reachable"]
    assert made.rows("reachable") == closure({("c", "d"), ("a", "c")})
    assert set(gone[1]) == {("a", "b"), ("b", "c"), ("b", "d")}
    made.advance(16.0)
    assert made.rows("reachable") == set()


@pytest.mark.parametrize("way", WAYS)
def test_a_row_that_goes_and_comes_back_is_a_new_fact(way: str) -> None:
    made = Network(REACHABLE, 4, WAYS[way].strategy, shipping=WAYS[way].shipping)
    for _ in range(3):
        made.apply(insert={"link": CHAIN})
        assert made.rows("reachable") == closure(set(CHAIN))
        outcome = made.apply(delete={"link": [("b", "c")]})
        assert made.rows("reachable") == {("a", "b"), ("c", "d")}
        assert len(outcome.changes["reachable"][1]) == 4


def test_a_circle_that_holds_itself_up_falls() -> None:
    ring = [("b", "c"), ("c", "b")]
    for way in WAYS.values():
        made = Network(REACHABLE, 3, way.strategy, shipping=way.shipping)
        made.apply(insert={"link": [("a", "b"), *ring]})
        made.apply(delete={"link": [("a", "b")]})
        assert made.rows("reachable") == closure(set(ring))


def test_links_keep_the_order_of_each_pair_and_of_nothing_else() -> None:
    sent = Links(Delays(0.0, 100.0, seed=3, tick=5.0))
    for number in range(200):
        sent.send(Delivery(number % 3, 3, bytes([number])))
    arrived = []
    while found := sent.next():
        arrived += found
    for sender in range(3):
        own = [one.content[0] for one in arrived if one.sender == sender]
        assert own == sorted(own)
    assert [one.content[0] for one in arrived] != list(range(200))


def test_messages_are_read_from_the_bytes_that_are_counted() -> None:
    rows: list[tuple[object, ...]] = [
        ("a", 1, 2.5, None),
        ("ü", -(2**63), float("inf"), False),
        ((("x", 1), ()), 2**63 - 1, 0.0, True),
    ]
    batches = [
        MessagePart(PartKind.COME, 3, rows, b"\x00abc"),
        MessagePart(PartKind.GO, 0, [(number,) for number in range(70_000)]),
        MessagePart(PartKind.COME, 1, [(), ()]),
        MessagePart(PartKind.DEAD, facts=[5, 1, 900]),
    ]
    found = decode(encode(batches))
    assert [one.kind for one in found] == [one.kind for one in batches]
    assert [list(one.rows) for one in found] == [list(one.rows) for one in batches]
    assert (found[0].shipment, found[0].provenance) == (3, b"\x00abc")
    assert found[3].facts == [1, 5, 900]
    typed = [[type(value) for value in row] for row in found[0].rows]
    assert typed == [[type(value) for value in row] for row in rows]


def test_provenance_survives_its_bytes() -> None:
    absorption = Absorption()
    either = absorption.either(absorption.either((1, 5), (2,)), (3, 400, 401))
    cubes = [(), (7,), (1, 200, 30_000), either]
    found = absorption.decode(absorption.encode(cubes))
    assert [absorption.witnesses(one) for one in found] == [absorption.witnesses(one) for one in cubes]
    graph = Relative()
    one = graph.joined(1, "p", ("x",), [graph.fact(3), graph.joined(0, "q", (1, "y"), [graph.fact(4)])])
    two = graph.either(one, graph.joined(2, "p", ("x",), [graph.fact(9)]))
    assert graph.decode(graph.encode([one, two, graph.fact(3)])) == [one, two, graph.fact(3)]


def test_a_graph_whose_rows_only_support_each_other_holds_nothing_up() -> None:
    graph = Relative()
    first = graph.joined(0, "p", (1,), [graph.fact(0)])
    second = graph.joined(1, "p", (2,), [first])
    circle = graph.either(first, graph.joined(1, "p", (1,), [second]))
    assert graph.without(circle, {7}) is circle
    assert graph.without(circle, {0}) is None


def test_absorption_forgets_what_is_absorbed() -> None:
    absorption = Absorption()
    assert absorption.either((1,), (1, 2)) == (1,)
    kept = (1, 2)
    assert absorption.either(kept, (1, 2, 3)) is kept
    both = absorption.either((1, 2), (3,))
    assert absorption.either(both, (1, 2, 4)) is both
    assert absorption.without(both, {3}) == (1, 2)
    assert absorption.without(both, {2, 3}) is None
    assert absorption.without(both, {9}) is both


def test_a_spent_budget_is_told_and_the_network_says_so_from_then_on() -> None:
    rows = [link[:2] for link in links(TransitStub(1, 2, 1, 6))]
    made = Network(REACHABLE, 4, "absorption", shipping=Eager(), budget=TransactionBudget(messages=20))
    with pytest.raises(GuardError, match="20 messages"):
        made.apply(insert={"link": rows})
    with pytest.raises(StateError, match="half-way"):
        made.apply(insert={"link": []})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_recursion_without_end_is_stopped_even_within_one_node(strategy: str) -> None:
    endless = hw.compile("relation p(x: int). p2(X) :- p(X). p2(Y) :- p2(X), Y = X + 1.")
    made = Network(endless, 1, strategy, budget=TransactionBudget(rows=5_000))
    with pytest.raises(GuardError, match="never end"):
        made.apply(insert={"p": [(0,)]})


def test_a_number_that_is_too_large_is_an_error() -> None:
    program = hw.compile("relation p(x: int). q(Y) :- p(X), Y = X + 1.")
    for strategy in STRATEGIES:
        with pytest.raises(EvaluationError, match="64 bits"):
            Network(program, 2, strategy).apply(insert={"p": [(2**63 - 1,)]})


def test_what_nodes_cannot_run_is_refused_with_a_way_out() -> None:
    with pytest.raises(CheckProblem, match="HW912"):
        Network(hw.compile("q(X) :- p(X)."), 2)
    Network(hw.compile("q(X) :- p(X)."), 2, known={"p": (Type.INT,)})
    summing = """relation owns(x: string, y: string, n: int).
        control(X, X) :- owns(X, Y, N).
        held(X, Y, msum<(Z, N)>) :- control(X, Z), owns(Z, Y, N).
        control(X, Y) :- held(X, Y, N), N > 50."""
    with pytest.raises(CheckProblem, match="HW911"):
        Network(hw.compile(summing), 2)


def test_rows_that_do_not_fit_change_nothing() -> None:
    made = Network(REACHABLE, 2)
    made.apply(insert={"link": CHAIN})
    for wrong in ({"link": [("a",)]}, {"link": [("x", "y"), (1, 2)]}):
        with pytest.raises(DataError, match="HW801"):
            made.apply(insert=wrong)
    with pytest.raises(UnknownRelation):
        made.apply(insert={"reachable": [("a", "b")]})
    assert made.rows("reachable") == closure(set(CHAIN))


def test_strategies_nodes_delays_and_windows_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="absorption"):
        Network(REACHABLE, 2, "magic")
    with pytest.raises(ValueError, match="node"):
        Network(REACHABLE, 0)
    with pytest.raises(ValueError, match="delays"):
        Delays(5.0, 1.0)
    with pytest.raises(UnknownRelation):
        Network(REACHABLE, 2, windows={"reachable": 5.0})


def test_a_run_can_be_repeated_to_the_last_byte() -> None:
    rows = [link[:2] for link in links(TransitStub(1, 2, 1, 4))]
    runs = []
    for _ in range(2):
        made = Network(REACHABLE, 3, "absorption", delays=Delays(0.0, 50.0, seed=11))
        made.apply(insert={"link": rows})
        made.apply(delete={"link": rows[:3]})
        runs.append((made.traffic, made.rows("reachable")))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("batch", [1, 3, 10, 1_000_000])
def test_the_size_of_batches_changes_messages_and_no_answer(batch: int) -> None:
    rows = [link[:2] for link in links(TransitStub(1, 3, 1, 3, Density.SPARSE, seed=2))]
    dice = random.Random(batch)
    for shipping in (Eager(batch), Lazy(batch)):
        made, alive = Network(REACHABLE, 4, "absorption", shipping=shipping, delays=Delays(0, 30, batch)), set(rows)
        made.apply(insert={"link": rows})
        for _ in range(6):
            gone = dice.sample(sorted(alive), 2)
            alive -= set(gone)
            made.apply(delete={"link": gone})
            assert made.rows("reachable") == closure(alive)


REGIONS = hw.compile(
    "relation sensor(x: string, position: list). relation main(x: string, region: string).\n"
    "relation triggered(x: string).\n"
    "active(X, R) :- sensor(X, P), main(X, R), triggered(X).\n"
    "active(Y, R) :- sensor(X, P), sensor(Y, Q), triggered(X), active(X, R), distance(P, Q) < 20.\n"
)


def test_lazy_shipping_sends_a_tenth_of_what_delete_and_rederive_sends() -> None:
    rows = [link[:2] for link in links(TransitStub(1, 2, 2, 6))]
    made = field(Grid(side=60, spacing=6, regions=3))
    sensors = {"sensor": made.sensors, "main": [(sensor, region) for region, sensor in made.main]}
    for program, base, moving in (
        (REACHABLE, {"link": rows}, {"link": rows[:40:4]}),
        (REGIONS, {**sensors, "triggered": made.triggered}, {"triggered": made.triggered[::5]}),
    ):
        cost = {}
        for strategy in ("dred", "absorption", "witness"):
            network = Network(program, 6, strategy)
            network.apply(insert=base)
            ((name, gone),) = moving.items()
            cost[strategy] = sum(network.apply(delete={name: [row]}).traffic.bytes for row in gone)
        assert cost["absorption"] * 10 < cost["dred"]
        assert cost["witness"] * 3 < cost["dred"]


def test_lazy_shipping_tells_of_one_derivation_at_a_time() -> None:
    """However many ways there are, what travels names no more facts than one of them has."""
    wide = [("a", f"b{at}") for at in range(12)] + [(f"b{at}", "c") for at in range(12)] + [("z", "a")]
    made = Network(REACHABLE, 3, "absorption", places={"z": 0, "a": 1})
    made.apply(insert={"link": wide})
    for at in range(11):
        outcome = made.apply(delete={"link": [(f"b{at}", "c")]})
        assert set(outcome.changes["reachable"][1]) == {(f"b{at}", "c")}
        assert outcome.traffic.provenance <= 6 * outcome.traffic.rows


def test_a_value_that_is_computed_and_negated_before_another_negation() -> None:
    text = """
    relation a(x: int, y: int).
    relation b(x: int, z: int).
    relation c(y: int).
    p(X, Y) :- a(X, Y), Z = X + Y, !b(X, Z), !c(Y).
    """
    network = Network(hw.compile(text), 3)
    network.apply(insert={"a": [(x, y) for x in range(4) for y in range(4)], "b": [(1, 2), (2, 5)], "c": [(0,)]})
    expected = {(x, y) for x in range(4) for y in range(1, 4)} - {(1, 1), (2, 3)}
    assert network.rows("p") == expected


def test_large_ints_keep_their_digits() -> None:
    program = hw.compile("relation p(x: int). q(X, A, F, R) :- p(X), A = abs(X), F = floor(X), R = round(X).")
    made = Network(program, 2)
    large = [-(2**53) - 1, 2**60 + 1, 3]
    made.apply(insert={"p": [(one,) for one in large]})
    assert made.rows("q") == {(one, abs(one), one, one) for one in large}
