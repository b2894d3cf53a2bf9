"""Paths and proofs that nothing names are forgotten, at any moment, and no row is the worse for it."""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw
from headwater.engine.codes.symbols import FORGOTTEN, Symbols
from headwater.engine.reading import GONE
from headwater.network import Link, Periodic, Simulation, Topology
from headwater.network.nodes.proofs.told import ToldFacts
from headwater.network.nodes.reclaiming import SymbolReclaimer
from headwater.network.protocols import PROTOCOLS
from headwater.network.topologies.made import Overlay, overlay, random_graph
from tests.network.nodes.scripts import check_script, from_database
from tests.network.nodes.test_oracle_scripts import TEXT, from_oracle

PATHS = """
relation link(src: address, dst: address, cost: int).
path(@S, @D, min<(C, P)>) :- #link(@S, @D, C), S != D, P = [S, D].
path(@S, @D, min<(C, P)>) :- #link(@S, @Z, C1), path(@Z, @D, C2, P2), S != D, C = C1 + C2, P = [S | P2].
query far(@S, @D, C).
far(@S, @D, C) :- path(@S, @D, C, _).
"""
PAIRS = """
relation link(src: address, dst: address, cost: int).
pairs(@S, count<L>, max<C>) :- #link(@S, @A, C1), link(@S, @B, C2), L = [A, B], C = C1 + C2.
each(@S, [A, B], sum<C>) :- #link(@S, @A, C), link(@S, @B, _).
told(@D, L, N) :- #link(@S, @D, _), each(@S, L, N).
untold(@S, @A, @B) :- #link(@S, @A, _), link(@S, @B, _), L = [A, B], !told(@S, L, 3).
"""
WAYS: list[tuple[str, dict[str, Any]]] = [
    ("paths", {}),
    ("paths", {"maintenance": "proofs"}),
    ("paths", {"selections": Periodic(0.02)}),
    ("paths", {"sharing": 0.02}),
    ("pairs", {}),
    ("reach", {}),
    ("spread", {}),
]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SymbolReclaimer, "is_due", True)


@pytest.mark.parametrize(("name", "options"), WAYS, ids=str)
@pytest.mark.usefixtures("always")
def test_oracle_scripts_with_everything_forgotten_at_once(name: str, options: dict[str, Any]) -> None:
    compiled = hw.compile(TEXT.get(name, PAIRS))
    answers = from_oracle(name) if name in TEXT else from_database(compiled)
    for seed in range(60, 62):
        check_script(compiled, seed, answers, **options)


def changing(seed: int, text: str = PATHS) -> Simulation:
    """Costs that change again and again, so that most paths are dropped."""
    topology = random_graph(7, 12, seed)
    sim = Simulation(hw.compile(text), topology)
    rows: dict[tuple[str, str], int] = {}
    for number in range(4):
        old = [(src, dst, cost) for (src, dst), cost in rows.items()]
        rows = {(src, dst): 1 + (at * 7 + number * 13) % 11 for at, (src, dst, _) in enumerate(topology.channels)}
        new = [(src, dst, cost) for (src, dst), cost in rows.items()]
        sim.at(float(number), insert={"link": new}, delete={"link": old} if old else {})
    sim.run()
    return sim


def _stored_lists(sim: Simulation) -> set[Any]:
    assert sim._tables is not None
    found: set[Any] = set()
    for store in sim._tables.shard.stores.values():
        rows = store.data[: store.size][store.stamp[: store.size] != GONE]
        for at in (at for at, kind in enumerate(store.table.types) if kind.is_list):
            found.update(sim._tables.symbols.values[code] for code in rows[:, at].tolist())
    return found


@pytest.mark.usefixtures("always")
def test_what_is_held_is_what_rows_have() -> None:
    sim = changing(0)
    assert sim._tables is not None
    assert sim._nodes is not None
    assert sim._nodes.proofs is not None
    sim._reclaim(always=True)
    symbols, numbers = sim._tables.symbols, sim._nodes.proofs.numbers
    stores = sim._tables.shard.stores
    assert {row[3] for row in sim._tables.values("path", sim._tables.present("path"))} <= _stored_lists(sim)
    assert {value for value in symbols.values if type(value) is tuple} == _stored_lists(sim)
    assert len(symbols) == symbols.held + symbols.values.count(FORGOTTEN)
    boxes = [name for box in sim._nodes.proofs.boxes for name in (box.inbox, box.sent) if name is not None]
    named = {number for name in boxes for number in sim._tables.present(name)[:, -1].tolist()}
    assert numbers.held == len(named | {0})
    assert {number for some in numbers.using.values() for number in some} == named - {0}
    assert sim.nbytes > sum(store.nbytes for store in stores.values())


