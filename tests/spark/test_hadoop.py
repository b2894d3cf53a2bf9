"""Checkpoints that only Hadoop's clients reach: a scheme of its own, on file systems that come with Spark."""

from __future__ import annotations

import json
import os
import pickle
import signal
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater import spark as hws
from headwater.core.errors import StateError
from headwater.spark.folders import open_folder
from headwater.spark.folders.hadoop import HadoopFolder
from headwater.spark.folders.relay import RelayedFolder
from tests.spark.conftest import FAR
from tests.spark.folder_checks import check_files
from tests.spark.test_maintain import (
    CLOSURE,
    COMPONENTS,
    NOW,
    drop,
    finish,
    link,
    lowest,
    replayed,
    rows,
    stream,
)
from tests.spark.workers import python_workers

HUB = {(at, 0) for at in range(1, 106)} | {(0, -at) for at in range(1, 106)}  # a closure large enough for a snapshot


def through_hub(links: set[tuple[int, int]]) -> set[tuple[int, int]]:
    return links | {(x, y) for x, hub in links if hub == 0 for other, y in links if other == 0}


def forget() -> None:
    """Have the next tasks done by workers that know nothing."""
    for worker in python_workers():
        os.kill(worker, signal.SIGKILL)


def test_a_relay_to_hadoop_follows_no_links(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "served" / "folder").symlink_to(tmp_path)
    where = pickle.loads(pickle.dumps(open_folder(f"{FAR}{tmp_path}/served")))
    assert isinstance(where, RelayedFolder)
    for name in ("link", "folder/secret", "folder/new"):
        with pytest.raises(StateError, match="over a symbolic link, which a relay does not follow"):
            where.read(name)
        with pytest.raises(StateError, match="over a symbolic link, which a relay does not follow"):
            where.write(name, [b"1"])
    assert {one.name for one in tmp_path.iterdir()} == {"secret", "served"}
    assert (tmp_path / "secret").read_text() == "secret"


def test_folders_through_hadoop(spark: Any, tmp_path: Path) -> None:
    where = open_folder(f"{FAR}{tmp_path}/home")
    assert where.moves_folders
    assert where.folders() == []
    where.write("new/file", [b"1"])
    where.replace_folder("new", "table")
    where.write("newer/file", [b"2"])
    where.replace_folder("newer", "table")
    assert (where.folders(), where.read("table/file")) == (["table"], b"2")
    where.remove_folder("table")
    where.remove_folder("table")
    assert where.folders() == []
    assert where.missing(["table/file"]) == ["table/file"]


@pytest.mark.parametrize("scheme", ["far", "viewfs"])
@pytest.mark.parametrize("relayed", [False, True])
def test_files_through_hadoop(spark: Any, tmp_path: Path, scheme: str, relayed: bool) -> None:
    """`viewfs:` has a rename that replaces nothing, and is what Arrow cannot open here; `far:` has the plain one."""
    where = open_folder(f"{FAR.replace('far', scheme)}{tmp_path}/a folder")
    assert isinstance(where, HadoopFolder)
    if relayed:
        where = pickle.loads(pickle.dumps(where))
        assert isinstance(where, RelayedFolder)
    check_files(where, "FileNotFoundException")
    (tmp_path / "a folder" / "c").write_text("a file, no folder")
    with pytest.raises(StateError, match=r"cannot write .*c/d: "):
        where.write("c/d", [b"1"])


@pytest.mark.parametrize("scheme", ["far", "viewfs"])
def test_of_two_that_create_a_file_one_is_told(spark: Any, tmp_path: Path, scheme: str) -> None:
    """Also if the other one comes after the first look."""
    where = open_folder(f"{FAR.replace('far', scheme)}{tmp_path}")
    assert isinstance(where, HadoopFolder)
    rename = where._rename
    where._rename = lambda *paths: (tmp_path / "name").write_text("mine") and rename(*paths)  # type: ignore[method-assign]
    assert not where.create("name", b"other")
    assert (tmp_path / "name").read_text() == "mine"
    assert where.names() == ["name"]


def test_a_file_system_that_nobody_has(spark: Any) -> None:
    with pytest.raises(StateError, match=r"cannot open dbfs:/x through Spark: .*; the session needs the file system's"):
        open_folder("dbfs:/x")


