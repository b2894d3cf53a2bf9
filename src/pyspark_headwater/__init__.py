"""Spark's format `headwater`: the state of a streaming query as a table, and its changes as a stream.

Spark looks for a `DefaultSource` in every module whose name begins with `pyspark_`, so an installed Headwater needs no
registration. That look happens once per session, also in sessions that use another source: importing this module is
quick, and the engine is imported when the format is used.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader

__all__ = ["DefaultSource"]


class DefaultSource(DataSource):
    """The rows of a view, or of a base relation, of a query; with `readChangeFeed`, the changes of a view."""

    functions: ClassVar[tuple[Any, ...]] = ()  # the user's own, where the program calls any (see `hws.register`)

    @classmethod
    def name(cls) -> str:
        return "headwater"

    def schema(self) -> Any:
        return self._opened().spark_schema

    def reader(self, schema: Any) -> DataSourceReader:
        from headwater.spark.source.state_scan import StateScan

        return StateScan(self._opened())

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        from headwater.spark.source.change_feed import ChangeFeed

        return ChangeFeed(self._opened())

    def _opened(self) -> Any:
        from headwater.spark.source.opening import opened

        return opened(self.options, self.functions)
