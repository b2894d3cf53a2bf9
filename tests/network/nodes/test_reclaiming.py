"""Paths and proofs that nothing names are forgotten, at any moment, and no row is the worse for it."""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw
from headwater.engine.codes.symbols import FORGOTTEN, Symbols
from headwater.network import Periodic, Simulation
from headwater.network.nodes.reclaiming import SymbolReclaimer
from headwater.network.topologies.made import Overlay, overlay, random_graph
from tests.network.nodes.scripts import check_script
from tests.network.nodes.test_oracle_scripts import TEXT, from_oracle

PATHS = """
relation link(src: address, dst: address, cost: int).
path(@S, @D, min<(C, P)>) :- #link(@S, @D, C), S != D, P = [S, D].
path(@S, @D, min<(C, P)>) :- #link(@S, @Z, C1), path(@Z, @D, C2, P2), S != D, C = C1 + C2, P = [S | P2].
query far(@S, @D, C).
far(@S, @D, C) :- path(@S, @D, C, _).
"""
WAYS: list[tuple[str, dict[str, Any]]] = [
    ("paths", {}),
    ("paths", {"maintenance": "proofs"}),
    ("paths", {"selections": Periodic(0.02)}),
    ("paths", {"sharing": 0.02}),
    ("reach", {}),
    ("spread", {}),
]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SymbolReclaimer, "is_due", True)


@pytest.mark.parametrize(("name", "options"), WAYS, ids=str)
@pytest.mark.usefixtures("always")
def test_oracle_scripts_with_everything_forgotten_at_once(name: str, options: dict[str, Any]) -> None:
    compiled, answers = hw.compile(TEXT[name]), from_oracle(name)
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


@pytest.mark.usefixtures("always")
def test_what_is_held_is_what_rows_have() -> None:
    sim = changing(0)
    assert sim._tables is not None
    assert sim._nodes is not None
    assert sim._nodes.proofs is not None
    symbols, numbers = sim._tables.symbols, sim._nodes.proofs.numbers
    stores = sim._tables.shard.stores
    lists = {row[3] for row in sim._tables.values("path", sim._tables.present("path"))}
    held = {value for value in symbols.values if type(value) is tuple}
    assert lists <= held
    assert symbols.values.count(FORGOTTEN) > len(held)
    boxes = [name for box in sim._nodes.proofs.boxes for name in (box.inbox, box.sent) if name is not None]
    named = {number for name in boxes for number in sim._tables.present(name)[:, -1].tolist()}
    assert numbers.held == len(named | {0}) < len(numbers.proofs) / 2
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
    monkeypatch.setattr("headwater.engine.store.compaction._WORTH_IT", 0)
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


def test_a_stored_row_takes_fewer_than_300_bytes() -> None:
    topology = overlay(Overlay(nodes=40, neighbours=2))
    sim = Simulation(hw.compile(PATHS + "query path(@S, @D, C, P)."), topology, maintenance="count")
    sim.at(0.0, insert={"link": [(src, dst, round(1000 * cost)) for src, dst, cost in topology.rows("random")]})
    sim.run()
    assert sim.nbytes < 300 * sim.stored_rows


def test_a_forgotten_value_that_comes_again_gets_another_number() -> None:
    symbols = Symbols(["a", ("a", "b"), (1, 2), "c"])
    first = symbols.number(("a", "b"))
    symbols.forget([first, symbols.number((1, 2))])
    assert (symbols.held, len(symbols)) == (3, 5)
    assert symbols.find(("a", "b")) == -1
    again = symbols.number(("a", "b"))
    assert again == 5 != first
    assert symbols.values[again] == ("a", "b")
    assert symbols.number("c") == 4
    assert symbols.nbytes > 0
