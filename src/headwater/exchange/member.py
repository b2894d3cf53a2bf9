"""One shard of several: its transactions, with rows as Arrow tables and rounds as messages.

    run = member.transaction(inserts, deletes)
    outcome = drive(run, exchange)      # `exchange` sends an Outgoing and gives what arrived as an Incoming

A member sequences nothing: it packs what `Shard.transaction` ships, by receiver, and unpacks what it receives. The
driver delivers: in one process (`cluster`), over the network (`gang`), by shuffles. All members of a transaction make
the same number of rounds.

The same transactions with the same incoming rounds lead another member to the same state and the same changes:
recovery rests on it. That holds from a new member on, and from a snapshot on, while the shard is `replayable`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.alarm import Alarm
from headwater.core.errors import DataError, StateError, UnknownRelation
from headwater.core.types import Type
from headwater.engine.border.codec import arrow_table, asked, encode_changes, read_change
from headwater.engine.border.intake import Header, take_in
from headwater.engine.codes.symbols import Codes, Symbols
from headwater.engine.driver import relay
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.engine.profile import RuleWork
from headwater.engine.reading import Matrix
from headwater.engine.shard import Change, Shard
from headwater.engine.shipping import HELD, Activity, Received, Routing, Shipped, signed
from headwater.engine.store.budget import Budget
from headwater.exchange.packing import pack, refuse_unsound, unpack
from headwater.exchange.routing import Owners
from headwater.exchange.sharding import Place, Sharding
from headwater.exchange.wire import Incoming, Outgoing, Parcel
from headwater.plan.model import Shipment

_SPARE = 16  # ints looked at beside the expected number: about one in as many as there are shards is owned by each


@dataclass(slots=True)
class Traffic:
    """Rounds that were made, and what was shipped to other shards in them."""

    rounds: int = 0
    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a transaction changed of this shard's part of every view (inserted, deleted), and what it sent to others."""

    changes: dict[str, tuple[pa.Table, pa.Table]]
    rounds: int
    rows_shipped: int
    bytes_shipped: int
    late: dict[str, pa.Table]  # rows that lay further behind the clock than their streams allow, and were left out
    alarms: tuple[Alarm, ...] = ()  # those that ring now
    work: tuple[RuleWork, ...] = field(default=(), compare=False)  # what its rules did, and how long they took


