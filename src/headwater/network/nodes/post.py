"""Rows on their way: what nodes have to send as messages, and what has arrived as changes of their inboxes.

Rows travel as matrices of codes, cut by sender and receiver; no row is ever an object of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.errors import DataError
from headwater.engine.codes.symbols import Codes
from headwater.engine.reading import Matrix
from headwater.network.nodes.boxes import Box
from headwater.network.nodes.proofs import Numbers, ProofNumbers
from headwater.network.nodes.sizes import HEADER, PART, RowSizes, Sizes
from headwater.network.nodes.tables import NodeTables


@dataclass(frozen=True, slots=True)
class MessageBatch:
    """Rows of one box that come (sign 1) or go (-1)."""

    box: int
    sign: int
    rows: Matrix
    proofs: Numbers | None = None  # of rows that come, where they carry any
    bytes: int | None = None  # of the rows without their proofs, if they were counted when they were cut


@dataclass(slots=True)
class Message:
    """What one node sends to another at one moment."""

    sender: int
    receiver: int
    batches: list[MessageBatch] = field(default_factory=list)
    dead: list[int] = field(default_factory=list)  # facts that have died


class MessageSorter:
    """Cuts rows of outboxes into messages, and knows their sizes."""

    def __init__(
        self, tables: NodeTables, nodes: Sequence[Any], linked: Numbers, proofs: ProofNumbers | None, *, shares: bool
    ) -> None:
        self._tables = tables
        self._boxes = tables.program.boxes
        self._nodes = nodes
        self.sizes = RowSizes(tables.symbols)
        self._linked = linked  # sender and receiver of every channel, as one number
        self.proofs = proofs
        self._shares = shares
        outboxes = [tables.shard.stores[box.outbox].table for box in self._boxes]
        self._types = [table.types for table in outboxes]
        self._ranked = [tuple(dict.fromkeys(at for pick in table.picks for at in pick.ranked)) for table in outboxes]
        self._plain = [
            tuple(at for at in range(len(table.types)) if at not in (0, box.receiver, *ranked))
            for box, table, ranked in zip(self._boxes, outboxes, self._ranked, strict=True)
        ]

    def add(self, found: dict[int, Message], box: int, sign: int, rows: Matrix, proofs: Numbers | None = None) -> None:
        """Put rows of an outbox into the messages between their nodes, those of `found` or new ones."""
        if not rows.shape[0]:
            return
        keys = self.keys(rows, self._boxes[box])
        if self._boxes[box].copies:  # rules join them with a link: without one, nobody asks for them
            linked = np.isin(keys, self._linked)
            keys, rows = keys[linked], rows[linked]
            if not rows.shape[0]:
                return
        order = np.argsort(keys, kind="stable")
        keys, rows = keys[order], rows[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        parts = np.split(rows, starts[1:])
        shares = [None] * len(parts) if proofs is None else np.split(proofs[order], starts[1:])
        sizes = [None] * len(parts) if self._shares else np.add.reduceat(self._row_sizes(box, rows), starts).tolist()
        for key, part, share, size in zip(keys[starts].tolist(), parts, shares, sizes, strict=True):
            self.message(found, key).batches.append(MessageBatch(box, sign, part, share, size))

    def message(self, found: dict[int, Message], key: int) -> Message:
        """The message between two nodes, by their numbers as one."""
        message = found.get(key)
        if message is None:
            message = found[key] = Message(*divmod(key, len(self._nodes)))
        return message

    def keys(self, rows: Matrix, box: Box) -> Numbers:
        """Sender and receiver of each row, as one number."""
        senders = self._tables.nodes_of(rows[:, 0])
        receivers = self._tables.nodes_of(rows[:, box.receiver])
        if receivers.min() < 0:
            lost = int(np.flatnonzero(receivers < 0)[0])
            value = self._tables.value(box.outbox, box.receiver, int(rows[lost, box.receiver]))
            raise DataError(f"the rules send a row to {value!r}, which is not a node of the topology")
        return senders * len(self._nodes) + receivers

    def size(self, message: Message) -> int:
        """Bytes of a message; the sender and the receiver stand in its header."""
        total = HEADER
        if message.dead:
            total += 2 + sum(max(1, (fact.bit_length() + 6) // 7) for fact in message.dead)
        for batch in message.batches:
            if batch.proofs is not None and self.proofs is not None:
                total += sum(self.proofs.sizes[number] for number in batch.proofs.tolist())
        if self._shares:
            return total + self._shared_size(message)
        for batch in message.batches:
            known = batch.bytes
            total += PART + (int(self._row_sizes(batch.box, batch.rows).sum()) if known is None else known)
        return total

    def _row_sizes(self, box: int, rows: Matrix) -> Sizes:
        return self.sizes.of(rows, self._types[box], (*self._plain[box], *self._ranked[box]))

    def _shared_size(self, message: Message) -> int:
        """Rows of several boxes that agree in all but the values to be minimised or maximised are written once."""
        families: dict[tuple[object, ...], list[MessageBatch]] = {}
        for batch in message.batches:
            types = tuple(self._types[batch.box][at] for at in self._plain[batch.box])
            families.setdefault((batch.sign, *types), []).append(batch)
        total = 0
        for batches in families.values():
            first = batches[0]
            plain = np.concatenate([batch.rows[:, list(self._plain[batch.box])] for batch in batches])
            common = plain[last_words(plain.astype(np.int64))] if plain.shape[1] else plain[:1]
            types = tuple(self._types[first.box][at] for at in self._plain[first.box])
            total += PART + int(self.sizes.of(common, types, tuple(range(len(types)))).sum())
            for batch in batches:
                values = self.sizes.of(batch.rows, self._types[batch.box], self._ranked[batch.box])
                total += int(values.sum()) + (batch.rows.shape[0] if len(batches) > 1 else 0)
        return total


def last_words(rows: Codes) -> npt.NDArray[np.intp]:
    """Of equal rows the last, in their order."""
    packed = np.ascontiguousarray(rows[::-1]).view([("", rows.dtype)] * rows.shape[1]).ravel()
    _, first = np.unique(packed, return_index=True)
    return np.sort(rows.shape[0] - 1 - first)
