"""Delta, Iceberg and Kafka, each as it is: what a query puts there, and what it reads from there.

Every format runs in a session of its own, with packages that Spark fetches; where they cannot be had, or there is no
build for the Spark that is installed, the test is skipped.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.spark.broker import broker
from tests.spark.conftest import PATIENCE, SRC, free_port
from tests.spark.connectors import BROKER, BUILDS, SPARK, NotFetched, fetched
from tests.spark.test_maintain import closure

DRIVER = Path(__file__).with_name("formats_driver.py")
AGAIN = 2  # the batch that was told when the driver stopped


def jars_of(form: str) -> list[list[str]]:
    packages = BUILDS.get(SPARK, {}).get(form)
    if packages is None:
        pytest.skip(f"there is no build of {form} for Spark {SPARK}; `make formats` takes one that has it")
    try:
        return fetched(packages, BROKER) if form == "kafka" else fetched(packages)
    except NotFetched as problem:
        pytest.skip(f"the packages of {form} cannot be fetched here: {problem}")


def changes(folder: Path, dice: random.Random, batches: int) -> list[set[tuple[Any, Any]]]:
    """Files of changes, one per batch; the view after each."""
    (folder / "later").mkdir()
    links: set[tuple[Any, Any]] = set()
    views = []
    for batch in range(batches):
        went = {link for link in sorted(links) if dice.random() < 0.4}
        came = {(str(dice.randrange(7)), str(dice.randrange(7))) for _ in range(5)} - links
        links = links - went | came
        views.append(closure(links))
        lines = [(*link, "delete") for link in went] + [(*link, "insert") for link in came]
        path = folder / "later" / f"{batch}.json"
        path.write_text(
            "\n".join(json.dumps(dict(zip(("src", "dst", "_change_type"), one, strict=True))) for one in lines)
        )
        os.utime(path, (1_000_000 + batch, 1_000_000 + batch))
    return views


def driven(form: str, folder: Path, jars: list[str], servers: str) -> dict[str, Any]:
    env = os.environ | {"PYTHONPATH": str(SRC), "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(DRIVER), form, str(folder), ",".join(jars), servers]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def tuples(rows: list[list[Any]]) -> set[tuple[Any, ...]]:
    return set(map(tuple, rows))


@pytest.mark.parametrize("form", ["kafka", "delta", "iceberg"])
def test_a_format_gets_every_batch_and_is_read_as_a_source(form: str, tmp_path: Path) -> None:
    jars, *more = jars_of(form)
    views = changes(tmp_path, random.Random(3), 5)
    brokers = broker(more[0], tmp_path / "broker", free_port(), free_port()) if more else nullcontext("")
    with brokers as servers:
        said = driven(form, tmp_path, jars, servers)
    assert "stopped in batch 2" in said["failures"][0]
    assert "nowhere" in said["failures"][1]
    assert tuples(said["view"]) == views[-1]
    if form != "kafka":
        assert tuples(said["current"]) == views[-1]
    told = Counter(map(tuple, said["changes"]))
    assert told == expected(views, again=form == "kafka")
    check_source(form, said["source"])


def expected(views: list[set[tuple[Any, Any]]], *, again: bool) -> Counter[tuple[Any, ...]]:
    """Every change of the view once or, of the batch that was told and not to the end, twice."""
    found: Counter[tuple[Any, ...]] = Counter()
    before: set[tuple[Any, Any]] = set()
    for batch, after in enumerate(views):
        for rows, kind in ((after - before, "insert"), (before - after, "delete")):
            found.update({(*row, kind, batch): 2 if again and batch == AGAIN else 1 for row in rows})
        before = after
    assert {one[-1] for one in found} == set(range(len(views)))
    return found


def check_source(form: str, said: list[Any]) -> None:
    match form:
        case "kafka":
            views, rejected, sent = said
            links = [{("1", "2"), ("2", "3")}, {("1", "2"), ("3", "1")}]
            assert rejected == 1
            assert sent == 3 + len(closure(links[0]) ^ closure(links[1]))
        case "delta":
            states, evaluated = said
            links, views = [tuples(table) for table, _ in states], [view for _, view in states]
            assert tuples(evaluated) == closure(links[-1])
        case _:
            views, evaluated = said
            links = [{("1", "2"), ("3", "4")}, {("1", "2"), ("3", "4"), ("2", "3")}]
            assert tuples(evaluated) == closure(links[-1])
    assert [tuples(view) for view in views] == list(map(closure, links))
