"""What the processes of a gang do in tests; they import no engine unless they run one."""

from __future__ import annotations

import multiprocessing
import multiprocessing.queues
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.core.errors import HeadwaterError
from headwater.exchange.gang import Gang
from headwater.exchange.rendezvous import Rendezvous, meet
from headwater.exchange.wire import Activity, Outgoing, Parcel
from tests.spark import workers
from tests.thresholds import no_room

SPAWN = multiprocessing.get_context("spawn")
WAIT = 600  # seconds: so long that only what never ends takes longer, on a busy machine too


@dataclass(frozen=True)
class Seat:
    """What a process is told when it starts."""

    number: int
    shards: int
    rendezvous: str
    token: str


Work = Callable[[Seat, "multiprocessing.queues.Queue[Any]"], None]


@contextmanager
def gang_of(work: Work, shards: int, *more: Any) -> Iterator[tuple[list[Any], multiprocessing.queues.Queue[Any]]]:
    """Processes that work together, and the queue of what they report; none is left over."""
    reports: multiprocessing.queues.Queue[Any] = SPAWN.Queue()
    rendezvous = Rendezvous()
    seats = [Seat(number, shards, rendezvous.address, rendezvous.token) for number in range(shards)]
    processes = [SPAWN.Process(target=work, args=(seat, reports, *more)) for seat in seats]
    for process in processes:
        process.start()
    try:
        yield processes, reports
    finally:
        for process in processes:
            process.join(WAIT)
            if process.is_alive():
                process.kill()
                process.join()
        rendezvous.close()


def joined(seat: Seat, **options: Any) -> Gang:
    gang = Gang(seat.number, seat.shards, seat.token, **options)
    gang.join(meet(seat.rendezvous, seat.token, "test", seat.number, seat.shards, gang.address))
    return gang


def listening(gang_address: str) -> bool:
    """Whether this process still listens there."""
    return int(gang_address.rsplit(":", 1)[1]) in {port for _, port in workers.listening(os.getpid())}


def much(turn: int) -> int:
    """Rows that are sent to each peer in a turn of `send_much`."""
    return 5 << 19 if turn == 2 else 1 << 20


def send_much(seat: Seat, reports: Any) -> None:
    """Three rounds of 8 MB to everybody at once, the last one of 20 MB, which go in two parts."""
    with joined(seat) as gang:
        for turn in range(3):
            rows = pa.table({"0": np.full(much(turn), 10 * seat.number + turn)})
            parcels = {peer: [Parcel("t'out", False, rows)] for peer in range(seat.shards) if peer != seat.number}
            incoming = gang.swap(Outgoing(parcels, Activity.SENT))
            got = {sender: parcel.rows.column(0).unique().to_pylist() for sender, parcel in incoming.parcels}
            reports.put((seat.number, turn, got, sum(parcel.rows.num_rows for _, parcel in incoming.parcels)))


def be_killed(seat: Seat, reports: Any) -> None:
    """Shard 0 is killed in its third round; the others say how they noticed."""
    gang = joined(seat)
    try:
        with gang:
            for turn in range(100):
                if seat.number == 0 and turn == 2:
                    os.kill(os.getpid(), signal.SIGKILL)
                gang.swap(Outgoing({}, Activity.WORK))
    except HeadwaterError as problem:
        reports.put((seat.number, str(problem), listening(gang.address)))


def fail_oneself(seat: Seat, reports: Any) -> None:
    """Shard 1 meets an error of its own; the others hear that it is gone."""
    gang = joined(seat)
    try:
        with gang:
            gang.swap(Outgoing({}, Activity.WORK))
            if seat.number == 1:
                raise ZeroDivisionError
            gang.swap(Outgoing({}, Activity.WORK))
    except (HeadwaterError, ZeroDivisionError) as problem:
        reports.put((seat.number, type(problem).__name__, str(problem), listening(gang.address)))


def be_cancelled(seat: Seat, reports: Any, told: Any) -> None:
    """Shard 1 does not answer before the other one has told what happened; shard 0 is cancelled while it waits."""
    if seat.number == 1:
        with joined(seat):
            told.wait(WAIT)
        return
    asked = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 2

    gang = joined(seat, cancelled=cancelled)
    try:
        with gang:
            gang.swap(Outgoing({}, Activity.WORK))
    except KeyboardInterrupt:
        reports.put(("cancelled", listening(gang.address)))


def maintain(seat: Seat, reports: Any, cases: list[tuple[str, Any, Any]]) -> None:
    """Run scripts of transactions, all in one gang, and report every view after every transaction.

    Whatever is sent goes in many small parts.
    """
    import headwater as hw
    from headwater.engine.driver import drive
    from headwater.exchange.member import Member
    from headwater.exchange.sharding import choose

    with no_room(0), joined(seat) as gang:
        for which, (text, known, script) in enumerate(cases):
            sharding = choose(hw.compile(text), known, seat.shards, kinds=("exchange",))
            member = Member(sharding, seat.number, seat.shards)
            for turn, sides in enumerate([({}, {}), *script]):
                inserts, deletes = (sharding.route_changes(side, seat.shards)[seat.number] for side in sides)
                outcome = drive(member.transaction(inserts, deletes, first=turn == 0), gang.swap)
                reports.put((which, turn, seat.number, {view: member.rows(view) for view in sharding.outputs}, outcome))
