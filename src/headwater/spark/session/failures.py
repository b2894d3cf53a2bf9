"""Errors on their way to the user: from a shard to the driver, and out of a streaming query.

A HeadwaterError comes again however often Spark tries a task. So the task does not fail: it returns the error as a
value, and the driver raises it. Spark has the error that ended a query only as text inside a trace; `failure` has
the error itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.core import errors
from headwater.core.errors import ExchangeError, HeadwaterError, ProgramError

_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_AS_SPARK_HAS_IT = "py4j.protocol.Py4JJavaError: An error occurred while calling a batch"
_OF_RUNS: dict[str, list[BaseException]] = {}  # what the batches of a run of a query raised, by the id of the run
_IN_TEXT = re.compile(r"headwater\.core\.errors\.(\w+): (.*?)(?=\n\s*(?:at |File |Traceback|===)|\Z)", re.DOTALL)
_CANCELLED = ("SPARK_JOB_CANCELLED", "java.lang.InterruptedException", "java.io.InterruptedIOException")


def error_value(problem: HeadwaterError) -> dict[str, str]:
    """An error as a value that a task can return."""
    return {"error": type(problem).__name__, "text": str(problem)}


def error_in(results: Iterable[Mapping[str, str]]) -> HeadwaterError | None:
    """The error among the results of shards; that a shard lost another counts only if the other has no error itself."""
    failed = [result for result in results if "error" in result]
    if not failed:
        return None
    first = min(failed, key=lambda result: result["error"] == ExchangeError.__name__)
    return _error(first["error"], first["text"])


def _error(name: str, text: str) -> HeadwaterError:
    kind = getattr(errors, name, HeadwaterError)
    plain = isinstance(kind, type) and issubclass(kind, HeadwaterError) and not issubclass(kind, ProgramError)
    return (kind if plain else HeadwaterError)(text)


def found_in(problem: BaseException) -> HeadwaterError | None:
    """The HeadwaterError behind an error of Spark, or None; a worker that cannot import Headwater leaves a text."""
    missing = _NO_MODULE.search(str(problem))
    return None if missing is None else cannot_import(missing[1])


def cannot_import(module: str, python: str = "") -> HeadwaterError:
    """The error for a module that a worker, run by this Python, does not have."""
    which = f"the Python of the executors{f', {python}' if python else ''}"
    return HeadwaterError(
        f"error[HW907]: a Python worker of Spark cannot import `{module}`\n"
        f"  note: tasks run in {which} (`PYSPARK_PYTHON`, `spark.pyspark.python`), not in this one\n"
        "  hint: install headwater with its dependencies there, at the versions of the driver, or ship an environment "
        "with `spark.archives`"
    )


def stopped(problem: Exception) -> str | None:
    """A text for a job that was cancelled, as `stop` cancels the running one; None: it was not cancelled.

    Spark recognises a stop by these words, and its search overflows the stack on texts as long as Java's.
    """
    if not isinstance(problem, Py4JError | PySparkException) or not any(word in str(problem) for word in _CANCELLED):
        return None
    return f"{_AS_SPARK_HAS_IT}: java.lang.InterruptedException: its jobs were cancelled"


def note_run(query: Any, problems: list[BaseException]) -> None:
    """From now on `failure` looks here for what the batches of this query raise."""
    _OF_RUNS[str(query.runId)] = problems


def failure(query: Any) -> HeadwaterError | None:
    """The HeadwaterError that ended a streaming query, with Spark's error as its cause; None if there is none."""
    about = query.exception()
    if about is None:
        return None
    for problem in (*_OF_RUNS.get(str(query.runId), ()), about):
        ours = problem if isinstance(problem, HeadwaterError) else found_in(problem)
        if ours is not None:
            break
    else:  # with Spark Connect batches run in another process, and their errors come back as text
        text = _IN_TEXT.search(str(about))
        ours = None if text is None else _error(text[1], text[2].strip())
    if ours is not None:
        ours.__cause__ = about
    return ours
