"""The package as its users meet it: quick to import, and no more names than promised."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import headwater


def test_importing_brings_in_nothing_heavy() -> None:
    script = "import sys, headwater; print(*sorted(m.partition('.')[0] for m in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "headwater" in loaded
    assert not {"pyspark", "numba", "pyarrow", "numpy", "lark", "sqlglot", "typer", "rich"} & set(loaded)


def test_it_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "headwater", "--version"], capture_output=True, text=True, check=True)
    assert headwater.__version__ in done.stdout


def test_every_public_name_is_there() -> None:
    assert {name for name in headwater.__all__ if not hasattr(headwater, name)} == set()
    assert set(headwater.__all__) <= set(dir(headwater))


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        headwater.nonsense  # noqa: B018


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert headwater.__version__ == project["version"]


@pytest.mark.parametrize("extra", ["spark", "connect"])
def test_what_is_installed_for_spark_is_enough(extra: str) -> None:
    """PySpark does not depend on pandas, and its functions over Arrow do not run without."""
    project = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())["project"]
    named = {
        one.partition(">")[0].partition("=")[0].partition("[")[0] for one in project["optional-dependencies"][extra]
    }
    assert {"pandas", "pyspark"} <= named
