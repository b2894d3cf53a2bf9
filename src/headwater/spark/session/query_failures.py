"""Why a streaming query ended: the error itself, where Spark has it as a text inside a trace."""

from __future__ import annotations

import re
from typing import Any

from headwater.core import errors
from headwater.core.errors import HeadwaterError
from headwater.spark.session.failures import found_in

_OF_RUNS: dict[str, list[BaseException]] = {}  # what the batches of a run of a query raised, by the id of the run
_IN_TEXT = re.compile(r"headwater\.core\.errors\.(\w+): (.*?)(?=\n\s*(?:at |File |Traceback|===)|\Z)", re.DOTALL)


def noting(query: Any, problems: list[BaseException]) -> None:
    """From now on `failure` looks here for what the batches of this query raise."""
    _OF_RUNS[str(query.runId)] = problems


def failure(query: Any) -> HeadwaterError | None:
    """The error of Headwater that a streaming query ended by, with Spark's own as its cause; None if there is none."""
    about = query.exception()
    if about is None:
        return None
    for problem in (*_OF_RUNS.get(str(query.runId), ()), about):
        ours = problem if isinstance(problem, HeadwaterError) else found_in(problem)
        if ours is not None:
            ours.__cause__ = about
            return ours
    ours = _in_text(str(about))
    if ours is not None:
        ours.__cause__ = about
    return ours


def _in_text(text: str) -> HeadwaterError | None:
    """Through Spark Connect batches run in another process: what comes from there is text."""
    found = _IN_TEXT.search(text)
    if found is None:
        return None
    kind = getattr(errors, found[1], HeadwaterError)
    plain = isinstance(kind, type) and issubclass(kind, HeadwaterError) and not issubclass(kind, errors.ProgramError)
    return (kind if plain else HeadwaterError)(found[2].strip())
