"""What the options of the format `headwater` name: a checkpoint, one of its views, and a batch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headwater.core.errors import DataError
from headwater.core.functions import registry
from headwater.exchange import Sharding
from headwater.semistructured.sharded import DocumentViews
from headwater.spark.inputs.column_types import spark_schema
from headwater.spark.inputs.contract import View, view_called
from headwater.spark.output.shard_output import feed_schema
from headwater.spark.shards.readings import Functions
from headwater.spark.shards.state_view import noted_views, readable
from headwater.spark.state.checkpoint import Checkpoint

_PATH, _VIEW, _BATCH, _FEED = "path", "view", "batch", "readChangeFeed"
_WHERE = "where"
_EXACT = ((pa.types.is_string, str), (pa.types.is_boolean, bool), (pa.types.is_int64, int))
_TRUTH = {"true": True, "false": False}
Where = Mapping[str, frozenset[Any]]  # by column, the values that a row may have in it


@dataclass(frozen=True, slots=True)
class Opened:
    """A view of a checkpoint, and how to read it."""

    path: str
    view: View
    batch: int | None  # that is asked for; None: the last one
    feed: bool  # its changes are asked for
    sharding: Sharding
    functions: Functions
    where: Where
    documents: DocumentViews | None

    @property
    def schema(self) -> pa.Schema:
        return feed_schema(self.view) if self.feed else self.view.schema

    @property
    def spark_schema(self) -> Any:
        return spark_schema(self.schema)


def opened(options: Mapping[str, str], functions: Functions) -> Opened:
    """The view that options name; an error says which there are."""
    registry.adopt(functions)
    path = options.get(_PATH)
    if not path:
        raise DataError(
            "error[HW801]: the format headwater reads the checkpoint of a query: name it, as in load('state')"
        )
    checkpoint = Checkpoint(path)
    definition = checkpoint.as_of(None).definition
    sharding = definition.sharding()
    noted = definition.notes.get("documents")
    queried = noted_views(definition.notes["views"])
    views = readable(definition, sharding) if noted is None else list(queried)
    feed = _flag(options, _FEED)
    name = options.get(_VIEW)
    if name is None and len(queried) == 1:
        name = queried[0].name
    if name is None:
        known = ", ".join(view.name for view in views)
        raise DataError(f"error[HW801]: {path} has several views; name one, as in option('view', ...): {known}")
    view = view_called(name, queried if feed else views)
    if not view.schema.names:
        raise DataError(
            f"error[HW801]: `{name}` has no columns, and no table of Spark can hold it; read it by hws.view"
        )
    batch = _number(options, _BATCH)
    if feed and (batch is not None or _WHERE in options):
        raise DataError(
            "error[HW801]: a change feed has all changes from the rows there are on; it takes no option `batch` or "
            "`where`"
        )
    documents = None if noted is None else DocumentViews.from_json(noted["views"])
    return Opened(path, view, batch, feed, sharding, functions, _where(options, view.schema), documents)


def _flag(options: Mapping[str, str], name: str) -> bool:
    text = str(options.get(name, "false")).lower()
    if text not in _TRUTH:
        raise DataError(f"error[HW801]: the option `{name}` is true or false, not {text!r}")
    return _TRUTH[text]


def _number(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise DataError(f"error[HW801]: the option `{name}` is the number of a batch, not {text!r}") from None


def _where(options: Mapping[str, str], schema: pa.Schema) -> Where:
    """What the option says about columns of texts, ints and booleans, whose values are equal here where they are in
    Spark."""
    text = options.get(_WHERE)
    if text is None:
        return {}
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise DataError(
            f"error[HW801]: the option `{_WHERE}` is a JSON object of columns and their values, as in "
            f'{{"{schema.names[0]}": ...}}, not {text!r}'
        )
    spelt: dict[str, str] = {
        name.lower(): name for name in schema.names
    }  # to Spark, names that differ in case are one name
    listed = {
        spelt.get(str(name).lower(), str(name)): values if isinstance(values, list) else [values]
        for name, values in given.items()
    }
    for name, values in listed.items():
        if name not in schema.names:
            raise DataError(f"error[HW801]: the option `{_WHERE}` names `{name}`; there are {', '.join(schema.names)}")
        kind = schema.field(name).type
        python = next((python for is_kind, python in _EXACT if is_kind(kind)), None)
        if not values or not all(type(value) is python for value in values):
            raise DataError(
                f"error[HW801]: the option `{_WHERE}` compares `{name}`, a column of {kind}, with "
                f"{', '.join(map(repr, values)) or 'nothing'}; it takes texts, ints and booleans, as the column has"
            )
    return {name: frozenset(values) for name, values in listed.items()}
