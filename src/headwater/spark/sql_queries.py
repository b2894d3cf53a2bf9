"""Recursion as it should be: SQL over a session's tables, computed by Headwater instead of by Spark's own CTEs."""

from __future__ import annotations

from typing import Any

from headwater import pipeline
from headwater.core.errors import DataError
from headwater.core.source import Source
from headwater.core.types import Type
from headwater.language.sql.doctor import diagnose
from headwater.language.sql.program import tables_read
from headwater.language.tree import Ordering, Query
from headwater.program.items import ListOf
from headwater.spark.evaluating import evaluate
from headwater.spark.types import shape_of, type_of


def sql(spark: Any, text: str, *, shards: int | None = None, exchange: str | None = None) -> Any:
    """The rows of a query, as in `WITH RECURSIVE ... UNION ...`: a DataFrame.

    Tables and views that the text does not define are the session's. A text without recursion runs in Spark itself.
    """
    read, recursive = tables_read(Source("<text>", text))
    if not recursive:
        return spark.sql(text)
    known = {name: spark.table(name) for name in read if spark.catalog.tableExists(name)}
    columns = {name: _columns(frame) for name, frame in known.items()}
    program = pipeline.compile_sql(text, tables=columns)
    if len(program.outputs) != 1:
        raise DataError(f"one query gives one DataFrame; this text has {len(program.outputs)}; take evaluate for more")
    asked = next(iter(program.maintained.queries))
    needed = {one.name for one in program.maintained.relations if not one.derived}
    missing = sorted(needed - known.keys())
    if missing:
        raise DataError(f"the session has no table `{missing[0]}`; register a frame with createOrReplaceTempView")
    inputs = {name: frame for name, frame in known.items() if name in needed}
    return _ordered(evaluate(program, inputs, shards=shards, exchange=exchange)[program.outputs[0]], asked)


def explain(spark: Any, text: str) -> str:
    """What the session's own WITH RECURSIVE would do with a text, and what Headwater does."""
    findings = diagnose(Source("<text>", text))
    return "\n".join(map(str, findings)) or "nothing in it is recursive: it runs in Spark as it is"


def _ordered(frame: Any, query: Query) -> Any:
    """The rows in the order and up to the limit that a query asks for."""
    if any(one.column >= len(frame.columns) for one in query.order):
        raise DataError("ORDER BY names a column that is not selected; select it, or sort the DataFrame")
    keys = [_key(frame[frame.columns[one.column]], one) for one in query.order]
    frame = frame.orderBy(*keys) if keys else frame
    frame = frame.offset(query.offset) if query.offset else frame
    return frame if query.limit is None else frame.limit(query.limit)


def _key(column: Any, one: Ordering) -> Any:
    if one.descending:
        return column.desc_nulls_first() if one.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if one.nulls_first else column.asc_nulls_last()


def _columns(frame: Any) -> dict[str, Type | None]:
    shapes = {field.name: shape_of(field.dataType) for field in frame.schema.fields}
    return {name: Type.LIST if isinstance(shape, ListOf) else type_of(shape) for name, shape in shapes.items()}