def test_the_same_rows_messages_and_bytes_as_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SymbolReclaimer, "is_due", True)
    often = changing(1)
    monkeypatch.setattr(SymbolReclaimer, "is_due", False)
    never = changing(1)
    assert often.rows("path") == never.rows("path")
    assert often.rows("far") == never.rows("far")
    assert often.changes("far") == never.changes("far")
    assert (often.report.messages, often.report.bytes) == (never.report.messages, never.report.bytes)


def test_the_record_of_a_view_keeps_paths_that_were_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    text = PATHS + "query path(@S, @D, C, P)."
    monkeypatch.setattr(SymbolReclaimer, "is_due", True)
    often = changing(2, text)
    assert often._tables is not None
    held = {value for value in often._tables.symbols.values if type(value) is tuple}
    recorded = {row[3] for _, _, row in often.changes("path")}
    assert recorded - held, "paths that were replaced are in the record alone"
    monkeypatch.setattr(SymbolReclaimer, "is_due", False)
    never = changing(2, text)
    for _ in range(2):  # what is read comes back as symbols, and goes to the record again
        assert sorted(often.changes("path")) == sorted(never.changes("path"))
        assert often.settled("path").tolist() == never.settled("path").tolist()
        often._reclaim(always=True)


def test_lists_that_are_not_of_names_stay_in_the_record() -> None:
    text = """
    relation link(src: address, dst: address, cost: int).
    costs(@S, [C, 1]) :- #link(@S, @D, C).
    query costs(@S, L).
    """
    topology = random_graph(4, 4, 0)
    src, dst, _ = next(iter(topology.channels))
    sim = Simulation(hw.compile(text), topology)
    sim.at(0.0, insert={"link": [(src, dst, 7)]})
    sim.at(1.0, delete={"link": [(src, dst, 7)]})
    sim.run()
    sim._reclaim(always=True)
    assert sim.changes("costs") == [(0.0, 1, (src, (7, 1))), (1.0, -1, (src, (7, 1)))]


