"""From options to a scenario: the program, the network, the rows and the events, all checked before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from headwater.cli.data.source import parse_given, read_files
from headwater.cli.screen.report import counted
from headwater.core.errors import DataError, FileError
from headwater.core.progress import ProgressLine
from headwater.files.rows import BadRow
from headwater.network.events import LATEST, NetworkEvent, read_events
from headwater.network.placed import read_source
from headwater.network.protocols import EVENT_PROTOCOLS, PROTOCOLS, event_protocol
from headwater.network.rapidnet import EventProgram, rapidnet_program
from headwater.network.scenario import METRICS, Scenario, prepared
from headwater.network.topologies import read_topology
from headwater.pipeline import CompiledProgram, compile_file
from headwater.program.nearest import nearest


def load_protocol(name: str) -> CompiledProgram | EventProgram:
    """A protocol of the pack, or the program of a file; raises FileError and ProgramError."""
    if name in PROTOCOLS:
        return PROTOCOLS[name].compiled()
    if name in EVENT_PROTOCOLS:
        return event_protocol(name)
    if name.endswith(".olg"):
        return rapidnet_program(read_source(Path(name)).text, name=name)
    if name.endswith(".dl") or Path(name).exists():
        return compile_file(name)
    close = nearest(name, [*PROTOCOLS, *EVENT_PROTOCOLS])
    meant = f"did you mean `{close}`?" if close else "--list lists the protocols."
    raise FileError(f"there is no protocol `{name}`; {meant} A program of your own is a file that ends in .dl or .olg")


def check_metric(metric: str) -> None:
    if metric not in METRICS:
        close = nearest(metric, METRICS)
        hint = f"did you mean {close}?" if close else f"the metrics are {', '.join(METRICS)}"
        raise typer.BadParameter(f"there is no metric {metric!r}; {hint}", param_hint="--metric")


def check_until(program: CompiledProgram | EventProgram, until: float | None) -> None:
    if until is not None and not until <= LATEST:
        raise typer.BadParameter(f"{until} is not a time up to {LATEST:,.0f} s", param_hint="--until")
    if until is None and isinstance(program, EventProgram) and program.never_quiet:
        raise typer.BadParameter("its `periodic` events come for ever: say when to stop", param_hint="--until")


def load_scenario(
    program: CompiledProgram | EventProgram,
    topology: Path | None,
    events: Path | None,
    inputs: list[str],
    metric: str,
    *,
    one_way: bool,
    progress: ProgressLine,
) -> Scenario:
    """Everything that a simulation needs; raises an error of ours if anything of it is wrong."""
    if topology is None:
        raise typer.BadParameter("say which network to run on", param_hint="--topology")
    progress.step(f"reading {topology}")
    network = read_topology(topology, one_way=one_way)
    script: list[NetworkEvent] = read_events(events) if events is not None else []
    rules = program.program if isinstance(program, EventProgram) else program
    data = read_files(rules, parse_given(rules, "--input", inputs), [], header=True, progress=progress)
    if data.bad:
        raise DataError(_bad(data.bad))
    given: dict[str, list[tuple[Any, ...]]] = {}
    for file in data.inputs:
        given.setdefault(file.relation, []).extend(file.tuples())
    try:
        return prepared(program, network, metric=metric, given=given, events=script)
    except ValueError as problem:  # a metric that the links do not have
        raise DataError(f"error[HW811]: {problem}") from None


def _bad(bad: tuple[BadRow, ...]) -> str:
    lines = [f"error[HW801]: {counted(len(bad), 'row')} do not fit; nothing was simulated"]
    return "\n".join(lines + [f"  {row}" for row in bad[:10]])
