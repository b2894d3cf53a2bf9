"""What the drivers of `test_kills` and `test_rivals` run: a closure maintained over the files that are there."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import headwater as hw
from headwater import spark as hws
from headwater.spark.session.session import local_session

TEXT = "relation link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Z) :- link(X, Y), reach(Y, Z)."


def session(name: str, **settings: str) -> Any:
    spark = local_session(name, {"spark.master": "local[2,4]", "spark.ui.enabled": "false", **settings})
    spark.sparkContext.setLogLevel("OFF")
    return spark


def maintained(spark: Any, folder: Path, store: str = "") -> None:
    """Apply all files of `folder/in`, one a batch; state and output lie in the folder, below `store`."""
    rows = spark.readStream.schema("x long, y long, _change_type string").option("maxFilesPerTrigger", 1)
    query = hws.maintain(
        hw.compile(TEXT),
        {"link": rows.json(str(folder / "in"))},
        checkpoint=f"{store}{folder}/state",
        output=f"{store}{folder}/out",
        shards=2,
        trigger={"availableNow": True},
    )
    query.awaitTermination()


def deadly(do: Callable[..., Any], steps: list[int], folder: Path) -> Callable[..., Any]:
    """The same function; the process is killed at the step that `steps` counts down to: before one, or after it.

    Not before Spark has noted the first batch of the query in `folder`, unless that takes a minute: Spark does not
    start again on a checkpoint that holds nothing but the temporary file of such a note.
    """

    def wrapped(*given: Any) -> Any:
        for when in ("before", "after"):
            steps[0] -= 1
            if steps[0] == 0:
                print(f"killed {when} {do.__name__} {given[:2]}", flush=True)
                ends = time.monotonic() + 60
                while not (folder / "state" / "offsets" / "0").exists() and time.monotonic() < ends:
                    time.sleep(0.02)
                os.kill(os.getpid(), signal.SIGKILL)
            if when == "before":
                found = do(*given)
        return found

    return wrapped


def print_view(folder: Path, store: str = "") -> None:
    print(json.dumps(sorted([row["x"], row[1]] for row in hws.view(f"{store}{folder}/state", "reach").collect())))
