"""The wall clock, for programs whose rows live by it: rows end while nothing else comes."""

from __future__ import annotations

import time

from headwater.engine.codes.moments import wall_time
from headwater.serve.live import Live

_EVERY = 1.0
"""Seconds between two looks at the clock."""


class WallClock:
    """Moves the time of a database on; what has ended by then is one transaction."""

    def __init__(self) -> None:
        self._looked = time.monotonic()

    def poll(self, live: Live) -> bool:
        if time.monotonic() - self._looked < _EVERY:
            return False
        self._looked = time.monotonic()
        return live.tick(wall_time()).result()
