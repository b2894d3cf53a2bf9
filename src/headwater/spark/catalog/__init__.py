"""Materialized views: recursive views that keep their state in a folder, made and refreshed by statements of SQL."""

from headwater.spark.catalog.statements import run
from headwater.spark.catalog.tables import show_named

__all__ = ["run", "show_named"]
