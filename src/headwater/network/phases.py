"""A scenario from its start to its end, phase by phase: a phase lasts from one moment at which rows change to the next.

A phase tells how long the views took to settle after its changes, and what was sent meanwhile. How complete the views
were at a time is the share, of the rows that they have at the end of the phase, of those that had come to stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.errors import DataError
from headwater.network.events.staging import Moment
from headwater.network.nodes.simulation import Simulation
from headwater.network.rapidnet.simulation import EventSimulation
from headwater.network.scenario import Scenario

MOST_PHASES = 200  # beyond, moments that follow each other are one phase
_TICK = 0.001
Series = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Phase:
    """What happened between two changes; times in seconds."""

    start: float
    end: float
    inserted: int  # base rows
    deleted: int
    settled: float | None  # when the last row of a view came to stay; None: no row came
    messages: int
    bytes: int

    @property
    def convergence(self) -> float:
        """Seconds until the views had all their rows."""
        return 0.0 if self.settled is None else self.settled - self.start

    def as_json(self) -> dict[str, Any]:
        return {
            "start": self.start,
            "end": self.end,
            "inserted": self.inserted,
            "deleted": self.deleted,
            "convergence": round(self.convergence, 6),
            "messages": self.messages,
            "bytes": self.bytes,
        }


@dataclass(frozen=True, slots=True)
class SimulationOutcome:
    """A simulation that has come to its end."""

    simulation: Simulation
    phases: tuple[Phase, ...]
    completeness: tuple[Series, Series]  # times, and the share of rows that had come to stay


def _made(scenario: Scenario, moments: list[Moment], options: dict[str, Any], *, cuts: bool) -> Simulation:
    """The simulation, with all that is to happen."""
    if cuts and scenario.acting is not None:
        raise DataError("a program of events keeps what came over a link that fails; run it without cuts")
    if scenario.acting is None:
        simulation = Simulation(scenario.program, scenario.topology, **options)
    else:
        simulation = acting = EventSimulation(scenario.acting, scenario.topology, **options)
        for moment in moments:
            for node in moment.fails:
                acting.stop(moment.time, node)
            for node in moment.returns:
                acting.start(moment.time, node)
    for moment in moments:
        wires = {"cut": moment.cut, "mend": moment.mended} if cuts else {}
        simulation.at(moment.time, insert=moment.insert, delete=moment.delete, **wires)
    return simulation


def simulate(
    scenario: Scenario,
    until: float | None = None,
    cuts: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> SimulationOutcome:
    """Run a scenario until a time, or until nothing is under way; `options` are those of `Simulation`.

    With `cuts`, links and nodes that fail lose the messages that are under way on them; else these still arrive.
    """
    moments = [moment for moment in scenario.moments if until is None or moment.time <= until]
    simulation = _made(scenario, moments, options, cuts=cuts)
    stride = -(-len(moments) // MOST_PHASES)
    chunks = [moments[at : at + stride] for at in range(0, len(moments), stride)]
    phases: list[Phase] = []
    times: list[Series] = []
    shares: list[Series] = []
    for at, chunk in enumerate(chunks):
        progress(f"{chunk[0].time:g} s, {simulation.report.messages:,} messages")
        before = simulation.report.messages, simulation.report.bytes
        start = chunk[0].time
        following = chunks[at + 1][0].time - _TICK if at + 1 < len(chunks) else until
        end = simulation.run(until=None if following is None else max(following, start))
        came = [simulation.settled(view, since=start) for view in simulation.outputs]
        stays = np.sort(np.concatenate(came)) if came else np.zeros(0)
        fresh = stays[stays > start]
        phases.append(
            Phase(
                start,
                end,
                sum(len(rows) for moment in chunk for rows in moment.insert.values()),
                sum(len(rows) for moment in chunk for rows in moment.delete.values()),
                float(fresh[-1]) if fresh.size else None,
                simulation.report.messages - before[0],
                simulation.report.bytes - before[1],
            )
        )
        if stays.size:
            times += [np.array([start]), fresh, np.array([end])]
            done = np.arange(stays.size - fresh.size + 1, stays.size + 1) / stays.size
            shares += [np.array([(stays.size - fresh.size) / stays.size]), done, np.ones(1)]
    curve = (np.concatenate(times), np.concatenate(shares)) if times else (np.zeros(0), np.zeros(0))
    return SimulationOutcome(simulation, tuple(phases), curve)
