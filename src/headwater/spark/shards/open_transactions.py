"""Transactions that are under way in this Python worker, between one Spark job and the next.

A shuffle exchange runs every round as a job of its own, and Spark gives a shard to whichever worker is free. A worker
keeps the transactions it has begun; asked for a later round than the one it stands at, it catches up with what the
shard received meanwhile; if it never had the shard, it begins anew. A transaction is deterministic, so every way leads
to the same answer. What is kept here is a cache: it may be lost at any time.
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
class _Live:
    run: Run
    round: int  # the rounds that were answered
    latest: Answer | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A round, from 1 on, of one shard's transaction; `activities` says how much moved in each round before."""

    transaction: str
    shard: int
    round: int
    activities: Sequence[Activity]


Answer = Outgoing | Ended[Any]
_live: OrderedDict[tuple[str, int], _Live] = OrderedDict()


def answer(
    asked: Asked, begin: Callable[[], Run | None], received: Mapping[int, list[tuple[int, Parcel]]]
) -> Answer | None:
    """What the shard sends in this round, or that it is done.

    `received` holds the parcels of the rounds that came along. None: this worker does not know the transaction, and not
    everything came along that is needed to begin it.
    """
    key = asked.transaction, asked.shard
    live = _live.pop(key, None)
    if live is None or live.round > asked.round:
        run = begin()
        if run is None:
            return None
        live = _Live(run, 0, None)
    while live.round < asked.round:
        if live.round and live.round not in received:
            run = begin()
            if run is None:
                return None
            live = _Live(run, 0, None)
            continue
        _advance(live, asked, received)
    _live[key] = live
    while len(_live) > _KEPT:
        _, oldest = _live.popitem(last=False)
        oldest.run.close()
    return live.latest


def _advance(live: _Live, asked: Asked, received: Mapping[int, list[tuple[int, Parcel]]]) -> None:
    at = live.round
    live.latest = step(live.run, Incoming(received[at], asked.activities[at - 1]) if at else None)
    live.round += 1
