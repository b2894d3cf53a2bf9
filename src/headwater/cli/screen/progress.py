"""A line of progress for work that takes longer than a second; none where the error stream is no terminal."""

from __future__ import annotations

import sys
import threading
from typing import Any

_PATIENCE = 1.0


class ProgressLine:
    """Says what is being done. Safe to leave by any exception; nothing of it stays on the screen."""

    def __init__(self, *, quiet: bool) -> None:
        self._shown = not quiet and sys.stderr.isatty()
        self._status: Any = None
        self._text = ""
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> ProgressLine:
        if self._shown:
            self._timer = threading.Timer(_PATIENCE, self._start)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._shown = False
            if self._timer is not None:
                self._timer.cancel()
            if self._status is not None:
                self._status.stop()

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._shown:
                columns = (BarColumn(pulse_style="cyan"), TextColumn("{task.description}"), TimeElapsedColumn())
                self._status = Progress(*columns, console=Console(stderr=True), transient=True)
                self._status.add_task(self._text, total=None)
                self._status.start()

    def step(self, text: str) -> None:
        with self._lock:
            self._text = text
            if self._status is not None:
                self._status.update(self._status.task_ids[0], description=text)
