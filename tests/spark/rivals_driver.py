"""A driver of `test_rivals`: maintains a closure over the files that are there, again and again where it is stopped.

    python rivals_driver.py FOLDER NAME STARTS STEP

It is started at most STARTS times, and is killed at its STEPth step that touches a file (0: never). What stopped it is
printed, a line each. If it gets one start alone it has no rival, and prints what the view holds in the end.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from closure_driver import maintained, print_view, session

from headwater.spark.folders import local


def deadly(do: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*given: Any) -> Any:
        steps[0] -= 1
        if not steps[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return do(*given)

    return wrapped


folder, name, starts, steps = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), [int(sys.argv[4])]
for one in ("_write", "_move_unless_there", "_remove_file"):
    setattr(local, one, deadly(getattr(local, one)))
spark = session(f"rival {name}")
for _ in range(starts):
    try:
        maintained(spark, folder)
        print("done", flush=True)
        break
    except Exception as problem:
        print(json.dumps(str(problem)), flush=True)
if starts == 1:
    print_view(folder)
spark.stop()
