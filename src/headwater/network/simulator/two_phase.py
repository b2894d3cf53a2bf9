"""Nodes that delete in two phases: mark what may be gone, and, when all have marked, derive again what is not.

`dred` marks every row that has a derivation through a marked one (delete and re-derive, the baseline of 000,
section 3.2). `witness` keeps one derivation of each row, and marks a row only when that one is hit. Rows carry no
provenance on the wire, only "this row comes" and "this row goes"; but between the phases all nodes have to wait for
each other.

A sender's row that goes is marked at its owner as the sender's (an inbox keeps senders apart); whether the row
itself is marked is decided there. Marked rows stay hidden in their tables until the transaction ends, so that joins
can still be followed back through them. Where a table keeps only the best rows, those that were overtaken stay as
they are: whatever rests on them is true, and overtaken too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, TypeAlias

from headwater.network.simulator.layout.layout import Layout, Places
from headwater.network.simulator.node import Node
from headwater.network.simulator.operators.selection import Selection
from headwater.network.simulator.rows.join import AbsentKey, Looks, Part, Route
from headwater.network.simulator.rows.table import Change, HashTable
from headwater.network.simulator.rows.terms import Row
from headwater.network.simulator.wire.message import Batch, Says
from headwater.plan.model import Pick

Witness: TypeAlias = tuple[Any, ...] | None
"""The number of the rule, then the rows of one derivation; None where none is kept."""


class Kept:
    """The rows of one table: all that are derived, and among them those that the joins see."""

    def __init__(self, table: HashTable[Witness], picks: tuple[Pick, ...]) -> None:
        self.table = table
        self.selection = Selection(picks) if picks else None
        self.held: dict[Row, Witness] = {} if picks else table.rows
        self.marked: set[Row] = set() if picks else table.hidden

    def add(self, row: Row, witness: Witness) -> bool:
        """A derivation came; whether the joins are to look at the row because of it."""
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
        """The row may be gone; whether what was joined from it is to be looked at."""
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


class TwoPhase(Node):
    phases: ClassVar[tuple[str, ...]] = ("mark", "derive")

    def __init__(self, number: int, layout: Layout, places: Places, *, witnesses: bool) -> None:
        super().__init__(number, layout, places)
        self._witnesses = witnesses
        aggregates = {one.table for one in layout.plan.aggregations}
        self.kept = {
            name: Kept(self.tables[name], table.picks)
            for name, table in layout.tables.items()
            if not table.base and name not in aggregates
        }
        self._by_inbox = {one.inbox: one for one in layout.plan.shipments}
        self._inputs = [name for name in self.tables if name not in self.kept]
        self._queue: deque[tuple[str, Row]] = deque()
        self._marking = True
        self._outgoing: dict[int, dict[tuple[Says, int], list[Row]]] = {}

    def enter(self, table: str, change: Change) -> None:
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
            for route in self.routes.arrive.get(name, ()):
                for row in change.went:
                    self._hit(route, row)
            for route in self.routes.forbid.get(name, ()):
                for row in change.came:
                    self._hit(route, row)

    def _hit(self, route: Route, row: Row) -> None:
        """Mark what was derived from a row that goes, or that a row which comes forbids."""
        kept = self.kept[route.rule.table]
        for head, parts in route.follow(row, None, Looks.BACK):
            if not self._witnesses or kept.held.get(head) == (route.rule.id, *route.body(parts)):
                self._mark(route.rule.table, head)

    def _mark(self, table: str, row: Row) -> None:
        self.touch(table, row)
        if self.kept[table].mark(row):
            self._queue.append((table, row))

    def _derive(self, *, first: bool) -> None:
        if first and self.number == 0:
            for route in self.routes.spontaneous:
                for head, parts in route.follow((), None):
                    self._come(route, head, parts)
        for name, kept in self.kept.items():
            if self.layout.stages.of[name] == self.stage and name not in self._by_inbox:
                for row in list(kept.marked):
                    self._pull(name, row)
                for row in kept.next_best():
                    self.touch(name, row)
                    self._queue.append((name, row))
        for name, change in self.changes.items():
            for route in self.routes.arrive.get(name, ()):
                for row in change.came:
                    self._follow(route, row)
            for route in self.routes.allow.get(name, ()):
                for row in change.went:
                    self._follow(route, row)

    def _pull(self, table: str, row: Row) -> None:
        """Look for a derivation of a marked row; where only groups can be asked for, of any row of its group."""
        for route, columns in self._pulls(table):
            asked = tuple(row[at] for at in columns)
            for head, parts in route.follow(asked, None):
                if head == row or (self.kept[table].selection is not None and self.belongs(table, head)):
                    self._come(route, head, parts)
                    if head == row and self.kept[table].selection is None:
                        return

    def _pulls(self, table: str) -> Iterator[tuple[Route, tuple[int, ...]]]:
        for route in self.pulls.get(table, ()):
            yield route, route.rule.pulls[0].columns

    def _follow(self, route: Route, row: Row) -> None:
        kept = self.kept[route.rule.table]
        held, marked = kept.held, kept.marked
        for head, parts in route.follow(row, None):
            if head not in held or head in marked:
                self._come(route, head, parts)

    def _come(self, route: Route, head: Row, parts: tuple[Part, ...]) -> None:
        witness = (route.rule.id, *route.body(parts)) if self._witnesses else None
        self._add(route.rule.table, head, witness)

    def _add(self, table: str, row: Row, witness: Witness) -> None:
        self.touch(table, row)
        if self.kept[table].add(row, witness):
            self._queue.append((table, row))

    def _work(self) -> None:
        routes = self.routes.arrive
        while self._queue:
            self.followed()
            table, row = self._queue.popleft()
            if table in self.shipments:
                self._send(table, row)
            elif self._marking:
                for route in routes.get(table, ()):
                    self._hit(route, row)
            elif row in self.tables[table]:
                for route in routes.get(table, ()):
                    self._follow(route, row)

    def _send(self, outbox: str, row: Row) -> None:
        at, shipment = self.shipments[outbox]
        says = Says.GO if self._marking else Says.COME
        for receiver in self.receivers(shipment, row):
            if receiver == self.number:
                self._take(says, shipment.inbox, (self.number, *row))
            else:
                self._outgoing.setdefault(receiver, {}).setdefault((says, at), []).append(row)

    def _take(self, says: Says, inbox: str, row: Row) -> None:
        if says is Says.GO:
            self._mark(inbox, row)
        else:
            self._add(inbox, row, None)

    def receive(self, sender: int, batches: Iterable[Batch]) -> None:
        for batch in batches:
            inbox = self.layout.plan.shipments[batch.shipment].inbox
            for row in batch.rows:
                self._take(batch.says, inbox, (sender, *row))
        self._work()

    def collect(self) -> Mapping[int, list[Batch]]:
        found = {
            receiver: [Batch(says, at, rows) for (says, at), rows in parts.items()]
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
