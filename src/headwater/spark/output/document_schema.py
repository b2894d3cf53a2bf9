"""The type of a view's documents in a DataFrame: JSON text, VARIANT, or a struct.

Shards write documents as JSON. Spark makes them what is asked for. In a struct, a member that a document does not have,
or that is of another type, is null.
"""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import functions as sf

from headwater.core.errors import DataError

JSON, VARIANT, INFER = "json", "variant", "infer"
_COLUMN = "document"
_NOTHING = "VOID"  # the schema of no documents at all


def with_schema(frame: Any, schema: Any) -> Any:
    """Documents that are JSON, with this schema: a word of above, or a schema as `from_json` takes it."""
    if schema is None or schema == JSON:
        return frame
    text = sf.col(_COLUMN)
    if schema == VARIANT:
        return frame.withColumn(_COLUMN, sf.parse_json(text))
    return frame.withColumn(_COLUMN, sf.from_json(text, _inferred(frame) if schema == INFER else schema))


def as_text(schema: Any, *, streaming: bool) -> str:
    """A schema as text for a checkpoint; DataError if it is none, or cannot be known before the documents are."""
    if schema is None:
        return JSON
    if streaming and schema == INFER:
        raise DataError(
            "error[HW801]: the schema of a stream's documents cannot be inferred, because they are not there yet; "
            'give one, as in schema="order long, sku array<string>", or take "variant" or "json"'
        )
    return schema if isinstance(schema, str) else str(schema.simpleString())


def _inferred(frame: Any) -> str:
    """The struct that all documents have together; where they differ in a type, VARIANT."""
    whole = sf.schema_of_variant_agg(sf.parse_json(sf.col(_COLUMN)))
    (row,) = frame.select(whole.alias("schema")).collect()
    found = str(row["schema"] or _NOTHING)
    return "variant" if found == _NOTHING else re.sub(r"\bOBJECT<", "STRUCT<", found)
