"""Shards in one process, run in lockstep: the protocol that every exchange follows.

A transaction goes through the levels one after the other, all shards together. In a level, first every shard marks
what lost its proof and tells the owners of the rows it had sent; this goes on until no mark is on its way. Then
every shard derives to its own fixpoint and sends what came alive in its outboxes; the owners carry that on, until no
row is on its way. So the number of rounds follows the hops between shards, not the length of paths. No shard derives
again before all have marked, because a row that looks alive might rest on one that another shard is about to mark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.engine.index import Rows
from headwater.engine.level import LevelRun, Transaction
from headwater.engine.shard import Owned, Shard
from headwater.engine.values import Codes, Symbols
from headwater.exchange.routing import owners, pack, unpack
from headwater.plan.model import Plan, Shipment


@dataclass(slots=True)
class Traffic:
    """What travelled between different shards since the cluster was made."""

    rounds: int = 0
    rows: int = 0
    bytes: int = 0


class Cluster:
    """A plan for several shards, and the shards."""

    def __init__(
        self, plan: Plan, shards: int, keys: Mapping[str, tuple[int, ...]], locations: Mapping[str, int | None],
        guard: Guard = DEFAULT_GUARD,
    ) -> None:  # fmt: skip
        self.plan = plan
        self.locations = locations
        self.shards = [Shard(plan, Symbols(), keys, guard) for _ in range(shards)]
        self.traffic = Traffic()
        self._tables = {table.name: table for table in plan.tables}
        self._by_outbox = {one.outbox: one for one in plan.shipments}
        self._transact({}, {}, first=True)

    def apply(self, inserts: Mapping[str, pa.Table], deletes: Mapping[str, pa.Table]) -> None:
        """One transaction over base rows, wherever they live."""
        self._transact(inserts, deletes, first=False)

    def parts(self, name: str) -> list[pa.Table]:
        """The rows of a table, as each shard holds them."""
        return [
            pack(self._tables[name], shard.stores[name].data[shard.stores[name].alive()], shard.symbols)
            for shard in self.shards
        ]

    def _transact(self, inserts: Mapping[str, pa.Table], deletes: Mapping[str, pa.Table], *, first: bool) -> None:
        opened: list[Transaction] = []
        try:
            for number, shard in enumerate(self.shards):
                mine_in = {name: self._owned(name, rows, number) for name, rows in inserts.items()}
                mine_out = {name: self._owned(name, rows, number) for name, rows in deletes.items()}
                opened.append(shard.open(mine_in, mine_out, self._holder(number) if first else None))
            for at in range(len(self.plan.levels)):
                self._run_level(at, opened, first=first)
        except BaseException:
            for shard, transaction in zip(self.shards, opened, strict=False):
                shard.undo(transaction)
            raise
        for shard, transaction in zip(self.shards, opened, strict=True):
            shard.commit(transaction)

    def _owned(self, name: str, rows: pa.Table, number: int) -> Codes:
        """The base rows that one shard holds, as its codes."""
        shard, table = self.shards[number], self._tables[name]
        codes = unpack(table, rows, shard.symbols)
        return codes[self._holder(number)(name, codes)]

    def _holder(self, number: int) -> Owned:
        """Tells which rows of a base table live on one shard."""

        def holds(name: str, codes: Codes) -> npt.NDArray[np.bool_]:
            column = self.locations[name]
            if column is None:
                return np.full(codes.shape[0], number == 0)
            kind, symbols = self._tables[name].types[column], self.shards[number].symbols
            return owners(codes[:, column], kind, symbols, len(self.shards)) == number

        return holds

    def _run_level(self, at: int, opened: list[Transaction], *, first: bool) -> None:
        pairs = list(zip(self.shards, opened, strict=True))
        if not first and not any(shard.levels[at].concerns(transaction) for shard, transaction in pairs):
            return
        runs = [shard.levels[at].begin_run(transaction) for shard, transaction in pairs]
        while self._exchange([run.marks_to_send() for run in runs], runs, marks=True):
            pass
        for number, run in enumerate(runs):
            run.derive(first=first and number == 0)
        while self._exchange([run.rows_to_send() for run in runs], runs, marks=False):
            for run in runs:
                run.propagate()
        for run in runs:
            run.finish()

    def _exchange(self, outgoing: list[dict[str, Rows]], runs: list[LevelRun], *, marks: bool) -> bool:
        """Deliver what the shards send; whether anything travelled."""
        if not any(outgoing):
            return False
        self.traffic.rounds += 1
        for sender, boxes in enumerate(outgoing):
            for outbox, rows in boxes.items():
                shipment = self._by_outbox[outbox]
                store = self.shards[sender].stores[outbox]
                for receiver, batch in self._parcels(shipment, sender, store.data[rows].astype(np.int64)):
                    if receiver != sender:
                        self.traffic.rows += batch.num_rows
                        self.traffic.bytes += batch.nbytes
                    self._deliver(shipment, sender, receiver, batch, runs[receiver], marks=marks)
        return True

    def _parcels(self, shipment: Shipment, sender: int, codes: Codes) -> list[tuple[int, pa.Table]]:
        shard, table = self.shards[sender], self._tables[shipment.outbox]
        if shipment.everywhere:
            everything = pack(table, codes, shard.symbols)
            return [(receiver, everything) for receiver in range(len(self.shards))]
        if shipment.column is None:
            return [(0, pack(table, codes, shard.symbols))]
        kind = table.types[shipment.column]
        owner = owners(codes[:, shipment.column], kind, shard.symbols, len(self.shards))
        return [(int(one), pack(table, codes[owner == one], shard.symbols)) for one in np.unique(owner)]

    def _deliver(
        self, shipment: Shipment, sender: int, receiver: int, batch: pa.Table, run: LevelRun, *, marks: bool
    ) -> None:
        symbols = self.shards[receiver].symbols
        received = unpack(self._tables[shipment.outbox], batch, symbols)
        rows = np.column_stack([np.full(received.shape[0], sender, dtype=np.int64), received])
        if marks:
            run.receive_marks(shipment.inbox, rows)
        else:
            run.receive_rows(shipment.inbox, rows)
