"""Views of Lorel over DataFrames of documents, computed once.

The tasks that read a DataFrame turn its documents into rows of `edge`, `atom` and `name` with the code that the
embedded store uses; the shards compute the views; the view's own rows are put together to documents on the driver. A
DataFrame with one column of strings, or of VARIANT, holds a document per row; of any other one the whole row is the
document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from headwater.core.errors import DataError
from headwater.core.source import Source
from headwater.language.datalog.parse import parse
from headwater.language.lorel import parse_lorel
from headwater.language.syntax import Tree
from headwater.pipeline import compile_tree
from headwater.semistructured.hashed import hashed_rows
from headwater.semistructured.output.collected import CollectedView, shown_rules
from headwater.semistructured.schema import ATOM, EDGE, NAME
from headwater.semistructured.views import program_tree, translate_all
from headwater.spark.evaluate import evaluate
from headwater.spark.session.failures import found_in
from headwater.spark.session.session import session_of

_UNREADABLE = re.compile(r"error\[HW820\][^\n]*(?:\n  [^\n]*)*")
_SCHEMAS = {
    EDGE: "parent long, label string, child long, place long",
    ATOM: "oid long, kind string, text string, number double",
    NAME: "name string, oid long",
}
_TYPES = {
    EDGE: (pa.int64(), pa.string(), pa.int64(), pa.int64()),
    ATOM: (pa.int64(), pa.string(), pa.string(), pa.float64()),
    NAME: (pa.string(), pa.int64()),
}


def documents(
    views: str, inputs: Mapping[str, Any], *, key: str | Mapping[str, str] = "id", **options: Any
) -> dict[str, Any]:
    """The views that a text of Lorel defines, over a DataFrame of documents per name: `oid` and `document`, as JSON.

    `key` is the member that documents are known by, for all names or by name; no two documents of a name have the same.
    The other options are those of `evaluate`.
    """
    found = translate_all(parse_lorel(views).views)
    spark = session_of(inputs.values())
    rules = parse(Source("<documents>", "\n".join(shown_rules(view) for view in found))).statements
    program = compile_tree(Tree((*program_tree(found).statements, *rules)))
    keys = {name: key if isinstance(key, str) else key[name] for name in inputs}
    rows = {
        relation: _united([_rows(inputs[name], name, keys[name], relation) for name in inputs]) for relation in _TYPES
    }
    try:
        computed = evaluate(program, rows, **options)
        collected = {name: frame.toArrow() for name, frame in computed.items()}
    except PySparkException as problem:
        ours = found_in(problem) or _unreadable(problem)
        if ours is None:
            raise
        raise ours from problem
    schema = "oid string, document string"
    given: dict[str, Any] = {}
    for view in found:
        shown = CollectedView(view, collected).documents()
        lines = [(oid, json.dumps(document, ensure_ascii=False)) for oid, document in shown.items()]
        given[view.name] = spark.createDataFrame(lines, schema)
    return given


def _unreadable(problem: PySparkException) -> DataError | None:
    """The error of a task that could not read a document, from the text that Spark makes of it."""
    found = _UNREADABLE.search(str(problem))
    return None if found is None else DataError(found[0])


def _united(frames: list[Any]) -> Any:
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    return whole


def _rows(frame: Any, name: str, key: str, relation: str) -> Any:
    return _texts(frame).mapInArrow(_flattened(name, key, relation), _SCHEMAS[relation])


def _texts(frame: Any) -> Any:
    """A DataFrame with a JSON text per document."""
    if len(frame.columns) == 1:
        only = frame.schema.fields[0]
        if isinstance(only.dataType, st.StringType):
            return frame.select(sf.col(f"`{only.name}`").alias("text"))
        if only.dataType.typeName() == "variant":
            return frame.select(sf.to_json(sf.col(f"`{only.name}`")).alias("text"))
    columns = [sf.col(f"`{column}`") for column in frame.columns]
    return frame.select(sf.to_json(sf.struct(*columns), {"ignoreNullFields": "false"}).alias("text"))


def _flattened(name: str, key: str, relation: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            texts = batch.column(0).to_pylist()
            if None in texts:
                raise DataError(f"error[HW820]: {name}: a document is null")
            table = hashed_rows(name, [text.encode() for text in texts], key)[relation]
            arrays = [column.cast(kind) for column, kind in zip(table.columns, _TYPES[relation], strict=True)]
            yield from pa.table(arrays, names=table.column_names).combine_chunks().to_batches()

    return rows
