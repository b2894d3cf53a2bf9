"""Python workers that come with the engine loaded: each is forked from a process that has it ready.

A setting of the Spark session turns it on, `spark.python.daemon.module=headwater.spark.daemon`; without it every new
worker imports the engine and loads its compiled loops itself, which takes a second or two.
"""

from __future__ import annotations

import gc

from pyspark.daemon import manager

import headwater.exchange
import headwater.spark.batches
import headwater.spark.evaluate  # noqa: F401
from headwater.database import Database
from headwater.pipeline import compile  # noqa: A004

_SMALL = """
    reach(X, Y) :- link(X, Y).  reach(X, Z) :- link(X, Y), reach(Y, Z).
    low(X, min<Y>) :- link(X, Y).  low(X, min<Z>) :- link(X, Y), low(Y, Z).
"""


def ready() -> None:
    """Run a little of everything, so that the loops that most programs use are loaded."""
    database = Database(compile(_SMALL))
    database.apply(insert={"link": [(1, 2), (2, 3), (3, 1)]})
    database.apply(delete={"link": [(2, 3)]})


if __name__ == "__main__":
    ready()
    gc.collect()
    gc.freeze()  # a worker collects garbage after every task, and must not go through all that is loaded each time
    manager()
