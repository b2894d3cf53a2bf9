"""Types on both sides of the border: Spark's, Arrow's and ours.

Integers of any width are `int`, floats and doubles `float`, both kinds of timestamp `timestamp`, day-time intervals
`duration`, arrays `list`. Spark types that no column of ours can hold (decimals, dates, maps, structs, binary) are
refused with the cast that helps.

On the way back `int` is a long, `float` a double, a list an array of what the program puts into it. A timestamp is
without a zone only where all timestamps that came in were.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import types as st

from headwater.core.types import Type
from headwater.engine.columns import ARROW
from headwater.program.items import ListOf, Shape

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
    (st.DayTimeIntervalType, Type.DURATION),
)
_IN_LISTS = (Type.BOOL, Type.INT, Type.FLOAT, Type.STRING)
_HINTS: tuple[tuple[type[Any], str], ...] = (
    (st.DecimalType, "cast it to double, or to bigint"),
    (st.DateType, "cast it to timestamp"),
    (st.BinaryType, "turn it into text, with hex or base64"),
    (st.StructType, "select its fields as columns"),
    (st.MapType, "explode it into rows"),
    (st.NullType, "cast it to the type that is meant"),
)


def shape_of(kind: Any) -> Shape:
    """What a column of this Spark type holds; None: nothing of ours."""
    if isinstance(kind, st.ArrayType):
        inner = shape_of(kind.elementType)
        fits = isinstance(inner, ListOf) or inner in _IN_LISTS
        return ListOf(inner) if fits else None
    return next((ours for theirs, ours in _SCALARS if isinstance(kind, theirs)), None)


def hint_for(kind: Any) -> str:
    if isinstance(kind, st.ArrayType):
        return "arrays may hold strings, integers, doubles, booleans and arrays of them"
    return next((hint for theirs, hint in _HINTS if isinstance(kind, theirs)), "cast it to a type that does")


def type_of(shape: Shape) -> Type | None:
    """The type of a column that holds this."""
    if isinstance(shape, ListOf):
        return Type.LIST
    return shape if isinstance(shape, Type) else None


def without_zone(schemas: Iterable[Any]) -> bool:
    """Whether all timestamps of these schemas are such that know no time zone (and there are any)."""
    kinds = {type(field.dataType) for schema in schemas for field in schema.fields}
    return st.TimestampNTZType in kinds and st.TimestampType not in kinds


def arrow_type(kind: Type, shape: Shape, *, zoned: bool) -> pa.DataType:
    """How a column of ours is written: lists have the items that the program puts into them, or text."""
    if kind is Type.LIST:
        items = shape.items if isinstance(shape, ListOf) else None
        return pa.list_(_item_type(items))
    if kind is Type.TIMESTAMP:
        return pa.timestamp("us", tz="UTC" if zoned else None)
    return ARROW[kind]


def _item_type(shape: Shape) -> pa.DataType:
    if isinstance(shape, ListOf):
        return pa.list_(_item_type(shape.items))
    return ARROW[shape] if isinstance(shape, Type) and shape in _IN_LISTS else pa.string()


def spark_type(kind: pa.DataType) -> Any:
    """The Spark type that a column written so has."""
    if pa.types.is_list(kind):
        return st.ArrayType(spark_type(kind.value_type))
    if pa.types.is_timestamp(kind):
        return st.TimestampNTZType() if kind.tz is None else st.TimestampType()
    return _SPARK[kind]


def spark_schema(schema: pa.Schema) -> Any:
    """The Spark schema of rows that are written so."""
    return st.StructType([st.StructField(field.name, spark_type(field.type)) for field in schema])


_SPARK = {
    pa.int64(): st.LongType(),
    pa.float64(): st.DoubleType(),
    pa.string(): st.StringType(),
    pa.bool_(): st.BooleanType(),
    pa.duration("us"): st.DayTimeIntervalType(),
    pa.int32(): st.IntegerType(),
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
        return value if isinstance(value, str) else str(value)
    return float(value) if pa.types.is_floating(kind) else value
