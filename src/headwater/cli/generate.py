"""`headwater generate`: a network to try a program on, as csv files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import pyarrow as pa
import typer

from headwater.core.errors import FileError
from headwater.files.write import make_folder, write_table
from headwater.network.sensors import Grid, field, neighbours
from headwater.network.topology import Density, TransitStub, links, with_about

KINDS = ("transit-stub", "sensors")
Made: TypeAlias = dict[str, tuple[tuple[str, ...], Sequence[tuple[Any, ...]]]]
"""Columns and rows of each relation."""


def _is_kind(kind: str) -> str:
    if kind not in KINDS:
        raise typer.BadParameter(f"{kind!r} is not one of {', '.join(KINDS)}")
    return kind


_OPTIONS = {
    "transit-stub": ("size", "sparse", "domains", "transit", "stubs", "stub_size"),
    "sensors": ("side", "spacing", "regions", "triggered", "radius"),
}
_SHAPE = ("domains", "transit", "stubs", "stub_size")  # what --links chooses itself


def generate(
    context: typer.Context,
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help=f"{' or '.join(KINDS)}.", show_default=False, callback=_is_kind)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The folder for the files.")],
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same network.")] = 0,
    size: Annotated[
        int | None, typer.Option("--links", min=1, help="Approximate number of link rows.", show_default=False)
    ] = None,
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
) -> None:
    """Make a network and write it as csv: a transit-stub topology, or a field of sensors.

    transit-stub writes link.csv (src, dst, latency in ms). sensors writes sensor.csv, mainSensorInRegion.csv,
    isTriggered.csv and near.csv.

    Exit status: 0 if the files are written, 2 if they cannot be, or if there is no such network.

    Examples:

        headwater generate transit-stub --output net

        headwater run examples/shortest_path.dl --input link=net/link.csv

        headwater generate sensors --output field --triggered 0.3
    """
    _refuse_others(context, kind)
    try:
        if kind == "transit-stub":
            density = Density.SPARSE if sparse else Density.DENSE
            shape = TransitStub(domains, transit, stubs, stub_size, density, seed)
            rows = links(with_about(size, density, seed) if size else shape)
            made: Made = {"link": (("src", "dst", "latency"), rows)}
        else:
            made = _sensors(Grid(side, spacing, regions, triggered, seed), radius)
        make_folder(output)
        for relation, (columns, found) in made.items():
            path = write_table(output, relation, _table(columns, found), "csv")
            typer.echo(f"{path}: {len(found):,} rows")
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from None
    except FileError as problem:
        typer.echo(f"error: {problem}", err=True)
        raise typer.Exit(2) from None


def _refuse_others(context: typer.Context, kind: str) -> None:
    """An option that would be ignored is a mistake."""
    flags = {parameter.name: max(parameter.opts, key=len) for parameter in context.command.params}
    given = [name for name in flags if _is_given(context, name)]
    (other,) = (each for each in KINDS if each != kind)
    for name in given:
        if name in _OPTIONS[other]:
            own = ", ".join(flags[option] for option in _OPTIONS[kind])
            raise typer.BadParameter(f"is for {other}; {kind} takes {own}", param_hint=flags[name])
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