def test_at_rest_tables_have_the_rows_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    without = changing(3)
    monkeypatch.setattr("headwater.engine.store.compaction._WORTH_IT_AT_REST", 0)
    sim = changing(3)
    assert sim._tables is not None
    stores = sim._tables.shard.stores.values()
    assert all(store.size <= store.count + store.count // 8 for store in stores)
    ends = [(src, dst, cost) for src, dst, cost in sorted(sim.rows("link"))][:3]
    for each in (sim, without):
        each.at(9.0, delete={"link": ends})
        each.at(10.0, insert={"link": [(src, dst, cost + 1) for src, dst, cost in ends]})
        each.run()
    assert sim.rows("path") == without.rows("path")
    assert sorted(sim.changes("far")) == sorted(without.changes("far"))
    assert sim.report.bytes == without.report.bytes


@pytest.mark.parametrize("maintenance", ["count", "proofs"])
@pytest.mark.parametrize(
    "topology", [overlay(Overlay(nodes=40, neighbours=2)), random_graph(40, 120, 0)], ids=["overlay", "random"]
)
def test_a_stored_row_takes_fewer_than_300_bytes(topology: Topology, maintenance: str) -> None:
    for text in (PATHS + "query path(@S, @D, C, P).", PROTOCOLS["path_vector"].text):
        sim = Simulation(hw.compile(text), topology, maintenance=maintenance)
        sim.at(0.0, insert={"link": [(src, dst, round(1000 * cost)) for src, dst, cost in topology.rows("random")]})
        sim.run()
        assert sim.nbytes < 300 * sim.stored_rows


@pytest.mark.parametrize("maintenance", ["count", "proofs"])
def test_memory_stays_flat_however_often_links_fail(maintenance: str) -> None:
    """Paths, proofs and facts that come and go leave nothing behind; without any row, next to nothing is left."""
    topology = random_graph(14, 24, 0)
    sim = Simulation(hw.compile(PATHS), topology, maintenance=maintenance)
    costs = {(src, dst): 1 + at * 7 % 11 for at, (src, dst, _) in enumerate(topology.channels)}
    every = [(*ends, cost) for ends, cost in costs.items()]
    sim.at(0.0, insert={"link": every})
    sim.run()
    rows, sizes = sim.stored_rows, []
    for number in range(24):
        link = topology.links[number % len(topology.links)]
        both = [(*ends, costs[ends]) for ends in ((link.src, link.dst), (link.dst, link.src))]
        sim.at(sim.now + 1.0, delete={"link": both}, cut=[(link.src, link.dst)] if number % 2 else [])
        sim.at(sim.now + 1.01, insert={"link": both}, mend=[(link.src, link.dst)] if number % 2 else [])
        sim.run()
        assert sim.stored_rows == rows
        sizes.append(sim.nbytes)
    assert max(sizes[12:]) <= 1.1 * max(sizes[:12])
    sim._reclaim(always=True)
    assert sim._nodes is not None
    if sim._nodes.proofs is not None:
        proofs = sim._nodes.proofs
        assert not any(proofs.dead)
        assert proofs.told.held <= 2 * len(every) < proofs.count, "links, and their copies at the other ends"
    sim.at(sim.now + 1.0, delete={"link": every})
    sim.run()
    sim._reclaim(always=True)
    assert sim.stored_rows == 0
    assert sim.nbytes < 20_000 < min(sizes) / 5
    symbols = sim._nodes.tables.symbols
    assert len(symbols) == symbols.held <= 2 + len(topology.nodes)


def test_facts_that_were_told_are_forgotten_with_the_last_notice() -> None:
    told = ToldFacts([{}, {}])
    told.add(0, 1, told.bits_of([7, 8]))
    told.add(0, 1, told.bits_of([9]))
    told.add(1, 2, told.bits_of([8]))
    assert list(told.take(0, {8, 9, 10})) == [(1, {8, 9})]
    assert list(told.take(0, {8, 9})) == []
    told.keep({7})
    assert told.held == 1
    told.add(1, 2, told.bits_of([11]))
    assert list(told.take(1, {8, 11})) == [(2, {11})], "the bit of a fact that is gone is another's"
    assert list(told.take(0, {7, 11})) == [(1, {7})]
    assert told.nbytes > 0


def test_soft_state_forgets_what_it_has_not_heard_of() -> None:
    topology = Topology([Link("a", "b", loss=0.2), Link("b", "c", loss=0.2)])
    sim = Simulation(hw.compile(PATHS), topology, fifo=False, refresh=0.5, seed=3)
    row = [("a", "b", 1)]
    sim.at(0.0, insert={"link": [("b", "a", 1), ("b", "c", 1), ("c", "b", 1)]})
    heard = []
    for number in range(8):
        cost = [("a", "b", 2 + number)]
        sim.at(10.0 * number, insert={"link": cost}, delete={"link": row})
        row = cost
        sim.run(until=10.0 * number + 9.9)
        assert sim._soft is not None
        heard.append(sum(map(len, sim._soft._heard.values())))
    assert len(sim.rows("path")) == 6
    assert max(heard[1:]) <= 1.5 * heard[0], heard


def test_the_number_of_a_forgotten_value_is_given_to_another() -> None:
    symbols = Symbols(["a", ("a", "b"), (1, 2), "c"])
    first = symbols.number(("a", "b"))
    symbols.forget([first, symbols.number((1, 2))])
    assert (symbols.held, len(symbols)) == (3, 5)
    assert symbols.find(("a", "b")) == -1
    other = symbols.number(("b", "c"))
    assert other == first, "the smallest first"
    again = symbols.number(("a", "b"))
    assert again == 3 != first
    assert symbols.values[again] == ("a", "b")
    assert (symbols.number("c"), symbols.number("d")) == (4, 5)
    assert symbols.nbytes > 0
    symbols.forget([4, 5])
    assert (symbols.held, len(symbols)) == (4, 4)
    assert symbols.number("c") == 4
