"""Rows on their way: what nodes have to send as messages, and what has arrived as changes of their inboxes.

Rows travel as matrices of codes, cut by sender and receiver; no row is ever an object of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.errors import DataError
from headwater.engine.border.codec import Change
from headwater.engine.codes.symbols import Codes
from headwater.engine.store.index import Matrix
from headwater.network.nodes.boxes import Box
from headwater.network.nodes.sizes import HEADER, PART, RowSizes
from headwater.network.nodes.tables import NodeTables


@dataclass(frozen=True, slots=True)
class MessageBatch:
    """Rows of one box that come (sign 1) or go (-1)."""

    box: int
    sign: int
    rows: Matrix


@dataclass(slots=True)
class Message:
    """What one node sends to another at one moment."""

    sender: int
    receiver: int
    batches: list[MessageBatch] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(batch.rows.shape[0] for batch in self.batches)


class MessageSorter:
    """Cuts the changes of outboxes into messages, and puts messages into inboxes."""

    def __init__(self, tables: NodeTables, nodes: Sequence[Any]) -> None:
        self._tables = tables
        self._boxes = tables.program.boxes
        self._nodes = nodes
        self._sizes = RowSizes(tables.symbols)
        self._types = [tables.shard.stores[box.outbox].table.types for box in self._boxes]

    def messages(self, changes: Mapping[str, Change]) -> list[Message]:
        """What these changes of outboxes send, in order of sender and receiver; what goes before what comes."""
        found: dict[int, Message] = {}
        many = len(self._nodes)
        for at, box in enumerate(self._boxes):
            change = changes.get(box.outbox)
            if change is None:
                continue
            for sign, rows in ((-1, change.deleted), (1, change.inserted)):
                if rows.shape[0]:
                    for key, part in self._cut(rows, box):
                        message = found.get(key)
                        if message is None:
                            message = found[key] = Message(*divmod(key, many))
                        message.batches.append(MessageBatch(at, sign, part))
        return [found[key] for key in sorted(found)]

    def _cut(self, rows: Matrix, box: Box) -> Iterable[tuple[int, Matrix]]:
        """The rows by sender and receiver, as one number."""
        senders = self._tables.nodes_of(rows[:, 0])
        receivers = self._tables.nodes_of(rows[:, box.receiver])
        if receivers.min() < 0:
            lost = int(np.flatnonzero(receivers < 0)[0])
            value = self._tables.value(box.outbox, box.receiver, int(rows[lost, box.receiver]))
            raise DataError(f"the rules send a row to {value!r}, which is not a node of the topology")
        keys = senders * len(self._nodes) + receivers
        if rows.shape[0] == 1:
            return [(int(keys[0]), rows)]
        order = np.argsort(keys, kind="stable")
        keys, rows = keys[order], rows[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        return zip(keys[starts].tolist(), np.split(rows, starts[1:]), strict=True)

    def size(self, message: Message) -> int:
        """Bytes of a message; the sender and the receiver stand in its header."""
        total = HEADER
        for batch in message.batches:
            types = self._types[batch.box]
            skipped = (0, self._boxes[batch.box].receiver)
            columns = tuple(at for at in range(len(types)) if at not in skipped)
            total += PART + int(self._sizes.of(batch.rows, types, columns).sum())
        return total

    def arrived(self, messages: Sequence[Message]) -> tuple[dict[str, Codes], dict[str, Codes]]:
        """Messages in order of arrival, as rows that come to inboxes and rows that go: the last word counts."""
        parts: dict[int, list[MessageBatch]] = {}
        for message in messages:
            for batch in message.batches:
                parts.setdefault(batch.box, []).append(batch)
        inserts: dict[str, Codes] = {}
        deletes: dict[str, Codes] = {}
        for at, batches in parts.items():
            rows = np.concatenate([batch.rows for batch in batches]).astype(np.int64)
            signs = np.repeat([batch.sign for batch in batches], [batch.rows.shape[0] for batch in batches])
            if len(batches) > 1:
                kept = last_words(rows)
                rows, signs = rows[kept], signs[kept]
            inbox = self._boxes[at].inbox
            for sign, into in ((1, inserts), (-1, deletes)):
                chosen = rows[signs == sign]
                if chosen.shape[0]:
                    into[inbox] = chosen
        return inserts, deletes


def last_words(rows: Codes) -> npt.NDArray[np.intp]:
    """Of equal rows the last, in their order."""
    packed = np.ascontiguousarray(rows[::-1]).view([("", rows.dtype)] * rows.shape[1]).ravel()
    _, first = np.unique(packed, return_index=True)
    return np.sort(rows.shape[0] - 1 - first)
