"""What is wrong with topologies and scripts of events is shown where it stands, with a way out."""

from __future__ import annotations

from pathlib import Path

import pytest

import headwater as hw
from headwater.core.errors import HeadwaterError
from headwater.network.events import read_events
from headwater.network.links import Link, Topology
from headwater.network.scenario import prepared
from headwater.network.topologies import read_topology
from tests.spec_file import SPECS, Case, read_cases, settle

PROGRAM = """
relation link(src: address, dst: address, cost: int) key(src, dst).
relation request(src: address, dst: address) optional.
reach(@S, @D) :- #link(@S, @D, C), request(@S, @D).
"""


@pytest.mark.parametrize("case", read_cases(SPECS / "network" / "topology.spec"), ids=str)
def test_topologies(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def outcome(text: str) -> str:
        Path("net.csv").write_text(text, encoding="utf-8")
        try:
            return "\n".join(map(repr, read_topology(Path("net.csv")).links))
        except HeadwaterError as error:
            return str(error)

    settle(case, outcome)


@pytest.mark.parametrize("name", ["events", "events_jsonl"])
def test_events(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    topology = Topology([Link("a", "b"), Link("b", "c"), Link("c", "d"), Link("a", "c")])
    file = Path(f"events.{'csv' if name == 'events' else 'jsonl'}")

    def outcome(text: str) -> str:
        file.write_text(text, encoding="utf-8")
        try:
            moments = prepared(hw.compile(PROGRAM), topology, events=read_events(file)).moments
        except HeadwaterError as error:
            return str(error)
        return "\n".join(f"{each.time:g} -{dict(each.delete)} +{dict(each.insert)}" for each in moments)

    for case in read_cases(SPECS / "network" / f"{name}.spec"):
        settle(case, outcome)
