"""Values as JSON and back, exactly: what a client reads of a row is what it sends to ask about that row.

JavaScript holds no whole number beyond 2**53, and JSON no infinity: such numbers are texts. Timestamps are ISO texts,
durations are microseconds, lists are arrays, and null is null.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from headwater.core.errors import DataError, UnknownRelation
from headwater.core.types import Type
from headwater.database import Database, RelationChange
from headwater.files.json_values import typed_values
from headwater.files.rows import values_of

_SAFE = 2**53 - 1
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_KINDS = {
    pa.int64(): Type.INT,
    pa.float64(): Type.FLOAT,
    pa.string(): Type.STRING,
    pa.bool_(): Type.BOOL,
    pa.timestamp("us"): Type.TIMESTAMP,
    pa.date32(): Type.DATE,
    pa.duration("us"): Type.DURATION,
}


def as_text(value: Any) -> str:
    """JSON as it is sent: never with a number that browsers refuse."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    match value:
        case bool() | None | str():
            return value
        case int():
            return value if abs(value) <= _SAFE else str(value)
        case float():
            if math.isfinite(value):
                return value
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case dt.datetime():
            return value.isoformat()
        case dt.timedelta():
            return plain(value // dt.timedelta(microseconds=1))
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
    return str(value)


def rows_of(table: pa.Table) -> list[list[Any]]:
    """The rows of a table, each as an array in the order of its columns."""
    if not table.num_columns:
        return [[]] * table.num_rows
    columns = [list(map(plain, values_of(column))) for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def columns_of(schema: pa.Schema) -> list[dict[str, str]]:
    return [{"name": field.name, "type": kind_of(field.type).value} for field in schema]


def kind_of(kind: pa.DataType) -> Type:
    """The type of a column, from what it is in Arrow: values of any type are texts there."""
    if pa.types.is_list(kind):
        return Type(f"list<{kind_of(kind.value_type).value}>")
    return _KINDS.get(kind, Type.STRING)


def change_of(change: RelationChange, most: int) -> dict[str, Any]:
    """What came and went: counts of all, and the first rows."""
    return {
        "columns": columns_of(change.inserted.schema),
        "inserted": change.inserted.num_rows,
        "deleted": change.deleted.num_rows,
        "inserted_rows": rows_of(change.inserted.slice(0, most)),
        "deleted_rows": rows_of(change.deleted.slice(0, most)),
    }


# In


def given_row(db: Database, relation: str, row: Any) -> tuple[Any, ...]:
    """A row that a client sends, an array or an object, in the types of its relation."""
    schema = schema_of(db, relation)
    if isinstance(row, Mapping):
        if set(row) != set(schema.names):
            raise DataError(f"`{relation}` has the columns {', '.join(schema.names)}, not {', '.join(map(str, row))}")
        row = [row[name] for name in schema.names]
    if not isinstance(row, list):
        raise DataError(f"a row of `{relation}` is an array or an object, not {type(row).__name__}")
    if len(row) != len(schema):
        raise DataError(f"`{relation}` has {len(schema)} columns ({', '.join(schema.names)}), not {len(row)}")
    return tuple(_typed(value, kind_of(field.type), field.name) for value, field in zip(row, schema, strict=True))


def given_rows(db: Database, by_relation: Any, what: str) -> dict[str, list[tuple[Any, ...]]]:
    """Rows of several relations, as `{"link": [["a", "b"]]}`."""
    if not isinstance(by_relation, Mapping):
        raise DataError(f'"{what}" holds rows by relation, as {{"link": [["a", "b"]]}}')
    found = {}
    for relation, rows in by_relation.items():
        if not isinstance(rows, Sequence) or isinstance(rows, str):
            raise DataError(f'"{what}": the rows of `{relation}` are an array of arrays')
        found[relation] = [given_row(db, relation, row) for row in rows]
    return found


def schema_of(db: Database, relation: str) -> pa.Schema:
    """The columns of a relation, with the types that the data has shown: an empty transaction has them."""
    if not isinstance(relation, str):
        raise UnknownRelation("a relation is named by a text")
    return db.suppose()[relation].inserted.schema


def _typed(value: Any, kind: Type, name: str) -> Any:
    if value is None:
        return None
    value = _number(value, kind)
    if kind is Type.DURATION and isinstance(value, int):
        return dt.timedelta(microseconds=value)
    typed, problems = typed_values([value], kind)
    if problems:
        raise DataError(f"column `{name}`: {problems[0]}")
    (found,) = values_of(typed)
    return _tuple(found)


def _number(value: Any, kind: Type | None) -> Any:
    """Numbers that came as texts, also inside lists."""
    if isinstance(value, list):
        return [
            _number(item, kind.part(at) if kind is not None and kind.is_list else None) for at, item in enumerate(value)
        ]
    if isinstance(value, str) and kind in (Type.INT, Type.DURATION) and value.lstrip("-").isdecimal():
        return int(value[:40])
    if isinstance(value, str) and kind is Type.FLOAT:
        return _NUMBERS.get(value) or _float(value)
    return value


def _float(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text  # which does not fit, as will be said


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list | tuple) else value
