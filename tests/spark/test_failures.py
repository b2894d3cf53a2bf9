"""What dies, never ends or is cancelled while a batch runs; and who may talk to the shards meanwhile."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight
import pytest
from py4j.protocol import Py4JError

import headwater as hw
from headwater import spark as hws
from headwater.core.functions.registry import unregister
from headwater.spark.session.failures import stopped
from headwater.spark.shards import transaction_job
from tests.spark.conftest import PATIENCE
from tests.spark.test_maintain import CLOSURE, COMPONENTS, NOW, closure, drop, finish, link, rows, stream
from tests.spark.workers import listening, python_workers

HELD = COMPONENTS + "low(Z, min<L>) :- link(X, Y), low(X, L), Z = held(Y)."
CHAIN = [link(at, at + 1) for at in range(6)]
SPLIT = [link(2, 3, "delete"), link(0, 9)]
LOW = {(0, 0), (1, 0), (2, 0), (9, 0), (3, 3), (4, 3), (5, 3), (6, 3)}


@pytest.fixture
def held() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Makes a function `held(K)` of programs that gives K back, after it has done something in its worker."""

    def with_effect(effect: Callable[[], None]) -> None:
        @hw.register("held", ("int",), "int")
        def held(numbers: pa.Array) -> pa.Array:
            if len(numbers):
                effect()
            return numbers

    yield with_effect
    unregister("held")


def wait_for(found: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    ends = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.05)
    return value


@pytest.mark.parametrize("exchange", ["gang", "shuffle"])
def test_a_worker_killed_in_an_exchange_costs_a_try_and_no_more(
    spark: Any, tmp_path: Path, held: Any, exchange: str
) -> None:
    """Spark tries the stage again, all of it for a gang; the second try meets nobody of the first."""
    source, output, deaths = tmp_path / "in", tmp_path / "out", (tmp_path / "death0", tmp_path / "death1")
    drop(source, 0, CHAIN)
    drop(source, 1, SPLIT)

    def die_twice() -> None:
        for death in deaths:  # both shards may get here at once: a file that is created counts one death, and for good
            with contextlib.suppress(FileExistsError):
                death.touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)

    held(die_twice)
    links = {"link": stream(spark, source)}
    query = hws.maintain(
        hw.compile(HELD), links, checkpoint=str(tmp_path / "check"), output=str(output), shards=2, exchange=exchange,
        trigger=NOW,
    )  # fmt: skip
    finish(query)
    assert all(death.exists() for death in deaths)
    assert rows(hws.view(str(tmp_path / "check"), "low")) == LOW


@pytest.mark.parametrize("exchange", ["gang", "shuffle"])
def test_a_worker_killed_in_evaluate_costs_a_try_and_no_more(
    spark: Any, tmp_path: Path, held: Any, exchange: str
) -> None:
    death = tmp_path / "death"

    def die_once() -> None:
        if not death.exists():
            death.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    held(die_once)
    links = spark.createDataFrame([(one["x"], one["y"]) for one in CHAIN], "x int, y int")
    views = hws.evaluate(hw.compile(HELD), {"link": links}, shards=2, exchange=exchange)
    assert death.exists()
    assert rows(views["low"]) == {(at, 0) for at in range(7)}


def test_a_worker_killed_beside_others_costs_a_try_and_no_more(spark: Any, tmp_path: Path, held: Any) -> None:
    source, death = tmp_path / "in", tmp_path / "death"
    drop(source, 0, CHAIN)

    def die_once() -> None:
        if not death.exists():
            death.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    held(die_once)
    program = hw.compile(CLOSURE + " kept(Z, Y) :- reach(X, Y), Z = held(X).")
    query = hws.maintain(
        program, {"link": stream(spark, source)}, checkpoint=str(tmp_path / "check"), shards=2, trigger=NOW
    )
    finish(query)
    assert death.exists()
    assert rows(hws.view(str(tmp_path / "check"), "kept")) == closure({(one["x"], one["y"]) for one in CHAIN})


@pytest.mark.parametrize("exchange", ["gang", "shuffle"])
def test_the_guard_s_message_reaches_the_driver_from_shards_that_exchange(
    spark: Any, tmp_path: Path, exchange: str
) -> None:
    source = tmp_path / "in"
    drop(source, 0, [{"n": 0}])
    program = hw.compile("relation start(n: int). up(N) :- start(N). up(M) :- up(N), M = N + 1.")
    query = hws.maintain(
        program, {"start": stream(spark, source, "n long")}, checkpoint=str(tmp_path / "check"), shards=2,
        exchange=exchange, guard=10, trigger=NOW,
    )  # fmt: skip
    with pytest.raises(Exception, match=r"HW901.*more than 10 r") as told:
        finish(query)
    assert "did not meet" not in str(told.value)


