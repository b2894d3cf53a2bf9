"""Python workers that come with the engine loaded: each is forked from a process that has imported it already.

A setting of the Spark session turns it on, `spark.python.daemon.module=headwater.spark.daemon`; without it every new
worker imports the engine itself, which takes a second or two.
"""

from __future__ import annotations

from pyspark.daemon import manager

import headwater.exchange.member
import headwater.spark.bundles
import headwater.spark.live
import headwater.spark.wide  # noqa: F401

if __name__ == "__main__":
    manager()
