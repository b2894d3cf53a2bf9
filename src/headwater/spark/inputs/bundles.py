"""Base rows on their way to the shards, as bundles: Arrow tables in one binary column, beside the shard that gets them.

    route    a task that reads an input sets misfits aside, and chooses the shard of every other row
    ship     Spark brings the bundles of a shard to its partition
    arrive   the shard orders its bundles and takes their net effect: of several changes of a row the last one counts

Order is that of the task's rows, tasks by number; `sequence` comes before (static rows before those of streams), and a
column `_order` before everything, or the number of the commit that a change came with.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import functions as sf

from headwater.core.types import Type
from headwater.engine.border.arrow_stream import write_stream
from headwater.engine.border.codec import ColumnCodes
from headwater.engine.codes.fitting import MOMENTS, shown
from headwater.exchange import Sharding
from headwater.files.feed import net
from headwater.files.rows import CHANGE_TYPES
from headwater.plan.model import Table
from headwater.program.time.program_clock import FOREVER, TOO_FAR
from headwater.spark.inputs.contract import ORDER, Input

SCHEMA = pa.schema(
    [
        pa.field("shard", pa.int32()),
        pa.field("relation", pa.string()),
        pa.field("sequence", pa.string()),
        pa.field("place", pa.int64()),
        pa.field("payload", pa.binary()),
    ]
)
DDL = "shard int, relation string, sequence string, place bigint, payload binary"
EVERYWHERE = -1
INSERT = "_insert"  # columns of a relation are called by their numbers here: they may have any name
VERSION = "_version"
_NOTHING = ""  # the column of rows that have none: Arrow would forget how many there are
_REJECTED = ""  # the relation that rows set aside are bundled under
NUMBER = "#"  # the relation of an empty bundle, which gives a shard its number
_CLOCK = "@"  # the relation of an empty bundle whose place is the latest time among the rows of a task
_ROWS = 1 << 17
_NO_TIMES = np.zeros(0, dtype=np.int64)
_REJECTED_SCHEMA = pa.schema([("relation", pa.string()), ("reason", pa.string()), ("row", pa.string())])


def route(frame: Any, given: Input, sharding: Sharding, shards: int) -> Any:
    """A DataFrame's rows in bundles, each with its shard; static rows come before those of streams."""
    sequence = "stream" if frame.isStreaming else ""

    def bundled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from bundle(batches, given, sharding, shards, TaskContext.get().partitionId(), sequence)

    # By place: to Spark, several columns may have one name. Rows without columns would not be counted.
    places = [f"c{at}" for at in range(len(frame.columns))]
    seen = frame.toDF(*places) if places else frame.select(sf.lit(True).alias("row"))
    return seen.mapInArrow(bundled, DDL)


def shard_numbers(spark: Any, shards: int) -> Any:
    """An empty bundle for every shard, so that each runs and knows its number, also where it gets no rows."""
    rest = (f"'{NUMBER}' as relation", "'' as sequence", "bigint(0) as place", "binary('') as payload")
    return spark.range(0, shards, 1, 1).selectExpr("int(id) as shard", *rest)


def ship(frames: list[Any], shards: int) -> Any:
    """The bundles of all these frames, which may be streams, in the partition of their shard."""
    every = reduce(lambda left, right: left.unionAll(right), frames)
    # As text: every other word of an expression is a call to the JVM, and queries start with this.
    receivers = f"explode(if(shard = {EVERYWHERE}, sequence(0, {shards - 1}), array(shard))) as shard"
    others = [name for name in SCHEMA.names if name != "shard"]
    return every.selectExpr(receivers, *others).repartitionById(shards, sf.col("shard"))


def bundle(
    batches: Iterable[pa.RecordBatch], given: Input, sharding: Sharding, shards: int, task: int, sequence: str = ""
) -> Iterator[pa.RecordBatch]:
    """The rows that one task reads of one input, in bundles; they come after those of any lesser `sequence`."""
    seat = BundleOrder(task, sequence)
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(part.num_rows for part in waiting) >= _ROWS:
            yield from _bundled(pa.Table.from_batches(waiting), given, sharding, shards, seat)
            waiting = []
    if waiting:
        yield from _bundled(pa.Table.from_batches(waiting), given, sharding, shards, seat)


