"""Columns of any Spark type on their way through a recursion, and back in the type that Spark gives them.

    taken = carried_in(frame)                       # in types that columns of relations have
    carried_out(rows, schema, "reach")              # in the types of `schema`

Decimals, binaries, structs, maps, variants and intervals of months are texts from which the value comes back exactly;
rules pass them on and compare them, and compute nothing with them. On the way out an integer becomes as narrow as Spark
has it; one that does not fit is an error (HW834), never another number. What the recursion made wider than its first
rows stays so.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as sf
from pyspark.sql import types as st

from headwater.core.types import Type
from headwater.language.sql.scope.sources import Known
from headwater.spark.inputs.column_types import type_of

_DAY = 86_400
_JSON = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "ignoreNullFields": "false",
}
_BITS = {st.ByteType: 8, st.ShortType: 16, st.IntegerType: 32}
_IN_JSON = (
    st.BooleanType, st.IntegralType, st.FloatType, st.DoubleType, st.StringType, st.DecimalType, st.DateType,
    st.TimestampType, st.TimestampNTZType, st.BinaryType
)  # fmt: skip


def known_columns(schema: Any) -> dict[str, Type | Known | None]:
    """What the translation of SQL knows of columns of this schema."""
    return {field.name: _known(field.dataType) for field in schema.fields}


def _known(kind: Any) -> Type | Known | None:
    return Known(Type.STRING, opaque=kind.simpleString()) if _is_opaque(kind) else type_of(kind)


def _is_opaque(kind: Any) -> bool:
    """Whether its values go through as texts."""
    if isinstance(kind, st.DecimalType | st.BinaryType | st.VariantType | st.YearMonthIntervalType):
        return True
    nested = isinstance(kind, st.ArrayType | st.MapType | st.StructType)
    return type_of(kind) is None and nested and _in_json(_entries(kind) or kind)


def _entries(kind: Any) -> Any:
    """The entries of a map whose keys are no texts, which JSON writes as an array; None for all else."""
    if not isinstance(kind, st.MapType) or isinstance(kind.keyType, st.StringType):
        return None
    key, value = st.StructField("key", kind.keyType), st.StructField("value", kind.valueType)
    return st.ArrayType(st.StructType([key, value]))


def _in_json(kind: Any) -> bool:
    match kind:
        case st.ArrayType():
            return _in_json(kind.elementType)
        case st.MapType():
            return isinstance(kind.keyType, st.StringType) and _in_json(kind.valueType)
        case st.StructType():
            names = [field.name.lower() for field in kind.fields]
            return len(set(names)) == len(names) and all(_in_json(field.dataType) for field in kind.fields)
        case _:
            return isinstance(kind, _IN_JSON)


def carried_in(frame: Any) -> Any:
    """The frame with its columns in types that relations have; a type that cannot go through stays as it is."""
    fields = frame.schema.fields
    if not any(_is_opaque(field.dataType) for field in fields):
        return frame
    return frame.select(*(_in(sf.col(_quoted(field.name)), field.dataType).alias(field.name) for field in fields))


def _in(column: Any, kind: Any) -> Any:
    if not _is_opaque(kind):
        return column
    match kind:
        case st.DecimalType() | st.YearMonthIntervalType():
            return column.cast("string")
        case st.BinaryType():
            return sf.hex(column)
        case st.VariantType():
            return sf.to_json(column)
        case _:
            return sf.to_json(column if _entries(kind) is None else sf.map_entries(column), _JSON)


def carried_out(frame: Any, wanted: Any, view: str) -> Any:
    """The rows of a view in the types of the schema `wanted`, as far as the recursion kept to them."""
    if wanted is None or len(wanted.fields) != len(frame.schema.fields):
        return frame
    pairs = list(zip(frame.schema.fields, (field.dataType for field in wanted.fields), strict=True))
    if all(field.dataType == kind for field, kind in pairs):
        return frame
    # Two columns may have one name, so they are counted.
    counted = frame.toDF(*(f"c{at}" for at in range(len(pairs))))
    out = [
        _out(sf.col(f"c{at}"), field.dataType, kind, f"`{field.name}` of `{view}`").alias(field.name)
        for at, (field, kind) in enumerate(pairs)
    ]
    return counted.select(*out)


def _out(column: Any, have: Any, want: Any, name: str) -> Any:
    if isinstance(have, st.LongType) and type(want) in _BITS:
        most = 2 ** (_BITS[type(want)] - 1)
        return _checked(column, column.between(-most, most - 1), column.cast(want), want, name)
    if isinstance(have, st.DoubleType) and isinstance(want, st.FloatType):
        return column.cast(want)
    if isinstance(have, st.TimestampType | st.TimestampNTZType) and isinstance(want, st.DateType):
        return _date(column, have, want, name)
    if isinstance(have, st.TimestampType) and isinstance(want, st.TimestampNTZType):
        return sf.expr("TIMESTAMP_NTZ '1970-01-01'") + (column - sf.timestamp_seconds(sf.lit(0)))
    if isinstance(have, st.ArrayType) and isinstance(want, st.ArrayType) and type_of(want) is type_of(have):
        return column.cast(_with_nulls(want))
    if isinstance(have, st.DayTimeIntervalType) and isinstance(want, st.DayTimeIntervalType):
        return column.cast(want)
    if isinstance(have, st.StringType) and _is_opaque(want):
        return _from_text(column, want)
    return column


def _with_nulls(kind: Any) -> Any:
    """An array type whose items may be null: Spark casts items only to such."""
    return st.ArrayType(_with_nulls(kind.elementType)) if isinstance(kind, st.ArrayType) else kind


def _date(column: Any, have: Any, want: Any, name: str) -> Any:
    """A moment as the date that it is; a moment inside a day is none."""
    if isinstance(have, st.TimestampNTZType):
        day = column.cast(want)
        return _checked(column, day.cast(have) == column, day, want, name)
    day = sf.date_from_unix_date(sf.floor(sf.unix_seconds(column) / _DAY).cast("int"))
    return _checked(column, sf.unix_micros(column) % (_DAY * 1_000_000) == 0, day, want, name)


def _checked(column: Any, fits: Any, value: Any, want: Any, name: str) -> Any:
    """The value where it fits; else an error."""
    kind = want.simpleString().upper()
    text = (
        f"error[HW834]: a value of {name} does not fit into {kind}, the type that the recursion begins with\n"
        f"  hint: begin with a wider one: CAST(... AS {'TIMESTAMP' if kind == 'DATE' else 'BIGINT'})"
    )
    return sf.when(column.isNull(), sf.lit(None).cast(want)).when(fits, value).otherwise(sf.raise_error(sf.lit(text)))


def _from_text(column: Any, want: Any) -> Any:
    match want:
        case st.DecimalType() | st.YearMonthIntervalType():
            return column.cast(want)
        case st.BinaryType():
            return sf.unhex(column)
        case st.VariantType():
            return sf.parse_json(column)
        case _:
            entries = _entries(want)
            found = sf.from_json(column, want if entries is None else entries, _JSON)
            return found if entries is None else sf.map_from_entries(found)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
