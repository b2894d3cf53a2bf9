"""Settings that every test shares: random tests keep no clock and draw the same examples on every machine; `make soak`
draws anew each time, and many more; `make mutants` draws few, because it runs them often.

All that `make soak` could run takes days. So it runs the tests in an order that its seed chooses, and ends after some
minutes: what is left then is skipped, and another run begins elsewhere.

Under `pytest -n`, the tests that share a Spark session run in one process, one after the other; the other files of
`tests/spark` stay together, file by file, and any other test goes to whichever process is free. What takes long begins
first, so that no process waits for the other at the end.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# A shell that starts the tests in the background has Ctrl-C ignored in all its children; tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("default", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", settings.get_profile("default"), derandomize=False, max_examples=2_000)
settings.register_profile("mutants", settings.get_profile("default"), max_examples=20)
settings.load_profile("default")

ROOT = Path(__file__).parents[1]
LONG = ("spark", "scale", "provenance", "engine", "time", "exchange", "network", "sql", "database", "rewrite")
"""The folders of tests that take a while, in the order in which they begin."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("soak")
    group.addoption("--soak-seed", type=int, help="run the tests in the order that this number chooses")
    group.addoption("--soak-until", type=float, help="skip what has not begun by this moment, in seconds since 1970")


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption("--soak-seed")
    return None if seed is None else f"soak: the order of seed {seed}"


def pytest_runtest_setup(item: pytest.Item) -> None:
    until = item.config.getoption("--soak-until")
    if until is not None and time.time() > until:
        pytest.skip("the time of this run is over")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process more than cores: the one that shares a Spark session spends half of its time waiting for Spark."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """As `--dist=loadgroup`, whose marks do not reach the scheduler under every version of pytest."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return together(nodeid)

    return Together(config, log)


def together(nodeid: str) -> str:
    """What a test has in common with those that must run in the same process."""
    path = nodeid.partition("::")[0]
    if not path.startswith("tests/spark/"):
        return nodeid
    return "spark" if _shares_spark(path) else path


@cache
def _shares_spark(path: str) -> bool:
    return re.search(r"def \w+\([^)]*\bspark: Any", (ROOT / path).read_text(encoding="utf-8")) is not None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) and together(item.nodeid) != "spark":
            raise pytest.UsageError(f"{item.nodeid} shares the Spark session: write `spark: Any`, by which it is found")
    seed = config.getoption("--soak-seed")
    if seed is not None:
        items.sort(key=lambda item: hashlib.sha256(f"{seed} {item.nodeid}".encode()).digest())
    elif hasattr(config, "workerinput"):  # otherwise they run in the order in which they were asked for
        items.sort(key=lambda item: _rank(item.path))


def _rank(path: Path) -> int:
    folder = path.relative_to(ROOT / "tests").parts[0] if path.is_relative_to(ROOT / "tests") else ""
    return LONG.index(folder) if folder in LONG else len(LONG)
