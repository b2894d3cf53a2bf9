"""Soft state: rows are renewed by the node that sent them, and expire where nobody renews them (002, section 4.2).

Once in `refresh` seconds a node sends all its outgoing rows again; a row that came in, and that its sender has not
renewed for `lifetime` seconds, goes. So whatever was lost, doubled or overtaken is put right after a while: a lost row
comes with the next renewal, a row whose deletion was lost expires. Notices of dead facts are repeated too, a number of
times, because rows that rest on each other would renew each other.

Not guaranteed: that views are right at any given moment. They are once nothing has changed for some lifetimes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from headwater.engine.codes.symbols import Codes
from headwater.network.nodes.post import Message
from headwater.network.nodes.work import NodeWork

REPEATS = 12  # of a notice: one in a million is lost for good where every third message is


@dataclass(slots=True)
class SoftState:
    """When each row that came in was last heard of, and which notices are still to be repeated."""

    refresh: float
    lifetime: float
    _heard: dict[int, dict[bytes, float]] = field(default_factory=dict)  # by box: rows that came, with the time
    _forgot: float = 0.0  # when rows that had not been heard of for long were forgotten
    _notices: dict[int, dict[int, dict[int, int]]] = field(default_factory=dict)  # sender, receiver, fact: repeats left

    def __post_init__(self) -> None:
        if not self.refresh > 0 or not self.lifetime > self.refresh:
            raise ValueError(
                f"rows are renewed every refresh > 0 seconds and live longer than that, not {self.refresh} "
                f"and {self.lifetime}"
            )

    def heard(self, messages: Sequence[Message], now: float) -> None:
        for message in messages:
            for batch in message.batches:
                known = self._heard.setdefault(batch.box, {})
                rows = np.ascontiguousarray(batch.rows, dtype=np.int64)
                for row in rows:
                    if batch.sign > 0:
                        known[row.tobytes()] = now
                    else:
                        known.pop(row.tobytes(), None)

    def expired(self, nodes: NodeWork, node: int, now: float) -> dict[str, Codes]:
        """Rows that came to a node and were not renewed in time."""
        found: dict[str, Codes] = {}
        for at, box in enumerate(nodes.tables.program.boxes):
            rows = nodes.tables.present(box.inbox)
            code = nodes.tables.node_codes[node]  # what a node sends to itself needs no renewal
            rows = rows[(rows[:, box.receiver] == code) & (rows[:, 0] != code)].astype(np.int64)
            known = self._heard.get(at, {})
            width = rows.shape[1] - (box.sent is not None)
            bare = np.ascontiguousarray(rows[:, :width])
            late = [now - known.get(row.tobytes(), -np.inf) > self.lifetime for row in bare]
            ended = rows[np.array(late, dtype=np.bool_)] if late else rows
            if ended.shape[0]:
                found[box.inbox] = ended
        if now - self._forgot > self.lifetime:
            self._forgot = now
            for at, known in self._heard.items():
                self._heard[at] = {row: heard for row, heard in known.items() if now - heard <= self.lifetime}
        return found

    def noticed(self) -> set[int]:
        """The facts whose notices are still to be repeated."""
        return {fact for receivers in self._notices.values() for facts in receivers.values() for fact in facts}

    def noted(self, message: Message) -> None:
        """Remember the notices of a message, to repeat them."""
        if message.dead:
            mine = self._notices.setdefault(message.sender, {}).setdefault(message.receiver, {})
            mine.update(dict.fromkeys(message.dead, REPEATS))

    def renewals(self, nodes: NodeWork, node: int) -> list[Message]:
        """All that a node has sent and still has, as messages; with the notices that are to be repeated."""
        found: dict[int, Message] = {}
        code = nodes.tables.node_codes[node]
        for at, box in enumerate(nodes.tables.program.boxes):
            rows = nodes.tables.present(box.outbox if box.sent is None else box.sent)
            rows = rows[rows[:, 0] == code]
            if box.sent is None:
                nodes.sorter.add(found, at, 1, rows)
            else:
                nodes.sorter.add(found, at, 1, rows[:, :-1], rows[:, -1].astype(np.int64))
        for receiver, facts in self._notices.get(node, {}).items():
            if facts:
                key = node * nodes.many + receiver
                nodes.sorter.message(found, key).dead = sorted(facts)
                for fact in list(facts):
                    facts[fact] -= 1
                    if not facts[fact]:
                        del facts[fact]
        return [found[key] for key in sorted(found) if key % nodes.many != node]
