"""Workers that cannot run shards are told before a query starts, by a real Spark whose workers run another Python."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import headwater

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