def test_a_query_whose_state_and_output_only_hadoop_reaches(spark: Any, tmp_path: Path) -> None:
    source, checkpoint, output = tmp_path / "in", f"{FAR}{tmp_path}/check", f"{FAR}{tmp_path}/out"
    drop(source, 0, [link(*pair) for pair in sorted(HUB)])
    drop(source, 1, [link(3, 0, "delete"), {"x": 5, "_change_type": "insert"}])

    def run(text: str = CLOSURE) -> None:
        links = {"link": stream(spark, source)}
        finish(hws.maintain(hw.compile(text), links, checkpoint=checkpoint, output=output, shards=1, trigger=NOW))

    run()
    forget()
    first = HUB - {(3, 0)}
    assert rows(hws.view(checkpoint, "reach")) == through_hub(first)
    drop(source, 2, [link(3, 0), link(0, -7, "delete")])
    forget()
    run()
    second = HUB - {(0, -7)}
    assert rows(hws.view(checkpoint, "reach")) == through_hub(second)
    assert rows(spark.read.parquet(f"{output}/reach/current")) == through_hub(second)
    states = dict(enumerate((HUB, first, second)))
    assert replayed(spark, tmp_path / "out", "reach") == {batch: through_hub(links) for batch, links in states.items()}
    (rejected,) = (tmp_path / "check" / "headwater" / "rejected").glob("*.jsonl")
    assert json.loads(rejected.read_text())["reason"] == "column `y`: a null does not fit"
    assert list((tmp_path / "check" / "headwater").glob("shard-*/snapshot-*"))
    with pytest.raises(StateError, match=r"(?s)far:.*belongs to another query.*\+ reach\(X, X\) :- link\(X, _\)"):
        run(CLOSURE + " reach(X, X) :- link(X, _).")


@pytest.mark.parametrize("exchange", ["gang", "shuffle"])
def test_shards_that_exchange_rows_over_state_that_only_hadoop_reaches(
    spark: Any, tmp_path: Path, exchange: str
) -> None:
    source, checkpoint = tmp_path / "in", f"{FAR}{tmp_path}/check"
    links = {(at, at + 1) for at in range(6)}
    drop(source, 0, [link(*pair) for pair in sorted(links)])
    told: list[set[tuple[str, ...]]] = []

    def run() -> None:
        finish(
            hws.maintain(
                hw.compile(COMPONENTS), {"link": stream(spark, source)}, checkpoint=checkpoint, shards=2,
                exchange=exchange, foreach_changes=lambda changes, _: told.append(rows(changes["low"])), trigger=NOW,
            )
        )  # fmt: skip

    run()
    drop(source, 1, [link(2, 3, "delete")])
    forget()
    run()
    assert rows(hws.view(checkpoint, "low")) == lowest(links - {(2, 3)})
    assert told[1] == {(at, low, kind, 1) for at in (3, 4, 5, 6) for low, kind in ((0, "delete"), (3, "insert"))}


def test_a_path_without_a_scheme_is_where_spark_has_it(spark: Any, tmp_path: Path) -> None:
    """In the default file system of the session, for state and output as for Spark's own part of the checkpoint."""
    source, checkpoint, output = tmp_path / "in", f"/all{tmp_path}/check", f"/all{tmp_path}/out"
    drop(source, 0, [link(1, 2), link(2, 3)])
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    before = settings.get("fs.defaultFS")
    settings.set("fs.defaultFS", "far://store/")
    try:
        links = spark.readStream.schema("x long, y long, _change_type string").json(f"file://{source}")
        finish(hws.maintain(hw.compile(CLOSURE), {"link": links}, checkpoint=checkpoint, output=output, trigger=NOW))
        assert rows(hws.view(checkpoint, "reach")) == {(1, 2), (2, 3), (1, 3)}
        assert rows(spark.read.parquet(f"{output}/reach/current")) == {(1, 2), (2, 3), (1, 3)}
        told: list[int] = []
        local = hws.maintain(
            hw.compile(CLOSURE), {"link": links}, checkpoint=f"file://{tmp_path}/local", shards=1,
            foreach_changes=lambda changes, _: told.append(changes["reach"].count()), trigger=NOW,
        )  # fmt: skip
        finish(local)
    finally:
        settings.set("fs.defaultFS", before)
    assert {one.name for one in (tmp_path / "check").iterdir()} >= {"headwater", "offsets", "commits"}
    assert (tmp_path / "out" / "reach" / "changes" / "batch-00000000-0.parquet").exists()
    assert told == [3]
    assert (tmp_path / "local" / "headwater" / "manifest-0").exists()
