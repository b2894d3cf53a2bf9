"""Checks a session before a query starts: can its Python workers run shards, and will the state be safe?

One small job, in as many tasks as run at once, looks at the workers: versions, compiled loops, memory, and whether they
see the folder of the checkpoint. `preflight` reports everything; every start runs the same checks, once per application
and folder, and raises the first error. A worker that lacks a module, or has another version of Headwater than the
driver, is one plain error here, and not the failure of the first batch.
"""

from __future__ import annotations

import json
import logging
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numba
import pyarrow as pa
import pyspark
from pyspark.errors import PySparkException

import headwater
from headwater.core.errors import HeadwaterError
from headwater.spark.folders import open_folder
from headwater.spark.folders.local import LocalFolder
from headwater.spark.session.failures import cannot_import, found_in
from headwater.spark.session.session import has_dynamic_allocation, is_connect, is_local, slots

LOG = logging.getLogger("headwater")
_MODULES = ("pyarrow", "numpy", "numba", "headwater.exchange.member")
_LOOKS_AT = ("pyarrow", "numpy", "numba", "headwater")
_LEAST = 512 << 20  # bytes for a worker below which a warning is in place
_passed: set[tuple[str, str]] = set()  # applications, and folders, whose workers were checked


class Verdict(Enum):
    """What a finding means for a query."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    what: str
    found: str
    verdict: Verdict = Verdict.OK
    advice: str = ""  # what it means, and what to do about it


@dataclass(frozen=True, slots=True)
class Preflight:
    """What a preflight found; it prints as a table."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether a query can start; there may be warnings."""
        return all(check.verdict is not Verdict.ERROR for check in self.checks)

    def __str__(self) -> str:
        rows = [(check.verdict.value, check.what, check.found) for check in self.checks]
        wide = [max(len(row[at]) for row in rows) for at in (0, 1)]
        lines = []
        for check, (verdict, what, found) in zip(self.checks, rows, strict=True):
            lines.append(f"{verdict:{wide[0]}}  {what:{wide[1]}}  {found}".rstrip())
            lines += (f"{'':{wide[0]}}  {'':{wide[1]}}  {line}" for line in check.advice.splitlines())
        return "\n".join(lines)


def preflight(spark: Any, *, checkpoint: str | None = None, shards: int | None = None) -> Preflight:
    """Look at a session and its Python workers, and at the folder of a checkpoint; nothing is started or written.

    `print` shows the report as a table; `.ok` says whether a query can start, `.checks` has each finding with its
    verdict. `shards` is what the query will be given; by default it has one per task slot.
    """
    seen = _seen_folder(spark, checkpoint)
    free = slots(spark)
    workers = _looked(spark, free, seen)
    checks = [_driver(spark), *_workers(workers, seen), _slots(spark, shards or free, free)]
    if checkpoint is not None:
        checks.append(_store(checkpoint))
    return Preflight(tuple(checks))


def require_ready(spark: Any, checkpoint: str) -> None:
    """Raise HeadwaterError where a query cannot run; checks once per application and folder."""
    application = spark.session_id if is_connect(spark) else spark.sparkContext.applicationId
    seen = _seen_folder(spark, checkpoint)
    if (application, seen) in _passed:
        return
    for check in _workers(_looked(spark, slots(spark), seen), seen):
        if check.verdict is Verdict.ERROR:
            raise HeadwaterError(check.advice)
        if check.verdict is Verdict.WARNING:
            LOG.warning("%s: %s; %s", check.what, check.found, check.advice)
    _passed.add((application, seen))


def _seen_folder(spark: Any, checkpoint: str | None) -> str:
    """The folder of this machine that the workers of a cluster must see: the nearest to a checkpoint that is there."""
    if checkpoint is None or is_connect(spark) or is_local(spark):
        return ""
    folder = open_folder(checkpoint)
    if not isinstance(folder, LocalFolder):
        return ""
    path = Path(folder.path)
    return str(next(one for one in (path, *path.parents) if one.is_dir()))


def _looked(spark: Any, tasks: int, seen: str) -> list[dict[str, Any]]:
    """What the workers found, one by one, without those that found the same."""
    look = _looking(_MODULES, _LOOKS_AT, headwater.__version__, seen)
    try:
        found = spark.range(0, tasks, 1, tasks).mapInArrow(look, "found string").collect()
    except PySparkException as problem:
        ours = found_in(problem)
        if ours is None:
            raise
        raise ours from problem
    return [json.loads(text) for text in dict.fromkeys(row["found"] for row in found)]


