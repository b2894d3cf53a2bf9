"""What a preflight reports; workers that cannot run shards are told before a query starts, by a real Spark.

Its workers run another Python.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

import headwater
from headwater import spark as hws
from headwater.spark.session.preflight import Preflight, Verdict, _workers

DRIVER = """
import sys
import headwater as hw
from headwater import spark as hws
from headwater.spark.session.session import local_session

spark = local_session(settings={"spark.master": "local[1]", "spark.python.daemon.module": "pyspark.daemon"})
links = spark.readStream.schema("a int, b int").json(sys.argv[1])
try:
    hws.maintain(hw.compile("reach(X, Y) :- link(X, Y)."), {"link": links}, checkpoint=sys.argv[2])
    print("started")
except hw.HeadwaterError as problem:
    print(problem)
spark.stop()
"""


def told(folder: Path, path: str) -> str:
    """What a driver says whose workers look for modules in `path` alone."""
    python = folder / "python"
    if not python.exists():
        venv.create(folder / "environment", with_pip=False)
        python.write_text(f'#!/bin/sh\nPYTHONPATH="$WORKERS_PATH" exec {folder}/environment/bin/python "$@"\n')
        python.chmod(0o755)
    (folder / "arriving").mkdir(exist_ok=True)
    source = Path(headwater.__file__).parents[1]
    settings = {**os.environ, "PYTHONPATH": str(source), "PYSPARK_PYTHON": str(python), "WORKERS_PATH": path}
    arguments = [sys.executable, "-c", DRIVER, str(folder / "arriving"), str(folder / "checkpoint")]
    done = subprocess.run(arguments, capture_output=True, text=True, env=settings, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def others(tmp_path: Path) -> Path:
    """A folder with every installed package except Headwater."""
    (tmp_path / "packages").mkdir()
    for entry in sys.path:
        if entry.endswith("site-packages"):
            for one in Path(entry).iterdir():
                if one.suffix != ".pth" and not one.name.startswith(("headwater", "__pycache__")):
                    (tmp_path / "packages" / one.name).symlink_to(one)
    return tmp_path


def test_an_executor_without_headwater_is_told_at_the_start(others: Path) -> None:
    said = told(others, str(others / "packages"))
    assert said.startswith("error[HW907]: a Python worker of Spark cannot import `headwater`"), said
    assert "hint: install headwater with its dependencies there" in said


def test_an_executor_with_another_version_is_told_at_the_start(others: Path) -> None:
    package = others / "packages" / "headwater"
    source = Path(headwater.__file__).parent
    package.mkdir()
    for one in source.iterdir():
        if one.name not in ("__init__.py", "__pycache__"):
            (package / one.name).symlink_to(one)
    text = (source / "__init__.py").read_text()
    (package / "__init__.py").write_text(text.replace('__version__ = "', '__version__ = "9.'))
    said = told(others, str(others / "packages"))
    assert said.startswith("error[HW907]: a Python worker of Spark has headwater 9."), said


def test_a_report_of_a_session(spark: Any, tmp_path: Path) -> None:
    report = hws.preflight(spark, checkpoint=str(tmp_path / "state"), shards=64)
    assert report.ok
    assert not (tmp_path / "state").exists(), "nothing is written"
    by_name = {check.what: check for check in report.checks}
    assert by_name["slots"].verdict is Verdict.WARNING
    assert by_name["slots"].found == "3 task slots for 64 shards"
    assert f"Spark {spark.version} (local[3,4])" in by_name["driver"].found
    assert f"headwater {headwater.__version__}" in by_name["driver"].found
    assert by_name["checkpoint"].found.endswith("one is refused")
    shown = str(report).splitlines()
    assert shown[0].split()[:2] == ["ok", "driver"]
    assert any(line.startswith("warning  slots") for line in shown)
    assert sum("compiled loops are kept in" in line for line in shown) == 1, "workers that found the same are one"
    assert all(check.verdict is Verdict.OK for check in hws.preflight(spark).checks)


HERE = {
    "python": "/usr/bin/python3", "host": "one", "missing": "", "sees": True, "kept": "/home/me", "memory": 4 << 30,
    "versions": {"python": "3.11", "pyarrow": "0.1", "numba": "0.1", "headwater": headwater.__version__},
}  # fmt: skip


@pytest.mark.parametrize(
    ("found", "verdict", "text"),
    [
        ({}, Verdict.WARNING, "another pyarrow and numba"),
        ({"kept": None}, Verdict.WARNING, "NUMBA_CACHE_DIR"),
        ({"memory": 1 << 20}, Verdict.WARNING, "0.0 GB of memory"),
        ({"memory": None}, Verdict.WARNING, "its memory is unknown"),
        ({"sees": False}, Verdict.ERROR, "error[HW941]: a Python worker on one cannot write to /mnt"),
        ({"missing": "numba"}, Verdict.ERROR, "error[HW907]: a Python worker of Spark cannot import `numba`"),
    ],
)
def test_what_is_wrong_with_a_worker(found: dict[str, Any], verdict: Verdict, text: str) -> None:
    report = Preflight(tuple(_workers([HERE | found], "/mnt")))
    assert report.ok == (verdict is Verdict.WARNING)
    told = [check for check in report.checks if text in check.found + check.advice]
    assert [check.verdict for check in told] == [verdict]
    assert all(line in str(report) for line in told[0].advice.splitlines())
