"""One node: its tables, its joins, and the messages it has to send.

A transaction runs stage by stage. A stage starts from its *inputs*: base rows, aggregates, and the upper copies of
tables below; they change before the stage begins and stay the same while it runs. The strategy decides how rows of the
stage itself come and go: `AnnotatedNode` keeps provenance, `TwoPhaseNode` marks and derives again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from headwater.network.simulator.layout.layout import Layout, Places
from headwater.network.simulator.layout.stages import upper_copy
from headwater.network.simulator.rows.aggregation import GroupAggregator
from headwater.network.simulator.rows.join import AbsentKey, DeltaJoin
from headwater.network.simulator.rows.table import HashTable, RowChange
from headwater.network.simulator.rows.terms import Row
from headwater.network.simulator.wire.message import MessagePart
from headwater.plan.model import DeltaRule, FlatRule, Shipment


@dataclass(slots=True)
class StageJoins:
    """The joins of the rules of one stage, by the table that they start from."""

    arrive: dict[str, list[DeltaJoin]] = field(default_factory=dict)
    forbid: dict[str, list[DeltaJoin]] = field(default_factory=dict)
    allow: dict[str, list[DeltaJoin]] = field(default_factory=dict)
    spontaneous: list[DeltaJoin] = field(default_factory=list)


class Node(ABC):
    """What both kinds of nodes share; `Network` calls the methods from `open` to `close` in that order."""

    phases: ClassVar[tuple[str, ...]]
    """The steps of a stage; all nodes finish one, and nothing is under way, before any node starts the next."""

    def __init__(self, number: int, layout: Layout, places: Places) -> None:
        self.number = number
        self.layout = layout
        self.places = places
        names = [*layout.tables, *map(upper_copy, layout.stages.upper)]
        self.tables: dict[str, HashTable[Any]] = {name: HashTable() for name in names}
        self.shipments = {shipment.outbox: (at, shipment) for at, shipment in enumerate(layout.plan.shipments)}
        self._shipment_of = {shipment.table: shipment for shipment in layout.plan.shipments}
        self.stage = 0
        self._followed = 0
        self._check: Callable[[int], None] = lambda _: None
        self.changes: dict[str, RowChange] = {}  # of the inputs, in this transaction
        self._aggregators = [GroupAggregator(plan, layout.tables) for plan in layout.plan.aggregations]
        bags = (bag for aggregator in self._aggregators for bag in aggregator.bags)
        self._watched = {*layout.outputs, *layout.stages.upper, *bags}
        self._watched -= {name for name, table in layout.tables.items() if table.base}
        self._before: dict[str, dict[Row, bool]] = {}
        self.stage_joins = [StageJoins() for _ in range(layout.stages.count)]
        self.pulls: dict[str, list[DeltaJoin]] = {}
        for rule in layout.plan.rules:
            if not layout.tables[rule.table].base:
                self._add_joins(rule)

    def watch(self, check: Callable[[int], None]) -> None:
        """Call `check` now and then with the rows followed since; it may raise to stop the transaction."""
        self._check = check

    def followed(self) -> None:
        """One more row was followed."""
        self._followed += 1
        if self._followed == 1000:
            self._followed = 0
            self._check(1000)

    def _add_joins(self, rule: FlatRule) -> None:
        stage = self.layout.stages.of[rule.table]
        named = partial(self.layout.stages.read_as, stage=stage)

        def joined(delta_rule: DeltaRule) -> DeltaJoin:
            return DeltaJoin(delta_rule, rule, self.layout.tables[rule.table].types, self.tables, named, self.absent)

        joins = self.stage_joins[stage]
        kinds = ((joins.arrive, rule.arrive), (joins.forbid, rule.forbid), (joins.allow, rule.allow))
        for found, delta_rules in kinds:
            for join in map(joined, delta_rules):
                assert join.table is not None
                found.setdefault(join.table, []).append(join)
        if rule.spontaneous is not None:
            joins.spontaneous.append(joined(rule.spontaneous))
        self.pulls.setdefault(rule.table, []).append(joined(rule.pulls[0].delta_rule))

    def starts(self) -> Iterator[tuple[DeltaJoin, Row]]:
        """What the changed inputs may derive in this stage: rows that came, and those that no longer forbid others."""
        for name, change in self.changes.items():
            for join in self.joins.arrive.get(name, ()):
                yield from ((join, row) for row in change.came)
            for join in self.joins.allow.get(name, ()):
                yield from ((join, row) for row in change.went)

    @property
    def joins(self) -> StageJoins:
        """Those of the present stage."""
        return self.stage_joins[self.stage]

    # The course of a transaction

    def open(self, changes: Mapping[str, RowChange]) -> None:
        """Begin, with these changes of the base rows that live here."""
        self._before = {name: {} for name in self._watched}
        self.changes = {}
        for name, change in changes.items():
            self.enter(name, change)

    def start(self, stage: int) -> None:
        """Begin a stage: what it reads from below is complete."""
        self.stage = stage
        for aggregator in self._aggregators:
            table = aggregator.plan.table
            if self.layout.stages.of[table] == stage:
                self.enter(table, aggregator.settle({bag: self.net(bag) for bag in aggregator.bags}))

    @abstractmethod
    def run(self, phase: str, *, first: bool) -> None:
        """One phase of the stage, as far as it goes without messages from others."""

    @abstractmethod
    def receive(self, sender: int, batches: Iterable[MessagePart]) -> None:
        """A message came; follow it as far as it leads."""

    @abstractmethod
    def collect(self) -> Mapping[int, list[MessagePart]]:
        """The messages to send, by receiver; they count as sent."""

    def flush(self) -> None:  # noqa: B027  a node that holds nothing back has nothing to do
        """No message is under way any more: send what was held back."""

    def finish(self) -> None:
        """The stage is done: its tables are complete, and later stages may read them."""
        for name in self.layout.stages.upper:
            if self.layout.stages.of[name] == self.stage:
                self.enter(upper_copy(name), self.net(name))

    @abstractmethod
    def close(self) -> None:
        """The transaction is done."""

    @abstractmethod
    def enter(self, table: str, change: RowChange) -> None:
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

    def net(self, table: str) -> RowChange:
        """What came to a table and what went, in this transaction."""
        if table in self.changes:
            return self.changes[table]
        before = self._before.get(table, {})
        now = {row: self.shows(table, row) for row in before}
        return RowChange(
            [row for row, was in before.items() if now[row] and not was],
            [row for row, was in before.items() if was and not now[row]],
        )

    def belongs(self, table: str, row: Row) -> bool:
        """Whether a row that was pulled is stored on this node; rows of an outbox are sent to their owner."""
        shipment = self._shipment_of.get(table)
        if shipment is None or shipment.column is None or shipment.everywhere:
            return True
        return self.places.owner(row[shipment.column]) == self.number

    def receivers(self, shipment: Shipment, row: Row) -> Iterable[int]:
        if shipment.everywhere:
            return range(self.places.nodes)
        return (0 if shipment.column is None else self.places.owner(row[shipment.column]),)


Maker = Callable[[int, Layout, Places], Node]
