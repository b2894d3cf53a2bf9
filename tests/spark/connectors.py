"""The formats that Spark does not bring itself: which packages they are tested with, on which Spark, and how they come.

This is the one place that names versions. A format runs only on the Spark that it was built for or, as Kafka's, on one
that it fits; where there is no build for the Spark that is installed, its tests are skipped. `make formats` runs them
on a Spark that each has a build for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

from headwater.spark.session.session import local_session

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
}
ICEBERG = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
}


@dataclass(frozen=True, slots=True)
class Package:
    """Coordinates; whether all that it depends on comes with it, and what of that does not."""

    name: str
    whole: bool = True
    without: tuple[str, ...] = ()


_TOKENS = "org.apache.spark:spark-token-provider-kafka-0-10_2.13"
_KAFKA = (
    Package("org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0", without=(_TOKENS,)),
    Package(f"{_TOKENS}:4.0.0", whole=False),  # the last one that every mirror has; nobody here asks for tokens
)
BROKER = (Package("org.apache.kafka:kafka_2.13:4.3.1"),)
BUILDS: dict[str, dict[str, tuple[Package, ...]]] = {
    "4.3": {"kafka": _KAFKA},
    "4.2": {"kafka": _KAFKA, "delta": (Package("io.delta:delta-spark_2.13:4.4.0"),)},
    "4.1": {"iceberg": (Package("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"),)},
}
_WAIT = 300  # seconds for packages to come, of a machine that may have none of them yet
SPARK = ".".join(pyspark.__version__.split(".")[:2])


class NotFetched(Exception):
    """Packages cannot be had here."""


def fetched(*wanted: tuple[Package, ...]) -> list[list[str]]:
    """The jars of some lists of packages, by Spark's own resolver, in a Java of its own."""
    asked = [[[one.name, one.whole, one.without] for one in packages] for packages in wanted]
    command = [sys.executable, __file__, json.dumps(asked)]
    env = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=_WAIT)
    except subprocess.TimeoutExpired:
        raise NotFetched(f"nothing came within {_WAIT} seconds") from None
    if found.returncode:
        said = found.stderr.splitlines()
        raise NotFetched(next((line for line in said if "RuntimeException" in line), said[-1]))
    jars: list[list[str]] = json.loads(found.stdout.splitlines()[-1])
    return jars


def _resolve(asked: list[list[tuple[str, bool, list[str]]]]) -> list[list[str]]:
    from pyspark.java_gateway import launch_gateway

    java = launch_gateway().jvm
    maven, nothing = java.org.apache.spark.util.MavenUtils, java.scala.Option.empty()
    silent = java.java.io.PrintStream(java.java.io.OutputStream.nullOutputStream())
    settings = maven.buildIvySettings(nothing, nothing, True, silent)

    def jars(name: str, whole: bool, without: list[str]) -> list[str]:
        left_out = java.scala.collection.immutable.List.newBuilder()
        for one in without:
            left_out.addOne(one)
        found = maven.resolveMavenCoordinates(name, settings, nothing, whole, left_out.result(), False, silent)
        return str(found.mkString("\n")).splitlines()

    return [[jar for one in packages for jar in jars(*one)] for packages in asked]


def session(format_: str, jars: list[str], folder: Path) -> Any:
    """A session that has a format."""
    extra = {"delta": DELTA, "iceberg": {**ICEBERG, "spark.sql.catalog.lake.warehouse": str(folder / "lake")}}
    settings = {
        "spark.master": "local[2,4]",
        "spark.ui.enabled": "false",
        "spark.jars": ",".join(jars),
        "spark.sql.shuffle.partitions": "2",
        **extra.get(format_, {}),
    }
    made = local_session("formats", settings)
    made.sparkContext.setLogLevel("OFF")
    return made


if __name__ == "__main__":
    print(json.dumps(_resolve(json.loads(sys.argv[1]))))
