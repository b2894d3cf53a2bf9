"""Types of columns: Spark's, Arrow's and Headwater's.

Integers of any width are `int`, floats and doubles `float`, both kinds of timestamp `timestamp`, dates `date`,
day-time intervals `duration`, arrays `list`s of their items. Other Spark types (decimals, maps, structs, binary) are
refused, with the cast that helps.

On the way back `int` is a long, `float` a double, a list an array. A timestamp has no time zone only if no timestamp of
the inputs had one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import types as st

from headwater.core.types import Type, list_of
from headwater.core.widening import item_of
from headwater.engine.codes.columns import ARROW, spelt

_SCALARS: tuple[tuple[type[Any], Type], ...] = (
    (st.BooleanType, Type.BOOL),
    (st.IntegralType, Type.INT),
    (st.FloatType, Type.FLOAT),
    (st.DoubleType, Type.FLOAT),
    (st.StringType, Type.STRING),
    (st.CharType, Type.STRING),
    (st.VarcharType, Type.STRING),
    (st.TimestampType, Type.TIMESTAMP),
    (st.TimestampNTZType, Type.TIMESTAMP),
    (st.DateType, Type.DATE),
    (st.DayTimeIntervalType, Type.DURATION),
)
_IN_LISTS = (Type.BOOL, Type.INT, Type.FLOAT, Type.STRING)
_HINTS: tuple[tuple[type[Any], str], ...] = (
    (st.DecimalType, "cast it to double, or to bigint"),
    (st.BinaryType, "turn it into text, with hex or base64"),
    (st.StructType, "select its fields as columns"),
    (st.MapType, "explode it into rows"),
    (st.NullType, "cast it to the type that is meant"),
)


def type_of(kind: Any) -> Type | None:
    """The type of a column of this Spark type; None: there is none."""
    if isinstance(kind, st.ArrayType):
        inner = type_of(kind.elementType)
        return list_of(inner) if inner is not None and (inner.is_list or inner in _IN_LISTS) else None
    return next((ours for theirs, ours in _SCALARS if isinstance(kind, theirs)), None)


def hint_for(kind: Any) -> str:
    if isinstance(kind, st.ArrayType):
        return "arrays may hold strings, integers, doubles, booleans and arrays of them"
    return next((hint for theirs, hint in _HINTS if isinstance(kind, theirs)), "cast it to a type that does")


def without_zone(schemas: Iterable[Any]) -> bool:
    """Whether these schemas have timestamps, and none with a time zone."""
    kinds = {type(field.dataType) for schema in schemas for field in schema.fields}
    return st.TimestampNTZType in kinds and st.TimestampType not in kinds


def arrow_type(kind: Type, *, zoned: bool) -> pa.DataType:
    """The Arrow type that a column is written in; a value of any type is text, also inside a list."""
    if kind.is_list:
        items = item_of(kind)
        return pa.list_(pa.string() if items is None else arrow_type(items, zoned=zoned))
    if kind is Type.TIMESTAMP:
        return pa.timestamp("us", tz="UTC" if zoned else None)
    return ARROW[kind]


def spark_type(kind: pa.DataType) -> Any:
    """The Spark type of a column of this Arrow type."""
    if pa.types.is_list(kind):
        return st.ArrayType(spark_type(kind.value_type))
    if pa.types.is_timestamp(kind):
        return st.TimestampNTZType() if kind.tz is None else st.TimestampType()
    return _SPARK[kind]


def spark_schema(schema: pa.Schema) -> Any:
    """The Spark schema of rows of this Arrow schema."""
    return st.StructType([st.StructField(field.name, spark_type(field.type)) for field in schema])


_SPARK = {
    pa.int64(): st.LongType(),
    pa.float64(): st.DoubleType(),
    pa.string(): st.StringType(),
    pa.bool_(): st.BooleanType(),
    pa.duration("us"): st.DayTimeIntervalType(),
    pa.int32(): st.IntegerType(),
    pa.date32(): st.DateType(),
}


def written(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column of rows in the type it is written in."""
    if column.type == kind:
        return column
    if pa.types.is_list(kind):
        values = [None if value is None else _converted(value, kind) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(values, type=kind)])
    return column.cast(kind)


def _converted(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_list(kind):
        return [_converted(item, kind.value_type) for item in value]
    if pa.types.is_string(kind):
        return spelt(tuple(value) if isinstance(value, list) else value)
    return float(value) if pa.types.is_floating(kind) else value
