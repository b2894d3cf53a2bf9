"""Views of Lorel over DataFrames of documents: computed once, or maintained while documents arrive.

A document lives on one shard, chosen by its name and key. That shard compares it with the old one, and maintains the
views with the others, as for any program; the documents of the views are put together where they live.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headwater.core.errors import StateError
from headwater.core.python_warnings import warn_of
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.semistructured.sharded import ShardedProgram, compile_for_shards
from headwater.semistructured.views import require_documents
from headwater.spark.evaluate import compute
from headwater.spark.inputs.contract import agree_on_documents, refuse_others
from headwater.spark.inputs.documents import keys_by_name, prepared, route_documents
from headwater.spark.maintain import KEPT_CHANGES, Callback, listed, planned, refuse_options, start
from headwater.spark.output.document_schema import as_text, with_schema
from headwater.spark.output.sinks import Sink
from headwater.spark.session.session import is_connect, session_of
from headwater.spark.shards.run_plan import RunPlan, choose_run_plan
from headwater.spark.state.checkpoint import Checkpoint


def documents(
    views: str,
    inputs: Mapping[str, Any],
    *,
    key: str | Mapping[str, str] = "id",
    schema: Any = None,
    optional: Iterable[str] = (),
    shards: int | None = None,
    exchange: str | None = None,
    guard: Guard | int | None = DEFAULT_GUARD,
) -> dict[str, Any]:
    """The views that a text of Lorel defines, over a DataFrame of documents per name: `oid` and `document`.

    `key` is the member that documents are known by, or a path as in `customer.id`, for all names or by name; a column
    `_key` comes before it. Of two documents with one key the last one counts. `schema` is the type of the views'
    documents: "json" (text, the default), "variant", "infer" (a struct that fits all of them) or a schema of Spark. The
    other options are those of `evaluate`.
    """
    refuse_others(inputs.items(), once="documents", maintained="maintain_documents")
    compiled = _compiled(views, inputs, optional)
    keys = keys_by_name(key, inputs)
    frames = [prepared(frame, name, keys[name], changes=False) for name, frame in inputs.items()]
    spark = session_of(inputs.values())
    contract = agree_on_documents(compiled)

    run_plan = choose_run_plan(spark, contract, shards, exchange)

    def routed(plan: RunPlan) -> list[Any]:
        return [route_documents(frame, given, plan.shards) for frame, given in frames]

    found = compute(spark, contract, run_plan, routed, Guard.of(guard))
    return {name: with_schema(frame, schema) for name, frame in found.items()}


def maintain_documents(
    views: str,
    inputs: Mapping[str, Any],
    *,
    checkpoint: str,
    output: str | None = None,
    key: str | Mapping[str, str] = "id",
    schema: Any = None,
    optional: Iterable[str] = (),
    format: str = "parquet",  # noqa: A002
    options: Mapping[str, str] | None = None,
    foreach_changes: Callback | None = None,
    on_batch: Callable[[dict[str, Any]], None] | None = None,
    current: str = "auto",
    keep_changes: int = KEPT_CHANGES,
    shards: int | None = None,
    exchange: str | None = None,
    guard: Guard | int | None = DEFAULT_GUARD,
    trigger: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Any:
    """Start a StreamingQuery that keeps the documents of Lorel views up to date; its `stop` ends it.

    `inputs` are streaming DataFrames of documents by name, or lists of them, and static ones, whose documents come
    first. A document with a known key replaces the old one. With a column `_change_type`, rows may also be deletes, for
    which a column `_key`, or a document with its key alone, is enough. Documents that cannot be read, or have no key,
    are set aside under the checkpoint, with the reason. Each view has the columns `oid` and `document`; a document that
    changes is a delete of the old one and an insert of the new one. `key` and `schema` are those of `documents`,
    without "infer"; everything else is as in `maintain`.
    """
    refuse_options(checkpoint, output, trigger, current, keep_changes)
    frames = [(named, frame) for named, given in inputs.items() for frame in listed(given)]
    refuse_others(frames, streams=True)
    if not any(frame.isStreaming for _, frame in frames):
        raise ValueError("maintain_documents needs a streaming DataFrame; for static ones alone take documents")
    compiled = _compiled(views, inputs, optional)
    keys, written = keys_by_name(key, inputs), as_text(schema, streaming=True)
    noted = {"views": compiled.views.to_json(), "keys": keys, "schema": written}
    ready = [prepared(frame, named, keys[named], changes=True) for named, frame in frames]
    spark = session_of(frame for _, frame in frames if frame.isStreaming)
    if not is_connect(spark):
        _refuse_other_keys(str(checkpoint), keys)
    contract = agree_on_documents(compiled)
    plan = planned(
        spark, contract, str(checkpoint), shards, exchange, Guard.of(guard), None, notes={"documents": noted}
    )
    routed = [route_documents(frame, given, plan.run_plan.shards) for frame, given in ready]
    sink = Sink(output, format, dict(options or {}), current, written, keep_changes)
    return start(spark, plan, routed, sink, foreach_changes, on_batch, trigger, name)


def _compiled(views: str, inputs: Mapping[str, Any], optional: Iterable[str]) -> ShardedProgram:
    compiled = compile_for_shards(views)
    way = "give a DataFrame for it, which may be empty, or pass optional=['{name}']"
    require_documents(compiled.names, inputs, optional, way=way)
    warn_of(compiled.warnings)
    return compiled


def _refuse_other_keys(checkpoint: str, keys: Mapping[str, str]) -> None:
    """Raise StateError if the documents of a checkpoint are known by other keys than these."""
    manifest = Checkpoint(checkpoint).manifest
    before = {} if manifest is None else manifest.definition.notes.get("documents", {}).get("keys", {})
    for name, key in keys.items():
        if name in before and before[name] != key:
            raise StateError(
                f"the checkpoint {checkpoint} knows the documents of `{name}` by `{before[name]}`, not by `{key}`; "
                "give the same key, or a new checkpoint and a new output"
            )
