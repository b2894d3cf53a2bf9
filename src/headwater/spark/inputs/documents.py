"""Documents on their way to the shards: every document goes, as JSON text, to the shard that holds its key.

The task that reads a DataFrame reads every document once, so that one which cannot be read, or has no key, is set aside
there, with the reason. A DataFrame with one column of strings, bytes or VARIANT holds a document per row; of any other
one the whole row is the document. Beside the document, rows may have `_key`, and the columns that rows of relations may
have: `_change_type`, `_order` or the number of a commit, and `_corrupt_record`. Of several changes of one document the
last one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from headwater.core.errors import DataError
from headwater.exchange import hash_values, owners
from headwater.files.rows import CHANGE_TYPE, FEED_COLUMNS, VERSIONS
from headwater.semistructured.reading.scan import scan_texts
from headwater.semistructured.sharded import GivenDocument, key_text, keys_of
from headwater.spark.inputs import bundles
from headwater.spark.inputs.bundles import BundleOrder, Rejection
from headwater.spark.inputs.contract import CORRUPT, ORDER

KEY = "_key"
_BESIDE = (KEY, CHANGE_TYPE, ORDER, CORRUPT)
_BUNDLED = "document "  # before a name: bundles of other things have names of their own
_BYTES = 1 << 28  # of texts that are read together


@dataclass(frozen=True, slots=True)
class DocumentInput:
    """A DataFrame of documents: their name, the path to their key, and which columns stand beside the text."""

    name: str
    path: tuple[str, ...]  # of members, from the root
    columns: tuple[str, ...]  # of the prepared DataFrame: `text` first

    def place(self, column: str) -> int | None:
        return self.columns.index(column) if column in self.columns else None


def key_path(key: str) -> tuple[str, ...]:
    """The members on the way to a key: `customer.id` is a member of a member."""
    if not isinstance(key, str) or not all(key.split(".")):
        raise DataError(f"error[HW821]: a key is a member, or a path of members as in `customer.id`, not {key!r}")
    return tuple(key.split("."))


def keys_by_name(key: str | Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The key of the documents of each name."""
    given = list(names)
    if isinstance(key, str):
        return dict.fromkeys(given, key)
    for name in given:
        if name not in key:
            raise DataError(
                f"error[HW821]: key= says nothing of `{name}`; give its member, as in key={{'{name}': 'id'}}"
            )
    return {name: key[name] for name in given}


def prepared(frame: Any, name: str, key: str, *, changes: bool) -> tuple[Any, DocumentInput]:
    """A DataFrame with a JSON text per document and what stands beside it; `changes`: it may hold deletes."""
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    if not changes and CHANGE_TYPE in kinds:
        raise DataError(
            f"error[HW801]: the DataFrame given for `{name}`: its column `{CHANGE_TYPE}` says that it holds changes; "
            "documents takes what is there, and maintain_documents takes changes"
        )
    beside = [column for column in (_BESIDE if changes else (KEY,)) if column in kinds]
    version = next((column for column in VERSIONS if column in kinds and CHANGE_TYPE in beside), None)
    if version is not None and ORDER not in beside:
        beside.append(version)
    feed = FEED_COLUMNS if CHANGE_TYPE in beside else frozenset()
    own = [column for column in kinds if column not in beside and column not in feed]
    columns = [_text(own, kinds).alias("text"), *(sf.col(_quoted(column)).alias(column) for column in beside)]
    return frame.select(*columns), DocumentInput(name, key_path(key), ("text", *beside))


def _text(own: list[str], kinds: Mapping[str, Any]) -> Any:
    if not own:
        return sf.lit(None).cast("string")
    if len(own) == 1:
        only, kind = sf.col(_quoted(own[0])), kinds[own[0]]
        if isinstance(kind, st.StringType | st.BinaryType):
            return only.cast("binary")
        if kind.typeName() == "variant":
            return sf.to_json(only).cast("binary")
    row = sf.struct(*(sf.col(_quoted(column)) for column in own))
    return sf.to_json(row, {"ignoreNullFields": "false"}).cast("binary")


def _quoted(column: str) -> str:
    doubled = column.replace("`", "``")
    return f"`{doubled}`"


def route_documents(frame: Any, given: DocumentInput, shards: int) -> Any:
    """The documents of a prepared DataFrame in bundles, each with its shard; static ones before those of streams."""
    sequence = "stream" if frame.isStreaming else ""

    def bundled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seat = BundleOrder(TaskContext.get().partitionId(), sequence)
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            waiting.append(batch)
            if sum(part.nbytes for part in waiting) >= _BYTES:
                yield from _bundled(pa.Table.from_batches(waiting), given, shards, seat)
                waiting = []
        if waiting:
            yield from _bundled(pa.Table.from_batches(waiting), given, shards, seat)

    return frame.mapInArrow(bundled, bundles.DDL)


