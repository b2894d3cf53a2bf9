"""`headwater simulate`: a protocol on a network in simulated time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from headwater.cli.data.options import option

_List: TypeAlias = Annotated[bool, typer.Option("--list", help="List the protocols of the pack, and exit.")]
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


def simulate(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="PROTOCOL",
            help="A protocol of the pack, a .dl file, or a .olg file of RapidNet.",
            show_default=False,
        ),
    ] = None,
    topology: _Topology = None,
    events: _Events = None,
    inputs: _Inputs = None,
    metric: Annotated[
        str, typer.Option("--metric", help="What a link costs: hops, latency, reliability, random or cost.")
    ] = "hops",
    until: _Until = None,
    one_way: Annotated[bool, typer.Option("--one-way", help="A line of the topology is one direction only.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="Decides what is lost; same seed, same bytes.")] = 0,
    picture: _Plot = None,
    rows: Annotated[int, typer.Option("--rows", min=0, metavar="N", help="Print N rows of each view.")] = 0,
    trace: Annotated[bool, typer.Option("--trace", help="Print every message.")] = False,
    form_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    listed: _List = False,
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
    """
    # Late, like the work itself: --help must not import the engine.
    from headwater.cli.data.scenario import check_metric, load_protocol, load_scenario
    from headwater.cli.screen.plot import check_plot, plot
    from headwater.cli.screen.progress import ProgressLine
    from headwater.cli.screen.report import ends_on_error, show
    from headwater.cli.screen.simulated import as_json, show_run, title
    from headwater.network.events import LATEST
    from headwater.network.phases import simulate as run_scenario
    from headwater.network.protocols import PROTOCOLS

    if listed:
        width = max(map(len, PROTOCOLS))
        for each in PROTOCOLS.values():
            typer.echo(f"{each.name:<{width}}  {each.summary}")
        return
    if name is None:
        raise typer.BadParameter("name a protocol or a .dl file; --list lists the protocols", param_hint="PROTOCOL")
    check_metric(metric)
    if until is not None and not until <= LATEST:
        raise typer.BadParameter(f"{until} is not a time up to {LATEST:,.0f} s", param_hint="--until")
    with ends_on_error("interrupted; nothing was kept"):
        program = load_protocol(name)
        if printed:
            typer.echo(PROTOCOLS[name].text if name in PROTOCOLS else program.text, nl=name not in PROTOCOLS)
            return
        if topology is None:
            raise typer.BadParameter("say which network to run on", param_hint="--topology")
        if not quiet:
            show(program.warnings)
        if picture is not None:
            check_plot(picture)
        with ProgressLine(quiet=quiet) as progress:
            scenario = load_scenario(
                program, topology, events, inputs or [], metric, one_way=one_way, progress=progress
            )
            run = run_scenario(scenario, until=until, progress=progress.step, seed=seed, trace=trace)
            if picture is not None:
                progress.step(f"drawing {picture}")
                plot(run, title(name, run), picture)
    if form_json:
        typer.echo(json.dumps(as_json(name, run, trace=trace), indent=2))
    else:
        show_run(name, run, rows, trace=trace)
    if picture is not None and not quiet:
        typer.echo(f"wrote {picture}", err=True)