def _looking(modules: tuple[str, ...], versions: tuple[str, ...], drivers: str, seen: str) -> Any:
    """What a task does: a nested function is pickled by value, so a worker without Headwater can run it."""

    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib
        import json
        import os
        import platform
        import sys

        import pyarrow as pa

        for _ in batches:
            pass
        found: dict[str, Any] = {"python": sys.executable, "host": platform.node(), "missing": "", "sees": True}
        found["versions"] = {"python": platform.python_version()}
        try:
            for name in modules:
                importlib.import_module(name)
            for name in versions:
                found["versions"][name] = importlib.import_module(name).__version__
            if found["versions"]["headwater"] == drivers:
                found["kept"] = importlib.import_module("headwater.engine.codes.compiling").kept_in()
                found["memory"] = importlib.import_module("headwater.core.memory").memory_for(os.cpu_count() or 1)
        except ImportError as problem:
            found["missing"] = problem.name or str(problem)
        if seen:
            found["sees"] = os.access(seen, os.R_OK | os.W_OK | os.X_OK)
        yield pa.RecordBatch.from_pydict({"found": [json.dumps(found)]})

    return look


def _driver(spark: Any) -> Check:
    mode = "Spark Connect" if is_connect(spark) else str(spark.conf.get("spark.master", "an unknown master"))
    found = _listed(_driver_versions())
    ours = ".".join(pyspark.__version__.split(".")[:2])
    if ".".join(spark.version.split(".")[:2]) != ours:
        advice = f"the client has PySpark {pyspark.__version__}; install the version of the server"
        return Check("driver", f"Spark {spark.version} ({mode}), {found}", Verdict.WARNING, advice)
    return Check("driver", f"Spark {spark.version} ({mode}), {found}")


def _driver_versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "pyarrow": pa.__version__,
        "numba": numba.__version__,
        "headwater": headwater.__version__,
    }


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _workers(workers: list[dict[str, Any]], seen: str) -> Iterator[Check]:
    for found in workers:
        where = f"worker on {found['host']}"
        versions = found["versions"]
        if found["missing"]:
            yield Check(
                where, f"no {found['missing']}", Verdict.ERROR, str(cannot_import(found["missing"], found["python"]))
            )
            continue
        if versions["headwater"] != headwater.__version__:
            yield Check(where, _listed(versions), Verdict.ERROR, _other_version(found))
            continue
        ours = _driver_versions()
        other = [name for name in ("pyarrow", "numba") if versions[name] != ours[name]]
        verdict = Verdict.WARNING if other else Verdict.OK
        advice = f"the driver has another {' and '.join(other)}; install the same versions everywhere" if other else ""
        yield Check(where, _listed(versions), verdict, advice)
        yield _compiled(where, found["kept"])
        yield _memory(where, found["memory"])
        if not found["sees"]:
            yield Check(where, f"{seen} is not there, or cannot be written", Verdict.ERROR, _unseen(found, seen))


def _other_version(found: dict[str, Any]) -> str:
    return (
        f"error[HW907]: a Python worker of Spark has headwater {found['versions']['headwater']}, the driver "
        f"{headwater.__version__}\n"
        f"  note: the worker runs {found['python']}\n"
        "  hint: install the driver's version there, or ship one environment with `spark.archives`"
    )


def _unseen(found: dict[str, Any], seen: str) -> str:
    return (
        f"error[HW941]: a Python worker on {found['host']} cannot write to {seen}, which the checkpoint is in\n"
        "  note: shards write their state there, on the machine that they run on\n"
        "  hint: take a folder that all machines have mounted, or a store (`hdfs:`, `s3:`, ...)"
    )


def _compiled(where: str, kept: str | None) -> Check:
    if kept is not None:
        return Check(where, f"compiled loops are kept in {kept}")
    advice = "every worker compiles them anew; set NUMBA_CACHE_DIR to a folder that only its user can write to"
    return Check(where, "compiled loops are not kept", Verdict.WARNING, advice)


def _memory(where: str, memory: int | None) -> Check:
    if memory is None:
        return Check(where, "its memory is unknown", Verdict.WARNING, "rows are not bounded by memory; set `guard=`")
    found = f"{memory / 1e9:.1f} GB of memory for each of its workers"
    if memory >= _LEAST:
        return Check(where, found)
    return Check(where, found, Verdict.WARNING, "rows are kept in memory; give executors more, or take more of them")


def _slots(spark: Any, shards: int, free: int) -> Check:
    found = f"{free} task slots for {shards} shards"
    if not is_connect(spark) and has_dynamic_allocation(spark):
        advice = "under dynamic allocation shards exchange rows in shuffles; turn it off for quicker batches"
        return Check("slots", found, Verdict.WARNING, advice)
    if shards > free:
        advice = f"shards exchange rows in shuffles; give {free} shards, or more cores, for quicker batches"
        return Check("slots", found, Verdict.WARNING, advice)
    return Check("slots", found)


def _store(checkpoint: str) -> Check:
    try:
        folder = open_folder(checkpoint)
    except HeadwaterError as problem:
        return Check("checkpoint", checkpoint, Verdict.ERROR, str(problem))
    if folder.creates_once:
        return Check("checkpoint", f"{checkpoint}: of two runs that commit a batch at once, one is refused")
    advice = "two runs of a query that commit at the same moment may both succeed; see to it that there is one"
    return Check("checkpoint", f"{checkpoint}: the last writer of a file wins", Verdict.WARNING, advice)
