"""Rows that wait before they are sent, so that fewer are sent: periodic aggregate selections and message sharing (002).

*Periodic* (section 5.1.1): a node keeps new best rows for a while and then sends those that are still best. *Sharing*
(section 5.2): a node keeps all rows for a while, and those that then go to the same neighbour and agree in all but the
values that are minimised or maximised travel as one; the receiver takes them apart again. Either way a row that comes
and goes while it waits is never sent.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from headwater.network.nodes.post import Message, MessageBatch, last_words
from headwater.network.nodes.proofs import Numbers


@dataclass(frozen=True, slots=True)
class Periodic:
    """Aggregate selections that send the best rows once in so many seconds."""

    seconds: float

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise ValueError(f"a period is longer than 0 seconds, not {self.seconds}")


@dataclass(slots=True)
class HeldMessages:
    """What waits at each node, by receiver. Boxes of `kept` wait; of other boxes, rows go at once."""

    kept: Collection[int]
    waiting: dict[int, dict[int, list[MessageBatch]]] = field(default_factory=dict)

    def hold(self, message: Message) -> Message | None:
        """Keep back what is to wait; what is left to be sent now, if anything."""
        now = Message(message.sender, message.receiver, [], message.dead)
        for batch in message.batches:
            if batch.box in self.kept:
                mine = self.waiting.setdefault(message.sender, {})
                mine.setdefault(message.receiver, []).append(batch)
            else:
                now.batches.append(batch)
        return now if now.batches or now.dead else None

    def flush(self, sender: int) -> list[Message]:
        """What a node has kept, as messages."""
        found = []
        for receiver, batches in sorted(self.waiting.pop(sender, {}).items()):
            message = Message(sender, receiver)
            for box in sorted({batch.box for batch in batches}):
                message.batches += _net([batch for batch in batches if batch.box == box])
            if message.batches:
                found.append(message)
        return found

    def drop(self, channels: Collection[tuple[int, int]]) -> None:
        """Forget what waits to be sent over these channels."""
        for sender, receiver in channels:
            self.waiting.get(sender, {}).pop(receiver, None)


def _net(batches: list[MessageBatch]) -> list[MessageBatch]:
    """Batches of one box as one of rows that go and one of rows that come."""
    rows = np.concatenate([batch.rows for batch in batches]).astype(np.int64)
    signs = np.repeat([batch.sign for batch in batches], [batch.rows.shape[0] for batch in batches])
    proofs: Numbers | None = None
    if any(batch.proofs is not None for batch in batches):
        proofs = np.concatenate(
            [np.zeros(batch.rows.shape[0], np.int64) if batch.proofs is None else batch.proofs for batch in batches]
        )
    last = last_words(rows)
    if proofs is None:  # a row that came first and went last was never sent; one that went and came is still there
        first = np.sort(rows.shape[0] - 1 - last_words(rows[::-1]))
        together = np.lexsort(rows[last].T), np.lexsort(rows[first].T)
        same = np.zeros(last.size, dtype=np.bool_)
        same[together[0]] = signs[last[together[0]]] == signs[first[together[1]]]
        last = last[same]
    found = []
    for sign in (-1, 1):
        chosen = last[signs[last] == sign]
        if chosen.size:
            share = None if proofs is None or sign < 0 else proofs[chosen]
            found.append(MessageBatch(batches[0].box, sign, rows[chosen], share))
    return found
