"""Compiled loops where neither the package nor the user's home can be written, in processes that have no right to."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headwater
from tests.spark.test_permissions import without_privilege

RUN = """
import numpy as np
from headwater.engine.border.checksum import checksum
from headwater.engine.store import kernels
print(checksum(np.arange(100)))
"""


@pytest.fixture(scope="module")
def hardened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a copy of the package, a home and an empty folder, none of which can be written."""
    folder = tmp_path_factory.mktemp("hardened")
    package = Path(headwater.__file__).parent
    shutil.copytree(package, folder / "src" / "headwater", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "home").mkdir()
    inner = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    for path in inner:
        path.chmod(0o555)
    yield folder
    for path in inner:
        path.chmod(0o755)


def run(hardened: Path, temporary: Path, around: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG", "HOME"))}
    env |= {"PYTHONPATH": str(hardened / "src"), "TMPDIR": str(temporary), "HOME": str(hardened / "home"), **more}
    done = subprocess.run(
        [sys.executable, "-c", RUN], env=env, cwd=around or hardened, capture_output=True, text=True, check=False,
        preexec_fn=without_privilege,
    )  # fmt: skip
    if done.returncode == 77:
        pytest.skip("root may write everywhere here")
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1].isdigit()
    assert not list(hardened.rglob("*.nbi"))
    return done


def test_loops_are_kept_in_a_private_temporary_folder(hardened: Path, tmp_path: Path) -> None:
    assert not run(hardened, tmp_path).stderr
    (folder,) = tmp_path.glob("headwater-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert any("_checksum" in path.name for path in folder.rglob("*.nbc"))
    again = run(hardened, tmp_path, NUMBA_DEBUG_CACHE="1")
    assert "data loaded from" in again.stdout
    assert "data saved to" not in again.stdout


def test_without_a_home_nothing_is_left_in_the_working_folder(hardened: Path, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    (tmp_path / "around").mkdir()
    run(hardened, tmp_path / "temporary", tmp_path / "around", HOME="~")
    assert list((tmp_path / "temporary").glob("headwater-*"))
    assert not list((tmp_path / "around").iterdir())


@pytest.mark.parametrize("taken", ["by others", "by a link"])
def test_a_folder_that_others_can_write_to_is_not_used(taken: str, hardened: Path, tmp_path: Path) -> None:
    """What is loaded from it would be run: then nothing is kept, and one warning names the way out."""
    place, elsewhere = tmp_path / f"headwater-{os.geteuid()}", tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if taken == "by others":
        place.mkdir()
        place.chmod(0o777)
    else:
        place.symlink_to(elsewhere)
    done = run(hardened, tmp_path)
    assert done.stderr.count("RuntimeWarning") == 1
    assert "set NUMBA_CACHE_DIR to a folder that only this user can write to" in done.stderr
    assert not [*place.iterdir(), *elsewhere.iterdir()]


def test_the_folder_that_the_variable_names_is_used(hardened: Path, tmp_path: Path) -> None:
    assert not run(hardened, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "chosen")).stderr
    assert list((tmp_path / "chosen").rglob("*.nbc"))
    assert not list(tmp_path.glob("headwater-*"))
