"""The format `headwater`: views of a query as tables and streams of Spark, whatever the query does meanwhile."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql.datasource import DataSourceReader

import headwater as hw
from headwater import spark as hws
from headwater.core.functions.registry import unregister
from headwater.files.rows import BATCH_ID, CHANGE_TYPE
from headwater.spark.source.change_feed import ChangeFeed
from headwater.spark.source.opening import opened
from headwater.spark.source.past_rows import undone
from headwater.spark.source.state_scan import StateScan
from tests.spark.test_asking import Running

PROGRAM = """
relation link(a: string, b: string).
joined(X, Y) :- link(X, Y).
joined(X, Z) :- joined(X, Y), link(Y, Z).
query joined(X, Y).
"""
STEPS = [
    ([("a", "b"), ("b", "c")], []),
    ([("c", "d")], []),
    ([("d", "a")], [("a", "b")]),
    ([("a", "b")], []),
    ([], [("c", "d")]),
]
Pairs = set[tuple[str, str]]


def closure(links: Pairs) -> Pairs:
    found = set(links)
    while more := {(x, z) for x, y in found for w, z in links if y == w} - found:
        found |= more
    return found


class Past:
    """A running query, and what its view was after each batch."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.running = Running(spark, folder, PROGRAM)
        self.links: Pairs = set()
        self.views: list[Pairs] = []

    def step(self, came: list[tuple[str, str]], went: list[tuple[str, str]]) -> None:
        for rows, kind in ((went, "delete"), (came, "insert")):
            if rows:
                self.running.give(rows, kind)
                self.links = self.links - set(rows) if kind == "delete" else self.links | set(rows)
                self.views.append(closure(self.links))

    def table(self, **options: Any) -> Any:
        return self.spark.read.format("headwater").options(**options).load(self.running.checkpoint)

    def changes(self, name: str) -> list[tuple[Any, ...]]:
        """What a stream with a checkpoint of this name brings, run until it has all there is."""
        found: list[tuple[Any, ...]] = []
        feed = self.spark.readStream.format("headwater").option("readChangeFeed", "true").load(self.running.checkpoint)
        assert feed.columns[-2:] == [CHANGE_TYPE, BATCH_ID]
        writer = feed.writeStream.option("checkpointLocation", str(self.folder / name)).trigger(availableNow=True)
        writer.foreachBatch(lambda rows, _: found.extend(map(tuple, rows.collect()))).start().awaitTermination()
        return found


