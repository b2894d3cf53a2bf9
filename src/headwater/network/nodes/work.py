"""What all nodes do at one moment: take in what has come, derive, and say what is to be sent.

Rows of counted boxes are sent as they come and go. Rows with proofs are sent by what the receiver has been told: one
that is new, one whose proof has died and that has another, and one that is gone for a reason which the receiver does
not learn from a dead fact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.engine.border.codec import Change
from headwater.engine.codes.symbols import Codes
from headwater.engine.reading import GONE, Matrix
from headwater.network.nodes.boxes import Box
from headwater.network.nodes.post import Message, MessageBatch, MessageSorter, last_words
from headwater.network.nodes.proofs import NodeProofs, Numbers
from headwater.network.nodes.tables import NodeTables


class NodeWork:
    """The tables and proofs of all nodes, at work."""

    def __init__(
        self, tables: NodeTables, nodes: Sequence[Any], channels: Iterable[tuple[int, int]], *, shares: bool
    ) -> None:
        self.tables = tables
        self._boxes = tables.program.boxes
        proving = any(box.sent is not None for box in self._boxes)
        self.proofs = NodeProofs(tables, len(nodes)) if proving else None
        linked = np.array([sender * len(nodes) + receiver for sender, receiver in channels], dtype=np.int64)
        self.sorter = MessageSorter(
            tables, nodes, linked, None if self.proofs is None else self.proofs.numbers, shares=shares
        )
        self.many = len(nodes)

    def begin(self) -> tuple[list[Message], list[Mapping[str, Change]]]:
        """What the program's own facts send."""
        everything = self.tables.everything()
        outgoing = self._emit([everything], {}, {})
        return self._rest(outgoing, [everything])

    def work(
        self, messages: Sequence[Message], inserts: dict[str, Codes], deletes: dict[str, Codes]
    ) -> tuple[list[Message], list[Mapping[str, Change]]]:
        """Take in messages and changes of base rows; the messages that follow, and what changed on the way."""
        outgoing, changes = self._once(messages, inserts, deletes)
        return self._rest(outgoing, changes)

    def cut(
        self, pairs: Collection[tuple[int, int]], lost: Iterable[Message]
    ) -> tuple[list[Message], list[Mapping[str, Change]]]:
        """Channels fail, each from a sender to a receiver: what came over them goes, as what is said over them is lost.

        A fact about both ends, most often the link, is dead to both: rows that rest on it may have been passed on. A
        notice of such a fact may be among the lost messages, too; its receiver sees for itself that the link is down.
        """
        deletes = {}
        for box in self._boxes:
            rows = self.tables.present(box.inbox)
            rows = rows[self._between(rows, box, pairs)] if rows.shape[0] else rows
            if rows.shape[0]:
                deletes[box.inbox] = rows.astype(np.int64)
        deaths: dict[int, set[int]] = {}
        if self.proofs is not None:
            for node, fact in self.proofs.between(pairs):
                deaths.setdefault(node, set()).add(fact)
                self.proofs.dead[node].add(fact)
            for message in lost:
                deaths.setdefault(message.receiver, set()).update(message.dead)
                self.proofs.dead[message.receiver].update(message.dead)
        return self._rest(*self._once([], {}, deletes, deaths))

    def mend(self, pairs: Collection[tuple[int, int]]) -> list[Message]:
        """Channels work again: all that their senders have for their receivers, who know nothing."""
        found: dict[int, Message] = {}
        for at, box in enumerate(self._boxes):
            rows = self.tables.present(box.outbox)
            rows = rows[self._between(rows, box, pairs)].astype(np.int64) if rows.shape[0] else rows
            if box.sent is None:
                self.sorter.add(found, at, 1, rows)
                continue
            assert self.proofs is not None
            before = self.tables.present(box.sent)
            gone = before[self._between(before, box, pairs)].astype(np.int64) if before.shape[0] else before
            numbers = self.proofs.of_outbox(box, rows) if rows.shape[0] else np.zeros(0, dtype=np.int64)
            kept: dict[str, Codes] = {box.sent: self.proofs.with_proofs(rows, numbers)} if rows.shape[0] else {}
            if kept or gone.shape[0]:
                self.tables.transact(kept, {box.sent: gone} if gone.shape[0] else {})
            if rows.shape[0]:
                self._expose(box, rows, numbers)
                self.sorter.add(found, at, 1, rows, numbers)
        return [found[key] for key in sorted(found)]

    def _between(self, rows: Matrix, box: Box, pairs: Collection[tuple[int, int]]) -> npt.NDArray[np.bool_]:
        """Which rows of a box travel over these channels."""
        keys = [sender * self.many + receiver for sender, receiver in pairs]
        return np.isin(self.sorter.keys(rows, box), keys)

    def _rest(
        self, outgoing: dict[int, Message], changes: list[Mapping[str, Change]]
    ) -> tuple[list[Message], list[Mapping[str, Change]]]:
        """What nodes send to themselves arrives at once, and is no message."""
        while True:
            own = [key for key in outgoing if key % self.many == key // self.many]
            if not own:
                return [outgoing[key] for key in sorted(outgoing)], changes
            more, further = self._once([outgoing.pop(key) for key in own], {}, {})
            changes += further
            for key, message in more.items():
                before = self.sorter.message(outgoing, key)
                before.batches += message.batches
                before.dead += message.dead

    def _once(
        self,
        messages: Sequence[Message],
        inserts: dict[str, Codes],
        deletes: dict[str, Codes],
        deaths: dict[int, set[int]] | None = None,
    ) -> tuple[dict[int, Message], list[Mapping[str, Change]]]:
        deaths = {} if deaths is None else deaths
        told: dict[int, set[int]] = {}  # by receiver and sender: facts that this neighbour knows to be dead
        if self.proofs is not None:
            for message in messages:
                known = self.proofs.dead[message.receiver]
                told.setdefault(message.receiver * self.many + message.sender, set()).update(message.dead)
                deaths.setdefault(message.receiver, set()).update(set(message.dead) - known)
                known.update(message.dead)
        self._take(messages, inserts, deletes)
        found: list[Mapping[str, Change]] = []
        every: dict[int, set[int]] = {}
        while True:
            self._drop(deaths, inserts, deletes)
            for node, facts in deaths.items():
                every.setdefault(node, set()).update(facts)
            if not inserts and not deletes:
                break
            changes = self.tables.transact(inserts, deletes)
            found.append(changes)
            inserts, deletes, deaths = {}, {}, {}
            if self.proofs is None:
                break
            for node, fact in self.proofs.lost(changes):
                deaths.setdefault(node, set()).add(fact)
                self.proofs.dead[node].add(fact)
        return self._emit(found, {node: facts for node, facts in every.items() if facts}, told), found

    # In

    def _take(self, messages: Sequence[Message], inserts: dict[str, Codes], deletes: dict[str, Codes]) -> None:
        parts: dict[int, list[MessageBatch]] = {}
        for message in messages:
            for batch in message.batches:
                parts.setdefault(batch.box, []).append(batch)
        for at, batches in parts.items():
            rows = np.concatenate([batch.rows for batch in batches]).astype(np.int64)
            signs = np.repeat([batch.sign for batch in batches], [batch.rows.shape[0] for batch in batches])
            box = self._boxes[at]
            proofs = None if box.sent is None else _joined_proofs(batches)
            if len(batches) > 1:
                kept = last_words(rows)
                rows, signs = rows[kept], signs[kept]
                proofs = None if proofs is None else proofs[kept]
            coming, going = rows[signs > 0], rows[signs < 0]
            if proofs is not None:
                coming, going = self._believed(box, coming, proofs[signs > 0], going)
            if coming.shape[0]:
                inserts[box.inbox] = coming
            if going.shape[0]:
                deletes[box.inbox] = going

    def _believed(self, box: Box, coming: Codes, proofs: Numbers, going: Codes) -> tuple[Codes, Codes]:
        """Rows with proofs as they are stored; those that rest on a dead fact only put an end to what was there."""
        assert self.proofs is not None
        receivers = self.tables.nodes_of(coming[:, box.receiver]).tolist()
        pairs = zip(receivers, proofs.tolist(), strict=True)
        alive = np.array([not self.proofs.is_dead(node, number) for node, number in pairs], dtype=np.bool_)
        ended, _ = self.proofs.held(box.inbox, np.concatenate([going, coming[~alive]]))
        return self.proofs.with_proofs(coming[alive], proofs[alive]), ended.astype(np.int64)

    def _drop(self, deaths: Mapping[int, set[int]], inserts: dict[str, Codes], deletes: dict[str, Codes]) -> None:
        """Delete arrived rows that rest on facts of which their node has just learnt that they are dead."""
        if self.proofs is None or not any(deaths.values()):
            return
        for box in self.proofs.boxes:
            rows = self.proofs.resting_on(box.inbox, box.receiver, deaths)
            if rows.shape[0]:
                before = deletes.get(box.inbox)
                wide = rows.astype(np.int64)
                deletes[box.inbox] = wide if before is None else np.concatenate([before, wide])

    # Out

    def _emit(
        self, changes: Sequence[Mapping[str, Change]], deaths: Mapping[int, set[int]], told: Mapping[int, set[int]]
    ) -> dict[int, Message]:
        found: dict[int, Message] = {}
        self._notices(found, deaths, told)
        for at, box in enumerate(self._boxes):
            mine = [change for each in changes if (change := each.get(box.outbox)) is not None]
            if box.sent is not None:
                self._emit_proved(found, at, box, mine, deaths)
            elif mine:
                coming, going = net(mine)
                self.sorter.add(found, at, -1, going)
                self.sorter.add(found, at, 1, coming)
        return found

    def _emit_proved(
        self,
        found: dict[int, Message],
        at: int,
        box: Box,
        changes: Sequence[Change],
        deaths: Mapping[int, set[int]],
    ) -> None:
        assert self.proofs is not None
        assert box.sent is not None
        proofs = self.proofs
        stale = proofs.resting_on(box.sent, 0, deaths) if deaths else None
        looked = [rows for change in changes for rows in (change.inserted, change.deleted)]
        if stale is not None:
            looked.append(stale[:, :-1])
        looked = [rows.astype(np.int64) for rows in looked if rows.shape[0]]
        if not looked:
            return
        rows = np.concatenate(looked)
        rows = rows[last_words(rows)]
        store = self.tables.shard.stores[box.outbox]
        place = store.find(rows)
        present = (place >= 0) & (store.stamp[place] > GONE)
        _, was_sent = proofs.held(box.sent, rows)
        stale_rows = _keys(stale[:, :-1]) if stale is not None and stale.shape[0] else set()
        is_stale = np.array([key in stale_rows for key in _key_list(rows)], dtype=np.bool_)
        coming = rows[present & (~was_sent | is_stale)]
        numbers = proofs.of_outbox(box, coming) if coming.shape[0] else np.zeros(0, dtype=np.int64)
        going = rows[~present & was_sent & ~is_stale]
        ended, _ = proofs.held(box.sent, rows[~present & was_sent])
        kept: dict[str, Codes] = {box.sent: proofs.with_proofs(coming, numbers)} if coming.shape[0] else {}
        gone: dict[str, Codes] = {box.sent: ended.astype(np.int64)} if ended.shape[0] else {}
        if kept or gone:
            self.tables.transact(kept, gone)
        self.sorter.add(found, at, -1, going)
        if coming.shape[0]:
            self._expose(box, coming, numbers)
            self.sorter.add(found, at, 1, coming, numbers)

    def _expose(self, box: Box, rows: Matrix, numbers: Numbers) -> None:
        """Remember which facts a neighbour has heard of: it may have passed them on, and must hear if they die."""
        assert self.proofs is not None
        told, proofs = self.proofs.told, self.proofs.numbers.proofs
        pairs = np.unique(np.stack([self.sorter.keys(rows, box), numbers], axis=1), axis=0)
        bits = {number: told.bits_of(proofs[number]) for number in np.unique(numbers).tolist()}
        for key, number in pairs.tolist():
            told.add(key // self.many, key, bits[number])

    def _notices(self, found: dict[int, Message], deaths: Mapping[int, set[int]], told: Mapping[int, set[int]]) -> None:
        """Tell neighbours of dead facts that they have heard of, unless they are where it was heard."""
        for node, facts in deaths.items():
            assert self.proofs is not None
            for key, heard in self.proofs.told.take(node, facts):
                news = heard - told.get(key, set())
                if news:
                    self.sorter.message(found, key).dead = sorted(news)


def net(changes: Sequence[Change]) -> tuple[Matrix, Matrix]:
    """Several changes of one table as one: rows that came, and rows that went."""
    if len(changes) == 1:
        return changes[0].inserted, changes[0].deleted
    pieces = [(rows, sign) for each in changes for rows, sign in ((each.deleted, -1), (each.inserted, 1))]
    rows = np.concatenate([rows for rows, _ in pieces]).astype(np.int64)
    signs = np.repeat([sign for _, sign in pieces], [rows.shape[0] for rows, _ in pieces])
    last = last_words(rows)
    first = rows.shape[0] - 1 - last_words(rows[::-1])
    order = {key: int(signs[at]) for key, at in zip(_key_list(rows[first]), first.tolist(), strict=True)}
    same = np.array([order[key] for key in _key_list(rows[last])], dtype=np.int64) == signs[last]
    last = last[same]
    return rows[last[signs[last] > 0]], rows[last[signs[last] < 0]]


def _key_list(rows: Matrix) -> list[bytes]:
    wide = np.ascontiguousarray(rows, dtype=np.int64)
    return [row.tobytes() for row in wide]


def _keys(rows: Matrix) -> set[bytes]:
    return set(_key_list(rows))


def _joined_proofs(batches: Sequence[MessageBatch]) -> Numbers:
    parts = [
        np.zeros(batch.rows.shape[0], dtype=np.int64) if batch.proofs is None else batch.proofs for batch in batches
    ]
    return np.concatenate(parts)
