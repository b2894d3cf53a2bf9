"""The work of `headwater serve`, imported only when it is asked for."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from headwater.cli.data.bounds import guard_of
from headwater.cli.data.checkpoint_state import needs_spark
from headwater.cli.data.options import Feed
from headwater.cli.screen.report import counted, ends_on_error, show_error
from headwater.core.errors import HeadwaterError
from headwater.core.progress import ProgressLine

if TYPE_CHECKING:  # the page is an extra
    from headwater.serve.follow import Follower
    from headwater.serve.live import Live

_NODES = 200_000
"""Nodes of a decision diagram: a question that needs more would keep all others waiting."""


class Serving:
    """One server: where it listens, and what requests may do."""

    def __init__(self, listen: str, port: int, token: str | None, *, open_page: bool, writable: bool) -> None:
        try:
            from headwater.serve.http import server
        except ImportError as problem:
            raise typer.Exit(
                show_error(
                    HeadwaterError(f"the page needs {problem.name}; install it with: pip install 'headwater[page]'")
                )
            ) from None
        if token is not None and len(token) < server.SHORTEST:
            raise typer.BadParameter(f"a token has at least {server.SHORTEST} letters", param_hint="--token")
        self._run_server = server.run_server
        self._listen, self._port, self._token = listen, port, token
        self._open, self._writable = open_page, writable

    def run(self, file: str, feed: Feed, watch: list[str]) -> None:
        """Load the inputs, then serve and follow until the end."""
        from headwater.cli.live.followed import load_followed
        from headwater.serve.follow import Follower
        from headwater.serve.live import Live

        db, sources = load_followed(file, feed, watch, nodes=_NODES, whole=True)
        live = Live(db, name=file, writable=self._writable)
        self._serve(live, Follower(live, sources), file)

    def run_documents(self, file: str, feed: Feed, watch: list[str], keys: list[str]) -> None:
        """Load the documents and define the views of a file in Lorel, then serve and follow until the end."""
        from headwater.cli.documents.run_documents import loaded, views_of
        from headwater.cli.documents.sources import pairs
        from headwater.semistructured.change_files import apply_changes
        from headwater.serve.follow import Follower
        from headwater.serve.follow.documents import DocumentFolder
        from headwater.serve.live import Live

        with ProgressLine(quiet=feed.quiet) as progress, ends_on_error("interrupted"):
            definitions = views_of(file, feed, watch)
            progress.step("loading documents")
            docs, known_by = loaded(feed, keys, guard_of(feed.guard, feed.memory))
            docs.define_views(definitions)
            for name, path in pairs(feed.changes, "--changes"):
                apply_changes(docs, name, path, known_by(name))
            sources = [DocumentFolder(name, Path(path), known_by(name)) for name, path in pairs(watch, "--watch")]
        live = Live(docs, name=file)
        self._serve(live, Follower(live, sources), file)

    def run_checkpoint(self, checkpoint: str, feed: Feed) -> None:
        """Load the state of a query, then serve and follow its batches until the end."""
        from headwater.serve.follow import Follower
        from headwater.serve.live import Live

        with ProgressLine(quiet=feed.quiet) as progress, ends_on_error("interrupted"):
            try:
                from headwater.serve.follow.checkpoint import CheckpointFollower
            except ImportError as problem:
                raise HeadwaterError(needs_spark()) from problem
            progress.step(f"loading {checkpoint}")
            source = CheckpointFollower(checkpoint)
            live = Live(source.open(), name=checkpoint)
        self._serve(live, Follower(live, [source]), checkpoint)

    def _serve(self, live: Live, follower: Follower, name: str) -> None:
        views = counted(len(live.program.outputs), "view")
        try:
            with ends_on_error("ended"):
                self._run_server(
                    live, listen=self._listen, port=self._port, token=self._token,
                    ready=lambda url: self._ready(url, f"{name}: {views}", follower.start),
                )  # fmt: skip
        finally:
            follower.stop()
            live.close()

    def _ready(self, url: str, what: str, start: Callable[[], None]) -> None:
        typer.echo(f"{what}, {'writable' if self._writable else 'read-only'}; Ctrl-C ends it")
        typer.echo(f"open {url}")
        start()
        if self._open:
            webbrowser.open(url)
