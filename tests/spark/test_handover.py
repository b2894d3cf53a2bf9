"""Workers that do each other's shards, in real processes: who does a batch, and what happens when one of them dies."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import headwater as hw
from headwater.exchange.sharding import choose
from headwater.spark.session import local_sockets
from headwater.spark.session.local_sockets import message_of, read_message
from headwater.spark.session.worker import TURN, alone
from headwater.spark.shards import handover
from headwater.spark.state import shard_cache
from headwater.spark.state.checkpoint import Assignment, Checkpoint
from headwater.spark.state.manifest import Report
from headwater.spark.state.query_definition import QueryDefinition

LINKS = pa.schema([("x", pa.int64()), ("y", pa.int64())])
CLOSURE = "relation link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Z) :- link(X, Y), reach(Y, Z)."
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.spark.test_handover"])
WAIT = 600.0  # seconds: so long that only what never ends takes longer, on a busy machine too


@dataclass(frozen=True)
class Links:
    """A batch of links; it tells which process did it. While the file `held` is there it does not end."""

    changes: ClassVar[bool] = True
    assignment: Assignment
    shard: int
    rows: tuple[tuple[int, int], ...]
    held: str = ""

    def __call__(self, cancelled: Callable[[], bool]) -> bytes:
        while self.held and Path(self.held).exists():
            Path(f"{self.held}.{os.getpid()}").touch()
            time.sleep(0.01)
            if cancelled():
                Path(f"{self.held}.cancelled").touch()
                raise KeyboardInterrupt
        table = pa.table({"x": [x for x, _ in self.rows], "y": [y for _, y in self.rows]}, schema=LINKS)
        done = alone(shard_cache.SHARD_CACHE.transaction(self.assignment, self.shard, {"link": table}, {}))
        return json.dumps([done.report.to_text(), os.getpid()]).encode()

    kind: ClassVar[str] = "links"

    def to_message(self) -> bytes:
        about = {"assignment": self.assignment.to_json(self.shard), "rows": self.rows, "held": self.held}
        return message_of(about)

    def understands(self, kind: str) -> bool:
        return kind in ("links", "rows")

    def like(self, kind: str, message: bytes) -> Links | Rows:
        about, _ = read_message(message)
        assignment = self.assignment.like(self.shard, about["assignment"])
        if kind == "rows":
            return Rows(assignment, self.shard)
        return Links(assignment, self.shard, tuple(map(tuple, about["rows"])), about["held"])


@dataclass(frozen=True)
class Rows:
    """The rows of the view, and who read them."""

    changes: ClassVar[bool] = False
    assignment: Assignment
    shard: int

    def __call__(self, cancelled: Callable[[], bool]) -> bytes:
        with shard_cache.SHARD_CACHE.reading(self.assignment, self.shard) as member:
            found = member.rows("reach").to_pylist()
        return json.dumps([sorted(tuple(one.values()) for one in found), os.getpid()]).encode()

    kind: ClassVar[str] = "rows"

    def to_message(self) -> bytes:
        return message_of({"assignment": self.assignment.to_json(self.shard)})

    def understands(self, kind: str) -> bool:
        return kind == "rows"

    def like(self, kind: str, message: bytes) -> Rows:
        about, _ = read_message(message)
        return Rows(self.assignment.like(self.shard, about["assignment"]), self.shard)


@dataclass(frozen=True)
class Alone:
    """An call that its worker does without asking anybody."""

    call: Links

    def __call__(self) -> bytes:
        return self.call(lambda: False)


@dataclass(frozen=True)
class Busy:
    """Something else that a worker has to do, for as long as a file is there."""

    held: str

    def __call__(self) -> bytes:
        with TURN:
            Path(f"{self.held}.{os.getpid()}").touch()
            while Path(self.held).exists():
                time.sleep(0.01)
        return b"[]"


def _worker(orders: Connection, patience: float) -> None:
    """Does what it is ordered. It waits so long for others, since a busy machine must not change who does a batch."""
    handover._PATIENCE = patience
    while True:
        order = pickle.loads(orders.recv_bytes())
        done = order() if isinstance(order, Alone | Busy) else handover.run(order)
        orders.send_bytes(done)


class Worker:
    def __init__(self, patience: float = WAIT) -> None:
        self.orders, theirs = PROCESSES.Pipe()
        self.process = PROCESSES.Process(target=_worker, args=(theirs, patience), daemon=True)
        self.process.start()
        theirs.close()

    @property
    def number(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def begin(self, order: Any) -> None:
        self.orders.send_bytes(pickle.dumps(order))

    def end(self) -> Any:
        assert self.orders.poll(WAIT)
        return json.loads(self.orders.recv_bytes())

    def do(self, order: Any) -> Any:
        self.begin(order)
        return self.end()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


class Query:
    """The driver of a query with one shard: a chain that grows by a link in every batch."""

    def __init__(self, folder: Path) -> None:
        program = hw.compile(CLOSURE)
        self.sharding = choose(program, None, 1)
        self.definition = QueryDefinition.of(program, self.sharding, 1)
        self.driver = Checkpoint(str(folder / secrets.token_hex(4)))
        self.batch = 0

    def call(self, **others: Any) -> Links:
        assignment = self.driver.assignment(self.definition, self.sharding, self.batch)
        return Links(assignment, 0, ((self.batch, self.batch + 1),), **others)

    def commit(self, told: list[Any]) -> int:
        """The process that did the batch."""
        report = Report.from_text(told[0])
        assert report.changed == {"reach": (self.batch + 1, 0)}, "the rows of all batches before are there"
        self.driver.commit(self.definition, self.batch, [report])
        self.batch += 1
        return int(told[1])

    def by(self, worker: Worker) -> int:
        return self.commit(worker.do(self.call()))

    def rows(self) -> Rows:
        return Rows(self.driver.assignment(self.definition, self.sharding, self.batch), 0)

    def reach(self) -> list[list[int]]:
        return [[x, y] for x in range(self.batch) for y in range(x + 1, self.batch + 1)]


@pytest.fixture
def workers() -> Iterator[list[Worker]]:
    made = [Worker() for _ in range(3)]
    yield made
    for one in made:
        one.kill()


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def hand_over(query: Query, keeper: Worker, asking: Worker, held: Path) -> None:
    """Bring one worker to do a batch for another that does not end while the file is there."""
    query.by(keeper)
    held.touch()
    asking.begin(query.call(held=str(held)))
    until(lambda: Path(f"{held}.{keeper.number}").exists())


def test_whoever_keeps_a_shard_does_its_batches(tmp_path: Path, workers: list[Worker]) -> None:
    first, second, third = workers
    query, other = Query(tmp_path), Query(tmp_path)
    assert query.by(first) == first.number
    assert other.by(second) == second.number
    assert [query.by(one) for one in (second, third, first, second)] == [first.number] * 4
    assert [other.by(one) for one in (first, third)] == [second.number] * 2
    assert third.do(query.rows()) == [query.reach(), first.number]
    assert query.by(second) == first.number


def test_when_it_dies_another_one_opens_the_shard(tmp_path: Path, workers: list[Worker]) -> None:
    first, second, third = workers
    query = Query(tmp_path)
    assert [query.by(one) for one in (first, second)] == [first.number] * 2
    first.kill()
    assert [query.by(one) for one in (second, third, second)] == [second.number] * 3
    assert third.do(query.rows()) == [query.reach(), second.number]


def test_one_that_dies_in_the_middle_of_a_batch_leaves_it_to_the_other(tmp_path: Path, workers: list[Worker]) -> None:
    first, second, third = workers
    query, held = Query(tmp_path), tmp_path / "held"
    hand_over(query, first, second, held)
    first.kill()
    held.unlink()
    assert query.commit(second.end()) == second.number
    assert query.by(third) == second.number


def test_one_that_asked_and_is_gone_cancels_the_batch(tmp_path: Path, workers: list[Worker]) -> None:
    first, second, third = workers
    query, held = Query(tmp_path), tmp_path / "held"
    hand_over(query, first, second, held)
    second.kill()
    until(lambda: Path(f"{held}.cancelled").exists())
    held.unlink()
    assert query.by(third) == third.number, "the shard was given up, in whatever state it was"
    assert query.by(first) == third.number


def test_an_older_state_is_given_up(tmp_path: Path, workers: list[Worker]) -> None:
    first, second, third = workers
    query = Query(tmp_path)
    query.by(first)
    query.commit(second.do(Alone(query.call())))  # it was tried there before, say, and is on its cache
    assert query.by(third) == third.number
    assert [query.by(one) for one in (first, second)] == [third.number] * 2


def test_nobody_waits_long_for_a_busy_one(tmp_path: Path, workers: list[Worker]) -> None:
    workers += [Worker(patience) for patience in (3.0, WAIT, WAIT)]
    *_, first, second, third = workers
    query, held = Query(tmp_path), tmp_path / "held"
    query.by(first)
    held.touch()
    first.begin(Busy(str(held)))
    until(lambda: Path(f"{held}.{first.number}").exists())
    assert third.do(query.rows()) == [query.reach(), third.number]
    assert query.by(second) == second.number
    held.unlink()
    first.end()
    assert query.by(first) == second.number


def test_a_reader_takes_nothing_away(tmp_path: Path, workers: list[Worker]) -> None:
    first, second, third = workers
    query = Query(tmp_path)
    query.by(first)
    before = query.rows()
    query.by(second)
    third.begin(before)  # of a batch ago: nobody has that any more
    assert third.end()[1] == third.number
    assert query.by(second) == first.number


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_other_users_are_not_answered_and_not_trusted(tmp_path: Path, workers: list[Worker]) -> None:
    first, second, _ = workers
    query = Query(tmp_path)
    query.by(first)
    name = handover._name(query.call())
    asking = PROCESSES.Process(target=_ask_as_nobody, args=(name,))
    asking.start()
    asking.join()
    assert asking.exitcode == 0
    first.kill()
    theirs, said = PROCESSES.Pipe()
    thief = PROCESSES.Process(target=_listen_as_nobody, args=(name, said), daemon=True)
    thief.start()
    assert theirs.recv() == "listening"
    assert query.by(second) == second.number
    assert theirs.recv() == b"", "nothing was told to it"
    thief.join()


def test_who_does_not_know_the_secret_is_not_answered(tmp_path: Path, workers: list[Worker]) -> None:
    """Whatever it sends, and though it is a process of the same user: no byte of it is parsed."""
    first, second, _ = workers
    query = Query(tmp_path)
    query.by(first)
    name, spoilt = handover._name(query.call()), tmp_path / "spoilt"
    for words in (
        b"",
        b"\0" * 64,
        b"x" * 10_000,
        pickle.dumps(_Spoiler(str(spoilt))),
        json.dumps({"files": []}).encode(),
    ):
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(name)
            line.settimeout(WAIT)
            line.sendall(words)
            line.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):
                while line.recv(1 << 16):
                    pass
    with pytest.raises(local_sockets.Refused):
        local_sockets.call(name, b"another", WAIT)
    assert not spoilt.exists()
    assert query.by(second) == first.number, "it still does what its neighbours ask"


def test_who_listens_under_the_name_and_does_not_know_the_secret_learns_nothing(
    tmp_path: Path, workers: list[Worker]
) -> None:
    _, second, _ = workers
    query = Query(tmp_path)
    query.commit(second.do(Alone(query.call())))
    with local_sockets.listener(handover._name(query.call())) as thief:
        workers[0].begin(query.call())
        line, _ = thief.accept()
        with line:
            line.settimeout(WAIT)
            line.sendall(b"\0" * 64)
            heard = b""
            while part := line.recv(1 << 16):
                heard += part
        assert len(heard) == 64, "a number, and its code"
        assert query.commit(workers[0].end()) == workers[0].number


def test_messages_that_were_changed_or_repeated_are_refused() -> None:
    ours, theirs = multiprocessing.Pipe()
    one = local_sockets.Line(ours, b"key", b"a", b"b")
    for wrong in (b"", b"short", b"\0" * 40):
        theirs.send_bytes(wrong)
        with pytest.raises(local_sockets.Refused):
            one.receive(WAIT)
    other = local_sockets.Line(theirs, b"key", b"b", b"a")
    one.send(b"to you")
    assert other.receive(WAIT) == b"to you"
    other.send(b"to me")
    assert one.receive(WAIT) == b"to me"
    theirs.send_bytes(local_sockets.Line(theirs, b"key", b"b", b"a")._code(b"b", 0, b"to me") + b"to me")
    with pytest.raises(local_sockets.Refused):
        one.receive(WAIT)


@dataclass(frozen=True)
class _Spoiler:
    """What spoils something when it is unpickled."""

    path: str

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


def _ask_as_nobody(name: str) -> None:
    os.setuid(65534)
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(name)
        line.settimeout(WAIT)
        assert line.recv(1) == b"", "it hangs up"


def _listen_as_nobody(name: str, said: Connection) -> None:
    os.setuid(65534)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen(1)
        said.send("listening")
        line, _ = listener.accept()
        line.settimeout(WAIT)
        said.send(line.recv(1))
