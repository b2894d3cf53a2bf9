"""Checks Spark's Python workers before a query starts: can they run a shard?

One small job per application, in as many tasks as run at once. A worker that lacks a module, or has another version of
Headwater than the driver, is one plain error here, and not the failure of the first batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException

import headwater
from headwater.core.errors import HeadwaterError
from headwater.spark.session.failures import cannot_import, found_in
from headwater.spark.session.session import is_connect, slots

_MODULES = ("pyarrow", "numpy", "numba", "headwater.exchange.member")
_passed: set[str] = set()  # applications whose workers were checked


def preflight(spark: Any) -> None:
    """Raise HeadwaterError where workers cannot run shards; checks once per application."""
    application = spark.session_id if is_connect(spark) else spark.sparkContext.applicationId
    if application in _passed:
        return
    tasks = slots(spark)
    try:
        found = spark.range(0, tasks, 1, tasks).mapInArrow(_looking(_MODULES), "found string").collect()
    except PySparkException as problem:
        ours = found_in(problem)
        if ours is None:
            raise
        raise ours from problem
    for row in found:
        _judge(json.loads(row["found"]))
    _passed.add(application)


def _looking(modules: tuple[str, ...]) -> Any:
    """What a task does: a nested function is pickled by value, so a worker without Headwater can run it."""

    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib
        import json
        import sys

        import pyarrow as pa

        for _ in batches:
            pass
        found = {"python": sys.executable, "missing": "", "version": ""}
        try:
            for name in modules:
                importlib.import_module(name)
            found["version"] = importlib.import_module("headwater").__version__
        except ImportError as problem:
            found["missing"] = problem.name or str(problem)
        yield pa.RecordBatch.from_pydict({"found": [json.dumps(found)]})

    return look


def _judge(found: dict[str, str]) -> None:
    if found["missing"]:
        raise cannot_import(found["missing"], found["python"])
    if found["version"] != headwater.__version__:
        raise HeadwaterError(
            f"error[HW907]: a Python worker of Spark has headwater {found['version']}, the driver "
            f"{headwater.__version__}\n"
            f"  note: the worker runs {found['python']}\n"
            "  hint: install the driver's version there, or ship one environment with `spark.archives`"
        )