@pytest.fixture(scope="module")
def past(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    found = Past(spark, tmp_path_factory.mktemp("past"))
    try:
        for came, went in STEPS:
            found.step(came, went)
        yield found
    finally:
        found.running.query.stop()


def rows(frame: Any) -> Pairs:
    found = [tuple(row) for row in frame.collect()]
    assert len(found) == len(set(found))
    return set(found)


def scanned(past: Past, **options: str) -> tuple[Pairs, int]:
    """The rows that these options name, read in this process, and from how many shards."""
    scan = StateScan(opened({"path": past.running.checkpoint, **options}, ()))
    parts = scan.partitions()
    return {tuple(row.values()) for part in parts for one in scan.read(part) for row in one.to_pylist()}, len(parts)


def applied(view: Pairs, changes: list[tuple[Any, ...]]) -> Pairs:
    """A view after changes, batch by batch, the deletes of a batch first."""
    for x, y, kind, _ in sorted(changes, key=lambda change: (change[3], change[2])):
        assert ((x, y) in view) == (kind == "delete")
        view = view - {(x, y)} if kind == "delete" else view | {(x, y)}
    return view


def test_a_view_is_a_table_as_of_every_batch(past: Past) -> None:
    frame = past.table(view="joined")
    assert rows(frame) == past.views[-1]
    assert frame.schema == hws.view(past.running.checkpoint, "joined", spark=past.spark).schema
    assert len(past.views) > 4, "the state of most batches is gone"
    assert rows(past.table(view="joined", batch=0)) == past.views[0]
    for batch, view in enumerate(past.views):
        assert scanned(past, batch=str(batch))[0] == view
    assert rows(past.table(view="link")) == past.links


def test_no_filters_are_pushed_down() -> None:
    """Spark 4.3 has one set of pushed filters for all scans of a table: a union of two selections would be one of them,
    twice. Look at that before you give the scan such a method."""
    assert StateScan.pushFilters is DataSourceReader.pushFilters


def test_sql_reads_a_view(past: Past) -> None:
    where = past.running.checkpoint
    past.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW j USING headwater OPTIONS (path '{where}', view 'joined')")
    found = past.spark.sql("SELECT x, count(*) FROM j GROUP BY x").collect()
    assert dict(map(tuple, found)) == {x: sum(1 for row in past.views[-1] if row[0] == x) for x, _ in past.views[-1]}


def test_where_reads_the_shards_that_can_have_such_rows(past: Past) -> None:
    for at, column in enumerate("xy"):
        for value in "abcdz":
            found, shards = scanned(past, where=f'{{"{column}": "{value}"}}')
            assert found == {row for row in past.views[-1] if row[at] == value}
            assert shards == (1 if column == "x" else 2), "rows of `joined` live by their first column"
    assert rows(past.table(where='{"x": ["a", "d"]}')) == {row for row in past.views[-1] if row[0] in "ad"}


def test_a_stream_goes_on_where_it_stopped_and_repeats_what_was_not_done(past: Past) -> None:
    first = past.changes("feed")
    batch = len(past.views) - 1
    assert {row[2:] for row in first} == {("insert", batch)}
    assert {row[:2] for row in first} == past.views[-1]
    table = past.table()
    before = rows(table)
    for came, went in ([("d", "n")], []), ([("d", "m")], []), ([], [("d", "n"), ("b", "c")]):
        past.step(came, went)
    assert rows(table) == before, "a table that was read stays as it was, also once its state is gone"
    # A stream that ended before it noted that its first batch was done brings the very same rows again.
    shutil.copytree(past.folder / "feed", past.folder / "again")
    for note in (past.folder / "again" / "commits").iterdir():
        note.unlink()
    assert sorted(past.changes("again")) == sorted(first)
    later = past.changes("feed")
    assert applied(past.views[batch], later) == past.views[-1]
    assert [row[3] for row in later if row[2] == "delete"], "the deletes came"


def test_a_reader_that_fell_behind_is_told(spark: Any, tmp_path: Path, past: Past) -> None:
    folder = tmp_path / "link"
    folder.mkdir()
    stream = spark.readStream.schema("a string, b string").json(str(folder))
    where = tmp_path / "state"
    for number in range(4):
        (folder / f"{number}.json").write_text(f'{{"a": "x", "b": "{number}"}}\n')
        kept = {"checkpoint": str(where), "shards": 1, "keep_changes": 2, "trigger": {"availableNow": True}}
        hws.maintain(PROGRAM, {"link": stream}, **kept).awaitTermination()
    notes = sorted(path.name.partition("-")[0] for path in (where / "headwater" / "feed").iterdir())
    assert notes == ["2", "2", "3", "3"], "a note and a file for each of the last two batches"
    feed = ChangeFeed(opened({"path": str(where), "readChangeFeed": "true"}, ()))
    end = feed.latestOffset()
    assert end["batch"] == 3
    assert feed.partitions(end, end) == []
    for start in (1, 2):
        (part,) = feed.partitions(end | {"batch": start}, end)
        assert sum(one.num_rows for one in feed.read(part)) == 3 - start
    with pytest.raises(hw.StateError, match=r"error\[HW938\]: the changes of batch 1 are not kept"):
        feed.partitions(end | {"batch": 0}, end)
    with pytest.raises(hw.StateError, match=r"error\[HW939\]"):
        feed.partitions(end, end | {"batch": 4})
    other = ChangeFeed(opened({"path": past.running.checkpoint, "readChangeFeed": "true"}, ()))
    with pytest.raises(hw.StateError, match=r"error\[HW939\].*\n.*new checkpoint"):
        other.partitions(end, other.latestOffset())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "reads the checkpoint of a query"),
        ({"path": "."}, r"error\[HW940\]: \. is not the checkpoint of a query"),
        ({"view": "joind"}, r"no view `joind`; did you mean `joined`\? \(the program's views: joined, link\)"),
        ({"batch": "last"}, "`batch` is the number of a batch, not 'last'"),
        ({"readChangeFeed": "yes"}, "`readChangeFeed` is true or false, not 'yes'"),
        ({"readChangeFeed": "true", "batch": "1"}, "no option `batch` or"),
        ({"readChangeFeed": "true", "view": "link"}, "no view `link`"),
        ({"readChangeFeed": "true", "where": '{"x": "a"}'}, "no option `batch` or `where`"),
        ({"where": "x = 1"}, "a JSON object"),
        ({"where": '{"x": []}'}, "with nothing"),
        ({"where": '{"x": [["a"]]}'}, r"with \['a'\]"),
        ({"where": '{"x": null}'}, "with None"),
        ({"where": '{"z": "a"}'}, "names `z`; there are X, Y"),
        ({"where": '{"x": 1}'}, "compares `X`, a column of string, with 1"),
    ],
)
def test_options_that_mean_nothing(past: Past, options: dict[str, str], message: str) -> None:
    given = {"path": past.running.checkpoint, **options} if options else {}
    with pytest.raises(hw.HeadwaterError, match=message):
        opened(given, ())


