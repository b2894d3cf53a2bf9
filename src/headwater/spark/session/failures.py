"""What went wrong at a shard, as a value that its task tells the driver, which raises it.

An error of ours comes again however often Spark tries a task, so the task does not fail by it; the driver then has the
error itself, not a stack of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.core import errors
from headwater.core.errors import ExchangeError, HeadwaterError, ProgramError

_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_AS_SPARK_HAS_IT = "py4j.protocol.Py4JJavaError: An error occurred while calling a batch"
_CANCELLED = ("SPARK_JOB_CANCELLED", "java.lang.InterruptedException", "java.io.InterruptedIOException")


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


def found_in(problem: BaseException) -> HeadwaterError | None:
    """The error of ours, in our words, that is behind an error of Spark; None if there is none.

    What a worker cannot import it cannot tell either: there the text is all there is.
    """
    missing = _NO_MODULE.search(str(problem))
    if missing is None:
        return None
    return cannot_import(missing[1])


def cannot_import(module: str, python: str = "") -> HeadwaterError:
    """What to say of a module that a worker, run by this Python, does not have."""
    which = f"the Python of the executors{f', {python}' if python else ''}"
    return HeadwaterError(
        f"error[HW907]: a Python worker of Spark cannot import `{module}`\n"
        f"  note: tasks run in {which} (`PYSPARK_PYTHON`, `spark.pyspark.python`), not in this one\n"
        "  hint: install headwater with its dependencies there, at the versions of the driver, or ship an environment "
        "with `spark.archives`"
    )


def stopped(problem: Exception) -> str | None:
    """What to say where a job was cancelled, as `stop` does with the one that is running; None: it was not.

    Spark looks for these words in what comes from Python to tell a stop from a failure, with a search that overflows
    its stack on texts as long as Java's own.
    """
    if not isinstance(problem, Py4JError | PySparkException) or not any(word in str(problem) for word in _CANCELLED):
        return None
    return f"{_AS_SPARK_HAS_IT}: java.lang.InterruptedException: its jobs were cancelled"
