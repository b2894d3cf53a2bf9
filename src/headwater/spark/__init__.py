"""Headwater on Spark: recursive views over DataFrames, computed once or maintained as streams change.

    from headwater import spark as hws

    views = hws.evaluate(program, {"link": links})

Some parts run without Spark, and can be imported where PySpark is not installed; the names below need it.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

__all__ = [
    "ask", "blast_radius", "critical", "database", "documents", "evaluate", "explain", "failure", "maintain",
    "maintain_documents", "preflight", "probability", "profile", "progress", "refresh", "register", "sql", "view",
    "why", "why_not", "without", "witnesses",
]  # fmt: skip

if find_spec("pyspark") is not None:
    from headwater.spark.documents import documents, maintain_documents
    from headwater.spark.evaluate import evaluate
    from headwater.spark.maintain import maintain
    from headwater.spark.output.current_table import refresh
    from headwater.spark.questions.asking import (
        ask,
        blast_radius,
        critical,
        database,
        probability,
        why,
        why_not,
        without,
        witnesses,
    )
    from headwater.spark.session.failures import failure
    from headwater.spark.session.preflight import preflight
    from headwater.spark.shards.state_view import profile, progress, view
    from headwater.spark.source.register import register
    from headwater.spark.sql import explain, sql


def __getattr__(name: str) -> Any:
    if name in __all__:
        raise ImportError(f"headwater.spark.{name} needs PySpark; install it with: pip install 'headwater[spark]'")
    raise AttributeError(f"module 'headwater.spark' has no attribute {name!r}")
