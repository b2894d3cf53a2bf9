"""A run as one JSON document that can be played back: the network, what happened to it, every message, every row.

docs/networks.md describes the fields. Nodes are named by their position in the list at the top. Of a large message
only the first rows are told, with their number; of the views all changes, so that a player has each view at any time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headwater.core.errors import FileError
from headwater.network.events.staging import Moment
from headwater.network.nodes.report import TracedMessage
from headwater.network.phases import SimulationOutcome
from headwater.network.scenario import Scenario

FORMAT, VERSION = "headwater-playback", 1
TOLD_ROWS = 20  # of one message
_BUCKETS = 200


def write_playback(path: Path, name: str, scenario: Scenario, run: SimulationOutcome) -> None:
    """Write a run that was traced; raises FileError if the file cannot be written."""
    try:
        path.write_text(json.dumps(playback(name, scenario, run), default=str), encoding="utf-8")
    except OSError as problem:
        raise FileError(f"{path} cannot be written: {problem.strerror}") from None


def playback(name: str, scenario: Scenario, run: SimulationOutcome) -> dict[str, Any]:
    """The document; the simulation must have been run with `trace=True`."""
    simulation, topology = run.simulation, scenario.topology
    number = {node: at for at, node in enumerate(topology.nodes)}
    end = simulation.now
    bucket = max(0.001, round(end / _BUCKETS, 3))
    times, shares = run.completeness
    return {
        "format": FORMAT,
        "version": VERSION,
        "protocol": name,
        "until": end,
        "nodes": [_node(node, topology.places.get(node)) for node in topology.nodes],
        "links": [
            {
                "src": number[link.src],
                "dst": number[link.dst],
                "latency_ms": round(link.latency * 1000, 6),
                "mbps": link.bandwidth / 1e6,
                "loss": link.loss,
                "both_ways": link.both_ways,
            }
            for link in topology.links
        ],
        "views": {
            view: [column.name for column in simulation.program.checked.relation(view).visible]
            for view in simulation.outputs
        },
        "events": [_event(moment, number) for moment in scenario.moments if moment.time <= end],
        "messages": [_message(message, number) for message in simulation.report.trace],
        "changes": _changes(run),
        "phases": [phase.as_json() for phase in run.phases],
        "rate": {
            "bucket": bucket,
            "bytes_per_second": simulation.report.rate(bucket, until=max(end, bucket))[1].tolist(),
        },
        "completeness": {"times": times.tolist(), "shares": shares.tolist()},
    }


def _node(name: Any, place: tuple[float, float] | None) -> dict[str, Any]:
    return {"name": name} if place is None else {"name": name, "latitude": place[0], "longitude": place[1]}


def _event(moment: Moment, number: dict[Any, int]) -> dict[str, Any]:
    def ends(links: Iterable[tuple[str, str]]) -> list[list[int]]:
        return [[number[one], number[other]] for one, other in links]

    return {
        "time": moment.time,
        "insert": {relation: [list(row) for row in rows] for relation, rows in moment.insert.items()},
        "delete": {relation: [list(row) for row in rows] for relation, rows in moment.delete.items()},
        "fails": [number[node] for node in moment.fails],
        "returns": [number[node] for node in moment.returns],
        "cut": ends(moment.cut),
        "mended": ends(moment.mended),
    }


def _message(message: TracedMessage, number: dict[Any, int]) -> list[Any]:
    told = [[sign, relation, list(row)] for sign, relation, row in message.rows[:TOLD_ROWS]]
    ends = number[message.src], number[message.dst]
    return [message.sent, message.arrived, *ends, message.bytes, len(message.rows), told]


def _changes(run: SimulationOutcome) -> list[list[Any]]:
    simulation = run.simulation
    found = [(view, change) for view in simulation.outputs for change in simulation.changes(view)]
    found.sort(key=lambda each: each[1][0])
    return [[time, sign, view, list(row)] for view, (time, sign, row) in found]
