"""What the drivers of `test_kills` and `test_rivals` run: a closure maintained over the files that are there."""

from __future__ import annotations

import json
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


def print_view(folder: Path, store: str = "") -> None:
    print(json.dumps(sorted([row["x"], row[1]] for row in hws.view(f"{store}{folder}/state", "reach").collect())))
