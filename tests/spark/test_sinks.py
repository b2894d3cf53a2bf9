"""When a committed batch is told again: if no part of what it told may be missing, and only then."""

from __future__ import annotations

from pathlib import Path

from headwater.spark.sinks import Sink
from tests.spark.test_checkpoint import BATCHES, Query


def test_a_batch_is_pending_while_all_its_files_are_there(tmp_path: Path) -> None:
    query = Query(tmp_path)
    named = ["feed/0-a-0.parquet", "feed/0-b-0.parquet"]
    reports = query.reports(0, *BATCHES[0])
    manifest = query.driver.commit(query.recipe, 0, reports, metrics={"feed": {"reach": named}})
    sink = Sink(None, "parquet", {}, "auto")
    query.driver.folder.write("feed/0-given-up-0.parquet", [b""])
    for name in named:
        assert not sink.is_pending(query.driver, manifest), "files of an attempt that was given up say nothing"
        query.driver.folder.write(name, [b""])
    assert sink.is_pending(query.driver, manifest)
    query.driver.folder.remove(named[1])  # the driver dies here: everything has been told
    assert not sink.is_pending(query.driver, manifest)
