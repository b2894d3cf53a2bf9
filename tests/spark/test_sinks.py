"""What sinks do again: a committed batch that may not have been told to its end, a table that may not be right."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

import headwater as hw
from headwater import spark as hws
from headwater.spark.folders import hadoop
from headwater.spark.output import current_table as current
from headwater.spark.output.destinations import BatchFolders
from headwater.spark.output.sinks import Sink
from headwater.spark.state.checkpoint import BatchNotes, Checkpoint
from tests.spark.conftest import FAR
from tests.spark.test_checkpoint import BATCHES, Query
from tests.spark.test_maintain import NOW, drop, finish, link, rows, stream


def test_a_batch_is_pending_while_all_its_files_are_there(tmp_path: Path) -> None:
    query = Query(tmp_path)
    named = ["feed/0-a-0.parquet", "feed/0-b-0.parquet"]
    reports = query.reports(0, *BATCHES[0])
    for name in (*named, "feed/0-given-up-0.parquet"):
        query.driver.folder.write(name, [b""])
    manifest = query.driver.commit(query.definition, 0, reports, BatchNotes(metrics={"feed": {"reach": named}}))
    sink = Sink(None, "parquet", {}, "auto")
    assert sink.is_pending(query.driver, manifest)
    query.driver.folder.remove(named[1])  # the driver dies here: everything has been told
    assert not sink.is_pending(query.driver, manifest), "files of an attempt that was given up say nothing"


LINKS = "reach(X, Y) :- link(X, Y). reach(X, Z) :- link(X, Y), reach(Y, Z)."
CHAIN = [link(at, at + 1) for at in range(9)]


def written(output: Path) -> set[str]:
    return {one.name for one in (output / "reach" / "current").glob("part-*")}


def table(spark: Any, output: Path) -> set[tuple[Any, ...]]:
    return rows(spark.read.parquet(str(output / "reach" / "current")))


class Kept:
    """A query over files that come one by one, and what its current table should hold."""

    def __init__(self, spark: Any, folder: Path, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(current, "_SMALL", 3)  # no view here is small enough to be written in every batch
        self.spark, self.source, self.checkpoint = spark, folder / "in", folder / "check"
        self.dropped = 0

    def run(self, changes: list[dict[str, Any]], output: Path, **options: Any) -> set[tuple[Any, ...]]:
        """The view after these changes."""
        drop(self.source, self.dropped, changes)
        self.dropped += 1
        links = {"link": stream(self.spark, self.source)}
        given = {"checkpoint": str(self.checkpoint), "output": str(output), "trigger": NOW, "shards": 1} | options
        finish(hws.maintain(hw.compile(LINKS), links, **given))
        return rows(hws.view(str(self.checkpoint), "reach"))


def test_a_restart_leaves_a_current_table_alone_that_is_good_enough(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, output = Kept(spark, tmp_path, monkeypatch), tmp_path / "out"
    loaded = query.run(CHAIN, output)
    first = written(output)
    assert table(spark, output) == loaded
    grown = query.run([link(500, 501)], output)
    assert written(output) == first
    assert table(spark, output) == loaded
    hws.refresh(str(query.checkpoint), str(output))
    second = written(output)
    assert table(spark, output) == grown
    hws.refresh(str(query.checkpoint), str(output))
    assert written(output) == second, "it is up to date"
    assert query.run([link(500, 501, "delete"), link(4, 5, "delete")], output) == table(spark, output)


def test_a_current_table_that_is_not_known_to_be_whole_is_written_anew(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, output = Kept(spark, tmp_path, monkeypatch), tmp_path / "out"
    query.run(CHAIN, output)
    (output / "reach" / "current" / "_headwater").unlink()  # a driver died while Spark wrote the table
    for part in (output / "reach" / "current").glob("*part-*"):
        part.unlink()
    assert query.run([link(500, 501)], output) == table(spark, output)
    assert query.run([link(502, 503)], tmp_path / "other") == table(spark, tmp_path / "other")
    (output / "reach" / "current" / "_headwater").write_text('{"query": []')
    assert query.run([link(504, 505)], output) == table(spark, output)


def test_the_note_of_another_checkpoint_or_of_its_future_is_not_believed(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, output, copy = Kept(spark, tmp_path, monkeypatch), tmp_path / "out", tmp_path / "copy"
    query.run(CHAIN, output)
    shutil.copytree(query.checkpoint, copy)
    query.run([link(500, 501)], output)
    hws.refresh(str(query.checkpoint), str(output))
    shutil.rmtree(query.checkpoint)
    copy.rename(query.checkpoint)
    (query.source / "001.json").unlink()
    shutil.rmtree(output / "reach" / "changes")  # of a future that will not be
    assert query.run([link(600, 601), link(602, 603)], output) == table(spark, output)
    shutil.rmtree(query.checkpoint)
    shutil.rmtree(query.source)
    shutil.rmtree(output / "reach" / "changes")
    (output / "reach" / "_headwater").unlink()
    (output / "reach" / "current").rename(tmp_path / "current")
    query.run([link(1, 2)], output)
    shutil.rmtree(output / "reach" / "current")
    (tmp_path / "current").rename(output / "reach" / "current")
    assert query.run([link(2, 3)], output) == table(spark, output)


def test_a_run_that_was_overtaken_leaves_the_output_to_the_other(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, output = Kept(spark, tmp_path, monkeypatch), tmp_path / "out"
    state = query.checkpoint / "headwater"
    query.run(CHAIN, output, current="always")
    first, held = written(output), table(spark, output)

    def overtake(*_: Any) -> None:
        opened = Checkpoint(str(query.checkpoint))
        assert opened.manifest is not None
        opened.resume(opened.manifest.definition)

    put_beside = BatchFolders.put_beside
    with monkeypatch.context() as here:  # another run opens the checkpoint while the new table is written
        here.setattr(BatchFolders, "put_beside", lambda *given: (put_beside(*given), overtake()))
        with pytest.raises(StreamingQueryException, match=r"error\[HW931\]: another run has opened"):
            query.run([link(500, 501)], output, current="always")
    assert (written(output), table(spark, output)) == (first, held)
    assert {one.name for one in (output / "reach").iterdir()} == {"changes", "current", "_headwater"}
    assert list((state / "feed").glob("1-e*")), "the other run tells the batch"
    assert not (state / "feed" / "1-published").exists()
    with pytest.raises(StreamingQueryException, match=r"error\[HW931\]: another run has opened"):
        query.run([link(502, 503)], output, current="always", foreach_changes=overtake)
    assert not (state / "feed" / "2-published").exists()
    assert query.run([link(504, 505)], output, current="always") == table(spark, output)
    assert len(list((state / "feed").glob("*-published"))) == 4
    assert {one.name for one in (output / "reach" / "changes").glob("*.parquet")} == {
        f"batch-{batch:08d}-0.parquet" for batch in range(4)
    }


def test_what_counts_is_what_the_process_that_writes_can_reach(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the one that starts a query, which through Spark Connect is another one."""
    drop(tmp_path / "in", 0, [link(1, 2)])
    links, place = {"link": stream(spark, tmp_path / "in")}, str(tmp_path / "check")
    started = Sink.__post_init__

    def without_jvm(sink: Sink) -> None:
        with monkeypatch.context() as here:
            here.setattr(hadoop, "is_there", lambda: False)
            started(sink)

    monkeypatch.setattr(Sink, "__post_init__", without_jvm)
    query = hws.maintain(
        hw.compile(LINKS), links, checkpoint=place, output=f"{FAR}{tmp_path}/out", shards=1, trigger=NOW
    )
    finish(query)
    assert (tmp_path / "out" / "reach" / "changes" / "batch-00000000-0.parquet").exists()


@pytest.mark.parametrize(
    ("output", "form", "problem"),
    [
        (None, "delta", "needs a place"),
        (None, "iceberg", "needs a place"),
        (None, "kafka", "needs a topic"),
        ("/data/tables", "iceberg", "as in output='catalog.database'"),
    ],
)
def test_a_format_says_what_output_it_needs(output: str | None, form: str, problem: str) -> None:
    with pytest.raises(hw.DataError, match=problem):
        Sink(output, form, {}, "auto")
    Sink(None, "kafka", {"topic": "changes"}, "auto")
