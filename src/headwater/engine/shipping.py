"""What a shard ships in a round and what it receives: rows of outboxes and of inboxes, as codes.

A stratum that ships rows runs in rounds with the other shards. First every shard marks what lost its witness, and ships
the marks of rows that it had shipped before; this goes on until no mark is on its way. Then every shard derives to its
own fixpoint and ships what is alive in its outboxes; the receivers carry that on, until no row is on its way. So the
number of rounds follows the hops between shards, not the length of paths. No shard derives again before all have
marked, because a row that looks alive might rest on one that another shard is about to mark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from headwater.engine.codes.symbols import Codes
from headwater.engine.rules.context import Owns, owns_all
from headwater.engine.store.index import Matrix, Rows
from headwater.engine.store.marking import distinct
from headwater.engine.store.states import GONE
from headwater.engine.store.store import Store
from headwater.engine.stratum import StratumRun
from headwater.plan.model import Shipment

Mask = npt.NDArray[np.bool_]


class Activity(IntEnum):
    """How much moves in a round; a shard must know the most of all shards."""

    NOTHING = 0  # no shard has anything to do
    WORK = 1  # some shard has work, but nothing is on its way
    SENT = 2  # some shard has sent something


@dataclass(frozen=True, slots=True)
class Shipped:
    """What a shard ships in a round: by outbox, rows that are alive or, with `marks`, that lost their witness.

    `activity` is what the shard reports if none of these rows is for another shard.
    """

    boxes: Mapping[str, Matrix]
    marks: bool
    activity: Activity


@dataclass(frozen=True, slots=True)
class Received:
    """What a shard receives in a round: inboxes with their rows, and the most that any shard reported."""

    boxes: Iterable[tuple[str, Codes]]
    activity: Activity


HELD = Shipped({}, marks=False, activity=Activity.NOTHING)  # a transaction that is complete and waits to be committed


def _all(table: str, rows: Codes) -> Mask:
    return np.ones(rows.shape[0], dtype=np.bool_)


def _first(shipment: Shipment, rows: Matrix) -> npt.NDArray[np.int64]:
    return np.zeros(rows.shape[0], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Routing:
    """Where rows live, as one of several shards sees it; by default there is one shard, which holds everything."""

    number: int = 0
    begins: bool = True  # whether rules that need no rows fire on this shard
    owns: Owns = owns_all  # which of some values this shard owns
    holds: Callable[[str, Codes], Mask] = _all  # which facts of the program, for a table, this shard holds
    receivers: Callable[[Shipment, Matrix], npt.NDArray[np.int64]] = _first  # the shard that gets each row of an outbox


ALONE = Routing()


class Outboxes:
    """The outboxes of one shard: rows that it ships to itself are received at once, the others are for a round."""

    def __init__(self, stores: Mapping[str, Store], shipments: Iterable[Shipment], routing: Routing) -> None:
        self._stores = stores
        self._shipments = {shipment.outbox: shipment for shipment in shipments}
        self._routing = routing

    def marks(self, run: StratumRun) -> dict[str, Matrix]:
        """Mark what rests on rows that this shard shipped to itself; the rows whose marks others must receive."""
        away: dict[str, list[Rows]] = {}
        while boxes := run.marks_to_send():
            for shipment, rows in self._own(boxes, away):
                run.receive_marks(shipment.inbox, rows)
        return {name: self._stores[name].data[distinct(np.concatenate(parts))] for name, parts in away.items()}

    def rows(self, run: StratumRun) -> dict[str, Matrix]:
        """Carry on what this shard derives for itself, to its fixpoint; the rows for others that are alive then."""
        away: dict[str, list[Rows]] = {}
        while boxes := run.rows_to_send():
            for shipment, rows in self._own(boxes, away):
                run.receive_rows(shipment.inbox, rows)
            run.propagate()
        alive: dict[str, Matrix] = {}
        for name, parts in away.items():
            store, found = self._stores[name], distinct(np.concatenate(parts))
            alive[name] = store.data[found[store.stamp[found] > GONE]]
        return alive

    def _own(self, boxes: Mapping[str, Rows], away: dict[str, list[Rows]]) -> Iterable[tuple[Shipment, Codes]]:
        """The rows that this shard ships to itself, as its inboxes hold them; those for others go to `away`."""
        number = self._routing.number
        for outbox, rows in boxes.items():
            shipment, data = self._shipments[outbox], self._stores[outbox].data
            own = rows
            if not shipment.everywhere:
                mine = self._routing.receivers(shipment, data[rows]) == number
                rows, own = rows[~mine], rows[mine]
            away.setdefault(outbox, []).append(rows)
            if own.size:
                yield shipment, signed(number, data[own])


def signed(sender: int, rows: Matrix) -> Codes:
    """Rows as an inbox holds them: with the sender before their columns."""
    out = np.empty((rows.shape[0], rows.shape[1] + 1), dtype=np.int64)
    out[:, 0] = sender
    out[:, 1:] = rows
    return out
