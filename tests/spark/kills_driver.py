"""A driver of `test_kills`: maintains a closure over the files that are there, and has somebody killed meanwhile.

    python kills_driver.py FOLDER VICTIM STEP STORE

VICTIM is `driver` (this process dies at its STEPth step that touches a file), `worker` (in each of the next STEP
batches one of its Python workers dies, before the batch is committed) or nobody. Paths of checkpoint and output begin
with STORE. At the end the view is printed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from closure_driver import deadly, maintained, print_view, session
from workers import python_workers

from conftest import FAR_SETTINGS
from headwater.spark.folders import hadoop, local

STEPS = ("_write", "_move_unless_there", "_remove_file")


def kill_workers(kills: int) -> None:
    """Kill one worker per batch, while somebody works on it: no batch is committed before its worker was killed."""
    for kill in range(kills):
        while not (found := python_workers()):
            time.sleep(0.02)
        os.kill(found[kill % len(found)], signal.SIGKILL)
        print("killed a worker", flush=True)
        killed.release()
        committed.acquire()


def committing(move: Callable[..., Any]) -> Callable[..., Any]:
    """Moves a file to its name; the manifest of a batch when a worker was killed in it, as long as some are to be."""
    left = [step]

    def wrapped(*given: Any) -> Any:
        if not left[0] or not any("manifest-" in str(word) for word in given):
            return move(*given)
        left[0] -= 1
        killed.acquire()
        found = move(*given)
        committed.release()
        return found

    return wrapped


folder, victim, step, store = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
killed, committed = threading.Semaphore(0), threading.Semaphore(0)
spark = session("kills", **FAR_SETTINGS)
if victim == "driver":
    home, names = (hadoop.HadoopFolder, ("_upload", "_rename", "_remove")) if store else (local, STEPS)
    left = [step + 1]
    for name in names:
        setattr(home, name, deadly(getattr(home, name), left, folder))
if victim == "worker":
    local._move_unless_there = committing(local._move_unless_there)
    threading.Thread(target=kill_workers, args=(step,), daemon=True).start()
maintained(spark, folder, store)
print_view(folder, store)
spark.stop()
