"""A real standalone cluster, a master and two workers on loopback: the same answers, also while executors die.

All of it talks in secret.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.spark.conftest import PATIENCE, SECRET_SETTINGS, SRC, free_port
from tests.spark.test_connect import fed, listed
from tests.spark.test_maintain import closure, lowest

HOME = Path(pyspark.__file__).parent
DRIVER = Path(__file__).with_name("cluster_driver.py")
CHAIN = {(at, at + 1) for at in range(11)}
QUERIES = (("decomposed", closure, None), ("gang", lowest, "gang"), ("shuffle", lowest, "shuffle"))


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("cluster")
    port = free_port()
    settings = "".join(f"{name} {value}\n" for name, value in SECRET_SETTINGS.items())
    (folder / "spark-defaults.conf").write_text(settings)
    env = os.environ | {
        "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(SRC), "SPARK_WORKER_DIR": str(folder), "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_CONF_DIR": str(folder),
    }  # fmt: skip
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> None:
        command = [str(HOME / "bin" / "spark-class"), *words]
        started.append(
            subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        )

    start("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    url = f"spark://127.0.0.1:{port}"
    for _ in range(2):
        start("org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "1g", "--webui-port", "0", url)
    yield url
    for one in started:
        one.send_signal(signal.SIGTERM)
    for one in started:
        one.wait(PATIENCE)


@pytest.fixture(scope="module")
def told(master: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    env = os.environ | {"PYTHONPATH": str(SRC), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(DRIVER), master, str(tmp_path_factory.mktemp("driver"))]
    made = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE)
    assert made.returncode == 0, made.stderr[-3000:]
    return dict(json.loads(made.stdout.splitlines()[-1]))


def test_an_executor_dies_in_a_round_of_evaluate(told: dict[str, Any]) -> None:
    assert told["in a round"] == listed(lowest(CHAIN))


@pytest.mark.parametrize("name", ["gang", "shuffle", "reach", "back", "alone"])
def test_a_worker_and_an_executor_die_while_views_are_used(told: dict[str, Any], name: str) -> None:
    """What was computed before is right and whole then, and when it is used again."""
    reached = closure(CHAIN)
    low = lowest(CHAIN)
    expected = {"gang": low, "shuffle": low, "reach": reached, "alone": reached, "back": {(y, x) for x, y in reached}}
    for when in ("before", "meanwhile", "afterwards"):
        assert told[when][name] == listed(expected[name]), when


def test_gangs_talk_in_secret_where_the_cluster_does(told: dict[str, Any]) -> None:
    assert told["encrypted"] == [True]


def test_executors_die_in_batches(told: dict[str, Any]) -> None:
    """One dies in a batch of shards side by side, one in that of a gang, one in a round of a shuffle; nothing is lost,
    nothing comes twice."""
    states = [CHAIN, CHAIN - {(5, 6)}]
    for name, expected, exchange in QUERIES:
        assert told[name]["view"] == listed(expected(states[-1]))
        assert told[name]["feed"] == fed([expected(links) for links in states])
        assert told[name]["exchange"] == exchange