@dataclass(slots=True)
class BundleOrder:
    """Numbers the bundles of one task."""

    task: int
    sequence: str
    count: int = 0

    def next(self) -> int:
        self.count += 1
        return (self.task << 32) + self.count


def _bundled(
    rows: pa.Table, given: Input, sharding: Sharding, shards: int, seat: BundleOrder
) -> Iterator[pa.RecordBatch]:
    encoded = ColumnCodes()
    sifted, rejected = sift(rows, given, encoded)
    times = sharding.times(given.relation, sifted, encoded) if given.time is not None else _NO_TIMES
    if INSERT in sifted.column_names and times.size:  # deletes do not move time
        times = times[sifted.column(INSERT).to_numpy()]
    if times.size:
        yield _record(EVERYWHERE, _CLOCK, "", int(times.max()), b"")
    for relation in sharding.tables_of(given.relation):
        place = seat.next()
        if sifted.num_rows:
            for shard, part in sharding.route(relation, sifted, shards, encoded):
                yield bundle_of(EVERYWHERE if shard is None else shard, relation, seat.sequence, place, part)
    if rejected:
        yield rejections(rejected, seat)


def rejections(rejected: list[Rejection], seat: BundleOrder) -> pa.RecordBatch:
    """A bundle of rows that were set aside, for the first shard to note."""
    return bundle_of(0, _REJECTED, "", seat.next(), _rejected_table(rejected))


def bundle_of(shard: int, relation: str, sequence: str, place: int, rows: pa.Table) -> pa.RecordBatch:
    """Rows of a relation for a shard, as a bundle."""
    return _record(shard, relation, sequence, place, pack(rows))


