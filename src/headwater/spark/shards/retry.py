"""Work that is tried again where workers or executors were lost on the way; anything else that fails, fails at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from headwater.core.errors import ExchangeError
from headwater.spark.shards import rounds
from headwater.spark.shards.gang_job import is_broken_barrier

TRIES = 3
Result = TypeVar("Result")


def tried(work: Callable[[], Result]) -> Result:
    """What `work` gives, which starts from the beginning every time that it is called."""
    for _ in range(TRIES - 1):
        try:
            return work()
        except Exception as problem:
            lost = isinstance(problem, ExchangeError) or is_broken_barrier(problem) or rounds.is_lost_round(problem)
            if not lost:
                raise
    return work()
