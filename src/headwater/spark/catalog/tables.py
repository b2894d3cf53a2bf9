"""Materialized views as tables of a session, and tables as the streams that such views are computed from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException

from headwater.core.errors import DataError, StateError
from headwater.core.functions.registry import USER_FUNCTIONS
from headwater.spark.catalog.definitions import Catalog, Definition
from headwater.spark.inputs.column_types import spark_schema
from headwater.spark.inputs.contract import agree, program_of, view_called
from headwater.spark.source.register import register
from headwater.spark.state.checkpoint import Checkpoint

_shown: WeakKeyDictionary[Any, dict[str, tuple[str, int, int | None]]] = WeakKeyDictionary()


def show(spark: Any, catalog: Catalog, view: Definition) -> Any:
    """The rows of a view, which the session has as a temporary view from now on."""
    state = catalog.state(view)
    batch = Checkpoint(state).committed
    seen = _shown.setdefault(spark, {})
    mark = (catalog.path, view.version, batch)
    if seen.get(view.name.lower()) != mark or not spark.catalog.tableExists(quoted(view.name)):
        if USER_FUNCTIONS:
            register(spark)
        rows = _no_rows(spark, catalog, view) if batch is None else _load(spark.read, view, state)
        rows.createOrReplaceTempView(quoted(view.name))
        seen[view.name.lower()] = mark
    return spark.table(quoted(view.name))


def _load(reader: Any, view: Definition, state: str) -> Any:
    return reader.format("headwater").option("view", view.name).load(state)


def _no_rows(spark: Any, catalog: Catalog, view: Definition) -> Any:
    """A view whose tables have had no rows so far."""
    frames = list(streams(spark, catalog, dict(view.tables)).items())
    contract = agree(program_of(view.text, frames), [(name, frame.schema) for name, frame in frames], changes=True)
    return spark.createDataFrame([], spark_schema(view_called(view.name, contract.views).schema))


def show_named(spark: Any, text: str) -> None:
    """Bring up to date what the session shows of the materialized views that a text mentions."""
    try:
        catalog = Catalog.of(spark)
        named = [view for view in catalog.views() if _mentions(text, view.name)] if catalog.names() else []
    except StateError:
        return  # this text may need no view; one that does says that there is no such table
    for view in named:
        show(spark, catalog, view)


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def forget(spark: Any, view: Definition) -> None:
    """Take a view from the session's temporary views."""
    _shown.get(spark, {}).pop(view.name.lower(), None)
    spark.catalog.dropTempView(view.name)  # which takes the name as it is, unlike the others


def is_shown(spark: Any, name: str) -> bool:
    """Whether the session's temporary view of this name is a materialized view."""
    return name.lower() in _shown.get(spark, {})


def streams(spark: Any, catalog: Catalog, tables: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """The tables that a view reads as streams: those of the session, and other materialized views by their changes."""
    return {name: _stream(spark, catalog, parts) for name, parts in tables.items()}


def _stream(spark: Any, catalog: Catalog, parts: tuple[str, ...]) -> Any:
    view = catalog.find(parts[0]) if len(parts) == 1 else None
    if view is not None:
        if Checkpoint(catalog.state(view)).committed is None:
            raise DataError(
                f"error[HW944]: a materialized view cannot follow `{view.name}`, whose tables have had no rows so far\n"
                f"  hint: once there are some, REFRESH MATERIALIZED VIEW {quoted(view.name)}, then create this one"
            )
        return _load(spark.readStream.option("readChangeFeed", "true"), view, catalog.state(view))
    name = ".".join(map(quoted, parts))
    try:
        found = spark.readStream.table(name)
        _ = found.schema  # Spark Connect looks for it only now
    except PySparkException as problem:
        reason, *_ = str(problem).splitlines()
        raise DataError(
            f"error[HW944]: a materialized view cannot follow `{'.'.join(parts)}`: {reason}\n"
            "  hint: name a table of files (Parquet, ORC, JSON, CSV, Delta), another materialized view, or a temporary "
            "view over a streaming DataFrame"
        ) from problem
    return found


def quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
