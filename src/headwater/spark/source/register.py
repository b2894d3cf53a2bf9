"""Registers the format `headwater` with a session."""

from __future__ import annotations

from typing import Any

from headwater.core.functions.registry import USER_FUNCTIONS
from pyspark_headwater import DefaultSource


def register(spark: Any) -> None:
    """Make `spark.read.format("headwater")` known to a session, with the functions that this process has registered.

    A session whose driver has Headwater installed finds the format by itself. Registering is for programs that call
    functions of the user, and for sessions that have looked for formats before Headwater was there.
    """
    functions = tuple(USER_FUNCTIONS.items())
    source = type("WithFunctions", (DefaultSource,), {"functions": functions}) if functions else DefaultSource
    spark.dataSource.register(source)
