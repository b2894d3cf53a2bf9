"""Rows of several views in one DataFrame: a job has one output schema.

All views share its columns: `_view` is the number of a row's view, and the columns of a view take the first free
columns of their type. The others are null.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as sf

from headwater.spark.inputs.column_types import spark_schema, written
from headwater.spark.inputs.contract import View

_VIEW = "_view"
_ROWS = 1 << 16


class Wide:
    """The shared schema, and the places of each view's columns in it."""

    def __init__(self, views: tuple[View, ...]) -> None:
        self.views = views
        slots: list[pa.Field] = []
        self._places: list[list[int]] = []
        for view in views:
            free = list(range(len(slots)))
            places = []
            for field in view.schema:
                at = next((place for place in free if slots[place].type == field.type), None)
                if at is None:
                    at = len(slots)
                    slots.append(pa.field(f"c{at}", field.type))
                else:
                    free.remove(at)
                places.append(at)
            self._places.append(places)
        self.arrow = pa.schema([pa.field(_VIEW, pa.int32()), *slots])

    @property
    def schema(self) -> Any:
        return spark_schema(self.arrow)

    def pack(self, number: int, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        """Rows of the view with this number."""
        for start in range(0, rows.num_rows, _ROWS):
            part = rows.slice(start, _ROWS)
            size = min(_ROWS, rows.num_rows - start)  # a slice without columns does not know
            columns: list[pa.Array] = [pa.nulls(size, field.type) for field in self.arrow]
            columns[0] = pa.repeat(pa.scalar(number, pa.int32()), size)
            for at, place in enumerate(self._places[number]):
                columns[1 + place] = written(part.column(at), self.arrow.field(1 + place).type).combine_chunks()
            yield pa.RecordBatch.from_arrays([_whole(column) for column in columns], schema=self.arrow)

    def unpack(self, frame: Any, number: int) -> Any:
        """The DataFrame of the view with this number."""
        view, places = self.views[number], self._places[number]
        named = [sf.col(f"c{place}").alias(field.name) for place, field in zip(places, view.schema, strict=True)]
        return frame.where(sf.col(_VIEW) == number).select(*named)


def _whole(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
