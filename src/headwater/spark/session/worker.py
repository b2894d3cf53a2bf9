"""What a shard's task does with a transaction, inside a Python worker; knows no Spark."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterable
from itertools import count
from typing import Any

from headwater.core.functions import registry as functions
from headwater.core.functions.function import Function
from headwater.core.memory import memory_for
from headwater.engine.driver import drive
from headwater.exchange import Run, ship

TURN = threading.RLock()
"""Held by what works in this process: a task, or a thread that does the task of another worker (see `handover`).

Tasks name it as `worker.TURN`: a name of its own would be pickled along.
"""

_tasks = count(1)
_EARLY = 4  # by then a worker has loaded what it needs


def prepare(named: Iterable[tuple[str, Function]]) -> None:
    """Make the user's own functions known in this process.

    Spark has a worker collect garbage after every task, which goes through everything that is loaded; what is there
    after a few tasks stays, and is left out from then on.
    """
    functions.adopt(named)
    if next(_tasks) == _EARLY:
        gc.collect()
        gc.freeze()


def memory_of_worker(shards: int) -> int | None:
    """Bytes for one shard in one worker: of what the machine or the container has, one part is Java's, and as many
    workers as there are cores may run beside each other. A limit that Spark sets for a worker holds as it is."""
    return memory_for(min(shards, os.cpu_count() or 1) + 1)


def alone(run: Run) -> Any:
    """Carry a transaction of a shard that needs no other shard to its end."""
    return drive(run, lambda outgoing: ship([outgoing])[0])
