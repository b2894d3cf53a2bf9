"""Frames that are computed once and used often: their rows stay with the executors, on a cluster with two of each.

Spark cannot compute them again, because rounds of a shuffle lie behind them, or ought not to, because a gang does. So
an executor that dies must not take the only copy along. If both holders of some rows die, whatever uses them fails, and
says that a checkpoint block is missing.
"""

from __future__ import annotations

from typing import Any

from pyspark import StorageLevel

from headwater.spark.session.session import is_local


def kept(frame: Any, *, eager: bool = True) -> Any:
    """The same rows, held by executors: at once or, if not `eager`, when they are used for the first time."""
    if is_local(frame.sparkSession):
        return frame.localCheckpoint(eager)
    return frame.localCheckpoint(eager, StorageLevel.MEMORY_AND_DISK_2)
