"""`headwater generate`: a network to try a program on, or events on a network, as csv files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import pyarrow as pa
import typer

from headwater.cli.data.options import option
from headwater.cli.screen.report import show_error
from headwater.core.errors import FileError, HeadwaterError
from headwater.files.write import make_folder, write_table, write_text
from headwater.network.events import NetworkEvent, bursts, node_failures, partitions, write_events
from headwater.network.links import Topology
from headwater.network.sensors import Grid, field, neighbours
from headwater.network.topologies import Overlay, mesh, overlay, random_graph, read_topology, write_rows
from headwater.network.topology import Density, TransitStub, links, with_about

Made: TypeAlias = dict[str, tuple[tuple[str, ...], Sequence[tuple[Any, ...]]]]
"""Columns and rows of each relation."""


_OPTIONS = {
    "transit-stub": ("size", "sparse", "domains", "transit", "stubs", "stub_size"),
    "overlay": ("nodes", "neighbours_each"),
    "random": ("nodes", "size"),
    "mesh": ("nodes",),
    "sensors": ("side", "spacing", "regions", "triggered", "radius"),
    "bursts": ("topology", "until", "every", "share", "change"),
    "failures": ("topology", "until", "every", "lasting"),
    "partitions": ("topology", "until", "every", "lasting", "share"),
}
KINDS = tuple(_OPTIONS)


def _is_kind(kind: str) -> str:
    if kind not in KINDS:
        raise typer.BadParameter(f"{kind!r} is not one of {', '.join(KINDS)}")
    return kind


_SHAPE = ("domains", "transit", "stubs", "stub_size")  # what --links chooses itself

_Kind: TypeAlias = Annotated[
    str, typer.Argument(metavar="KIND", help=f"One of {', '.join(KINDS)}.", show_default=False, callback=_is_kind)
]
_Size: TypeAlias = Annotated[
    int | None, typer.Option("--links", min=1, help="Approximate number of link rows.", show_default=False)
]
_Nodes: TypeAlias = Annotated[
    int | None, option("Nodes of an overlay (100), a random graph (1000) or a mesh (32).", "--nodes")
]
_Every: TypeAlias = Annotated[
    list[float] | None,
    option("Seconds between events; several are taken in turn (10; partitions: 20).", "--every"),
]
_Lasting: TypeAlias = Annotated[float | None, option("Seconds that a failure (5) or a cut (10) lasts.", "--lasting")]
_Share: TypeAlias = Annotated[
    float | None, option("Share of links that change (0.1), or nodes cut off (0.5).", "--share")
]


def generate(
    context: typer.Context,
    kind: _Kind,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The folder for the files.")],
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same network.")] = 0,
    size: _Size = None,
    sparse: Annotated[bool, typer.Option("--sparse", help="Half the links for the same nodes.")] = False,
    domains: Annotated[int, typer.Option("--domains", min=1, help="Transit domains.")] = 1,
    transit: Annotated[int, typer.Option("--transit", min=1, help="Nodes per transit domain.")] = 4,
    stubs: Annotated[int, typer.Option("--stubs", min=0, help="Stubs per transit node.")] = 3,
    stub_size: Annotated[int, typer.Option("--stub-size", min=0, help="Nodes per stub.")] = 8,
    side: Annotated[int, typer.Option("--side", min=1, help="Metres along each side of the field of sensors.")] = 100,
    spacing: Annotated[int, typer.Option("--spacing", min=1, help="Metres between sensors.")] = 10,
    regions: Annotated[int, typer.Option("--regions", min=0, help="Sensors that regions start from.")] = 5,
    triggered: Annotated[float, typer.Option("--triggered", min=0, max=1, help="Share of triggered sensors.")] = 0.5,
    radius: Annotated[float, typer.Option("--radius", min=0, help="Sensors closer than this are near.")] = 20.0,
    nodes: _Nodes = None,
    neighbours_each: Annotated[int, typer.Option("--neighbours", min=1, help="Neighbours that a node picks.")] = 4,
    topology: Annotated[Path | None, option("The network that events happen on.", "--topology", "-t")] = None,
    until: Annotated[float, typer.Option("--until", min=0, max=1e9, help="Seconds of events.")] = 60.0,
    every: _Every = None,
    share: _Share = None,
    change: Annotated[float, typer.Option("--change", help="Costs change by up to this share.")] = 0.1,
    lasting: _Lasting = None,
) -> None:
    """Make a network, or events on one, and write it as csv.

    transit-stub writes link.csv (src, dst, latency in ms); overlay, random and mesh write topology.csv (src, dst,
    latency_ms, mbps, loss and metrics). sensors writes sensor.csv, mainSensorInRegion.csv, isTriggered.csv and
    near.csv. bursts, failures and partitions write events.csv for `headwater simulate`.

    Exit status: 0 if the files are written, 2 if they cannot be, or if there is no such network.

    Examples:

        headwater generate transit-stub --output net

        headwater run examples/shortest_path.dl --input link=net/link.csv

        headwater generate sensors --output field --triggered 0.3

        headwater generate bursts --topology net/link.csv --every 2 --every 8 --output net
    """
    _refuse_others(context, kind)
    try:
        if "topology" in _OPTIONS[kind]:
            _write_events(output, _events(kind, _read(topology), until, every, share, change, lasting, seed))
        elif kind == "transit-stub":
            _write_rows(output, _links(TransitStub(domains, transit, stubs, stub_size, seed=seed), size, sparse))
        elif kind == "sensors":
            _write_rows(output, _sensors(Grid(side, spacing, regions, triggered, seed), radius))
        else:
            _write_rows(output, {"topology": write_rows(_network(kind, nodes, neighbours_each, size, seed))})
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from None
    except FileError as problem:
        typer.echo(f"error: {problem}", err=True)
        raise typer.Exit(2) from None
    except HeadwaterError as problem:
        raise typer.Exit(show_error(problem)) from None


def _links(shape: TransitStub, size: int | None, sparse: bool) -> Made:
    density = Density.SPARSE if sparse else Density.DENSE
    rows = links(with_about(size, density, shape.seed) if size else replace(shape, density=density))
    return {"link": (("src", "dst", "latency"), rows)}


def _network(kind: str, nodes: int | None, neighbours_each: int, size: int | None, seed: int) -> Topology:
    if kind == "overlay":
        return overlay(Overlay(100 if nodes is None else nodes, neighbours_each, seed=seed))
    if kind == "mesh":
        return mesh(32 if nodes is None else nodes, seed)
    count = 1000 if nodes is None else nodes
    return random_graph(count, 3 * count if size is None else size, seed)


def _read(topology: Path | None) -> Topology:
    if topology is None:
        raise typer.BadParameter("say which network they happen on", param_hint="--topology")
    return read_topology(topology)


def _events(
    kind: str,
    topology: Topology,
    until: float,
    every: list[float] | None,
    share: float | None,
    change: float,
    lasting: float | None,
    seed: int,
) -> list[NetworkEvent]:
    if kind == "bursts":
        return bursts(
            topology, until=until, every=every or (10.0,), share=0.1 if share is None else share, most=change, seed=seed
        )
    if every and len(every) > 1:
        raise typer.BadParameter("several intervals are for bursts", param_hint="--every")
    if kind == "failures":
        return node_failures(
            topology,
            until=until,
            every=every[0] if every else 10.0,
            away=5.0 if lasting is None else lasting,
            seed=seed,
        )
    wait = every[0] if every else 20.0
    return partitions(
        topology,
        until=until,
        every=wait,
        apart=10.0 if lasting is None else lasting,
        share=0.5 if share is None else share,
        seed=seed,
    )


def _write_events(output: Path, events: list[NetworkEvent]) -> None:
    make_folder(output)
    path = output / "events.csv"
    write_text(path, write_events(events))
    typer.echo(f"{path}: {len(events):,} events")


def _write_rows(output: Path, made: Made) -> None:
    make_folder(output)
    for relation, (columns, found) in made.items():
        path = write_table(output, relation, _table(columns, found), "csv")
        typer.echo(f"{path}: {len(found):,} rows")


def _refuse_others(context: typer.Context, kind: str) -> None:
    """An option that would be ignored is a mistake."""
    flags = {parameter.name: max(parameter.opts, key=len) for parameter in context.command.params}
    given = [name for name in flags if _is_given(context, name)]
    for name in given:
        others = [other for other in KINDS if name in _OPTIONS[other]]
        if others and kind not in others:
            own = ", ".join(flags[each] for each in _OPTIONS[kind])
            raise typer.BadParameter(f"is for {' and '.join(others)}; {kind} takes {own}", param_hint=flags[name])
        if "size" in given and name in _SHAPE:
            raise typer.BadParameter("is chosen by --links; give one or the other", param_hint=flags[name])


def _is_given(context: typer.Context, name: str | None) -> bool:
    source = context.get_parameter_source(name or "")
    return source is not None and source.name == "COMMANDLINE"


def _sensors(grid: Grid, radius: float) -> Made:
    made = field(grid)
    return {
        "sensor": (("id", "position"), made.sensors),
        "mainSensorInRegion": (("region", "sensor"), made.main),
        "isTriggered": (("sensor",), made.triggered),
        "near": (("sensor", "other"), neighbours(made, radius)),
    }


def _table(columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    found = [[_plain(row[at]) for row in rows] for at in range(len(columns))]
    return pa.table(dict(zip(columns, found, strict=True)))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
