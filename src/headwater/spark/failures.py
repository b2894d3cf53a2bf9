"""What went wrong at a shard, as a value that its task tells the driver, which raises it.

An error of ours comes again however often Spark tries a task, so the task does not fail by it; the driver then has the
error itself, not a stack of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.core import errors
from headwater.core.errors import ExchangeError, HeadwaterError, ProgramError

TRIES = 3  # of what was lost together with those who did it


def failure(problem: HeadwaterError) -> dict[str, str]:
    return {"error": type(problem).__name__, "text": str(problem)}


def raised(told: Iterable[Mapping[str, str]]) -> HeadwaterError | None:
    """The error among what shards told; that a shard lost another says less than what the other says itself."""
    wrong = [one for one in told if "error" in one]
    if not wrong:
        return None
    said = min(wrong, key=lambda one: one["error"] == ExchangeError.__name__)
    kind = getattr(errors, said["error"], HeadwaterError)
    return (HeadwaterError if issubclass(kind, ProgramError) else kind)(said["text"])
