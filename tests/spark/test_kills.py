"""Many kills in one run: of the driver at random steps of its batches, of Python workers at random moments.

After every kill the query is started again on the same checkpoint. In the end the view is right, and the feed holds
every batch once, whole: no batch twice, none lost.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.spark.conftest import FAR, PATIENCE, SRC

DRIVER = Path(__file__).with_name("kills_driver.py")


def closure(links: set[tuple[int, int]]) -> set[tuple[int, int]]:
    found = set(links)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


def written(folder: Path, dice: random.Random, batches: int) -> list[set[tuple[int, int]]]:
    """Files of changes for the stream, one per batch; the view after each."""
    (folder / "in").mkdir()
    links: set[tuple[int, int]] = set()
    views = []
    for batch in range(batches):
        went = {link for link in links if dice.random() < 0.3}
        came = {(dice.randrange(9), dice.randrange(9)) for _ in range(5)} - links
        links = links - went | came
        views.append(closure(links))
        changes = [("delete", link) for link in went] + [("insert", link) for link in came]
        path = folder / "in" / f"{batch:03}.json"
        path.write_text("\n".join(json.dumps({"x": x, "y": y, "_change_type": kind}) for kind, (x, y) in changes))
        os.utime(path, (1_000_000 + batch, 1_000_000 + batch))
    return views


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The drivers' folder for what is temporary; a short name, because the paths of sockets are bounded."""
    with tempfile.TemporaryDirectory(prefix="k", dir="/tmp") as made:
        monkeypatch.setenv("TMPDIR", made)
        yield Path(made)


def run(folder: Path, victim: str, step: int, store: str = "") -> tuple[int, str]:
    """A driver in a process group of its own, so that its JVM and workers go with it."""
    env = os.environ | {"PYTHONPATH": str(SRC), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    told, problems = folder / "told", folder / "problems"
    with told.open("w") as out, problems.open("w") as err:
        command = [sys.executable, str(DRIVER), str(folder), victim, str(step), store]
        driver = subprocess.Popen(command, env=env, stdout=out, stderr=err, start_new_session=True)
        try:
            code = driver.wait(PATIENCE)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(driver.pid, signal.SIGKILL)
    assert code in (0, -signal.SIGKILL), problems.read_text()[-3000:]
    return code, told.read_text()


def feed(folder: Path) -> dict[int, Counter[tuple[str, tuple[int, int]]]]:
    """What the change feed says, by batch."""
    found: dict[int, Counter[tuple[str, tuple[int, int]]]] = {}
    for path in sorted((folder / "out" / "reach" / "changes").glob("*.parquet")):
        for row in pq.read_table(path).to_pylist():
            *pair, kind, batch = row.values()
            found.setdefault(batch, Counter())[kind, tuple(pair)] += 1
    return found


@pytest.mark.parametrize(("batches", "drivers", "workers"), [(8, 1, 2), pytest.param(16, 4, 6, marks=pytest.mark.soak)])
def test_many_kills(tmp_path: Path, temporary: Path, batches: int, drivers: int, workers: int) -> None:
    dice = random.Random(11)
    views = written(tmp_path, dice, batches)
    killed = 0
    for _ in range(drivers):
        code, _ = run(tmp_path, "driver", dice.randrange(3, 30))
        killed += code == -9
        assert len(list(temporary.glob("headwater-*"))) <= 1, "each start removes what the one before has left"
    code, told = run(tmp_path, "worker", workers)
    killed += told.count("killed a worker")
    assert code == 0, told
    assert_right(tmp_path, told, views)
    assert killed == drivers + workers
    assert not list(temporary.glob("headwater-*"))


def test_a_kill_of_a_driver_that_has_all_files_in_hand(tmp_path: Path, temporary: Path) -> None:
    """Where workers reach the checkpoint through the driver, their steps are its steps."""
    views = written(tmp_path, random.Random(5), 4)
    code, _ = run(tmp_path, "driver", 31, FAR)
    assert code == -9
    assert list(temporary.glob("headwater-*/file"))
    code, told = run(tmp_path, "nobody", 0, FAR)
    assert code == 0, told
    assert_right(tmp_path, told, views)
    assert not list(temporary.glob("headwater-*"))


def assert_right(folder: Path, told: str, views: list[set[tuple[int, int]]]) -> None:
    """The view at the end is right, and so is every batch of the feed."""
    assert set(map(tuple, json.loads(told.splitlines()[-1]))) == views[-1]
    before: set[tuple[int, int]] = set()
    said = feed(folder)
    for batch, after in enumerate(views):
        expected = {("insert", row) for row in after - before} | {("delete", row) for row in before - after}
        assert said.pop(batch, Counter()) == Counter(expected), f"batch {batch}"
        before = after
    assert not said
