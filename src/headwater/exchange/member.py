"""One shard of several: its transactions as generators that say what they send and are told what they get.

    run = member.transaction(inserts, deletes)
    outgoing = next(run)
    ... deliver it; incoming is what the others sent, with the most that any shard reported ...
    outgoing = run.send(incoming)      # until StopIteration, whose value is the Outcome

Whoever drives it delivers: in one process (`cluster`), over the network (`gang`), by shuffles. All members of a
transaction make the same number of rounds. A transaction goes through the strata one after the other. In a stratum that
ships rows, first every shard marks what lost its proof and tells the owners of the rows it had sent; this goes on until
no mark is on its way. Then every shard derives to its own fixpoint and sends what is alive in its outboxes; the owners
carry that on, until no row is on its way. So the number of rounds follows the hops between shards, not the length of
paths. No shard derives again before all have marked, because a row that looks alive might rest on one that another
shard is about to mark. A stratum that ships nothing takes no round.

The same transactions with the same incoming rounds lead another member to the same state and the same changes:
recovery rests on it. That holds from a new member on, and from a snapshot on; a member one of whose transactions was
undone gives right answers, but is no longer `replayable`: dead rows are left behind, which may lead later
transactions to other, equally good, witnesses than those of a member that never met them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.core.errors import DataError, StateError, UnknownRelation
from headwater.core.types import Type
from headwater.engine.border.answers import arrow_table, asked, seen_change
from headwater.engine.border.bags import net, number_copies
from headwater.engine.border.intake import Header, encode_rows, take_in
from headwater.engine.codes.symbols import Codes, Symbols
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.engine.shard import Change, Shard
from headwater.engine.store.budget import Budget
from headwater.engine.store.index import Matrix, Rows
from headwater.engine.store.states import GONE
from headwater.engine.stratum import StratumRun, StratumRunner, distinct
from headwater.engine.transaction import Transaction
from headwater.exchange.packing import pack, refuse_unsound, unpack
from headwater.exchange.routing import Owners
from headwater.exchange.sharding import Place, Sharding
from headwater.exchange.wire import Activity, Incoming, Outgoing, Parcel
from headwater.plan.model import Shipment, Table

Steps = Generator[Outgoing, Incoming, None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a transaction changed of this shard's part of every view (inserted, deleted), and what it sent to others."""

    changes: dict[str, tuple[pa.Table, pa.Table]]
    rounds: int
    rows_shipped: int
    bytes_shipped: int
    late: dict[str, pa.Table]  # rows that lay further behind the clock than their streams allow, and were left out


