"""What there is to watch: figures for listeners, and jobs that say in Spark's pages what they are."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming import StreamingQueryListener

import headwater as hw
from headwater import spark as hws
from headwater.spark.session.session import title
from tests.spark.conftest import PATIENCE
from tests.spark.test_maintain import CLOSURE, COMPONENTS, NOW, drop, finish, link, stream


class Watcher(StreamingQueryListener):  # type: ignore[misc]
    """A listener as a user writes one."""

    def __init__(self, checkpoint: str) -> None:
        self.checkpoint = checkpoint
        self.seen: list[dict[str, Any]] = []
        self.ended = False

    def onQueryStarted(self, event: Any) -> None: ...

    def onQueryIdle(self, event: Any) -> None: ...

    def onQueryProgress(self, event: Any) -> None:
        self.seen.append(hws.progress(self.checkpoint, event.progress.batchId))

    def onQueryTerminated(self, event: Any) -> None:
        self.ended = True


def descriptions(spark: Any) -> set[str]:
    """Of all jobs that Spark's pages know."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = (jobs.apply(at).description() for at in range(jobs.size()))
    return {one.get() for one in found if one.isDefined()}


def test_a_listener_gets_the_figures_of_its_batch(spark: Any, tmp_path: Path) -> None:
    source, checkpoint = tmp_path / "in", str(tmp_path / "check")
    for number in range(4):
        drop(source, number, [link(number, number + 1)])
    told: list[dict[str, Any]] = []
    watcher = Watcher(checkpoint)
    spark.streams.addListener(watcher)
    try:
        query = hws.maintain(
            hw.compile(CLOSURE), {"link": stream(spark, source)}, checkpoint=checkpoint, on_batch=told.append, shards=1,
            trigger=NOW,
        )  # fmt: skip
        finish(query)
        ends = time.monotonic() + PATIENCE
        while not watcher.ended and time.monotonic() < ends:
            time.sleep(0.05)
    finally:
        spark.streams.removeListener(watcher)
    assert watcher.seen == told
    assert [one["batch"] for one in told] == [0, 1, 2, 3]
    assert told[3]["changed"] == {"reach": {"inserted": 4, "deleted": 0}}
    assert told[3]["rows"] == {"reach": 10}
    assert json.loads(json.dumps(told)) == told
    assert hws.progress(checkpoint) == told[3]
    assert hws.progress(checkpoint, 99) == {}
    for batch, kept in ((2, 3), (None, 4)):
        profile = hws.profile(checkpoint, batch)
        assert sum(work.kept for work in profile.rules) == kept
        assert "reach" in str(profile)
        assert ", 1 transaction\n" in str(profile)
    with pytest.raises(hw.StateError, match="99"):
        hws.profile(checkpoint, 99)


@pytest.mark.parametrize("exchange", ["gang", "shuffle"])
def test_jobs_say_program_batch_and_round(spark: Any, tmp_path: Path, exchange: str) -> None:
    source, file = tmp_path / "in", tmp_path / f"lowest_{exchange}.dl"
    file.write_text(COMPONENTS)
    drop(source, 0, [link(1, 2), link(2, 3)])
    query = hws.maintain(
        hw.compile_file(file), {"link": stream(spark, source)}, checkpoint=str(tmp_path / "check"), shards=2,
        exchange=exchange, trigger=NOW,
    )  # fmt: skip
    finish(query)
    about = f"headwater {file.name}: low; batch 0 (exchange)"
    expected = {about} if exchange == "gang" else {about, f"{about}, round 1", f"{about}, round 2"}
    assert expected <= descriptions(spark)


def test_evaluate_names_its_jobs(spark: Any) -> None:
    links = spark.createDataFrame([(1, 2), (2, 3)], "x int, y int")
    hws.evaluate(hw.compile(COMPONENTS), {"link": links}, shards=2, exchange="shuffle")
    assert {"headwater: low, rows to their shards", "headwater: low, round 1"} <= descriptions(spark)


def test_a_title_does_not_grow_with_the_program() -> None:
    program = hw.compile("".join(f"v{number}(X) :- base(X)." for number in range(30)))
    assert title(program) == "headwater: v0, v1, v2, v3, v4, ..."
