"""The checkpoint of a query on Spark: what each batch has changed is shown as one transaction.

Promise: nothing of the query is touched, and every state that is shown is that of a committed batch. Where batches
commit faster than they can be loaded, some are shown together.

The state is loaded whole at each batch, and its views are derived anew: a batch costs what a load costs, so this is for
states that one process loads in seconds. It needs PySpark, but no session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.database import Database
from headwater.serve.live import Live, Work
from headwater.spark.questions.asking import database, last_batch
from headwater.spark.shards.state_view import progress

_MOST = 100
"""Batches shown together whose figures are read."""


class CheckpointFollower:
    """Follows the batches of a checkpoint."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._shown = last_batch(path)

    def open(self) -> Database:
        """The state to begin with."""
        return database(self._path, batch=self._shown)

    def poll(self, live: Live) -> bool:
        last = last_batch(self._path)
        if last == self._shown:
            return False
        loaded = database(self._path, batch=last)
        first = self._shown + 1
        title = f"batch {last}" if first == last else f"batches {first} to {last}"
        noted = [
            figures for batch in range(max(first, last - _MOST), last + 1) if (figures := progress(self._path, batch))
        ]
        live.replace(title, loaded, work_of(noted, self._path)).result()
        self._shown = last
        return True


def work_of(noted: Sequence[Mapping[str, Any]], checkpoint: str) -> Work:
    """What batches took, by the figures that the query noted of each; without any, nothing is known."""
    if not noted:
        return Work(0.0)

    def total(name: str) -> int:
        return sum(figures[name] for figures in noted)

    aside, late = total("rejected"), total("late")
    reasons = [
        f"{count:,} rows {how}: see {checkpoint}" for count, how in ((aside, "set aside"), (late, "late")) if count
    ]
    seconds = sum(figures["seconds"] for figures in noted)
    return Work(seconds, total("rows_in"), reasons, aside, late, total("rounds"), total("bytes_shipped"))
