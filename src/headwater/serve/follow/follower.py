"""One thread that looks at all sources in turn, and hands what it finds to the database.

What goes wrong with a source is said on the page (`Live.problem`) and counted; the others go on, and so does it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Protocol

from headwater.core.errors import HeadwaterError
from headwater.serve.live import Live

EVERY = 0.2
"""Seconds between two looks at sources that had nothing new."""


class Source(Protocol):
    """Something that changes come from."""

    def poll(self, live: Live) -> bool:
        """Apply what is new, a bounded piece of it; whether there was anything."""
        ...


class Follower:
    """Follows sources until it is stopped."""

    def __init__(self, live: Live, sources: Sequence[Source]) -> None:
        self._live = live
        self._sources = sources
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headwater-follower", daemon=True)

    def start(self) -> None:
        if self._sources:
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            busy = False
            for source in self._sources:
                try:
                    busy = source.poll(self._live) or busy
                except HeadwaterError as problem:
                    self._live.problem = str(problem)
                except (CancelledError, RuntimeError):  # the database takes no more work: the server ends
                    return
            if not busy:
                self._stopping.wait(EVERY)
