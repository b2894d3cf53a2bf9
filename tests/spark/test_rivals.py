"""Two real drivers on one checkpoint at once, which start again whenever they are stopped; some are killed.

Whoever loses says so and does no harm: in the end every batch was applied once, by somebody, the state can be read, and
the output is what one driver alone would have written.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.spark.conftest import PATIENCE, SRC
from tests.spark.test_kills import assert_right, written

DRIVER = Path(__file__).with_name("rivals_driver.py")
BATCHES = 6


def start(folder: Path, name: str, starts: int, step: int = 0) -> subprocess.Popen[bytes]:
    env = os.environ | {"PYTHONPATH": str(SRC), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(DRIVER), str(folder), name, str(starts), str(step)]
    with (folder / f"told-{name}").open("w") as out, (folder / f"problems-{name}").open("w") as err:
        return subprocess.Popen(command, env=env, stdout=out, stderr=err, start_new_session=True)


def finish(driver: subprocess.Popen[bytes], folder: Path, name: str) -> list[str]:
    """What a driver printed; its JVM and workers go with it."""
    try:
        code = driver.wait(PATIENCE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
    assert code in (0, -signal.SIGKILL), (folder / f"problems-{name}").read_text()[-3000:]
    return (folder / f"told-{name}").read_text().splitlines()


def is_sparks_own(line: str) -> bool:
    """Whether Spark's notes of batches stopped a query: it has many words for two that write them at once."""
    return not any(words in line for words in ("error[HW", "FOREACH_BATCH_USER_FUNCTION_ERROR", "Traceback"))


def by_batch(folder: Path, views: list[set[tuple[int, int]]]) -> list[set[tuple[int, int]]]:
    """The view after each batch.

    Where one driver notes that it saw a file and its rival notes the batch, Spark puts the next file into that batch.
    """
    noted = sorted((folder / "state" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    return [views[json.loads(path.read_text().splitlines()[-1])["logOffset"]] for path in noted]


def contend(folder: Path, seed: int) -> None:
    dice = random.Random(seed)
    views = written(folder, dice, BATCHES)
    steps = {"a": dice.randrange(20, 90), "b": dice.choice([0, dice.randrange(20, 90)])}
    both = {name: start(folder, name, 4, step) for name, step in steps.items()}
    told = [line for name, driver in both.items() for line in finish(driver, folder, name)]
    last = finish(start(folder, "c", 1), folder, "c")
    stops = [line for line in told if line.startswith('"')]
    for line in stops:
        assert "error[HW931]: another run has opened" in line or is_sparks_own(line), line
    assert last[0] == "done", last
    assert_right(folder, last[-1], by_batch(folder, views))
    current = pq.read_table(folder / "out" / "reach" / "current").to_pylist()
    assert sorted(tuple(row.values()) for row in current) == sorted(views[-1])


def test_two_drivers_at_once(tmp_path: Path) -> None:
    contend(tmp_path, 1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 22))
def test_two_drivers_at_once_many_times(tmp_path: Path, seed: int) -> None:
    contend(tmp_path, seed)
