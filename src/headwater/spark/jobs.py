"""What Spark's own pages call a job of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headwater.spark.session import is_connect

_KEY = "spark.job.description"


@contextmanager
def described(spark: Any, text: str) -> Iterator[None]:
    """Jobs started inside carry this description, unless they have one; Connect knows tags only, and gets none."""
    if is_connect(spark):
        yield
        return
    context = spark.sparkContext
    before = context.getLocalProperty(_KEY)
    context.setLocalProperty(_KEY, text)
    try:
        yield
    finally:
        context.setLocalProperty(_KEY, before)
