"""`headwater serve`: a page, and an HTTP interface, on a program's views while they change."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from headwater.cli.data.options import Feed, Keys, argument, fed, has_views, option

_File: TypeAlias = Annotated[str | None, argument("The program; with --checkpoint, none.", "[FILE]")]
_Checkpoint: TypeAlias = Annotated[
    str | None,
    option(
        "Show the state of a query on Spark, and follow its batches, in the place of FILE and its inputs.",
        "--checkpoint",
        metavar="DIR",
    ),
]
_Watch: TypeAlias = Annotated[
    list[str] | None,
    option(
        "A folder whose files are applied as they arrive, oldest first, each a transaction (repeatable).",
        "--watch",
        metavar="RELATION=DIR",
    ),
]
_Port: TypeAlias = Annotated[int, typer.Option("--port", min=0, max=65535, help="Where to listen; 0: a free port.")]
_Listen: TypeAlias = Annotated[
    str, typer.Option("--listen", metavar="ADDRESS", help="The address to listen at. Only this machine by default.")
]
_Token: TypeAlias = Annotated[
    str | None,
    option("The token that requests bring; by default a new one.", "--token", envvar="HEADWATER_TOKEN", metavar="TEXT"),
]


@fed
def serve(
    feed: Feed,
    file: _File = None,
    checkpoint: _Checkpoint = None,
    watch: _Watch = None,
    port: _Port = 8642,
    listen: _Listen = "127.0.0.1",
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    writable: Annotated[bool, typer.Option("--writable", help="Requests may change base rows.")] = False,
    token: _Token = None,
    keys: Keys = None,
) -> None:
    """Open a page on a program's views: rows, graphs, proofs, what would be, and what happens, as it happens.

    Files given by --changes are applied after the inputs; lines that are appended to a .jsonl file are applied as they
    come. The printed address holds the token, without which nothing is answered. Ctrl-C ends it.

    Exit status: 0 when it is ended, 1 if the program or the data has errors, 2 if it could not start.

    Examples:

        headwater serve paths.dl --input link=links.csv --open

        headwater serve paths.dl -i link=links.csv --changes link=feed.jsonl --port 9000

        headwater serve paths.dl -i link=links.csv --watch link=incoming --writable

        headwater serve --checkpoint state

        headwater serve cheap.lorel -i Orders=orders.jsonl --watch Orders=incoming
    """
    from headwater.cli.serve_page import Serving  # late, like the work itself: --help must not import the engine

    if (file is None) == (checkpoint is None):
        raise typer.BadParameter("Give FILE and its inputs, or --checkpoint DIR.")
    of_views = has_views(file, feed, keys, writable=writable)
    serving = Serving(listen, port, token, open_page=open_page, writable=writable)
    if file is not None and of_views:
        serving.run_documents(file, feed, watch or [], keys or [])
    elif file is not None:
        serving.run(file, feed, watch or [])
    elif checkpoint is not None:
        if watch or writable or feed != Feed(guard=feed.guard, memory=feed.memory, quiet=feed.quiet):
            message = "A checkpoint has its program and its rows, which the query alone changes: give no other inputs."
            raise typer.BadParameter(message)
        serving.run_checkpoint(checkpoint, feed)
