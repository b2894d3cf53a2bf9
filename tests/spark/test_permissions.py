"""A permission that is taken away while a query runs: a clear failure, and a restart that goes on from there."""

from __future__ import annotations

import ctypes
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.conftest import PATIENCE, SRC
from tests.spark.test_kills import assert_right, written

DRIVER = Path(__file__).with_name("permissions_driver.py")
_DROP = 24  # of `prctl`: what a process may do that others may not
_OVERRIDE = (1, 2)  # root's right to write and to read what nobody may


def without_privilege() -> None:
    """Root goes on as a user who merely owns its files."""
    if not os.getuid() and any(ctypes.CDLL(None).prctl(_DROP, right, 0, 0, 0) for right in _OVERRIDE):
        os._exit(77)


def test_permissions_that_are_taken_while_a_query_runs(tmp_path: Path) -> None:
    """From a worker, from the driver where it commits, and where the changes go: there the batch is told later."""
    views = written(tmp_path, random.Random(7), 4)
    (tmp_path / "in").rename(tmp_path / "later")
    (tmp_path / "in").mkdir()
    env = os.environ | {"PYTHONPATH": str(SRC), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    made = subprocess.run(
        [sys.executable, str(DRIVER), str(tmp_path)], env=env, capture_output=True, text=True, timeout=PATIENCE,
        preexec_fn=without_privilege,
    )  # fmt: skip
    if made.returncode == 77:
        pytest.skip("root may write everywhere here")
    assert made.returncode == 0, made.stderr[-3000:]
    *_, said, view = made.stdout.splitlines()
    failures = json.loads(said)
    places = ("state/headwater/shard-0/log-1-", "state/headwater/manifest-2", "out/reach/changes/batch-00000003-")
    for (text, committed), place, batch in zip(failures, places, (0, 1, 3), strict=True):
        assert f"cannot write {tmp_path}/{place}" in text
        assert "permission is missing (Permission denied); grant it and start again" in text
        assert committed == batch
    assert_right(tmp_path, view, views)
