"""`headwater tail`: the changes of a view that a server shows, in the terminal as they happen."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

from headwater.cli.data.options import argument, option


class LineFormat(StrEnum):
    """How changes are printed."""

    TEXT = "text"
    JSON = "json"


_Url: TypeAlias = Annotated[str, argument("The address that `headwater serve` has printed.", "URL")]
_View: TypeAlias = Annotated[str, argument("The view or base relation to follow.", "VIEW")]
_After: TypeAlias = Annotated[
    int | None, option("Begin behind this transaction; by default with what comes from now on.", "--after", metavar="N")
]
_Count: TypeAlias = Annotated[
    int | None, option("Stop after so many transactions that change the view.", "--count", min=1, metavar="N")
]


def tail(
    url: _Url,
    view: _View,
    after: _After = None,
    count: _Count = None,
    form: Annotated[
        LineFormat, typer.Option("--format", help="A line per row: for people, or as JSON.")
    ] = LineFormat.TEXT,
) -> None:
    """Follow the changes of a view that a server shows: a line for each row that comes (+) or goes (-).

    The token is that of the address, or of the environment (HEADWATER_TOKEN). Where the server goes away, the command
    waits until it is back, and goes on where it was. Ctrl-C ends it.

    Exit status: 0 when it is ended, 1 if the server refuses, 2 if it could not be reached at all.

    Examples:

        headwater tail 'http://127.0.0.1:8642/?token=...' fastest

        headwater tail http://127.0.0.1:8642 fastest --format json
    """
    from headwater.cli.live.tail_changes import TailRun

    raise typer.Exit(TailRun(url, view, form).run(after, count))
