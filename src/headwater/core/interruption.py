"""Ctrl-C at a moment of our choosing: never in the middle of a write.

Python raises KeyboardInterrupt wherever it stands, most often right after a long call into compiled code, which is
where that call's results are not entered in the journal yet. So while a database works, Ctrl-C is only noted; the
transaction asks for it between rounds and is then taken back as a whole. A Ctrl-C that comes too late for that is
raised when the work is done. In other threads than the main one nothing changes: Python interrupts none of them.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# The functions themselves: the wrappers of the module `signal` look for names of handlers, which takes as long as much
# of a small transaction does.
_get: Any = getattr(signal.getsignal, "__wrapped__", signal.getsignal)
_set: Any = getattr(signal.signal, "__wrapped__", signal.signal)
_CTRL_C = int(signal.SIGINT)


class Interruption:
    """Whether Ctrl-C was pressed."""

    __slots__ = ("noted",)

    def __init__(self) -> None:
        self.noted = False

    def note(self, number: int, frame: FrameType | None) -> None:
        self.noted = True

    def check(self) -> None:
        """Raise what is held back."""
        if self.noted:
            raise KeyboardInterrupt


@contextmanager
def held_back() -> Iterator[Interruption]:
    """Note Ctrl-C instead of raising KeyboardInterrupt at once; raise it at the end, unless an error already does."""
    interruption = Interruption()
    default = _get(_CTRL_C) is signal.default_int_handler
    if not default or threading.current_thread() is not threading.main_thread():
        yield interruption  # other code handles Ctrl-C, or an outer `held_back` does
        return
    _set(_CTRL_C, interruption.note)
    try:
        yield interruption
    finally:
        _set(_CTRL_C, signal.default_int_handler)
    if interruption.noted:
        raise KeyboardInterrupt
