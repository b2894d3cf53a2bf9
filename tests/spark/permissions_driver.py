"""The driver of `test_permissions`: has the permission to write a folder taken away while a query runs, thrice.

    python permissions_driver.py FOLDER

The files in FOLDER/later come one after the other. Prints what every failed query said, and the view at the end.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import headwater as hw
from conftest import PATIENCE
from headwater import spark as hws
from headwater.spark.session.session import local_session

TEXT = "relation link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Z) :- link(X, Y), reach(Y, Z)."
PLACES = ("state/headwater/shard-0", "state/headwater", "out/reach/changes")


def start(**options: Any) -> Any:
    stream = (
        spark.readStream.schema("x long, y long, _change_type string")
        .option("maxFilesPerTrigger", 1)
        .json(str(folder / "in"))
    )
    return hws.maintain(
        hw.compile(TEXT), {"link": stream}, checkpoint=state, output=str(folder / "out"), shards=2, **options
    )


def bring(number: int) -> None:
    (folder / "later" / f"{number:03}.json").rename(folder / "in" / f"{number:03}.json")


def wait_for(batch: int, query: Any) -> None:
    while not told or told[-1]["batch"] != batch:
        assert query.isActive, query.exception()
        time.sleep(0.05)


folder = Path(sys.argv[1])
state = str(folder / "state")
told: list[dict[str, Any]] = []
spark = local_session("permissions", {"spark.master": "local[2,4]", "spark.ui.enabled": "false"})
spark.sparkContext.setLogLevel("OFF")
said = []
bring(0)
for number, name in enumerate(PLACES):
    query = start(on_batch=told.append)
    wait_for(number, query)
    (folder / name).chmod(0o555)
    bring(number + 1)
    try:
        query.awaitTermination(PATIENCE)
    except Exception as problem:
        said.append([str(problem), hws.progress(state)["batch"]])
    finally:
        (folder / name).chmod(0o755)
        query.stop()
start(trigger={"availableNow": True}).awaitTermination()
print(json.dumps(said))
print(json.dumps(sorted(list(row) for row in hws.view(state, "reach").collect())))
spark.stop()
