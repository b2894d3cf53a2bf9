"""A bar of progress for work that takes longer than a second: in a terminal, or in a notebook.

How much work is left is not known before it is done, so the bar moves, and the text beside it says what was reached.
Nothing of it stays on the screen. Where the error stream is no terminal, and no notebook either, nothing is shown.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from html import escape
from typing import Any, Protocol

_PATIENCE = 1.0


class Bar(Protocol):
    """What is shown once the work takes long."""

    def say(self, text: str) -> None: ...

    def stop(self) -> None: ...


class TerminalBar:
    """A bar on the error stream."""

    def __init__(self, text: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (BarColumn(pulse_style="cyan"), TextColumn("{task.description}"), TimeElapsedColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._progress.add_task(text, total=None)
        self._progress.start()

    def say(self, text: str) -> None:
        self._progress.update(self._progress.task_ids[0], description=text)

    def stop(self) -> None:
        self._progress.stop()


class NotebookBar:
    """A bar in the output of a cell; it needs IPython alone, no widgets."""

    def __init__(self, text: str) -> None:
        from IPython import display

        self._began = time.monotonic()
        self._handle: Any = display.display(self._html(text), display_id=True)

    def _html(self, text: str) -> Any:
        from IPython import display

        seconds = time.monotonic() - self._began
        label = f"{text}, {seconds:,.0f} s" if seconds >= 1 else text
        return display.HTML(f"<progress aria-label='progress'></progress> {escape(label)}")

    def say(self, text: str) -> None:
        if self._handle is not None:
            self._handle.update(self._html(text))

    def stop(self) -> None:
        from IPython import display

        if self._handle is not None:
            self._handle.update(display.HTML(""))


class ProgressLine:
    """Says what is being done. Safe to leave by any exception."""

    def __init__(self, *, quiet: bool, text: str = "", bar: Callable[[str], Bar] | None = None) -> None:
        """`bar` makes what is shown; by default a bar in the terminal, if there is one."""
        self._shown = not quiet and (bar is not None or sys.stderr.isatty())
        self._make = bar or TerminalBar
        self._bar: Bar | None = None
        self._text = text
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> ProgressLine:
        if self._shown:
            here = copy_context()  # a cell's output is found by its context
            self._timer = threading.Timer(_PATIENCE, lambda: here.run(self._start))
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._shown = False
            if self._timer is not None:
                self._timer.cancel()
            if self._bar is not None:
                self._bar.stop()

    def _start(self) -> None:
        with self._lock:
            if self._shown:
                self._bar = self._make(self._text)

    def step(self, text: str) -> None:
        """What is being done now."""
        with self._lock:
            self._text = text
            if self._bar is not None:
                self._bar.say(text)


def rounds_told(progress: ProgressLine, word: str, cancelled: Callable[[], bool] = lambda: False) -> Callable[[], bool]:
    """What `apply` asks once a round, which then says so; it costs most rounds an addition."""
    count = 0

    def told() -> bool:
        nonlocal count
        count += 1
        if count % 10 == 0:
            progress.step(f"{word}, round {count:,}")
        return cancelled()

    return told


_wanted: Callable[[str], Bar] | None = None


def show_progress(shown: bool = True) -> None:
    """Show a bar while `Database.apply` takes longer than a second, in a notebook or in a terminal."""
    global _wanted
    _wanted = None
    if shown:
        _wanted = NotebookBar if _in_notebook() else TerminalBar if sys.stderr.isatty() else None


def wanted_bar() -> Callable[[str], Bar] | None:
    """What makes the bar that a user asked for; None: nobody asked."""
    return _wanted


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return found is not None and found.has_trait("kernel")
