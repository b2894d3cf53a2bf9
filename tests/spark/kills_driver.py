"""A driver of `test_kills`: maintains a closure over the files that are there, and has somebody killed meanwhile.

    python kills_driver.py FOLDER VICTIM STEP STORE

VICTIM is `driver` (this process dies at its STEPth step that touches a file), `worker` (in each of the next STEP
batches one of its Python workers dies) or nobody. Paths of checkpoint and output begin with STORE. At the end the view
is printed.
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

from closure_driver import maintained, print_view, session
from workers import python_workers

from conftest import FAR_SETTINGS
from headwater.spark.folders import hadoop, local

STEPS = ("_write", "_move_unless_there", "_remove_file")


def deadly(do: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*given: Any) -> Any:
        for when in ("before", "after"):
            steps[0] -= 1
            if steps[0] < 0:
                print(f"killed {when} {do.__name__} {given[:2]}", flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            if when == "before":
                found = do(*given)
        return found

    return wrapped


def kill_workers(kills: int) -> None:
    """Kill one worker per batch, while somebody works on it."""
    done = number_of_commits()
    for kill in range(kills):
        while number_of_commits() == done + kill or not (found := python_workers()):
            time.sleep(0.02)
        os.kill(found[kill % len(found)], signal.SIGKILL)
        print("killed a worker", flush=True)


def number_of_commits() -> int:
    return max((int(one.name[9:]) for one in (folder / "state" / "headwater").glob("manifest-*")), default=-1)


folder, victim, steps, store = Path(sys.argv[1]), sys.argv[2], [int(sys.argv[3])], sys.argv[4]
spark = session("kills", **FAR_SETTINGS)
if victim == "driver":
    home, names = (hadoop.HadoopFolder, ("_upload", "_rename", "_remove")) if store else (local, STEPS)
    for name in names:
        setattr(home, name, deadly(getattr(home, name)))
if victim == "worker":
    threading.Thread(target=kill_workers, args=(steps[0],), daemon=True).start()
maintained(spark, folder, store)
print_view(folder, store)
spark.stop()
