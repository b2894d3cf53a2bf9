"""Rows of DataFrames on their way to the shards: bundled by the tasks that read them, gathered a partition a shard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as sf

from headwater.exchange.sharding import Sharding
from headwater.spark.inputs.bundles import DDL, EVERYWHERE, NUMBER, SCHEMA, bundle
from headwater.spark.inputs.contract import Input


def routed(frame: Any, given: Input, sharding: Sharding, shards: int) -> Any:
    """A DataFrame's rows in bundles, each with its shard; static rows come before those of streams."""
    sequence = "stream" if frame.isStreaming else ""

    def send(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from bundle(batches, given, sharding, shards, TaskContext.get().partitionId(), sequence)

    # Spark finds columns by their names, which may be the same or no names at all to it; we go by place. Rows without
    # columns are not counted.
    places = [f"c{at}" for at in range(len(frame.columns))]
    seen = frame.toDF(*places) if places else frame.select(sf.lit(True).alias("row"))
    return seen.mapInArrow(send, DDL)


def _numbers(spark: Any, shards: int) -> Any:
    """A bundle without rows for every shard, so that each knows its number."""
    rest = (f"'{NUMBER}' as relation", "'' as sequence", "bigint(0) as place", "binary('') as payload")
    return spark.range(0, shards, 1, 1).selectExpr("int(id) as shard", *rest)


def gathered(spark: Any, frames: list[Any], shards: int) -> Any:
    """The bundles of all inputs, every shard's in a partition of its own, also where a shard gets none."""
    return delivered([_numbers(spark, shards), *frames], shards)


def delivered(frames: list[Any], shards: int) -> Any:
    """The bundles of some inputs, which may be streams, the ones of every shard in the partition of its number."""
    every = reduce(lambda one, other: one.unionAll(other), frames)
    # As text: every other word of an expression is a call to the JVM, and queries start with this.
    receivers = f"explode(if(shard = {EVERYWHERE}, sequence(0, {shards - 1}), array(shard))) as shard"
    others = [name for name in SCHEMA.names if name != "shard"]
    return every.selectExpr(receivers, *others).repartitionById(shards, sf.col("shard"))