def _record(shard: int, relation: str, sequence: str, place: int, payload: bytes) -> pa.RecordBatch:
    values = [[shard], [relation], [sequence], [place], [payload]]
    arrays = [pa.array(value, type=field.type) for value, field in zip(values, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def pack(rows: pa.Table) -> bytes:
    return bytes(write_stream(rows.combine_chunks()))


def unpack(payload: Any) -> pa.Table:
    with pa.ipc.open_stream(payload.as_buffer() if isinstance(payload, pa.Scalar) else payload) as reader:
        return reader.read_all()


# Sifting


@dataclass(frozen=True, slots=True)
class Rejection:
    """A row that was set aside, as text, and why."""

    relation: str
    reason: str
    row: str


def sift(rows: pa.Table, given: Input, encoded: ColumnCodes) -> tuple[pa.Table, list[Rejection]]:
    """The rows that fit, with the relation's columns, then insert or delete, then order; and the rows that do not."""
    columns = [rows.column(place) for place in given.places]
    reasons: dict[int, str] = {}
    if given.corrupt is not None:
        broken = np.flatnonzero(rows.column(given.corrupt).is_valid().to_numpy())
        reasons.update(dict.fromkeys(broken.tolist(), "it cannot be parsed"))
    extra: list[tuple[str, Any]] = []
    if given.change is not None:
        inserts, strange = directions(rows.column(given.change))
        extra.append((INSERT, inserts))
        for at, reason in strange.items():
            reasons.setdefault(at, reason)
    if given.order is not None:
        extra.append((ORDER, rows.column(given.order)))
    if given.version is not None:
        extra.append((VERSION, rows.column(given.version)))
    for number, (name, kind, nullable) in enumerate(zip(given.names, given.types, given.nullable, strict=True)):
        columns[number], garbled = _readable(columns[number])
        for at in garbled:
            reasons.setdefault(at, f"column `{name}`: its text is not in UTF-8")
        if not _surely_fits(columns[number], kind):
            for at, reason in encoded.of(number, columns[number], kind, nullable=nullable)[1]:
                reasons.setdefault(at, f"column `{name}`: {reason}")
    if given.time is not None and given.types[given.time] is Type.INT:
        for at in np.flatnonzero(pc.fill_null(pc.greater_equal(columns[given.time], FOREVER), False)).tolist():
            reasons.setdefault(at, f"column `{given.names[given.time]}`: {TOO_FAR}")
    whole = pa.table(
        [*columns, *(column for _, column in extra)] or [pa.nulls(rows.num_rows)],
        names=[*map(str, range(len(columns))), *(name for name, _ in extra)] or [_NOTHING],
    )
    if not reasons:
        return whole, []
    keep = np.ones(rows.num_rows, dtype=np.bool_)
    keep[list(reasons)] = False
    encoded.keep(keep)
    rejected = [_rejection(rows, given, at, reason) for at, reason in sorted(reasons.items())]
    return whole.filter(pa.array(keep)), rejected


def _rejection(rows: pa.Table, given: Input, at: int, reason: str) -> Rejection:
    if given.corrupt is not None and rows.column(given.corrupt)[at].is_valid:
        return Rejection(given.relation, reason, str(_value(rows.column(given.corrupt)[at])))
    row = {name: _value(rows.column(place)[at]) for name, place in zip(given.names, given.places, strict=True)}
    if given.change is not None:
        row["_change_type"] = _value(rows.column(given.change)[at])
    return Rejection(given.relation, reason, json.dumps(row, default=str, ensure_ascii=False))


def _readable(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, list[int]]:
    """A column, null where its text is not in UTF-8 (Spark accepts any bytes as text); and these places."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        values: list[Any] = []
        garbled: list[int] = []
        for at, value in enumerate(column):
            try:
                values.append(value.as_py())
            except UnicodeDecodeError:
                values.append(None)
                garbled.append(at)
        return pa.chunked_array([pa.array(values, type=column.type)]), garbled
    return column, []


def _value(value: pa.Scalar) -> Any:
    """A value to show, whatever bytes it is made of."""
    try:
        return value.as_py()
    except UnicodeDecodeError:
        if isinstance(value, pa.ListScalar):
            return [_value(item) for item in value.values]
        return value.as_buffer().to_pybytes().decode("utf-8", "backslashreplace")


def directions(column: pa.ChunkedArray) -> tuple[Any, dict[int, str]]:
    """Whether each row is inserted or deleted; where its `_change_type` is strange, why."""
    column, _ = _readable(column.cast(pa.string()))
    words = column.combine_chunks().dictionary_encode()
    known = [CHANGE_TYPES.get(word) for word in words.dictionary.to_pylist()]
    inserts = pc.take(pa.array(known, type=pa.bool_()), words.indices)
    if not inserts.null_count:
        return inserts, {}
    strange = np.flatnonzero(inserts.is_null().to_numpy(zero_copy_only=False)).tolist()
    choices = ", ".join(CHANGE_TYPES)
    return inserts, {at: f"`_change_type` is {shown(column[at].as_py())}, not one of {choices}" for at in strange}


def _surely_fits(column: pa.ChunkedArray, kind: Type) -> bool:
    """Whether the type alone says that every value fits."""
    if column.null_count:
        return False
    given = column.type
    match kind:
        case Type.INT:
            return pa.types.is_signed_integer(given)
        case Type.FLOAT:
            return pa.types.is_floating(given)
        case Type.STRING | Type.ADDRESS:
            return pa.types.is_string(given)
        case Type.BOOL:
            return pa.types.is_boolean(given)
        case Type.TIMESTAMP:
            return (
                pa.types.is_timestamp(given)
                and bool(len(column))
                and _are_moments(column.cast(pa.timestamp("us", given.tz)))
            )
        case Type.DATE:
            return pa.types.is_date32(given) and bool(len(column)) and _are_moments(column.cast(pa.timestamp("us")))
        case _:
            return False


def _are_moments(column: pa.ChunkedArray) -> bool:
    extremes = pc.min_max(column.cast(pa.int64()))
    return extremes["min"].as_py() in MOMENTS and extremes["max"].as_py() in MOMENTS


# At the shard


def shard_of(batches: Iterable[pa.RecordBatch], partition: int) -> int:
    """The shard whose bundles these are; the number of the partition where there are none.

    After a `coalesce` of the user's, a task runs several partitions.
    """
    return next((int(batch.column("shard")[0].as_py()) for batch in batches if batch.num_rows), partition)


@dataclass(slots=True)
class Arrived:
    """What reached one shard: by relation the rows to insert and to delete, the keys whose rows go (see `Net`), and
    the rows set aside."""

    inserts: dict[str, pa.Table] = field(default_factory=dict)
    deletes: dict[str, pa.Table] = field(default_factory=dict)
    cleared: dict[str, dict[tuple[Any, ...], Any]] = field(default_factory=dict)
    rejected: list[Rejection] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    latest: int | None = None  # the latest time that any shard's rows have


def arrive(batches: Iterable[pa.RecordBatch], sharding: Sharding) -> Arrived:
    """The net effect of all bundles that came."""
    opened = open_bundles(batches)
    arrived = Arrived(rejected=opened.rejected, latest=opened.latest)
    for relation, rows in opened.tables.items():
        if _NOTHING in rows.column_names:
            rows = rows.select([name for name in rows.column_names if name != _NOTHING])
        arrived.rows[relation] = rows.num_rows
        _settle(arrived, rows, sharding.table(relation), sharding.keys.get(relation))
    return arrived


@dataclass(slots=True)
class OpenedBundles:
    """What bundles hold: the rows of each relation, the rows set aside, and the latest time."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    rejected: list[Rejection] = field(default_factory=list)
    latest: int | None = None


def open_bundles(batches: Iterable[pa.RecordBatch]) -> OpenedBundles:
    """Everything that came, bundles in their order."""
    bundles: dict[str, list[tuple[str, int, pa.Table]]] = {}
    opened = OpenedBundles()
    for batch in batches:
        columns = [batch.column(name) for name in ("relation", "sequence", "place", "payload")]
        for relation, sequence, place, payload in zip(*columns, strict=True):
            if relation.as_py() == NUMBER:
                continue
            if relation.as_py() == _CLOCK:
                moment = place.as_py()
                opened.latest = moment if opened.latest is None else max(opened.latest, moment)
                continue
            rows = unpack(payload)
            if relation.as_py() == _REJECTED:
                opened.rejected += [Rejection(**row) for row in rows.to_pylist()]
            else:
                bundles.setdefault(relation.as_py(), []).append((sequence.as_py(), place.as_py(), rows))
    for relation, parts in bundles.items():
        parts.sort(key=lambda part: part[:2])
        opened.tables[relation] = pa.concat_tables([part for _, _, part in parts], promote_options="permissive")
    opened.rejected.sort(key=lambda row: (row.relation, row.reason, row.row))
    return opened


def _settle(arrived: Arrived, rows: pa.Table, table: Table, key: tuple[int, ...] | None) -> None:
    """Take the net effect of a relation's rows; its columns get their names back."""
    relation = table.name
    rows = in_order(rows)
    if INSERT not in rows.column_names:
        arrived.inserts[relation] = rows.rename_columns(list(table.names))
        return
    inserts = rows.column(INSERT).fill_null(True).to_numpy()  # null: from an input that has inserts only
    rows = rows.drop_columns([INSERT]).rename_columns(list(table.names))
    if inserts.all():
        arrived.inserts[relation] = rows
        return
    found = net(_tuples(rows), inserts.tolist(), key, counted=bool(table.hidden), time=table.time)
    for places, side in ((found.inserts, arrived.inserts), (found.deletes, arrived.deletes)):
        if places:
            side[relation] = rows.take(pa.array(sorted(places))) if rows.num_columns else rows.slice(0, 1)
    if found.cleared:
        arrived.cleared[relation] = found.cleared


def in_order(rows: pa.Table) -> pa.Table:
    """The rows in their order; those of an input without one come first.

    The inserts of a commit come behind its deletes: where an update gives every row the value of the next one, all new
    rows stay.
    """
    ordered = [name for name in (ORDER, VERSION) if name in rows.column_names]
    if not ordered:
        return rows
    known = reduce(pc.or_, (rows.column(name).is_valid() for name in ordered))
    keys = {"known": known, **{name: rows.column(name) for name in ordered}}
    if VERSION in ordered:
        keys["insert"] = rows.column(INSERT)
    keys["place"] = pa.array(range(rows.num_rows))
    order = pc.sort_indices(pa.table(keys), [(name, "ascending") for name in keys])
    return rows.take(order).drop_columns(ordered)


def _tuples(rows: pa.Table) -> list[tuple[Any, ...]]:
    if not rows.num_columns:
        return [()] * rows.num_rows
    return [tuple(map(_frozen, row)) for row in zip(*(column.to_pylist() for column in rows.columns), strict=True)]


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _rejected_table(rejected: list[Rejection]) -> pa.Table:
    return pa.Table.from_pylist([asdict(row) for row in rejected], schema=_REJECTED_SCHEMA)