@pytest.mark.parametrize("exchange", ["gang", "shuffle"])
def test_a_query_that_is_stopped_frees_its_executors(spark: Any, tmp_path: Path, held: Any, exchange: str) -> None:
    """A program that never ends is stopped in its round; then a stage that needs all slots runs, and nobody listens."""
    source, working = tmp_path / "in", tmp_path / "working"
    drop(source, 0, CHAIN)

    def for_ever() -> None:
        working.touch()
        time.sleep(3600)

    held(for_ever)
    query = hws.maintain(
        hw.compile(HELD), {"link": stream(spark, source)}, checkpoint=str(tmp_path / "check"), shards=3,
        exchange=exchange, guard=None,
    )  # fmt: skip
    wait_for(working.exists)
    query.stop()
    assert not query.isActive
    slots = spark.range(0, 3, 1, 3).mapInArrow(lambda batches: batches, "id long", barrier=True)
    assert slots.count() == 3
    wait_for(lambda: not any(listening(one) for one in python_workers()))
    assert not (tmp_path / "check" / "headwater" / "manifest-0").exists()


def test_nobody_joins_a_gang_without_its_token(spark: Any, tmp_path: Path, held: Any) -> None:
    source, working, go = tmp_path / "in", tmp_path / "working", tmp_path / "go"
    drop(source, 0, CHAIN)
    drop(source, 1, SPLIT)

    def wait_to_go() -> None:
        working.touch()
        while not go.exists():
            time.sleep(0.02)

    held(wait_to_go)
    query = hws.maintain(
        hw.compile(HELD), {"link": stream(spark, source)}, checkpoint=str(tmp_path / "check"), shards=2,
        exchange="gang", trigger=NOW,
    )  # fmt: skip
    wait_for(working.exists)
    doors = {door for one in python_workers() for door in listening(one)}
    assert len({port for _, port in doors}) == 2
    assert {host for host, _ in doors} <= {"127.0.0.1", "::1"}, "they listen at the executor's own address alone"
    addresses = {f"127.0.0.1:{port}" for _, port in doors} | {
        server.address for (_, certificate), server in transaction_job._servers.items() if certificate is None
    }
    for address in addresses:
        with flight.connect(f"grpc://{address}") as client, pytest.raises(flight.FlightUnauthenticatedError):
            list(client.do_action(flight.Action("meet", b"{}")))
    go.touch()
    finish(query)
    assert rows(hws.view(str(tmp_path / "check"), "low")) == LOW
    wait_for(lambda: not any(listening(one) for one in python_workers()))


def test_a_disk_that_is_full_for_a_worker(spark: Any, tmp_path: Path, held: Any) -> None:
    """The worker that meets it tells the driver, what was committed stays, and a restart goes on from there."""
    source, checkpoint, full = tmp_path / "in", str(tmp_path / "check"), tmp_path / "full"

    def fill() -> None:
        most = 200 if full.exists() else resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    held(fill)
    program = hw.compile(CLOSURE + " kept(Z, Y) :- reach(X, Y), Z = held(X).")

    def run() -> None:
        links = {"link": stream(spark, source)}
        finish(hws.maintain(program, links, checkpoint=checkpoint, shards=1, trigger=NOW))

    drop(source, 0, CHAIN)
    run()
    drop(source, 1, SPLIT)
    full.touch()
    try:
        with pytest.raises(Exception, match=r"(?s)cannot write .*the disk is full.*free some space and start again"):
            run()
    finally:
        for worker in python_workers():
            os.kill(worker, signal.SIGKILL)  # whatever it may not do now, the next one may
    full.unlink()
    assert hws.progress(checkpoint)["batch"] == 0
    run()
    assert rows(hws.view(checkpoint, "kept")) == closure({(0, 1), (1, 2), (3, 4), (4, 5), (5, 6), (0, 9)})


def test_a_stop_in_the_middle_of_a_batch_is_no_failure_to_spark(spark: Any) -> None:
    """As Java tells it, at length, Spark's search for a stop overflows the stack, and fills the log with it."""
    jvm = spark._jvm
    told = "py4j.protocol.Py4JJavaError: An error occurred while calling o1.collect.\n: [SPARK_JOB_CANCELLED] Job 1"
    text = stopped(Py4JError(told + "\n\tat org.apache.spark.SparkContext.runJob" * 1000))
    assert text is not None
    runtime = jvm.org.apache.spark.sql.execution.streaming.runtime.StreamExecution
    assert runtime.isInterruptionException(jvm.py4j.Py4JException(text), spark.sparkContext._jsc.sc())
    assert stopped(Py4JError("An error occurred: java.lang.IllegalArgumentException")) is None
    assert stopped(ValueError("of the user's own: java.lang.InterruptedException")) is None
