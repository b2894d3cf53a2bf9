"""A node that deletes in two phases: mark rows that may be gone; when all nodes have marked, derive the others again.

`dred` marks every row that has a derivation through a marked one (delete and re-derive, the baseline of 000,
section 3.2). `witness` keeps one derivation of each row, and marks a row only when that one is hit. Messages carry no
provenance, only rows that come and rows that go; but between the phases all nodes wait for each other.

A sender's row that goes is marked at its owner as the sender's (an inbox keeps senders apart); the owner decides
whether the row itself is marked. Marked rows stay hidden in their tables until the transaction ends, so that joins
can still go back through them. Where a table keeps only the best rows, overtaken rows stay as they are: what rests on
them is true, and overtaken too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, TypeAlias

from headwater.network.simulator.layout.layout import Layout, Places
from headwater.network.simulator.node import Node
from headwater.network.simulator.operators.selection import BestRows
from headwater.network.simulator.rows.join import AbsentKey, DeltaJoin, Looks, Part
from headwater.network.simulator.rows.table import HashTable, RowChange
from headwater.network.simulator.rows.terms import Row
from headwater.network.simulator.wire.message import MessagePart, PartKind
from headwater.plan.model import Pick

Witness: TypeAlias = tuple[Any, ...] | None
"""The number of the rule, then the rows of one derivation; None where none is kept."""


class KeptRows:
    """The rows of one table: all that are derived, and those of them that the joins see."""

    def __init__(self, table: HashTable[Witness], picks: tuple[Pick, ...]) -> None:
        self.table = table
        self.selection = BestRows(picks) if picks else None
        self.held: dict[Row, Witness] = {} if picks else table.rows
        self.marked: set[Row] = set() if picks else table.hidden

    def add(self, row: Row, witness: Witness) -> bool:
        """A derivation came; whether the joins must follow the row because of it."""
        if row in self.held and row not in self.marked:
            return False
        self.marked.discard(row)
        if self.selection is None:
            self.table.put(row, witness)
            return True
        self.held[row] = witness
        self.selection.add(row)
        return self._pass(row)

    def mark(self, row: Row) -> bool:
        """The row may be gone; whether the joins must follow it back."""
        if row not in self.held or row in self.marked:
            return False
        self.marked.add(row)
        if self.selection is None:
            return True
        self.selection.remove(row)
        if row in self.table:
            self.table.hidden.add(row)
            return True
        return False

    def next_best(self) -> list[Row]:
        """Rows that are best now that others are marked, and that the joins have not seen."""
        if self.selection is None or not self.marked:
            return []
        return [row for row in dict.fromkeys(self.selection.beside(list(self.marked))) if self._pass(row)]

    def shows(self, row: Row) -> bool:
        alive = row in self.held and row not in self.marked
        return alive and (self.selection is None or self.selection.is_best(row))

    def sweep(self) -> None:
        for row in list(self.table.hidden):
            self.table.remove(row)
        if self.selection is not None:
            for row in self.marked:
                del self.held[row]
            self.marked.clear()

    def _pass(self, row: Row) -> bool:
        assert self.selection is not None
        if row in self.table or not self.selection.is_best(row):
            return False
        self.table.hidden.discard(row)
        self.table.put(row, self.held[row])
        return True


class TwoPhaseNode(Node):
    """The strategies `dred` and `witness`."""

    phases: ClassVar[tuple[str, ...]] = ("mark", "derive")

    def __init__(self, number: int, layout: Layout, places: Places, *, witnesses: bool) -> None:
        super().__init__(number, layout, places)
        self._witnesses = witnesses
        aggregates = {aggregation.table for aggregation in layout.plan.aggregations}
        self.kept = {
            name: KeptRows(self.tables[name], table.picks)
            for name, table in layout.tables.items()
            if not table.base and name not in aggregates
        }
        self._inboxes = {shipment.inbox for shipment in layout.plan.shipments}
        self._inputs = [name for name in self.tables if name not in self.kept]
        self._queue: deque[tuple[str, Row]] = deque()
        self._marking = True
        self._outgoing: dict[int, dict[tuple[PartKind, int], list[Row]]] = {}

    def enter(self, table: str, change: RowChange) -> None:
        self.changes[table] = change
        hashed = self.tables[table]
        for row in change.came:
            hashed.put(row, None)
        hashed.hidden.update(change.went)

    def absent(self, key: AbsentKey) -> None:
        return None

    # A stage

    def run(self, phase: str, *, first: bool) -> None:
        self._marking = phase == "mark"
        if self._marking:
            self._mark_inputs()
        else:
            self._derive(first=first)
        self._work()

    def _mark_inputs(self) -> None:
        for name, change in self.changes.items():
            for joins, rows in ((self.joins.arrive, change.went), (self.joins.forbid, change.came)):
                for join in joins.get(name, ()):
                    for row in rows:
                        self._hit(join, row)

    def _hit(self, join: DeltaJoin, row: Row) -> None:
        """Mark what was derived from a row that goes, or that a row which comes forbids."""
        kept = self.kept[join.rule.table]
        for head, parts in join.follow(row, None, Looks.BACK):
            if not self._witnesses or kept.held.get(head) == (join.rule.id, *join.body(parts)):
                self._mark(join.rule.table, head)

    def _mark(self, table: str, row: Row) -> None:
        self.touch(table, row)
        if self.kept[table].mark(row):
            self._queue.append((table, row))

    def _derive(self, *, first: bool) -> None:
        if first and self.number == 0:
            for join in self.joins.spontaneous:
                for head, parts in join.follow((), None):
                    self._come(join, head, parts)
        for name, kept in self.kept.items():
            if self.layout.stages.of[name] == self.stage and name not in self._inboxes:
                for row in list(kept.marked):
                    self._pull(name, row)
                for row in kept.next_best():
                    self.touch(name, row)
                    self._queue.append((name, row))
        for join, row in self.starts():
            self._follow(join, row)

    def _pull(self, table: str, row: Row) -> None:
        """Look for a derivation of a marked row; where only groups can be asked for, of any row of its group."""
        for join in self.pulls.get(table, ()):
            asked = tuple(row[at] for at in join.rule.pulls[0].columns)
            for head, parts in join.follow(asked, None):
                if head == row or (self.kept[table].selection is not None and self.belongs(table, head)):
                    self._come(join, head, parts)
                    if head == row and self.kept[table].selection is None:
                        return

    def _follow(self, join: DeltaJoin, row: Row) -> None:
        kept = self.kept[join.rule.table]
        held, marked = kept.held, kept.marked
        for head, parts in join.follow(row, None):
            if head not in held or head in marked:
                self._come(join, head, parts)

    def _come(self, join: DeltaJoin, head: Row, parts: tuple[Part, ...]) -> None:
        witness = (join.rule.id, *join.body(parts)) if self._witnesses else None
        self._add(join.rule.table, head, witness)

    def _add(self, table: str, row: Row, witness: Witness) -> None:
        self.touch(table, row)
        if self.kept[table].add(row, witness):
            self._queue.append((table, row))

    def _work(self) -> None:
        joins = self.joins.arrive
        while self._queue:
            self.followed()
            table, row = self._queue.popleft()
            if table in self.shipments:
                self._send(table, row)
            elif self._marking:
                for join in joins.get(table, ()):
                    self._hit(join, row)
            elif row in self.tables[table]:
                for join in joins.get(table, ()):
                    self._follow(join, row)

    def _send(self, outbox: str, row: Row) -> None:
        at, shipment = self.shipments[outbox]
        kind = PartKind.GO if self._marking else PartKind.COME
        for receiver in self.receivers(shipment, row):
            if receiver == self.number:
                self._take(kind, shipment.inbox, (self.number, *row))
            else:
                self._outgoing.setdefault(receiver, {}).setdefault((kind, at), []).append(row)

    def _take(self, kind: PartKind, inbox: str, row: Row) -> None:
        if kind is PartKind.GO:
            self._mark(inbox, row)
        else:
            self._add(inbox, row, None)

    def receive(self, sender: int, batches: Iterable[MessagePart]) -> None:
        for batch in batches:
            inbox = self.layout.plan.shipments[batch.shipment].inbox
            for row in batch.rows:
                self._take(batch.kind, inbox, (sender, *row))
        self._work()

    def collect(self) -> Mapping[int, list[MessagePart]]:
        found = {
            receiver: [MessagePart(kind, at, rows) for (kind, at), rows in parts.items()]
            for receiver, parts in self._outgoing.items()
        }
        self._outgoing = {}
        return found

    def close(self) -> None:
        for kept in self.kept.values():
            kept.sweep()
        for name in self._inputs:
            for row in list(self.tables[name].hidden):
                self.tables[name].remove(row)

    # What can be seen

    def shows(self, table: str, row: Row) -> bool:
        found = self.kept.get(table)
        return row in self.tables[table] if found is None else found.shows(row)

    def visible(self, table: str) -> Iterable[Row]:
        found = self.kept.get(table)
        return self.tables[table].alive() if found is None else [row for row in found.held if found.shows(row)]

    def group(self, table: str, row: Row) -> Iterable[Row]:
        found = self.kept.get(table)
        return () if found is None or found.selection is None else found.selection.beside([row])

    def stored(self) -> Iterator[tuple[Row, Any]]:
        for name in self._inputs:
            yield from self.tables[name].rows.items()
        for kept in self.kept.values():
            yield from kept.held.items()
