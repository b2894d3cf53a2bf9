"""One node: its tables, the routes through its rules, and what it has to tell others.

A transaction runs stage by stage. What a stage starts from are *inputs*: base rows, aggregates, and the upper
copies of tables below; they change before the stage begins and hold still while it runs. How rows of the stage
itself come and go is the strategy's business: `Annotated` keeps provenance, `TwoPhase` marks and derives again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from headwater.network.simulator.layout.layout import Layout, Places
from headwater.network.simulator.layout.stages import upper_copy
from headwater.network.simulator.rows.aggregation import Aggregator
from headwater.network.simulator.rows.join import AbsentKey, Route
from headwater.network.simulator.rows.table import Change, HashTable
from headwater.network.simulator.rows.terms import Row
from headwater.network.simulator.wire.message import Batch
from headwater.plan.model import DeltaRule, FlatRule, Shipment


@dataclass(slots=True)
class Routes:
    """The delta rules of the rules of one stage, by the table that they start from."""

    arrive: dict[str, list[Route]] = field(default_factory=dict)
    forbid: dict[str, list[Route]] = field(default_factory=dict)
    allow: dict[str, list[Route]] = field(default_factory=dict)
    spontaneous: list[Route] = field(default_factory=list)


class Node(ABC):
    phases: ClassVar[tuple[str, ...]]
    """The steps of a stage; all nodes finish one, and nothing is under way, before any node starts the next."""

    def __init__(self, number: int, layout: Layout, places: Places) -> None:
        self.number = number
        self.layout = layout
        self.places = places
        names = [*layout.tables, *map(upper_copy, layout.stages.upper)]
        self.tables: dict[str, HashTable[Any]] = {name: HashTable() for name in names}
        self.shipments = {one.outbox: (at, one) for at, one in enumerate(layout.plan.shipments)}
        self._shipment_of = {one.table: one for one in layout.plan.shipments}
        self.stage = 0
        self._followed = 0
        self._check: Callable[[int], None] = lambda _: None
        self.changes: dict[str, Change] = {}  # of the inputs, in this transaction
        self._aggregators = [Aggregator(one, layout.tables) for one in layout.plan.aggregations]
        self._watched = {*layout.outputs, *layout.stages.upper, *(bag for one in self._aggregators for bag in one.bags)}
        self._watched -= {name for name, table in layout.tables.items() if table.base}
        self._before: dict[str, dict[Row, bool]] = {}
        self._routes = [Routes() for _ in range(layout.stages.count)]
        self.pulls: dict[str, list[Route]] = {}
        for rule in layout.plan.rules:
            if not layout.tables[rule.table].base:
                self._add_routes(rule)

    def watch(self, check: Callable[[int], None]) -> None:
        """Have somebody told, now and then, how many rows were followed; it may stop the work by an exception."""
        self._check = check

    def followed(self) -> None:
        """One more row was followed."""
        self._followed += 1
        if self._followed == 1000:
            self._followed = 0
            self._check(1000)

    def _add_routes(self, rule: FlatRule) -> None:
        stage = self.layout.stages.of[rule.table]
        named = partial(self.layout.stages.read_as, stage=stage)

        def route(delta_rule: DeltaRule) -> Route:
            return Route(delta_rule, rule, self.layout.tables[rule.table].types, self.tables, named, self.absent)

        routes = self._routes[stage]
        for found, delta_rules in (
            (routes.arrive, rule.arrive),
            (routes.forbid, rule.forbid),
            (routes.allow, rule.allow),
        ):
            for one in map(route, delta_rules):
                assert one.table is not None
                found.setdefault(one.table, []).append(one)
        if rule.spontaneous is not None:
            routes.spontaneous.append(route(rule.spontaneous))
        self.pulls.setdefault(rule.table, []).append(route(rule.pulls[0].delta_rule))

    @property
    def routes(self) -> Routes:
        """Of the stage at hand."""
        return self._routes[self.stage]

    def routes_of(self, stage: int) -> Routes:
        return self._routes[stage]

    # The course of a transaction

    def open(self, changes: Mapping[str, Change]) -> None:
        """Begin, with these changes of the base rows that live here."""
        self._before = {name: {} for name in self._watched}
        self.changes = {}
        for name, change in changes.items():
            self.enter(name, change)

    def start(self, stage: int) -> None:
        """Begin a stage: what it reads from below is complete."""
        self.stage = stage
        for one in self._aggregators:
            if self.layout.stages.of[one.plan.table] == stage:
                self.enter(one.plan.table, one.settle({bag: self.net(bag) for bag in one.bags}))

    @abstractmethod
    def run(self, phase: str, *, first: bool) -> None:
        """One phase of the stage, as far as it goes without hearing from others."""

    @abstractmethod
    def receive(self, sender: int, batches: Iterable[Batch]) -> None:
        """A message came; go on with it as far as it leads."""

    @abstractmethod
    def collect(self) -> Mapping[int, list[Batch]]:
        """What is to be sent, by receiver; it counts as sent."""

    def flush(self) -> None:  # noqa: B027  a node that holds nothing back has nothing to do
        """Nothing is under way any more: let go what was held back."""

    def finish(self) -> None:
        """The stage is done: its tables are complete, and whoever stands above may read them."""
        for name in self.layout.stages.upper:
            if self.layout.stages.of[name] == self.stage:
                self.enter(upper_copy(name), self.net(name))

    @abstractmethod
    def close(self) -> None:
        """The transaction is done."""

    @abstractmethod
    def enter(self, table: str, change: Change) -> None:
        """Change an input, and remember how."""

    @abstractmethod
    def absent(self, key: AbsentKey) -> Any:
        """What is kept of a negated atom that holds."""

    # What can be seen

    @abstractmethod
    def shows(self, table: str, row: Row) -> bool: ...

    @abstractmethod
    def visible(self, table: str) -> Iterable[Row]: ...

    @abstractmethod
    def group(self, table: str, row: Row) -> Iterable[Row]:
        """The rows whose visibility may change when this one comes or goes, itself left out."""

    @abstractmethod
    def stored(self) -> Iterable[tuple[Row, Any]]:
        """Every row that is kept anywhere, with what is kept beside it."""

    def touch(self, table: str, row: Row) -> None:
        """Remember, once in a transaction, what could be seen before this row came or went."""
        before = self._before.get(table)
        if before is not None and row not in before:
            before[row] = self.shows(table, row)
            for other in self.group(table, row):
                if other not in before:
                    before[other] = self.shows(table, other)

    def net(self, table: str) -> Change:
        """What came to a table and what went, in this transaction."""
        if table in self.changes:
            return self.changes[table]
        before = self._before.get(table, {})
        now = {row: self.shows(table, row) for row in before}
        return Change(
            [row for row, was in before.items() if now[row] and not was],
            [row for row, was in before.items() if was and not now[row]],
        )

    def belongs(self, table: str, row: Row) -> bool:
        """Whether a row that was pulled may stand in this table here; what an outbox holds is sent to where it may."""
        shipment = self._shipment_of.get(table)
        if shipment is None or shipment.column is None or shipment.everywhere:
            return True
        return self.places.owner(row[shipment.column]) == self.number

    def receivers(self, shipment: Shipment, row: Row) -> Iterable[int]:
        if shipment.everywhere:
            return range(self.places.nodes)
        return (0 if shipment.column is None else self.places.owner(row[shipment.column]),)


Maker = Callable[[int, Layout, Places], Node]
