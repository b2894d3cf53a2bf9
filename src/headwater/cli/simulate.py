"""`headwater simulate`: a protocol on a network in simulated time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from headwater.cli.data.options import option
from headwater.cli.data.strategy import Evaluation, PeriodicSeconds, RefreshSeconds, SharingSeconds, Strategy

if TYPE_CHECKING:
    from headwater.core.progress import ProgressLine
    from headwater.network.phases import SimulationOutcome
    from headwater.network.rapidnet import EventProgram
    from headwater.network.scenario import Scenario
    from headwater.pipeline import CompiledProgram


def _list_protocols(wanted: bool) -> None:
    if not wanted:
        return
    from headwater.network.protocols import EVENT_PROTOCOLS, PROTOCOLS  # late: --help must not import them

    pack = (*PROTOCOLS.values(), *EVENT_PROTOCOLS.values())
    width = max(len(each.name) for each in pack)
    for each in pack:
        typer.echo(f"{each.name:<{width}}  {each.summary}")
    raise typer.Exit


_List: TypeAlias = Annotated[
    bool,
    typer.Option("--list", help="List the protocols of the pack, and exit.", is_eager=True, callback=_list_protocols),
]
_Show: TypeAlias = Annotated[bool, typer.Option("--show", help="Print the protocol's program, and exit.")]
_Topology: TypeAlias = Annotated[
    Path | None,
    option("The network: csv (src, dst, latency_ms, mbps, loss), GraphML, or a list of edges.", "--topology", "-t"),
]
_Events: TypeAlias = Annotated[Path | None, option("What happens when: csv or jsonl.", "--events", "-e")]
_Inputs: TypeAlias = Annotated[
    list[str] | None,
    option("Rows of another base relation (repeatable).", "--input", "-i", metavar="RELATION=FILE"),
]
_Until: TypeAlias = Annotated[
    float | None, option("Stop at this time, in seconds; by default when nothing is under way.", "--until", min=0)
]
_Plot: TypeAlias = Annotated[
    Path | None, option("Draw rate and completeness over time: .png, .svg or .pdf.", "--plot", metavar="FILE")
]
_Playback: TypeAlias = Annotated[
    Path | None, option("Write the run as JSON, to be played back.", "--playback", metavar="FILE")
]
_Name: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="PROTOCOL", help="A protocol of the pack, a .dl file, or a .olg file of RapidNet.", show_default=False
    ),
]
_Metric: TypeAlias = Annotated[
    str, typer.Option("--metric", help="What a link costs: hops, latency, reliability, random or cost.")
]
_Cuts: TypeAlias = Annotated[
    bool, typer.Option("--cuts", help="Links and nodes that fail lose the messages under way on them.")
]


def simulate(
    name: _Name = None,
    topology: _Topology = None,
    events: _Events = None,
    inputs: _Inputs = None,
    metric: _Metric = "hops",
    until: _Until = None,
    one_way: Annotated[bool, typer.Option("--one-way", help="A line of the topology is one direction only.")] = False,
    cuts: _Cuts = False,
    evaluation: Evaluation = "psn",
    periodic: PeriodicSeconds = None,
    sharing: SharingSeconds = None,
    refresh: RefreshSeconds = None,
    seed: Annotated[int, typer.Option("--seed", help="Decides what is lost; same seed, same bytes.")] = 0,
    picture: _Plot = None,
    played: _Playback = None,
    rows: Annotated[int, typer.Option("--rows", min=0, metavar="N", help="Print N rows of each view.")] = 0,
    trace: Annotated[bool, typer.Option("--trace", help="Print every message.")] = False,
    form_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    _: _List = False,
    printed: _Show = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Run a protocol on a network in simulated time, and print convergence, messages, bytes and rates.

    Everything is checked first: nothing runs if the topology, an event or the program is wrong.

    Exit status: 0 if all is well, 1 if program, topology or events have errors, 2 if a file is unreadable.

    Examples:

        headwater simulate --list

        headwater simulate path_vector --topology zoo.graphml --metric latency

        headwater simulate path_vector -t net.csv --events events.csv --until 60 --plot rate.png

        headwater simulate path_vector -t net.csv --events events.csv --playback run.json

        headwater simulate path_vector -t net.csv --events events.csv --periodic 0.2
    """
    if name is None:
        raise typer.BadParameter("name a protocol or a .dl file; --list lists the protocols", param_hint="PROTOCOL")
    # Late, like the work itself: --help must not import the engine.
    from headwater.cli.data.scenario import check_metric, check_until, load_protocol, load_scenario
    from headwater.cli.screen.report import ends_on_error, show
    from headwater.core.progress import ProgressLine
    from headwater.network.phases import simulate as run_scenario
    from headwater.network.rapidnet import EventProgram

    check_metric(metric)
    with ends_on_error("interrupted; nothing was kept"):
        program = load_protocol(name)
        if printed:
            _print_protocol(name, program)
            return
        check_until(program, until)
        strategy = Strategy(evaluation, periodic, sharing, refresh)
        options = strategy.options(has_events=isinstance(program, EventProgram), until=until)
        if not quiet:
            show(program.warnings)
        written = _Written(picture, played).checked()
        with ProgressLine(quiet=quiet) as progress:
            network = load_scenario(program, topology, events, inputs or [], metric, one_way=one_way, progress=progress)
            noted = {"seed": seed, "trace": trace or played is not None}
            run = run_scenario(network, until, cuts, progress.step, **noted, **options)
            written.write(name, network, run, progress)
    _print_run(name, run, rows, trace=trace, form_json=form_json)
    if not quiet:
        written.show()


@dataclass(frozen=True, slots=True)
class _Written:
    """The files that a run is written to, where a user asked for them."""

    picture: Path | None
    played: Path | None

    def checked(self) -> _Written:
        """Itself: what cannot be written is refused before anything runs."""
        from headwater.cli.screen.plot import check_folder, check_plot

        if self.picture is not None:
            check_plot(self.picture)
        if self.played is not None:
            check_folder(self.played)
        return self

    def write(self, name: str, scenario: Scenario, run: SimulationOutcome, progress: ProgressLine) -> None:
        from headwater.cli.screen.plot import plot
        from headwater.cli.screen.simulated import title
        from headwater.network.playback import write_playback

        if self.played is not None:
            progress.step(f"writing {self.played}")
            write_playback(self.played, name, scenario, run)
        if self.picture is not None:
            progress.step(f"drawing {self.picture}")
            plot(run, title(name, run), self.picture)

    def show(self) -> None:
        for made in (self.picture, self.played):
            if made is not None:
                typer.echo(f"wrote {made}", err=True)


def _print_protocol(name: str, program: CompiledProgram | EventProgram) -> None:
    """The program as the pack or the user's file has it."""
    from headwater.network.protocols import EVENT_PROTOCOLS, PROTOCOLS

    pack = {**PROTOCOLS, **EVENT_PROTOCOLS}
    typer.echo(pack[name].text if name in pack else program.text, nl=name not in pack)


def _print_run(name: str, run: SimulationOutcome, rows: int, *, trace: bool, form_json: bool) -> None:
    from headwater.cli.screen.simulated import as_json, show_run

    if form_json:
        typer.echo(json.dumps(as_json(name, run, trace=trace), indent=2))
    else:
        show_run(name, run, rows, trace=trace)
