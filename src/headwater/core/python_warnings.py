"""Python's warnings about a program: given once, at the user's own line that asked for it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

from headwater.core.alarm import Alarm
from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import NearMissWarning, UnionAllWarning
from headwater.core.render import render

_PACKAGE = str(Path(__file__).resolve().parent.parent)
_WARNINGS = {"HW258": NearMissWarning, "HW259": NearMissWarning, "HW704": UnionAllWarning}


def warn_of(found: Iterable[Diagnostic]) -> None:
    """Warn of findings that change what a query means, each kind once; the others stay with the program."""
    kinds = {diagnostic.code: diagnostic for diagnostic in reversed(tuple(found)) if diagnostic.code in _WARNINGS}
    for code, diagnostic in kinds.items():
        warnings.warn(render(diagnostic), _WARNINGS[code], stacklevel=_outside())


def warn_of_alarms(ringing: Iterable[Alarm]) -> None:
    """Warn of what is wrong with the data."""
    for alarm in ringing:
        warnings.warn(alarm.text, _WARNINGS[alarm.code], stacklevel=_outside())


def _outside() -> int:
    """How many calls lie between `warn_of` and the first caller that is no part of Headwater."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level
