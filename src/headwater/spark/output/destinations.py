"""Where the changes of views go, by format: what `output` means there, and how often a change may arrive.

A destination gets the changes of one view in one batch (`add`) and, where it can keep them, the rows of the view now
(`put`). A driver that fails in between publishes its last batch again after a restart, and then:

- a folder of files per batch is written anew;
- Delta skips a batch that it has, by the transaction that is noted with it;
- an Iceberg table notes the batch in its snapshot, and a batch that it has is not added again;
- everything else gets the changes again: at least once.

The name of a view becomes part of a path, or of a table's name, in one way only (see `files.names`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyspark.sql import functions as sf

from headwater.core.errors import DataError
from headwater.files.names import file_name
from headwater.files.rows import BATCH_ID, CHANGE_TYPE

CHANGES, CURRENT = "changes", "current"
_FILES = frozenset({"parquet", "csv", "json", "orc", "avro", "xml", "text"})
_MARK = "headwater.batch"  # in the summary of a snapshot: the query and the batch that it brought


@dataclass(frozen=True, slots=True)
class BatchId:
    """The batch of a query that changes are of; the query's id is that of its checkpoint, and of no other."""

    query: str
    number: int
    again: bool  # the batch may have been published before


@dataclass(frozen=True, slots=True)
class Written:
    """A destination that Spark writes in a format: below a path, or in a namespace of a catalog."""

    place: str
    format: str
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Folders(Written):
    """Any format that writes to a path; it gets a batch again that is published again."""

    def add(self, changes: Any, view: str, batch: BatchId) -> None:
        self._write(changes, {}, "append", self.changes(view))

    def put(self, rows: Any, view: str) -> None:
        self._write(rows, {}, "overwrite", self.current(view))

    def home(self, view: str) -> str:
        """The folder of a view, which holds the two below."""
        return f"{self.place}/{file_name(view)}"

    def changes(self, view: str) -> str:
        return f"{self.home(view)}/{CHANGES}"

    def current(self, view: str) -> str:
        return f"{self.home(view)}/{CURRENT}"

    def _write(self, frame: Any, more: dict[str, str], mode: str, place: str) -> None:
        frame.write.format(self.format).options(**{**self.options, **more}).mode(mode).save(place)


@dataclass(frozen=True, slots=True)
class BatchFolders(Folders):
    """Files, in a folder per batch."""

    def put_beside(self, rows: Any, view: str, folder: str) -> None:
        """Write the rows of a view into another folder of the view, not into its table."""
        self._write(rows, {}, "overwrite", f"{self.home(view)}/{folder}")

    def add(self, changes: Any, view: str, batch: BatchId) -> None:
        self._write(changes.drop(BATCH_ID), {}, "overwrite", f"{self.changes(view)}/{BATCH_ID}={batch.number}")


@dataclass(frozen=True, slots=True)
class DeltaFolders(Folders):
    """Delta tables, which skip a transaction that is not later than the last one of its name."""

    def add(self, changes: Any, view: str, batch: BatchId) -> None:
        marks = {"txnAppId": f"{batch.query}/{view}", "txnVersion": str(batch.number)}
        self._write(changes, marks, "append", self.changes(view))


@dataclass(frozen=True, slots=True)
class Tables(Written):
    """Tables of a catalog, `<view>_changes` and `<view>_current`; existing ones are used as they are."""

    def add(self, changes: Any, view: str, batch: BatchId) -> None:
        table = self._table(changes, f"{file_name(view)}_changes")
        mark = f"{batch.query}/{batch.number}"
        if batch.again and _has(changes.sparkSession, table, mark):
            return
        options = {**self.options, f"snapshot-property.{_MARK}": mark}
        changes.writeTo(table).options(**options).append()

    def put(self, rows: Any, view: str) -> None:
        table = self._table(rows, f"{file_name(view)}_current")
        rows.writeTo(table).options(**self.options).overwrite(sf.lit(True))

    def _table(self, rows: Any, name: str) -> str:
        """The full name of a table for such rows; it is created if there is none."""
        table = f"{self.place}.{_quoted(name)}"
        if not rows.sparkSession.catalog.tableExists(table):
            rows.limit(0).writeTo(table).using(self.format).create()
        return table


def _quoted(name: str) -> str:
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def _has(spark: Any, table: str, mark: str) -> bool:
    snapshots = spark.table(f"{table}.snapshots")
    return bool(snapshots.where(sf.col("summary")[_MARK] == mark).limit(1).count())


@dataclass(frozen=True, slots=True)
class Topic:
    """A Kafka topic: a message per change. Its key is the view and the row, so that the changes of a row keep their
    order."""

    options: Mapping[str, str]

    def add(self, changes: Any, view: str, batch: BatchId) -> None:
        label = sf.lit(view).alias("_view")
        row = [name for name in changes.columns if name not in (CHANGE_TYPE, BATCH_ID)]
        key, value = sf.to_json(sf.struct(label, *row)), sf.to_json(sf.struct(label, *changes.columns))
        changes.select(key.alias("key"), value.alias("value")).write.format("kafka").options(**self.options).save()


@dataclass(frozen=True, slots=True)
class Console:
    """The driver's console, for a look at the changes."""

    options: Mapping[str, str]

    def add(self, changes: Any, view: str, batch: BatchId) -> None:
        changes.write.format("console").options(**self.options).mode("append").save()


@dataclass(frozen=True, slots=True)
class Memory:
    """Views of the session: `global_temp.<view>` has the rows of the view now."""

    def put(self, rows: Any, view: str) -> None:
        rows.createOrReplaceGlobalTempView(_quoted(view))


Destination: TypeAlias = Folders | Tables | Topic | Console | Memory


def destination(output: str | None, format_: str, options: Mapping[str, str]) -> Destination:
    """The destination of a format; DataError if the format cannot use this output."""
    match format_:
        case "console":
            return Console(options)
        case "memory":
            return Memory()
        case "kafka":
            if output is None and "topic" not in options:
                raise DataError("error[HW801]: the format kafka needs a topic: give output='topic'")
            return Topic(options if output is None else {**options, "topic": output})
    if output is None:
        raise DataError(f"error[HW801]: the format {format_} needs a place: give output=...")
    if format_ == "iceberg":
        if "/" in output:
            raise DataError(
                f"error[HW801]: the output of the format iceberg is where a catalog has its tables, as in "
                f"output='catalog.database', not the folder {output}"
            )
        return Tables(output, format_, options)
    kind = BatchFolders if format_ in _FILES else DeltaFolders if format_ == "delta" else Folders
    return kind(output.rstrip("/"), format_, options)
