"""A node that keeps provenance with every row, and never waits for another (000, sections 4 and 5).

Rows come with the facts they follow from. Facts die; each node that hears of it frees whatever it stores. Nothing
else is ever taken back, so messages may come in any order between different senders, and nobody has to be done
before anybody else.

A death follows the rows: whoever hears of one tells the nodes to which it has sent a derivation that names the fact
and that still held. So every node that may name the fact hears of it, by the way on which the fact itself came, and no
message travels where no row would: where rows travel along links alone (002, Claim 1), so do deaths. A derivation over
a link names the link; when the link is gone, nothing is left to tell across it.

Why the view is right when nothing is under way. Sound: an annotation holds only while facts are alive from which
the row follows, whatever else has happened since it was written. Complete: take a rule and rows that its node
stores. Their join was offered to MinShip, so either something that was sent for the head still holds, and then the
head's owner has it, for it got all that was sent; or what was kept has been sent in its place. So the views are
closed under the rules.

The order of things within one message: rows are taken in before facts die, so that an alternative that travels with
a death arrives before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from headwater.network.simulator.layout.layout import Layout, Places
from headwater.network.simulator.node import Node
from headwater.network.simulator.operators.fixpoint import Fixpoint
from headwater.network.simulator.operators.minship import Lazy, MinShip, Shipping
from headwater.network.simulator.provenance.algebra import Algebra
from headwater.network.simulator.provenance.provenances import Provenances
from headwater.network.simulator.rows.join import AbsentKey, Part, Route
from headwater.network.simulator.rows.table import Change, HashTable
from headwater.network.simulator.rows.terms import Row
from headwater.network.simulator.wire.message import Batch, Says


class Numbers:
    """Numbers for facts, given out by one register for all nodes; those of dead facts are used again.

    They are free again only when the transaction is over: until then a message may still name them.
    """

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


class Annotated(Node):
    phases: ClassVar[tuple[str, ...]] = ("flow",)

    def __init__(
        self, number: int, layout: Layout, places: Places, algebra: Algebra[Any], shipping: Shipping, numbers: Numbers
    ) -> None:
        self._algebra = algebra
        self._numbers = numbers
        self._lazy = isinstance(shipping, Lazy)
        self._facts: dict[tuple[str, Row], int] = {}
        self._absences: dict[str, dict[AbsentKey, int]] = {}
        super().__init__(number, layout, places)
        aggregates = {one.table for one in layout.plan.aggregations}
        self._homes = {one.outbox: one.table for one in layout.plan.shipments}
        self.fixpoints = {
            name: Fixpoint(algebra, self.tables[name], table.picks, lazy=self._lazy)
            for name, table in layout.tables.items()
            if not table.base and name not in aggregates and name not in self.shipments
        }
        self.ships = {name: MinShip(algebra, layout.tables[name].picks, shipping) for name in self.shipments}
        self._inputs = [name for name in self.tables if name not in self.fixpoints and name not in self.shipments]
        self._dead: set[int] = set()
        self._dying: list[int] = []  # facts of this node that are to die when the stage runs
        self._told: dict[int, Provenances[Any]] = {}  # by receiver: the derivations sent to it, as far as they hold
        self._tell: dict[int, list[int]] = {}  # by receiver: facts that it must hear are dead
        self._queue: deque[tuple[str, Row]] = deque()
        self._news: dict[tuple[str, Row], Any] = {}
        self._outgoing: dict[int, dict[int, list[tuple[Row, Any]]]] = {}

    # Inputs: each row is a fact of its own

    def enter(self, table: str, change: Change) -> None:
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
        """Rows came that negated atoms had been told to be absent: those absences die."""
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
            for route in self.routes.spontaneous:
                self._follow(route, (), None)
        for name, change in list(self.changes.items()):
            hashed = self.tables[name]
            for route in self.routes.arrive.get(name, ()):
                for row in change.came:
                    self._follow(route, row, hashed.rows[row])
            for route in self.routes.allow.get(name, ()):
                for row in change.went:
                    self._follow(route, row, None)
        self._work()

    def receive(self, sender: int, batches: Iterable[Batch]) -> None:
        dead: list[int] = []
        for batch in batches:
            if batch.says is Says.DEAD:
                dead += [number for number in batch.facts if number not in self._dead]
                continue
            table = self.layout.plan.shipments[batch.shipment].table
            for row, told in zip(batch.rows, self._algebra.decode(batch.provenance), strict=True):
                provenance = self._algebra.without(told, self._dead) if self._dead else told
                if provenance is not None:
                    self._offer(table, row, provenance)
        if dead:
            self._lose(dead, sender)
        self._work()

    def flush(self) -> None:
        for outbox, ship in self.ships.items():
            self._send(outbox, ship.flush())
        self._work()

    def _lose(self, dead: list[int], sender: int | None = None) -> None:
        """Facts died: free everything of them, and find for what was lost another derivation, if there is one here."""
        self._dead.update(dead)
        facts = frozenset(dead)
        for receiver, told in self._told.items():
            if told.touched(facts):
                told.without(facts)
                if receiver != sender:  # who brought the news has it
                    self._tell.setdefault(receiver, []).extend(dead)
        for name in self._watched & self.fixpoints.keys():
            for row in self.fixpoints[name].store.touched(facts):
                self.touch(name, row)
        lost = [(name, row) for name, one in self.fixpoints.items() for row in one.without(facts)]
        unsent = [(name, row) for name, one in self.ships.items() for row in one.without(facts)]
        if self._lazy:
            for name, row in lost:
                self._pull(name, row)
            for name, row in unsent:
                self._pull(name, row)
        for name, fixpoint in self.fixpoints.items():
            for row, passing in fixpoint.passing():
                self._note(name, row, passing)
        for name, ship in self.ships.items():
            self._send(name, ship.passing() + ship.full())

    def _pull(self, table: str, row: Row) -> None:
        """Offer what the node's own tables say of a row that has lost all that was told of it.

        Where a row has several derivations here, the smallest is offered. To offer all of them would spare some
        messages later, at the price of formulas that grow without bound: on a dense network one of them alone
        outweighs everything that it spares.
        """
        found: dict[Row, Any] = {}
        for route in self.pulls.get(table, ()):
            asked = tuple(row[at] for at in route.rule.pulls[0].columns)
            for head, parts in route.follow(asked, None):
                if not self.belongs(table, head):
                    continue
                provenance = self._provenance(route, head, parts)
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
        fresh = self.fixpoints[table].offer(row, provenance)
        if fresh is not None:
            self._note(table, row, fresh)

    def _note(self, table: str, row: Row, provenance: Any) -> None:
        """Have the joins look at a derivation; several of one row that wait are looked at together."""
        key = table, row
        waiting = self._news.get(key)
        if waiting is None:
            self._queue.append(key)
            self._news[key] = provenance
        else:
            self._news[key] = self._algebra.either(waiting, provenance)

    def _work(self) -> None:
        """Follow what is new. A death may be felt in stages to come; what passes there goes on by their rules."""
        queue, stage_of = self._queue, self.layout.stages.of
        while queue:
            self.followed()
            key = queue.popleft()
            table, row = key
            provenance = self._news.pop(key)
            if row in self.tables[table].rows:
                for route in self.routes_of(stage_of[table]).arrive.get(table, ()):
                    self._follow(route, row, provenance)

    def _follow(self, route: Route, row: Row, provenance: Any) -> None:
        table = route.rule.table
        ship = self.ships.get(table)
        known: Container[Row] = () if not self._lazy else (self.fixpoints[table] if ship is None else ship).known
        for head, parts in route.follow(row, provenance):
            if head in known:
                continue
            derived = self._provenance(route, head, parts)
            if ship is None:
                self._offer(table, head, derived)
            else:
                self._send(table, ship.offer(head, derived))

    def _provenance(self, route: Route, head: Row, parts: tuple[Part, ...]) -> Any:
        table = route.rule.table
        home = self._homes.get(table, table)
        if not parts:
            return self._algebra.always(home, head)
        return self._algebra.joined(route.rule.origin, home, head, [value for _, value in parts])

    def _send(self, outbox: str, rows: list[tuple[Row, Any]]) -> None:
        if rows:
            at, shipment = self.shipments[outbox]
            for row, provenance in rows:
                for receiver in self.receivers(shipment, row):
                    if receiver == self.number:
                        self._offer(shipment.table, row, provenance)
                    else:
                        self._outgoing.setdefault(receiver, {}).setdefault(at, []).append((row, provenance))

    def collect(self) -> Mapping[int, list[Batch]]:
        found: dict[int, list[Batch]] = {}
        for receiver, parts in self._outgoing.items():
            told = self._told_to(receiver)
            for at, rows in parts.items():
                for row, provenance in rows:
                    told.add((at, *row), provenance)
            found[receiver] = [
                Batch(
                    Says.COME,
                    at,
                    [row for row, _ in rows],
                    self._algebra.encode([provenance for _, provenance in rows]),
                )
                for at, rows in parts.items()
            ]
        for receiver, facts in self._tell.items():
            found.setdefault(receiver, []).append(Batch(Says.DEAD, facts=facts))
        self._outgoing, self._tell = {}, {}
        return found

    def _told_to(self, receiver: int) -> Provenances[Any]:
        """Every derivation by itself: a receiver may keep one that another absorbs."""
        told = self._told.get(receiver)
        if told is None:
            told = self._told[receiver] = Provenances(self._algebra, HashTable(), lazy=True)
        return told

    def close(self) -> None:
        self._dead.clear()

    # What can be seen

    def shows(self, table: str, row: Row) -> bool:
        found = self.fixpoints.get(table)
        return row in self.tables[table].rows if found is None else found.shows(row)

    def visible(self, table: str) -> Iterable[Row]:
        found = self.fixpoints.get(table)
        return list(self.tables[table].rows) if found is None else list(found.rows())

    def group(self, table: str, row: Row) -> Iterable[Row]:
        found = self.fixpoints.get(table)
        return () if found is None or found.selection is None else found.selection.beside(row)

    def stored(self) -> Iterator[tuple[Row, Any]]:
        for name in self._inputs:
            yield from self.tables[name].rows.items()
        for fixpoint in self.fixpoints.values():
            yield from fixpoint.stored()
        for ship in self.ships.values():
            yield from ship.stored()
        for told in self._told.values():
            yield from told.stored()
