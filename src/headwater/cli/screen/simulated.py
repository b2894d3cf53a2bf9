"""A simulation on the terminal: the table of its phases, its views, its messages; or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.table import Table

from headwater.cli.screen.display import shown
from headwater.cli.screen.report import counted
from headwater.cli.screen.tables import show_view, terminal
from headwater.network.nodes.report import TracedMessage
from headwater.network.phases import SimulationOutcome
from headwater.pipeline import CompiledProgram

_MOST_PHASES = 30  # lines of the table; the JSON has all


def title(name: str, run: SimulationOutcome) -> str:
    network = run.simulation.topology
    return f"{Path(name).stem} on {counted(len(network.nodes), 'node')} and {counted(len(network.links), 'link')}"


def show_run(name: str, run: SimulationOutcome, rows: int, *, trace: bool) -> None:
    console = terminal()
    simulation = run.simulation
    if trace:
        for message in simulation.report.trace:
            console.print(_line(message), soft_wrap=True, markup=False)
    console.print(title(name, run), markup=False)
    console.print(_phases(run))
    if not simulation.is_quiet:
        console.print(f"not quiet at {simulation.now:g} s: messages are under way, or wait to be sent", markup=False)
    for view in simulation.outputs:
        found = sorted(simulation.rows(view), key=repr)
        if rows:
            show_view(console, view, _as_table(simulation.program, view, found), rows)
        else:
            console.print(f"{view}: {counted(len(found), 'row')}", markup=False)


def as_json(name: str, run: SimulationOutcome, *, trace: bool) -> dict[str, Any]:
    simulation = run.simulation
    told: dict[str, Any] = {
        "protocol": name,
        "nodes": len(simulation.topology.nodes),
        "links": len(simulation.topology.links),
        "until": simulation.now,
        "quiet": simulation.is_quiet,
        "summary": simulation.summary(),
        "phases": [phase.as_json() for phase in run.phases],
        "rows": {view: len(simulation.rows(view)) for view in simulation.outputs},
    }
    if trace:
        told["trace"] = [_message(message) for message in simulation.report.trace]
    return told


def _phases(run: SimulationOutcome) -> Table:
    report = run.simulation.report
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for head in ("from", "rows changed", "settled after", "messages", "bytes", "peak kB/s per node"):
        table.add_column(head, justify="right", no_wrap=True)
    listed = run.phases if len(run.phases) <= _MOST_PHASES else run.phases[: _MOST_PHASES - 1]
    for phase in listed:
        peak = float(report.rate(0.1, since=phase.start, until=max(phase.end, phase.start + 0.1))[1].max())
        table.add_row(
            f"{phase.start:g} s",
            f"{phase.inserted + phase.deleted:,}",
            f"{phase.convergence:.3f} s",
            f"{phase.messages:,}",
            f"{phase.bytes:,}",
            f"{peak / len(report.nodes) / 1000:.1f}",
        )
    if len(listed) < len(run.phases):
        table.add_row("...", f"{len(run.phases) - len(listed)} more", "", "", "", "")
    if len(run.phases) > 1:
        table.add_row(
            "all",
            f"{sum(phase.inserted + phase.deleted for phase in run.phases):,}",
            f"{max(phase.convergence for phase in run.phases):.3f} s",
            f"{report.messages:,}",
            f"{report.bytes:,}",
            f"{report.peak_rate() / 1000:.1f}",
        )
    return table


def _line(message: TracedMessage) -> str:
    arrived = "lost" if message.arrived is None else f"{message.arrived:.3f}"
    rows = ", ".join(f"{sign}{relation}({', '.join(map(shown, row))})" for sign, relation, row in message.rows)
    return (
        f"{message.sent:.3f} -> {arrived}  {shown(message.src)} -> {shown(message.dst)}  {message.bytes} bytes  {rows}"
    )


def _message(message: TracedMessage) -> dict[str, Any]:
    return {
        "sent": message.sent,
        "arrived": message.arrived,
        "src": message.src,
        "dst": message.dst,
        "bytes": message.bytes,
        "rows": [{"change": sign, "relation": relation, "row": list(row)} for sign, relation, row in message.rows],
    }


def _as_table(program: CompiledProgram, view: str, rows: list[tuple[Any, ...]]) -> pa.Table:
    names = [column.name for column in program.checked.relation(view).visible]
    columns = [[list(row[at]) if isinstance(row[at], tuple) else row[at] for row in rows] for at in range(len(names))]
    return pa.table(columns, names=names)