class Member:
    def __init__(
        self, sharding: Sharding, number: int, shards: int, guard: Guard = DEFAULT_GUARD, memory: int | None = None
    ) -> None:
        """`memory` is what there is for this shard, in bytes; None where nobody can tell."""
        self.sharding = sharding
        self.number = number
        self.shards = shards
        symbols = Symbols()
        self._owners = Owners(symbols, shards)
        budget = Budget(guard.bytes_of(memory), number)
        self.shard = Shard(sharding.plan, symbols, sharding.keys, guard, self._owns, budget)
        self.replayable = True
        self.shipments = {one.outbox: one for one in sharding.plan.shipments}

    def transaction(
        self,
        inserts: Mapping[str, pa.Table],
        deletes: Mapping[str, pa.Table],
        *,
        now: int | None = None,
        first: bool = False,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Generator[Outgoing, Incoming, Outcome]:
        """Deletes, then inserts, of base rows routed to this shard; the `first` one also states the program's facts.

        `now` is what the clock shows at least: the same for all members, and no earlier than the latest time that any
        of them is given. The transaction is kept when it returns. Closing it, or any error, undoes it.
        """
        opened = yield from self.opened(inserts, deletes, now=now, first=first, cancelled=cancelled)
        return opened.keep()

    def opened(
        self,
        inserts: Mapping[str, pa.Table],
        deletes: Mapping[str, pa.Table],
        *,
        now: int | None = None,
        first: bool = False,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Generator[Outgoing, Incoming, Opened]:
        """The same, left open when it returns: for who must hear from all members before any of them may keep it."""
        codes_in = {name: self._codes(name, rows) for name, rows in inserts.items()}
        codes_out = {name: self._codes(name, rows) for name, rows in deletes.items()}
        number_copies(self.shard.stores, codes_in, codes_out)
        opened = Opened(self, self.shard.begin(cancelled))
        opened.late = dict(self._set_late_aside(inserts, codes_in))
        transaction = opened.transaction
        try:
            self.shard.change_base(transaction, codes_in, codes_out, self._holds, now, first=first)
            for stratum in self.shard.strata:
                if stratum.outboxes:
                    yield from self._run_with_others(stratum, opened, first=first)
                elif first or stratum.concerns(transaction):
                    stratum.run(transaction, first=first and self._begins)
            transaction.check()
        except BaseException as problem:
            opened.undo(problem)
            if isinstance(problem, MemoryError):
                raise self.shard.budget.failed() from problem
            raise
        return opened

    def rows(self, view: str) -> pa.Table:
        """This shard's part of what the queries ask for."""
        store = self.shard.stores.get(view)
        if store is None or store.table.bag:
            raise UnknownRelation(f"there is no relation `{view}`")
        told = store.data[store.alive()] if self.sharding.tells(view, self.number) else store.data[:0]
        return self._arrow(store.table, asked(self.sharding.queries, store.table, told, self.shard.symbols))

    @property
    def _begins(self) -> bool:
        """Whether rules that need no rows fire here: on the first shard, or on all, which then follow what they own."""
        return self.number == 0 or self.sharding.kind == "decomposed"

    def _owns(self, column: npt.NDArray[np.integer[Any]], kind: Type) -> npt.NDArray[np.bool_]:
        return self._owners.of(column, kind) == self.number

    # Base rows

    def _set_late_aside(
        self, inserts: Mapping[str, pa.Table], codes_in: dict[str, Codes]
    ) -> Iterator[tuple[str, pa.Table]]:
        for name, codes in codes_in.items():
            late = self.shard.clock.late(name, codes)
            if late.any():
                codes_in[name] = codes[~late]
                if self.sharding.tells(name, self.number):
                    yield name, inserts[name].filter(pa.array(late))

    def _codes(self, name: str, rows: pa.Table) -> Codes:
        table = self.sharding.table(name)
        taken = take_in(Header(name, table.names, True), rows)
        codes = encode_rows(table, table.names, taken, self.shard.symbols, holds_nulls=self.shard.plan.holds_nulls)
        if taken.rejected:
            raise DataError(f"error[HW801]: {len(taken.rejected)} row(s) do not fit: {taken.rejected[0]}")
        return codes

    def _holds(self, name: str, codes: Codes) -> npt.NDArray[np.bool_]:
        """Which of the program's own facts this shard holds."""
        home = self.sharding.homes[name]
        if isinstance(home, Place):
            return np.full(codes.shape[0], home is Place.EVERYWHERE or self.number == 0)
        kind = self.sharding.table(name).types[home.column]
        return self._owners.of(codes[:, home.column], kind) == self.number

    # Strata

    def _run_with_others(self, stratum: StratumRunner, opened: Opened, *, first: bool) -> Steps:
        concerned = first or stratum.concerns(opened.transaction)
        run = stratum.begin_run(opened.transaction)
        while True:
            marked = self._settled_marks(run)
            incoming = yield opened.send(marked, Activity.WORK if concerned else Activity.NOTHING, marks=True)
            if incoming.busy is Activity.NOTHING:
                return
            for inbox, rows in self._received(incoming, marks=True):
                run.receive_marks(inbox, rows)
            if incoming.busy is not Activity.SENT:
                break
            concerned = True
        run.derive(first=first and self._begins)
        while True:
            came = self._settled_rows(run)
            incoming = yield opened.send(came, Activity.WORK, marks=False)
            if incoming.busy is not Activity.SENT:
                break
            for inbox, rows in self._received(incoming, marks=False):
                run.receive_rows(inbox, rows)
            run.propagate()
        run.finish()

    def _settled_marks(self, run: StratumRun) -> dict[str, Rows]:
        """Mark what rests on rows that this shard sent to itself; the rows that others must hear of."""
        away: dict[str, list[Rows]] = {}
        while boxes := run.marks_to_send():
            for shipment, rows, own in self._own(boxes):
                away.setdefault(shipment.outbox, []).append(rows)
                run.receive_marks(shipment.inbox, own)
        return {outbox: distinct(np.concatenate(parts)) for outbox, parts in away.items()}

    def _settled_rows(self, run: StratumRun) -> dict[str, Rows]:
        """Carry on what this shard derives for itself, to its fixpoint; the rows for others that are alive then."""
        away: dict[str, list[Rows]] = {}
        while boxes := run.rows_to_send():
            for shipment, rows, own in self._own(boxes):
                away.setdefault(shipment.outbox, []).append(rows)
                if own.shape[0]:
                    run.receive_rows(shipment.inbox, own)
            run.propagate()
        found = {outbox: distinct(np.concatenate(parts)) for outbox, parts in away.items()}
        return {outbox: rows[self.shard.stores[outbox].stamp[rows] > GONE] for outbox, rows in found.items()}

    def _own(self, boxes: Mapping[str, Rows]) -> Iterable[tuple[Shipment, Rows, Codes]]:
        """Per outbox: the rows for others, and those for this shard as its inbox gets them."""
        for outbox, rows in boxes.items():
            shipment = self.shipments[outbox]
            data = self.shard.stores[outbox].data
            if shipment.everywhere:
                yield shipment, rows, _signed(self.number, data[rows])
                continue
            mine = self.owners(shipment, data[rows]) == self.number
            yield shipment, rows[~mine], _signed(self.number, data[rows[mine]])

    def owners(self, shipment: Shipment, data: Matrix) -> npt.NDArray[np.int64]:
        """Who gets each of these rows of an outbox."""
        if shipment.column is None:
            return np.zeros(data.shape[0], dtype=np.int64)
        kind = self.shard.stores[shipment.outbox].table.types[shipment.column]
        return self._owners.of(data[:, shipment.column], kind)

    def _received(self, incoming: Incoming, *, marks: bool) -> Iterable[tuple[str, Codes]]:
        for sender, parcel in incoming.parcels:
            shipment = self.shipments.get(parcel.shipment)
            if shipment is None or parcel.marks is not marks:
                raise StateError(f"shard {sender} sent rows of `{parcel.shipment}` where none are expected")
            rows = unpack(self.shard.stores[shipment.outbox].table, parcel.rows, self.shard.symbols)
            yield shipment.inbox, _signed(sender, rows)

    def refuse_unsound(self, incoming: Incoming) -> None:
        """Raise StateError, LookupError, TypeError or ValueError if a round from a file is none that this shard can
        have been given."""
        for sender, parcel in incoming.parcels:
            if sender not in range(self.shards) or sender == self.number:
                raise StateError(f"there is no other shard {sender}")
            refuse_unsound(self.shard.stores[self.shipments[parcel.shipment].outbox].table, parcel.rows)

    # What is told

    def told(self, changes: Mapping[str, Change]) -> dict[str, tuple[pa.Table, pa.Table]]:
        """The changes of every view, as far as this shard tells them."""
        out: dict[str, tuple[pa.Table, pa.Table]] = {}
        for view in self.sharding.outputs:
            change = changes.get(view) if self.sharding.tells(view, self.number) else None
            nothing: Matrix = np.zeros((0, self.shard.stores[view].width), dtype=np.int64)
            came, went = (nothing, nothing) if change is None else (change.inserted, change.deleted)
            table, symbols = self.shard.stores[view].table, self.shard.symbols
            came, went = (asked(self.sharding.queries, table, codes, symbols) for codes in (came, went))
            came, went = seen_change(table, came, went)
            if table.hidden:  # equal rows of several shards are netted by each for itself
                came, went = net(table, came, went)
            out[view] = self._arrow(table, came), self._arrow(table, went)
        return out

    def _arrow(self, table: Table, codes: Matrix) -> pa.Table:
        return arrow_table(table, table.names, codes, self.shard.symbols)


class Opened:
    """A transaction that has been run and is neither kept nor undone yet; packs and counts what it sends."""

    __slots__ = ("_member", "bytes", "late", "rounds", "rows", "transaction")

    def __init__(self, member: Member, transaction: Transaction) -> None:
        self._member = member
        self.transaction = transaction
        self.rounds = self.rows = self.bytes = 0
        self.late: dict[str, pa.Table] = {}

    def keep(self) -> Outcome:
        changes = self._member.told(self._member.shard.commit(self.transaction))
        return Outcome(changes, self.rounds, self.rows, self.bytes, self.late)

    def undo(self, problem: BaseException | None = None) -> None:
        self._member.shard.undo(self.transaction, problem)
        self._member.replayable = False

    def send(self, boxes: Mapping[str, Rows], least: Activity, *, marks: bool) -> Outgoing:
        self.rounds += 1
        parcels: dict[int, list[Parcel]] = {}
        for outbox, rows in boxes.items():
            for receiver, packed in self._by_receiver(outbox, rows):
                parcels.setdefault(receiver, []).append(Parcel(outbox, marks, packed))
                self.rows += packed.num_rows
                self.bytes += packed.nbytes
        return Outgoing(parcels, Activity.SENT if parcels else least)

    def _by_receiver(self, outbox: str, rows: Rows) -> Iterable[tuple[int, pa.Table]]:
        member = self._member
        store, symbols = member.shard.stores[outbox], member.shard.symbols
        shipment = member.shipments[outbox]
        if not rows.size:
            return
        if shipment.everywhere:
            packed = pack(store.table, store.data[rows], symbols)
            yield from ((number, packed) for number in range(member.shards) if number != member.number)
            return
        data = store.data[rows]
        owner = member.owners(shipment, data)
        for receiver in np.unique(owner).tolist():
            yield receiver, pack(store.table, data[owner == receiver], symbols)


def _signed(sender: int, rows: Matrix) -> Codes:
    """Rows as an inbox holds them: with the sender before their columns."""
    out = np.empty((rows.shape[0], rows.shape[1] + 1), dtype=np.int64)
    out[:, 0] = sender
    out[:, 1:] = rows
    return out
