"""Shapes of ten thousand rows and more, each in a process of its own: a crash is a failure that names its case."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.scale.shapes import SHAPES

_ROOT = Path(__file__).parents[2]
_TIMED = "timed"
_ALL = (*SHAPES, _TIMED)
_BOUNDS = {  # kept apart from the other kernels: numba's cache does not tell them apart
    "NUMBA_BOUNDSCHECK": "1",
    "NUMBA_CACHE_DIR": str(_ROOT / "build" / "bounds_checked"),
}
_BOUNDED = {  # shapes whose kernels are run with bounds checks, and a size at which they still grow, sort and rehash
    "closure_2_sparse": 0.4,
    "closure_3": 0.6,
    "closure_4": 0.4,
    "dyck": 0.3,
    "above": 0.3,
}
_SMALLER = {  # shapes that take a minute at their full size, which `make soak` gives them
    "andersen": 0.6,
    "closure_2_chains": 0.5,
    "cspa": 0.5,
    "galen": 0.5,
    _TIMED: 0.5,
}


def run(name: str, seed: int, size: float = 1.0, settings: Mapping[str, str] | None = None) -> None:
    module = ["tests.scale.timed"] if name == _TIMED else ["tests.scale.run", name]
    command = [sys.executable, "-X", "faulthandler", "-m", *module, str(seed), str(size)]
    path = os.pathsep.join([str(_ROOT), *sys.path])
    done = subprocess.run(
        command,
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": path, **(settings or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return
    steps = done.stdout.strip().splitlines() or ["the start"]
    if done.returncode < 0:
        ended = f"ended by {signal.Signals(-done.returncode).name} in `{steps[-1]}`"
    else:
        ended = steps[-1]
    pytest.fail(f"{' '.join(command[3:])}: {ended}\n{done.stderr[-3_000:]}", pytrace=False)


@pytest.mark.parametrize("name", _ALL)
def test_oracle_at_size(name: str) -> None:
    run(name, 0, _SMALLER.get(name, 1.0))


@pytest.mark.parametrize("name", _BOUNDED)
def test_oracle_with_bounds_checked(name: str) -> None:
    run(name, 0, _BOUNDED[name], _BOUNDS)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(11))
@pytest.mark.parametrize("name", _ALL)
def test_oracle_at_size_more_seeds(name: str, seed: int) -> None:
    run(name, seed)


@pytest.mark.soak
@pytest.mark.parametrize("name", _ALL)
def test_oracle_with_bounds_checked_everywhere(name: str) -> None:
    run(name, 1, 0.5, _BOUNDS)
