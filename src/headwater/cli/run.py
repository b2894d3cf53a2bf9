"""`headwater run`: a program's views over files of rows, kept right while files of changes are applied."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.data import options


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


class Engine(StrEnum):
    EMBEDDED = "embedded"
    SPARK = "spark"


class Show(StrEnum):
    VIEWS = "views"
    CHANGES = "changes"
    BOTH = "both"


def run(
    file: options.Program,
    inputs: options.Inputs = None,
    changes: options.ChangeFiles = None,
    optional: options.Optional = None,
    queries: options.Queries = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write a file per view here.", show_default=False),
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="Default: table; with --output, csv.", show_default=False),
    ] = None,
    show: Annotated[
        Show | None,
        typer.Option("--show", help="What to print. Default: both; for json and csv, views.", show_default=False),
    ] = None,
    rows: Annotated[int, typer.Option("--rows", min=0, metavar="N", help="Most rows of a table (0: all).")] = 20,
    batch: options.Batch = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="TIME",
            help="At the end, move time on to here: what has ended expires.",
            show_default=False,
        ),
    ] = None,
    no_header: options.NoHeader = False,
    strict: options.Strict = False,
    guard: options.GuardOption = None,
    memory: options.Memory = None,
    quiet: options.Quiet = False,
    engine: Annotated[Engine, typer.Option("--engine", help="In this process, or on Spark.")] = Engine.EMBEDDED,
    streams: Annotated[
        list[str] | None,
        typer.Option(
            "--stream",
            metavar="RELATION=DIR",
            help="On Spark: files that arrive in a folder, each a transaction, oldest first (repeatable).",
            show_default=False,
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint",
            metavar="DIR",
            help="On Spark: where a stream's state is kept; a folder, or a URI that Spark can write.",
            show_default=False,
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="On Spark: stop when all files that are there are done.")
    ] = False,
    shards: Annotated[
        int | None,
        typer.Option(
            "--shards", min=1, max=10_000, metavar="N", help="On Spark: compute in so many parts.", show_default=False
        ),
    ] = None,
) -> None:
    """Compute a program's views from files of rows, and maintain them under files of changes.

    Rows that do not fit are set aside, counted and reported with file, line and reason.

    Exit status: 0 if all is well, 1 if the program or the data has errors, 2 if a file is unreadable, 130 if stopped.

    Examples:

        headwater run paths.dl --input link=links.csv

        headwater run paths.dl -i link=links.csv --changes link=changes.jsonl --output out --format parquet

        headwater run rides.dl -i ride=rides.csv --until "2026-01-01 12:00"

        headwater run paths.dl --engine spark --stream link=incoming --checkpoint state --output out
    """
    from headwater.cli.data.bounds import guard_of

    bounds = guard_of(guard, memory)
    if engine is Engine.SPARK:
        if changes or batch or strict or form or show:
            raise typer.BadParameter("--changes, --batch, --strict, --format and --show are for --engine embedded")
        if until and streams:
            raise typer.BadParameter("--until is for rows that are there; with --stream, rows tell the time")
        from headwater.cli.run_spark import SparkRunning

        SparkRunning(
            file, inputs, streams, optional, queries, output=output, checkpoint=checkpoint, shards=shards, guard=bounds,
            once=once, header=not no_header, most=rows, quiet=quiet, until=until,
        ).run()  # fmt: skip
        return
    if streams or checkpoint or once or shards:
        raise typer.BadParameter("--stream, --checkpoint, --once and --shards need --engine spark")
    from headwater.cli.run_embedded import Running

    Running(None if output is None else Path(output), form, show, rows, quiet=quiet).run(
        file, inputs, changes, optional, queries, batch, until, header=not no_header, strict=strict, guard=bounds
    )
