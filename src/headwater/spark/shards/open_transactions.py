"""Transactions that are open in this Python worker, between one Spark job and the next.

A shuffle exchange runs every round as a job of its own, and Spark gives a shard to any free worker. A worker keeps its
open transactions. Asked for a later round than its own, it catches up with what the shard received meanwhile; if it
never had the shard, it begins anew. A transaction is deterministic, so the answer is always the same. This is a cache:
it may be lost at any time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.engine.driver import Ended, step
from headwater.exchange.wire import Activity, Incoming, Outgoing, Parcel, Run

_KEPT = 16


@dataclass(slots=True)
class _Open:
    run: Run
    round: int  # the last round that was answered
    latest: Answer | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A round, from 1 on, of one shard's transaction; `activities` says how much moved in each round before."""

    transaction: str
    shard: int
    round: int
    activities: Sequence[Activity]


Answer = Outgoing | Ended[Any]
_open: OrderedDict[tuple[str, int], _Open] = OrderedDict()


def answer(
    asked: Asked, begin: Callable[[], Run | None], received: Mapping[int, list[tuple[int, Parcel]]]
) -> Answer | None:
    """What the shard ships in this round, or that it is done.

    `received` holds the parcels of the latest rounds. None: this worker does not have the transaction, and cannot begin
    it from these.
    """
    key = asked.transaction, asked.shard
    held = _open.pop(key, None)
    if held is not None and held.round > asked.round:
        held = None
    while held is None or held.round < asked.round:
        if held is None or (held.round and held.round not in received):
            run = begin()
            if run is None:
                return None
            held = _Open(run, 0, None)
        at = held.round
        held.latest = step(held.run, Incoming(received[at], asked.activities[at - 1]) if at else None)
        held.round += 1
    _open[key] = held
    while len(_open) > _KEPT:
        _, oldest = _open.popitem(last=False)
        oldest.run.close()
    return held.latest
