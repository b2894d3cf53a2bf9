"""Spark Connect: the same answers through a session whose driver is elsewhere; another session reads its state."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

from headwater import spark as hws
from tests.spark.conftest import SRC
from tests.spark.test_maintain import closure, lowest

pytestmark = pytest.mark.soak

DRIVER = Path(__file__).with_name("connect_driver.py")
# The links after each of the driver's batches; the first brings a static row along.
STATES = [
    {(0, 1), (1, 2), (2, 3), (20, 21)},
    {(0, 1), (2, 3), (20, 21), (0, 9)},
    {(0, 1), (2, 3), (20, 21), (9, 3)},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("connect")


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


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Any]:
    env = os.environ | {
        "PYTHONPATH": str(SRC), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": str(home(folder)),
    }  # fmt: skip
    command = [sys.executable, str(DRIVER), str(folder)]
    made = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
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


def test_a_changed_program_is_refused(told: dict[str, Any]) -> None:
    assert "the program has changed" in told["changed"]
