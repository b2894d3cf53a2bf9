"""`headwater run --watch`: views in the terminal while files arrive; where the output is no terminal, changes as lines.

One thread reads the sources, applies what is new, and draws. A screen is drawn at most a few times a second, whatever
the number of transactions, and always after the last one.
"""

from __future__ import annotations

import io
import threading
import time

import pyarrow as pa
from rich.console import Console
from rich.live import Live as Screen
from rich.text import Text

from headwater.cli.data.options import Feed
from headwater.cli.live.followed import load_followed
from headwater.cli.screen.report import show_text
from headwater.cli.screen.tables import show_change, show_view, terminal
from headwater.core.errors import HeadwaterError
from headwater.database import Database, RelationChange
from headwater.files.write import in_order
from headwater.serve.follow.follower import EVERY, Source
from headwater.serve.live import Entry, Live

_DRAWN = 0.25  # seconds between two screens, at least


class WatchRun:
    """Follows sources until Ctrl-C, or with `once` until nothing more is there."""

    def __init__(self, most: int, *, once: bool) -> None:
        self._most = most
        self._once = once
        self._console = terminal()
        self._screen: Screen | None = None
        self._drawn = 0.0
        self._last: Entry | None = None
        self._problem = ""

    def run(self, file: str, feed: Feed, watch: list[str]) -> None:
        db, sources = load_followed(file, feed, watch)
        live = Live(db, name=file)
        live.listen(lambda: self._heard(live, db))
        try:
            if self._console.is_terminal:
                with Screen(console=self._console, auto_refresh=False, screen=False, transient=False) as self._screen:
                    live.ask(self._draw).result()
                    self._follow(live, sources)
                    live.ask(self._draw).result()
            else:
                live.ask(self._show_views).result()
                self._follow(live, sources)
        finally:
            live.close()

    def _follow(self, live: Live, sources: list[Source]) -> None:
        pause = threading.Event()  # nobody sets it: a wait that Ctrl-C ends
        try:
            while True:
                busy = [self._polled(live, source) for source in sources]
                if any(busy):
                    continue
                if self._once:
                    return
                if self._screen is not None:
                    live.ask(self._draw).result()
                pause.wait(EVERY)
        except KeyboardInterrupt:
            return

    def _polled(self, live: Live, source: Source) -> bool:
        try:
            return source.poll(live)
        except HeadwaterError as problem:
            if str(problem) != self._problem:
                self._problem = str(problem)
                if self._screen is None:
                    show_text(self._problem)
            return False

    # In the database's thread

    def _heard(self, live: Live, db: Database) -> None:
        """After each transaction."""
        *_, self._last = live.journal
        if self._screen is None:
            self._show_changes(self._console, db, self._last)
        elif time.monotonic() - self._drawn >= _DRAWN:
            self._draw(db)

    def _show_views(self, db: Database) -> None:
        for name in db.program.outputs:
            show_view(self._console, name, _rows(db, name), self._most)

    def _show_changes(self, console: Console, db: Database, entry: Entry) -> None:
        console.print(Text(entry.title, "bold"))
        for name in db.program.outputs:
            change: RelationChange | None = entry.change(name)
            if change:
                show_change(console, name, change, self._most)
        for reason in entry.rejected[:5]:
            console.print(Text(f"  set aside: {reason}", "yellow"))

    def _draw(self, db: Database) -> None:
        """The screen: each view with its first rows, then the last transaction."""
        assert self._screen is not None
        out = io.StringIO()
        page = Console(file=out, force_terminal=True, highlight=False, width=self._console.width)
        for name in db.program.outputs:
            show_view(page, name, _rows(db, name), self._most)
        if self._last is None:
            page.print(Text("nothing has come yet; Ctrl-C ends it", "dim"))
        else:
            page.print(Text(f"transaction {self._last.number:,}, {self._last.seconds * 1000:,.1f} ms", "dim"))
            self._show_changes(page, db, self._last)
        if self._problem:
            page.print(Text(self._problem, "red"))
        self._screen.update(Text.from_ansi(out.getvalue()), refresh=True)
        self._drawn = time.monotonic()


def _rows(db: Database, name: str) -> pa.Table:
    table = db.table(name)
    return table if db.is_ordered(name) else in_order(table)
