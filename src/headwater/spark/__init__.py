"""Headwater on Spark: recursive views over DataFrames, computed once or maintained as streams change.

    from headwater import spark as hws

    views = hws.evaluate(program, {"link": links})

The public names are imported when they are first asked for, so that the parts that need no Spark (they run in Python
workers, and read checkpoints) can be imported without it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.spark.current import refresh
    from headwater.spark.evaluating import evaluate
    from headwater.spark.maintaining import maintain
    from headwater.spark.query_failures import failure
    from headwater.spark.sql_queries import explain, sql
    from headwater.spark.state_view import progress, view

__all__ = ["evaluate", "explain", "failure", "maintain", "progress", "refresh", "sql", "view"]

_HOMES = {
    "evaluate": "headwater.spark.evaluating",
    "explain": "headwater.spark.sql_queries",
    "failure": "headwater.spark.query_failures",
    "maintain": "headwater.spark.maintaining",
    "progress": "headwater.spark.state_view",
    "refresh": "headwater.spark.current",
    "sql": "headwater.spark.sql_queries",
    "view": "headwater.spark.state_view",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'headwater.spark' has no attribute {name!r}")
    if find_spec("pyspark") is None:
        raise ImportError(f"headwater.spark.{name} needs PySpark; install it with: pip install 'headwater[spark]'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