def _bundled(rows: pa.Table, given: DocumentInput, shards: int, seat: BundleOrder) -> Iterator[pa.RecordBatch]:
    sifted, rejected = sift(rows, given)
    if sifted.num_rows:
        homes = owners(hash_values(f"{given.name}\0{key}" for key in sifted.column("key").to_pylist()), shards)
        place = seat.next()
        for shard in np.unique(homes).tolist():
            own = sifted.take(pa.array(np.flatnonzero(homes == shard)))
            yield bundles.bundle_of(shard, f"{_BUNDLED}{given.name}", seat.sequence, place, own)
    if rejected:
        yield bundles.rejections(rejected, seat)


def sift(rows: pa.Table, given: DocumentInput) -> tuple[pa.Table, list[Rejection]]:
    """Keys and texts of documents that can be read (of those that go, no text), and the rows that do not fit."""
    texts: list[bytes | None] = rows.column(0).cast(pa.binary()).to_pylist()
    reasons: dict[int, str] = {}
    corrupt = given.place(CORRUPT)
    if corrupt is not None:
        broken = np.flatnonzero(rows.column(corrupt).is_valid().to_numpy())
        reasons.update(dict.fromkeys(broken.tolist(), "it cannot be parsed"))
    inserts = np.ones(rows.num_rows, dtype=np.bool_)
    change = given.place(CHANGE_TYPE)
    if change is not None:
        said, strange = bundles.directions(rows.column(change))
        inserts = np.array([bool(each) for each in said.to_pylist()], dtype=np.bool_)
        for at, reason in strange.items():
            reasons.setdefault(at, reason)
    keys = _keys(rows, given, texts, inserts, reasons)
    keep = np.ones(rows.num_rows, dtype=np.bool_)
    keep[list(reasons)] = False
    columns: dict[str, Any] = {
        "key": pa.array(keys, type=pa.string()),
        "text": pa.array(
            [text if goes else None for text, goes in zip(texts, inserts, strict=True)], pa.large_binary()
        ),
        bundles.INSERT: pa.array(inserts),
    }
    for column, name in ((ORDER, ORDER), *((version, bundles.VERSION) for version in VERSIONS)):
        place = given.place(column)
        if place is not None:
            columns[name] = rows.column(place)
    rejected = [Rejection(given.name, reason, _shown(rows, given, at)) for at, reason in sorted(reasons.items())]
    return pa.table(columns).filter(pa.array(keep)), rejected


def _keys(
    rows: pa.Table, given: DocumentInput, texts: list[bytes | None], inserts: Any, reasons: dict[int, str]
) -> list[str | None]:
    """The keys of all rows as text; notes why a document has none, or cannot be read."""
    keys: list[str | None] = [None] * len(texts)
    column = given.place(KEY)
    if column is not None:
        for at, key in enumerate(rows.column(column).to_pylist()):
            if isinstance(key, str | int) and not isinstance(key, bool):
                keys[at] = key_text(key)
            else:
                reasons.setdefault(at, f"`{KEY}` is {'null' if key is None else 'neither an int nor a string'}")
    for at, text in enumerate(texts):
        if text is None and (inserts[at] or column is None):
            reasons.setdefault(at, "the document is null")
    asked = [at for at in range(len(texts)) if at not in reasons and (inserts[at] or column is None)]
    nodes = scan_texts([texts[at] or b"" for at in asked], given.name)
    for bad in nodes.rejected:
        _, comma, place = bad.where.partition(", line ")
        reasons.setdefault(asked[bad.position], f"{bad.reason}{f' (line {place})' if comma else ''}")
    if column is None:
        named = ".".join(given.path)
        for at, key in zip(asked, keys_of(nodes, given.path), strict=True):
            if key is None:
                reasons.setdefault(at, f"it has no int or string `{named}`, which is its key")
            else:
                keys[at] = key_text(key)
    return keys


def _shown(rows: pa.Table, given: DocumentInput, at: int) -> str:
    corrupt = given.place(CORRUPT)
    column = 0 if corrupt is None or not rows.column(corrupt)[at].is_valid else corrupt
    value = rows.column(column)[at]
    return "null" if not value.is_valid else value.as_buffer().to_pybytes().decode("utf-8", "backslashreplace")


# At the shard


@dataclass(slots=True)
class ArrivedDocuments:
    """What reached one shard: documents that it holds from now on, or no more, and the rows set aside."""

    documents: list[GivenDocument] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    rows: int = 0


def arrive_documents(batches: Iterable[pa.RecordBatch]) -> ArrivedDocuments:
    """The net effect of all bundles that came: the last word on each key."""
    opened = bundles.open_bundles(batches)
    arrived = ArrivedDocuments(rejected=opened.rejected)
    for relation, rows in opened.tables.items():
        name = relation.removeprefix(_BUNDLED)
        arrived.rows += rows.num_rows
        ordered = bundles.in_order(rows)
        last: dict[str, bytes | None] = {}
        for key, text in zip(ordered.column("key").to_pylist(), ordered.column("text").to_pylist(), strict=True):
            last.pop(key, None)
            last[key] = text
        arrived.documents += (GivenDocument(name, key, text) for key, text in last.items())
    return arrived
