"""A node that keeps provenance with every row, and never waits for another (000, sections 4 and 5).

Rows come with the facts they follow from. When a fact dies, each node that hears of it removes the fact from all
annotations it stores. Nothing else is ever withdrawn, so messages of different senders may arrive in any order.

A death follows the rows: a node passes it on to the nodes to which it has sent a derivation that names the fact and
still held. So it reaches every node that may name the fact, on the path of the fact itself: where rows travel along
links alone (002, Claim 1), so do deaths. A derivation over a link names the link; when the link is gone, there is
nothing left to send across it.

Why the view is right when no message is under way. Sound: an annotation holds only while facts are alive from which
the row follows. Complete: take a rule and rows that its node stores. Their join was offered to MinShip; either
something that was sent for the head still holds, and the head's owner has it, or what was kept has been sent in its
place. So the views are closed under the rules.

Within one message, rows are added before facts die: an alternative that travels with a death arrives before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from headwater.network.simulator.layout.layout import Layout, Places
from headwater.network.simulator.node import Node
from headwater.network.simulator.operators.buffered_ship import BufferedShip
from headwater.network.simulator.operators.fixpoint import Fixpoint
from headwater.network.simulator.operators.minship import Eager, Lazy, MinShip, Shipping
from headwater.network.simulator.provenance.algebra import Algebra
from headwater.network.simulator.provenance.annotated_rows import AnnotatedRows
from headwater.network.simulator.rows.join import AbsentKey, DeltaJoin, Part
from headwater.network.simulator.rows.table import HashTable, RowChange
from headwater.network.simulator.rows.terms import Row
from headwater.network.simulator.wire.message import MessagePart, PartKind, put_facts, read_facts
from headwater.plan.model import Pick


class FactNumbers:
    """Numbers for facts, one register for all nodes. Those of dead facts are used again once the transaction is over:
    until then a message may still name them."""

    def __init__(self) -> None:
        self.names: dict[int, tuple[str, Row]] = {}
        self._free: list[int] = []
        self._dead: list[int] = []
        self._next = 0

    def new(self, table: str, row: Row) -> int:
        if self._free:
            number = self._free.pop()
        else:
            number, self._next = self._next, self._next + 1
        self.names[number] = table, row
        return number

    def died(self, number: int) -> None:
        del self.names[number]
        self._dead.append(number)

    def release(self) -> None:
        self._free += reversed(self._dead)
        self._dead = []


class AnnotatedNode(Node):
    """The strategies `absorption` and `relative`; `algebra` says which provenance rows carry."""

    phases: ClassVar[tuple[str, ...]] = ("flow",)

    def __init__(
        self,
        number: int,
        layout: Layout,
        places: Places,
        algebra: Algebra[Any],
        shipping: Shipping,
        numbers: FactNumbers,
    ) -> None:
        self._algebra = algebra
        self._numbers = numbers
        self._lazy = isinstance(shipping, Lazy)
        self._facts: dict[tuple[str, Row], int] = {}
        self._absences: dict[str, dict[AbsentKey, int]] = {}
        super().__init__(number, layout, places)
        aggregates = {aggregation.table for aggregation in layout.plan.aggregations}
        self._homes = {shipment.outbox: shipment.table for shipment in layout.plan.shipments}
        self.fixpoints = {
            name: Fixpoint(algebra, self.tables[name], table.picks, lazy=self._lazy)
            for name, table in layout.tables.items()
            if not table.base and name not in aggregates and name not in self.shipments
        }
        self.ships: dict[str, MinShip[Any]] = {
            name: _outbox(algebra, layout.tables[name].picks, shipping) for name in self.shipments
        }
        self._notices = shipping.notices if isinstance(shipping, Eager | Lazy) else None  # None: deletions row by row
        self._inputs = [name for name in self.tables if name not in self.fixpoints and name not in self.shipments]
        self._dead: set[int] = set()
        self._dying: list[int] = []  # facts of this node that are to die when the stage runs
        self._sent: dict[int, AnnotatedRows[Any]] = {}  # by receiver: the derivations sent to it that still hold
        self._deaths: dict[int, list[int]] = {}  # by receiver: dead facts to be sent
        self._waits = False  # whether notices of fewer facts than a batch wait
        self._queue: deque[tuple[str, Row]] = deque()
        self._news: dict[tuple[str, Row], Any] = {}
        self._outgoing: dict[int, dict[int, list[tuple[Row, Any]]]] = {}

    # Inputs: each row is a fact of its own

    def enter(self, table: str, change: RowChange) -> None:
        self.changes[table] = change
        hashed = self.tables[table]
        for row in change.went:
            self._die(self._facts.pop((table, row)))
            hashed.remove(row)
        for row in change.came:
            number = self._numbers.new(table, row)
            self._facts[table, row] = number
            hashed.put(row, self._algebra.fact(number))
        self._forbid(table, change.came)

    def _forbid(self, table: str, came: list[Row]) -> None:
        """Absences that negated atoms rest on die where a row has come that matches."""
        absences = self._absences.get(table)
        if not absences or not came:
            return
        for absent in list(absences):
            if self._matched(absent):
                self._die(absences.pop(absent))

    def _matched(self, absent: AbsentKey) -> bool:
        rows = self.tables[absent.table].index(absent.columns).get(absent.key, ())
        return any(all(row[x] == row[y] for x, y in absent.equal) for row in rows)

    def absent(self, key: AbsentKey) -> Any:
        known = self._absences.setdefault(key.table, {})
        if key not in known:
            known[key] = self._numbers.new(f"!{key.table}", key.key if isinstance(key.key, tuple) else (key.key,))
        return self._algebra.fact(known[key])

    def _die(self, number: int) -> None:
        self._numbers.died(number)
        self._dying.append(number)

    # A stage

    def run(self, phase: str, *, first: bool) -> None:
        if self._dying:
            dying, self._dying = self._dying, []
            self._lose(dying)
        if first and self.number == 0:
            for join in self.joins.spontaneous:
                self._follow(join, (), None)
        for join, row in list(self.starts()):
            self._follow(join, row, None if join.table is None else self.tables[join.table].rows.get(row))
        self._work()

    def receive(self, sender: int, batches: Iterable[MessagePart]) -> None:
        dead: list[int] = []
        for batch in batches:
            if batch.kind is PartKind.DEAD:
                dead += [number for number in batch.facts if number not in self._dead]
                continue
            if batch.kind is PartKind.GO:
                named = set(read_facts(batch.provenance, len(batch.rows)))
                dead += sorted(named.difference(self._dead, dead))
                continue
            table = self.layout.plan.shipments[batch.shipment].table
            for row, sent in zip(batch.rows, self._algebra.decode(batch.provenance), strict=True):
                provenance = self._algebra.without(sent, self._dead) if self._dead else sent
                if provenance is not None:
                    self._offer(table, row, provenance)
        if dead:
            self._lose(dead, sender)
        self._work()

    def flush(self) -> None:
        for outbox, ship in self.ships.items():
            self._send(outbox, ship.flush())
        self._work()
        self._waits = False

    def _lose(self, dead: list[int], sender: int | None = None) -> None:
        """Facts died: remove them from all annotations, and look for other derivations of the rows that were lost."""
        self._dead.update(dead)
        facts = frozenset(dead)
        for receiver, sent in self._sent.items():
            if sent.touched(facts):
                sent.without(facts)
                if receiver != sender:  # the sender knows already
                    self._waits = True
                    self._deaths.setdefault(receiver, []).extend(dead)
        for name in self._watched & self.fixpoints.keys():
            for row in self.fixpoints[name].store.touched(facts):
                self.touch(name, row)
        holders: list[tuple[str, Fixpoint[Any] | MinShip[Any]]] = [*self.fixpoints.items(), *self.ships.items()]
        lost = [(name, row) for name, holder in holders for row in holder.without(facts)]
        if self._lazy:
            for name, row in lost:
                self._pull(name, row)
        for name, fixpoint in self.fixpoints.items():
            for row, passing in fixpoint.passing():
                self._note(name, row, passing)
        for name, ship in self.ships.items():
            self._send(name, ship.passing() + ship.full())

    def _pull(self, table: str, row: Row) -> None:
        """Offer the smallest derivation that the node's own tables have for a row that lost all it had.

        Offering all of them would save some messages later, but formulas would grow without bound: on a dense network
        a single one outweighs everything that it saves.
        """
        found: dict[Row, Any] = {}
        for join in self.pulls.get(table, ()):
            asked = tuple(row[at] for at in join.rule.pulls[0].columns)
            for head, parts in join.follow(asked, None):
                if not self.belongs(table, head):
                    continue
                provenance = self._provenance(join, head, parts)
                if head not in found or self._algebra.size(provenance) < self._algebra.size(found[head]):
                    found[head] = provenance
        ship = self.ships.get(table)
        for head, provenance in found.items():
            if ship is None:
                if head not in self.fixpoints[table].known:
                    self._offer(table, head, provenance)
            elif head not in ship.known:
                if ship.selection is None:
                    ship.replace(head, provenance)
                else:
                    self._send(table, ship.offer(head, provenance))

    def _offer(self, table: str, row: Row, provenance: Any) -> None:
        self.touch(table, row)
        for _, fresh in self.fixpoints[table].offer(row, provenance):
            self._note(table, row, fresh)

    def _note(self, table: str, row: Row, provenance: Any) -> None:
        """Queue a derivation for the joins; those of one row that wait are merged."""
        key = table, row
        waiting = self._news.get(key)
        if waiting is None:
            self._queue.append(key)
            self._news[key] = provenance
        else:
            self._news[key] = self._algebra.either(waiting, provenance)

    def _work(self) -> None:
        """Follow what is new. A death may change tables of later stages; what passes there follows their rules."""
        queue, stage_of = self._queue, self.layout.stages.of
        while queue:
            self.followed()
            key = queue.popleft()
            table, row = key
            provenance = self._news.pop(key)
            if row in self.tables[table].rows:
                for join in self.stage_joins[stage_of[table]].arrive.get(table, ()):
                    self._follow(join, row, provenance)

    def _follow(self, join: DeltaJoin, row: Row, provenance: Any) -> None:
        table = join.rule.table
        ship = self.ships.get(table)
        known: Container[Row] = () if not self._lazy else (self.fixpoints[table] if ship is None else ship).known
        for head, parts in join.follow(row, provenance):
            if head in known:
                continue
            derived = self._provenance(join, head, parts)
            if ship is None:
                self._offer(table, head, derived)
            else:
                self._send(table, ship.offer(head, derived))

    def _provenance(self, join: DeltaJoin, head: Row, parts: tuple[Part, ...]) -> Any:
        table = join.rule.table
        home = self._homes.get(table, table)
        if not parts:
            return self._algebra.always(home, head)
        return self._algebra.joined(join.rule.origin, home, head, [value for _, value in parts])

    def _send(self, outbox: str, rows: list[tuple[Row, Any]]) -> None:
        if rows:
            at, shipment = self.shipments[outbox]
            for row, provenance in rows:
                for receiver in self.receivers(shipment, row):
                    if receiver == self.number:
                        self._offer(shipment.table, row, provenance)
                    else:
                        self._outgoing.setdefault(receiver, {}).setdefault(at, []).append((row, provenance))

    def collect(self) -> Mapping[int, list[MessagePart]]:
        found: dict[int, list[MessagePart]] = {}
        for receiver, parts in self._outgoing.items():
            found[receiver] = []
            for at, annotated in parts.items():
                if self._notices is not None:
                    self._note_sent(receiver, at, annotated)
                rows, provenances = [row for row, _ in annotated], [provenance for _, provenance in annotated]
                found[receiver].append(MessagePart(PartKind.COME, at, rows, self._algebra.encode(provenances)))
        self._outgoing = {}
        if self._notices is None:
            self._collect_deleted(found)
        else:
            self._collect_deaths(found, self._notices)
        return found

    def _note_sent(self, receiver: int, at: int, annotated: list[tuple[Row, Any]]) -> None:
        if receiver not in self._sent:  # lazy: a receiver may keep a derivation that another one absorbs
            self._sent[receiver] = AnnotatedRows(self._algebra, HashTable(), lazy=True)
        for row, provenance in annotated:
            self._sent[receiver].add((at, *row), provenance)

    def _collect_deaths(self, found: dict[int, list[MessagePart]], notices: int) -> None:
        """Dead facts go with rows for the same receiver, or when there are enough, or when nothing is under way."""
        held: dict[int, list[int]] = {}
        for receiver, facts in self._deaths.items():
            if self._waits and receiver not in found and len(facts) < notices:
                held[receiver] = facts
            else:
                found.setdefault(receiver, []).append(MessagePart(PartKind.DEAD, facts=facts))
        self._deaths = held

    def _collect_deleted(self, found: dict[int, list[MessagePart]]) -> None:
        for outbox, ship in self.ships.items():
            if not isinstance(ship, BufferedShip) or not ship.deleted:
                continue
            at, shipment = self.shipments[outbox]
            going: dict[int, list[tuple[Row, set[int]]]] = {}
            for row, facts in ship.deleted.items():
                for receiver in self.receivers(shipment, row):
                    if receiver != self.number:
                        going.setdefault(receiver, []).append((row, facts))
            ship.deleted = {}
            for receiver, deleted in going.items():
                rows, written = [row for row, _ in deleted], put_facts(facts for _, facts in deleted)
                found.setdefault(receiver, []).append(MessagePart(PartKind.GO, at, rows, written))

    def close(self) -> None:
        self._dead.clear()

    # What can be seen

    def shows(self, table: str, row: Row) -> bool:
        found = self.fixpoints.get(table)
        return row in self.tables[table].rows if found is None else found.shows(row)

    def visible(self, table: str) -> Iterable[Row]:
        found = self.fixpoints.get(table)
        return list(self.tables[table].rows) if found is None else [row for row in found.known if found.shows(row)]

    def group(self, table: str, row: Row) -> Iterable[Row]:
        found = self.fixpoints.get(table)
        return () if found is None else found.beside(row)

    def stored(self) -> Iterator[tuple[Row, Any]]:
        for name in self._inputs:
            yield from self.tables[name].rows.items()
        for fixpoint in self.fixpoints.values():
            yield from fixpoint.stored()
        for ship in self.ships.values():
            yield from ship.stored()
        for sent in self._sent.values():
            yield from sent.stored()


def _outbox(algebra: Algebra[Any], picks: tuple[Pick, ...], shipping: Shipping) -> MinShip[Any]:
    if isinstance(shipping, Eager | Lazy):
        return MinShip(algebra, picks, shipping)
    return BufferedShip(algebra, picks, shipping)
