"""A program as it is given to Spark: compiled already, or as a text of Datalog or SQL.

An SQL text need not declare its tables: their columns are those of the DataFrames they are given.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headwater import pipeline
from headwater.core.types import Type
from headwater.files.rows import CHANGE_TYPE
from headwater.spark.inputs.column_types import type_of
from headwater.spark.inputs.contract import CORRUPT, ORDER

_BESIDE = frozenset({CHANGE_TYPE, ORDER, CORRUPT})


def program_of(given: pipeline.CompiledProgram | str, frames: Iterable[tuple[str, Any]]) -> pipeline.CompiledProgram:
    """The program itself; a text is compiled over the columns of these frames, by table."""
    if isinstance(given, pipeline.CompiledProgram):
        return given
    tables: dict[str, dict[str, Type | str | None]] = {}
    for name, frame in frames:
        known = columns_of(frame.schema)
        tables.setdefault(name, {column: kind for column, kind in known.items() if column not in _BESIDE})
    return pipeline.compile(given, tables=tables)


def columns_of(schema: Any) -> dict[str, Type | None]:
    """The columns of a Spark schema with the types that they have here; None: none has."""
    return {field.name: type_of(field.dataType) for field in schema.fields}
