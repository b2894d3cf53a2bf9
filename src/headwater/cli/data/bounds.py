"""The bounds of a run as they are typed: `--guard 1000000 --memory 8GB`."""

from __future__ import annotations

import re

import typer

from headwater.engine.guard import DEFAULT_GUARD, Guard

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT]?)B?|(%))", re.IGNORECASE)


def guard_of(bound: int | None, memory: str | None) -> Guard:
    """What stops a run: `bound` on rows and rounds (None: as it is by default, 0: none), and one on memory."""
    given = DEFAULT_GUARD.memory if memory is None else _bytes(memory)
    if bound is None:
        return Guard(memory=given)
    return Guard(bound or None, bound or None, bound or None, given)


def _bytes(text: str) -> int | float | None:
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"--memory takes a size such as 8GB, 500MB or 50%, or 0 for no bound, not {text!r}")
    number = float(found[1])
    if found[3]:
        if not 0 < number <= 100:
            raise typer.BadParameter(f"--memory takes a share from 1% to 100%, not {text!r}")
        return number / 100
    return int(number * _UNITS[found[2].upper()]) or None
