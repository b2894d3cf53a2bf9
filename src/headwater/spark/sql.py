"""Recursion as it should be: SQL over a session's tables, computed by Headwater instead of by Spark's own CTEs."""

from __future__ import annotations

from typing import Any

from headwater import pipeline
from headwater.core.errors import DataError
from headwater.core.types import Type
from headwater.program.items import ListOf
from headwater.spark.evaluate import evaluate
from headwater.spark.types import shape_of, type_of


def sql(spark: Any, text: str, *, shards: int | None = None, exchange: str | None = None) -> Any:
    """The rows of a query, as in `WITH RECURSIVE ... UNION ...`: a DataFrame.

    Tables are the session's; only those that the query reads are looked at.
    """
    known = {name: spark.table(name) for name in _tables(spark) if name.lower() in text.lower()}
    columns = {name: _columns(frame) for name, frame in known.items()}
    program = pipeline.compile_sql(text, tables=columns)
    if len(program.outputs) != 1:
        raise DataError(f"one query gives one DataFrame; this text has {len(program.outputs)}; take evaluate for more")
    asked = next(iter(program.maintained.queries))
    if asked.order or asked.offset or asked.limit is not None:
        raise DataError("leave ORDER BY and LIMIT to Spark: sql(...).orderBy(...).limit(...)")
    read = {one.name for one in program.maintained.relations if not one.derived}
    inputs = {name: frame for name, frame in known.items() if name in read}
    return evaluate(program, inputs, shards=shards, exchange=exchange)[program.outputs[0]]


def _tables(spark: Any) -> list[str]:
    return [table.name for table in spark.catalog.listTables()]


def _columns(frame: Any) -> dict[str, Type | None]:
    shapes = {field.name: shape_of(field.dataType) for field in frame.schema.fields}
    return {name: Type.LIST if isinstance(shape, ListOf) else type_of(shape) for name, shape in shapes.items()}