def test_a_stream_must_ask_for_changes(past: Past) -> None:
    with pytest.raises(hw.DataError, match="readChangeFeed"):
        ChangeFeed(opened({"path": past.running.checkpoint}, ()))
    with pytest.raises(hw.DataError, match="is read as a stream"):
        StateScan(opened({"path": past.running.checkpoint, "readChangeFeed": "true"}, ()))


def test_a_program_with_functions_of_the_user(spark: Any, tmp_path: Path) -> None:
    hw.register("shouted", ("string",), "string")(pc.utf8_upper)
    try:
        running = Running(spark, tmp_path, "loud(Y) :- link(X, _), Y = shouted(X).", shards=1)
        running.give([("a", "b")])
        running.query.stop()
        hws.register(spark)
        frame = spark.read.format("headwater").load(running.checkpoint)
        assert rows(frame) == {("A",)}
    finally:
        unregister("shouted")
        hws.register(spark)


@pytest.mark.parametrize("seed", range(20))
def test_oracle_changes_undone(seed: int) -> None:
    """Rows as they were before some changes, against the sets that the changes were made from."""
    dice = random.Random(seed)
    kinds = {"n": pa.float64(), "l": pa.list_(pa.int64())}
    values = [(number, items) for number in (1.0, float("nan"), None, -0.5) for items in ([1], [], None)]
    there: list[set[int]] = [set(dice.sample(range(len(values)), 5))]
    changes = []
    for _ in range(6):
        flipped = dice.sample(range(len(values)), dice.randrange(5))
        after = there[-1] ^ set(flipped)
        marked = sorted((at, "insert" if at in after else "delete") for at in flipped)
        table = table_of([values[at] for at, _ in marked], kinds)
        changes.append(table.append_column(CHANGE_TYPE, pa.array([kind for _, kind in marked], pa.string())))
        there.append(after)
    for batch, then in enumerate(there):
        found = undone(table_of([values[at] for at in there[-1]], kinds), changes[batch:])
        assert sorted(map(repr, found.to_pylist())) == sorted(
            map(repr, table_of([values[at] for at in then], kinds).to_pylist())
        )


def table_of(found: list[tuple[Any, ...]], kinds: dict[str, pa.DataType]) -> pa.Table:
    columns = list(zip(*found, strict=True)) or [(), ()]
    return pa.table({name: pa.array(column, kind) for (name, kind), column in zip(kinds.items(), columns, strict=True)})