class Member:
    """One of several shards."""

    def __init__(
        self, sharding: Sharding, number: int, shards: int, guard: Guard = DEFAULT_GUARD, memory: int | None = None
    ) -> None:
        """`memory` is what there is for this shard, in bytes; None: unknown."""
        self.sharding = sharding
        self.number = number
        self.shards = shards
        symbols = Symbols()
        self._owners = Owners(symbols, shards)
        begins = number == 0 or sharding.kind == "decomposed"  # where all begin, they follow what they own
        routing = Routing(number, begins, self._owns, self._holds, self.receivers)
        budget = Budget(guard.bytes_of(memory), number)
        self.shard = Shard(sharding.plan, symbols, sharding.keys, guard, routing, budget)
        self.shipments = {shipment.outbox: shipment for shipment in sharding.plan.shipments}

    def transaction(
        self,
        inserts: Mapping[str, pa.Table],
        deletes: Mapping[str, pa.Table],
        *,
        now: int | None = None,
        first: bool = False,
        cancelled: Callable[[], bool] = lambda: False,
        hold: bool = False,
    ) -> Generator[Outgoing, Incoming, Outcome]:
        """Deletes, then inserts, of base rows routed to this shard; the `first` one also states the program's facts.

        `now` is what the clock shows at least: the same for all members, and no earlier than the latest time that any
        of them is given. The transaction is committed when it returns; with `hold`, it makes one more, empty, round
        before that. Closing it, or any error, undoes it.
        """
        shard, begun = self.shard, self.shard.meter.mark()
        coming, going = (
            {name: take_in(Header(name, self.sharding.table(name).names, True), rows) for name, rows in side.items()}
            for side in (inserts, deletes)
        )
        encoded = encode_changes(shard.stores, coming, going, shard.symbols, holds_nulls=shard.plan.holds_nulls)
        if encoded.rejected:
            raise DataError(f"error[HW801]: {len(encoded.rejected)} row(s) do not fit: {encoded.rejected[0]}")
        run = shard.transaction(encoded.inserts, encoded.deletes, now=now, first=first, cancelled=cancelled, hold=hold)
        messages = _Messages(self)
        committed = yield from relay(run, messages.pack, messages.unpack)
        late = {
            name: inserts[name].filter(pa.array(late))
            for name, late in committed.late.items()
            if self.sharding.shows(name, self.number)
        }
        sent = messages.sent
        changes = self._read_out(committed.changes)
        work = shard.meter.since(begun, shard.plan)
        return Outcome(changes, sent.rounds, sent.rows, sent.bytes, late, committed.alarms, work)

    def rows(self, view: str) -> pa.Table:
        """This shard's part of what the queries ask for."""
        store = self.shard.stores.get(view)
        if store is None or store.table.bag or store.table.part:
            raise UnknownRelation(f"there is no relation `{view}`")
        table, symbols = store.table, self.shard.symbols
        held = store.data[store.alive()] if self.sharding.shows(view, self.number) else store.data[:0]
        return arrow_table(table, table.names, asked(self.sharding.queries, table, held, symbols), symbols)

    def refuse_unsound(self, incoming: Incoming) -> None:
        """Raise StateError, LookupError, TypeError or ValueError if a round from a file is none that this shard can
        have been given."""
        for sender, parcel in incoming.parcels:
            if sender not in range(self.shards) or sender == self.number:
                raise StateError(f"there is no other shard {sender}")
            refuse_unsound(self.shard.stores[self.shipments[parcel.shipment].outbox].table, parcel.rows)

    def owned_ints(self, first: int, count: int) -> npt.NDArray[np.int64]:
        """The next ints from `first` on that this shard owns: every int has one owner, so no other shard takes them."""
        found: list[npt.NDArray[np.int64]] = []
        wanted = count
        while wanted > 0:
            some = np.arange(first, first + wanted * self.shards + _SPARE, dtype=np.int64)
            owned = some[self._owns(some, Type.INT)][:wanted]
            found.append(owned)
            first, wanted = first + some.size, wanted - owned.size
        return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)

    # Routing

    def _owns(self, column: npt.NDArray[np.integer[Any]], kind: Type) -> npt.NDArray[np.bool_]:
        return self._owners.of(column, kind) == self.number

    def _holds(self, table: str, rows: Codes) -> npt.NDArray[np.bool_]:
        home = self.sharding.homes[table]
        if isinstance(home, Place):
            return np.full(rows.shape[0], home is Place.EVERYWHERE or self.number == 0)
        return self._owns(rows[:, home.column], self.sharding.table(table).types[home.column])

    def receivers(self, shipment: Shipment, rows: Matrix) -> npt.NDArray[np.int64]:
        """The shard that gets each of these rows of an outbox, unless all get all."""
        if shipment.column is None:
            return np.zeros(rows.shape[0], dtype=np.int64)
        kind = self.shard.stores[shipment.outbox].table.types[shipment.column]
        return self._owners.of(rows[:, shipment.column], kind)

    def _read_out(self, changes: Mapping[str, Change]) -> dict[str, tuple[pa.Table, pa.Table]]:
        """The changes of every view, as far as this shard shows them; equal rows of several shards are netted by each
        for itself."""
        out: dict[str, tuple[pa.Table, pa.Table]] = {}
        for view in self.sharding.outputs:
            table = self.shard.stores[view].table
            change = changes.get(view) if self.sharding.shows(view, self.number) else None
            out[view] = read_change(self.sharding.queries, table, table.names, change, self.shard.symbols)
        return out


class _Messages:
    """The rounds of one transaction as messages between shards."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._shard = member.shard
        self._marks = False  # whether this is a round of marks
        self.sent = Traffic()

    def pack(self, shipped: Shipped) -> Outgoing:
        if shipped is HELD:
            return Outgoing()
        self._marks = shipped.marks
        self.sent.rounds += 1
        parcels: dict[int, list[Parcel]] = {}
        for outbox, rows in shipped.boxes.items():
            for receiver, packed in self._by_receiver(outbox, rows):
                parcels.setdefault(receiver, []).append(Parcel(outbox, shipped.marks, packed))
                self.sent.rows += packed.num_rows
                self.sent.bytes += packed.nbytes
        return Outgoing(parcels, Activity.SENT if parcels else shipped.activity)

    def _by_receiver(self, outbox: str, rows: Matrix) -> Iterable[tuple[int, pa.Table]]:
        if not rows.shape[0]:
            return
        member, shipment = self._member, self._member.shipments[outbox]
        table, symbols = self._shard.stores[outbox].table, self._shard.symbols
        if shipment.everywhere:
            packed = pack(table, rows, symbols)
            yield from ((number, packed) for number in range(member.shards) if number != member.number)
            return
        receivers = member.receivers(shipment, rows)
        for receiver in np.unique(receivers).tolist():
            yield receiver, pack(table, rows[receivers == receiver], symbols)

    def unpack(self, incoming: Incoming) -> Received:
        return Received(self._inboxes(incoming.parcels), incoming.activity)

    def _inboxes(self, parcels: Iterable[tuple[int, Parcel]]) -> Iterable[tuple[str, Codes]]:
        for sender, parcel in parcels:
            shipment = self._member.shipments.get(parcel.shipment)
            if shipment is None or parcel.marks is not self._marks:
                raise StateError(f"shard {sender} sent rows of `{parcel.shipment}` where none are expected")
            rows = unpack(self._shard.stores[shipment.outbox].table, parcel.rows, self._shard.symbols)
            yield shipment.inbox, signed(sender, rows)
