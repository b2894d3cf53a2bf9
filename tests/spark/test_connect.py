"""Spark Connect: the same answers through a session whose driver is elsewhere; another session reads its state."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from headwater import spark as hws
from tests.spark.conftest import FAR_SETTINGS, PATIENCE, SRC, free_port
from tests.spark.test_maintain import closure, lowest

DRIVER = Path(__file__).with_name("connect_driver.py")
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
ENV = os.environ | {"PYTHONPATH": str(SRC), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
# The links after each of the driver's batches; the first brings a static row along.
STATES = [
    {(0, 1), (1, 2), (2, 3), (20, 21)},
    {(0, 1), (2, 3), (20, 21), (0, 9)},
    {(0, 1), (2, 3), (20, 21), (9, 3)},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server of the pip package, in a process of its own."""
    port = free_port()
    settings = {
        "spark.master": "local[2]",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.shuffle.partitions": "2",
        "spark.python.daemon.module": "headwater.spark.daemon",
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        **FAR_SETTINGS,
    }
    folder = tmp_path_factory.mktemp("server")
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command = [str(home(folder) / "bin" / "spark-submit"), *words, "--class", SERVER, "spark-internal"]
    running = subprocess.Popen(
        command, env=ENV | {"SPARK_HOME": str(folder / "home")}, cwd=folder, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        ends = time.monotonic() + PATIENCE
        while not listens(port):
            assert running.poll() is None, "the server has ended"
            assert time.monotonic() < ends, "the server does not listen"
            time.sleep(0.1)
        yield f"sc://127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait(PATIENCE)


def home(folder: Path) -> Path:
    """Spark without its zipped Python: what the server starts then loads from where it is installed, compiled.

    The server gives a new Python ten seconds, which are few where the machine is busy and modules must be compiled.
    """
    made = folder / "home"
    made.mkdir()
    for one in Path(pyspark.__file__).parent.iterdir():
        if one.name != "python":
            (made / one.name).symlink_to(one)
    return made


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def told(folder: Path, server: str) -> dict[str, Any]:
    command = [sys.executable, str(DRIVER), str(folder), server]
    made = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=PATIENCE)
    assert made.returncode == 0, made.stderr[-3000:]
    return dict(json.loads(made.stdout.splitlines()[-1]))


def listed(rows: set[tuple[int, int]]) -> list[list[int]]:
    return sorted(map(list, rows))


def fed(views: list[set[tuple[int, int]]]) -> list[list[Any]]:
    feed: list[list[Any]] = []
    before: set[tuple[int, int]] = set()
    for batch, after in enumerate(views):
        feed += [[batch, "insert", *row] for row in after - before] + [
            [batch, "delete", *row] for row in before - after
        ]
        before = after
    return sorted(feed)


def test_evaluate(told: dict[str, Any]) -> None:
    links = STATES[0] - {(20, 21)}
    assert told["session"].startswith("pyspark.sql.connect")
    assert told["closure"] == listed(closure(links))
    assert told["components"] == listed(lowest(links))
    assert "Spark Connect" in told["gang"]


@pytest.mark.parametrize(("name", "view", "expected"), [("decomposed", "reach", closure), ("shuffle", "low", lowest)])
def test_maintain(spark: Any, told: dict[str, Any], folder: Path, name: str, view: str, expected: Any) -> None:
    views = [expected(links) for links in STATES]
    assert told[name]["exchange"] == ("shuffle" if name == "shuffle" else None)
    assert told[name]["view"] == told[name]["current"] == listed(views[-1])
    assert told[name]["feed"] == fed(views)
    elsewhere = hws.view(str(folder / name), view, spark=spark)
    assert sorted(map(list, elsewhere.collect())) == listed(views[-1])


def test_an_output_that_the_server_s_spark_alone_can_reach(told: dict[str, Any], folder: Path) -> None:
    """Neither Arrow nor a JVM of ours: Spark writes the Parquet files itself, a folder per batch."""
    views = [closure(links) for links in STATES]
    assert told["far output"]["view"] == told["far output"]["current"] == listed(views[-1])
    assert told["far output"]["feed"] == fed(views)
    batches = {one.name for one in (folder / "out" / "far output" / "reach" / "changes").iterdir()}
    assert batches == {f"_batch_id={batch}" for batch in range(len(STATES))}


def test_a_changed_program_is_refused(told: dict[str, Any]) -> None:
    assert "the program has changed" in told["changed"]


def test_a_checkpoint_that_needs_a_jvm_is_refused(told: dict[str, Any]) -> None:
    assert "Spark Connect" in told["far"]
    assert "give a path under one of file:, hdfs:" in told["far"]
