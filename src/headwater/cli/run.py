"""`headwater run`: a program's views over files of rows, kept right while files of changes are applied."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from headwater.cli.data.options import Feed, Keys, Program, fed, has_views, option

if TYPE_CHECKING:
    from headwater.engine.guard import Guard


class ViewFormat(StrEnum):
    """How views are printed or written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


class Engine(StrEnum):
    """What computes the views."""

    EMBEDDED = "embedded"
    SPARK = "spark"


class Show(StrEnum):
    """What is printed of a run."""

    VIEWS = "views"
    CHANGES = "changes"
    BOTH = "both"


_Output: TypeAlias = Annotated[str | None, option("Write a file per view here.", "--output", "-o", metavar="DIR")]
_Form: TypeAlias = Annotated[ViewFormat | None, option("Default: table; with --output, csv.", "--format")]
_Show: TypeAlias = Annotated[Show | None, option("What to print. Default: both; for json and csv, views.", "--show")]
_Rows: TypeAlias = Annotated[int, typer.Option("--rows", min=0, metavar="N", help="Print at most N rows (0: all).")]
_Until: TypeAlias = Annotated[
    str | None, option("At the end, move the clock to this time, so that rows expire.", "--until", metavar="TIME")
]
_Streams: TypeAlias = Annotated[
    list[str] | None,
    option(
        "On Spark: files that arrive in a folder, each a transaction, oldest first (repeatable).",
        "--stream",
        metavar="RELATION=DIR",
    ),
]
_Checkpoint: TypeAlias = Annotated[
    str | None,
    option(
        "On Spark: where a stream's state is kept; a folder, or a URI that Spark can write.",
        "--checkpoint",
        metavar="DIR",
    ),
]
_Watch: TypeAlias = Annotated[
    list[str] | None,
    option(
        "Show the views while files arrive in a folder, each a transaction, oldest first (repeatable); Ctrl-C ends it.",
        "--watch",
        metavar="RELATION=DIR",
    ),
]
_Once: TypeAlias = Annotated[
    bool, typer.Option("--once", help="With --watch, or on Spark: stop after all present files.")
]
_Shards: TypeAlias = Annotated[
    int | None, option("On Spark: the number of shards.", "--shards", min=1, max=10_000, metavar="N")
]


@fed
def run(
    file: Program,
    feed: Feed,
    output: _Output = None,
    form: _Form = None,
    show: _Show = None,
    rows: _Rows = 20,
    until: _Until = None,
    engine: Annotated[Engine, typer.Option("--engine", help="In this process, or on Spark.")] = Engine.EMBEDDED,
    watch: _Watch = None,
    streams: _Streams = None,
    checkpoint: _Checkpoint = None,
    once: _Once = False,
    shards: _Shards = None,
    keys: Keys = None,
) -> None:
    """Compute a program's views from files of rows, and maintain them under files of changes.

    Rows that do not fit are set aside, counted and reported with file, line and reason.

    Exit status: 0 if all is well, 1 if the program or the data has errors, 2 if a file is unreadable, 130 if stopped.

    Examples:

        headwater run paths.dl --input link=links.csv

        headwater run paths.dl -i link=links.csv --changes link=changes.jsonl --output out --format parquet

        headwater run rides.dl -i ride=rides.csv --until "2026-01-01 12:00"

        headwater run paths.dl -i link=links.csv --watch link=incoming

        headwater run paths.dl --engine spark --stream link=incoming --checkpoint state --output out

        headwater run view.lorel --input "Orders=orders/*.jsonl" --changes Orders=edits.jsonl

        headwater run view.lorel --engine spark --stream Orders=incoming --checkpoint state --output out
    """
    from headwater.cli.data.bounds import guard_of  # late, like the work itself: --help must not import the engine

    bounds = guard_of(feed.guard, feed.memory)
    if watch:
        _watch(file, feed, watch, rows, once, refused=(output, form, show, until, streams, checkpoint, shards, keys))
    elif engine is Engine.SPARK:
        _refuse_embedded(feed, form, show)
        if until and streams:
            raise typer.BadParameter("--until does not go with --stream, where rows bring the time")
        where = (file, feed, streams or [], output, checkpoint, shards, bounds)
        if has_views(file, feed, keys, until=until):
            from headwater.cli.documents.run_documents_spark import DocumentsOnSpark

            DocumentsOnSpark(*where, once=once, most=rows, until=None).run_with(keys or [])
        else:
            from headwater.cli.run_spark import SparkRunning

            SparkRunning(*where, once=once, most=rows, until=until).run()
    else:
        _refuse_spark(streams, checkpoint, once, shards)
        _run_embedded(file, feed, (None if output is None else Path(output), form, show, rows), until, keys, bounds)


def _run_embedded(
    file: str,
    feed: Feed,
    shown: tuple[Path | None, ViewFormat | None, Show | None, int],
    until: str | None,
    keys: list[str] | None,
    bounds: Guard,
) -> None:
    if has_views(file, feed, keys, until=until):
        from headwater.cli.documents.run_documents import DocumentRunning

        DocumentRunning(*shown).run(file, feed, keys or [], bounds)
    else:
        from headwater.cli.run_embedded import Running

        Running(*shown).run(file, feed, until, bounds)


def _watch(file: str, feed: Feed, watch: list[str], most: int, once: bool, refused: tuple[object, ...]) -> None:
    if any(refused) or file.lower().endswith(".lorel"):
        raise typer.BadParameter(
            "--watch shows views in the terminal: it goes with inputs, --changes, --rows and --once"
        )
    from headwater.cli.live.watching import WatchRun

    WatchRun(most, once=once).run(file, feed, watch)


def _refuse_embedded(feed: Feed, form: ViewFormat | None, show: Show | None) -> None:
    if feed.changes or feed.batch or feed.strict or feed.now or form or show:
        raise typer.BadParameter("--changes, --batch, --strict, --now, --format and --show are for --engine embedded")


def _refuse_spark(streams: list[str] | None, checkpoint: str | None, once: bool, shards: int | None) -> None:
    if streams or checkpoint or once or shards:
        raise typer.BadParameter("--stream, --checkpoint, --once and --shards need --engine spark")
