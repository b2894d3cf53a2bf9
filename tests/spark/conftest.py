"""One Spark session for the tests that share it; `tests/conftest.py` sees to it that one process runs them all."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.spark.session.session import local_session

SRC = Path(__file__).parents[2] / "src"

PATIENCE = 1800  # seconds: so long that only what never ends takes longer, on a busy machine too

# Java for minutes, not for days: it starts with half the work, in the processes that tests start as well.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


FAR = "far://store/all"  # then a path of this machine: a file system that is there, and that Hadoop alone knows
FAR_SETTINGS = {
    "spark.hadoop.fs.far.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
    "spark.hadoop.fs.viewfs.overload.scheme.target.far.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "spark.hadoop.fs.viewfs.mounttable.store.link./all": "file:///",
}


# Of all processes of a cluster that talks in secret.
SECRET_SETTINGS = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": "a secret of tests",
    "spark.network.crypto.enabled": "true",
}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    session = local_session(
        "headwater tests",
        {
            "spark.master": "local[3,4]",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.executorEnv.PYTHONPATH": str(SRC),
            **FAR_SETTINGS,
        },
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
