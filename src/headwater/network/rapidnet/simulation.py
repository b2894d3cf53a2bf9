"""Nodes that act on events, in simulated time.

    simulation = EventSimulation(event_program(text), topology)
    simulation.at(0.0, insert={"link": topology.rows("hops"), "start": [("a",)]})   # `start` is an event: it happens
    simulation.stop(20.0, "c"); simulation.start(30.0, "c")                         # a node fails, and comes back empty
    simulation.run(until=60.0)

What a node does with one event is one transaction, a *step*: the event's row is there, rules derive, and then the row
is gone. What the rules derived takes place when the step is over: rows are deleted, then stored; events at the node
follow in steps of their own, at the same moment, first come, first served; what is for other nodes is sent. So all
rules of a step see the same tables, and their order means nothing. Steps of different nodes run side by side.

Rows of stored tables expire, and the oldest go, as their tables say; a row that is stored again begins its life anew.
A timer begins when its node does. A node that stops forgets its stored tables, and what arrives meanwhile is lost;
rows that it was given stay, as on a disk, until an event deletes them.
"""

from __future__ import annotations

import math
import random
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from headwater.core.errors import DataError, GuardError
from headwater.core.types import Type
from headwater.engine.border.codec import Change
from headwater.engine.codes.symbols import Codes, Symbols, code_of_float, decode
from headwater.network.events.staging import order_of
from headwater.network.links import Topology
from headwater.network.nodes.moments import Happening, ScheduledTask
from headwater.network.nodes.report import TracedMessage
from headwater.network.nodes.simulation import Simulation
from headwater.network.nodes.sizes import HEADER, PART, RowSizes
from headwater.network.nodes.work import net
from headwater.network.rapidnet.kept import KeptRows, Row
from headwater.network.rapidnet.model import Action, ActionKind, EventProgram, EventTimer

MOST_STEPS = 100_000  # of one moment
IDENTIFIERS = 1 << 31


@dataclass(frozen=True, slots=True)
class Order:
    """A row and what is to be done with it at a node."""

    deed: ActionKind
    relation: str
    row: Row
    exact: bool = False  # delete this row only, not another with its key


@dataclass(frozen=True, slots=True)
class _Delivery(ScheduledTask):
    """A message that arrives."""

    receiver: int = 0
    orders: tuple[Order, ...] = ()


@dataclass(frozen=True, slots=True)
class _Period(ScheduledTask):
    """A timer of a node goes off."""

    timer: EventTimer | None = None
    node: int = 0
    life: int = 0  # which life of the node it belongs to
    left: int | None = None


@dataclass(frozen=True, slots=True)
class _Expiry(ScheduledTask):
    """Rows may have come to the end of their life."""


@dataclass(frozen=True, slots=True)
class _Turn(ScheduledTask):
    """A node stops or starts."""

    node: int = 0
    up: bool = True


class EventSimulation(Simulation):
    """Nodes that run a program with events; see `headwater.network.rapidnet`."""

    RECLAIMS = False  # rows of events are kept elsewhere, too
    RENEWS = False  # programs of this kind repeat what they need themselves

    def __init__(self, program: EventProgram, topology: Topology, *, seed: int = 0, **options: Any) -> None:
        super().__init__(program.program, topology, seed=seed, **options)
        self.events = program
        self._kept = KeptRows(program.tables)
        self._queues: list[deque[tuple[str, Row]]] = [deque() for _ in topology.nodes]
        self._orders: list[tuple[int, Order]] = []
        self._present: dict[str, list[Row]] = {}  # rows that are there for this step
        self._up = [True] * len(topology.nodes)
        self._lives = [0] * len(topology.nodes)
        self._step_number = 0
        self._chance = random.Random(f"events {seed}")
        self._expiries: set[int] = set()

    @property
    def outputs(self) -> tuple[str, ...]:
        """The tables that rules fill, in order."""
        return self.events.views

    # What is to happen

    def stop(self, time: float, node: Any) -> None:
        """A node fails: it forgets stored tables, and hears and sends nothing until it starts again."""
        self._turn(time, node, up=False)

    def start(self, time: float, node: Any) -> None:
        """A node that has stopped begins anew, with empty tables and its timers."""
        self._turn(time, node, up=True)

    def _turn(self, time: float, node: Any, *, up: bool) -> None:
        if node not in self._numbers:
            raise DataError(f"there is no node {node!r}")
        tick = math.ceil(time / self._tick - 1e-6)
        if tick < self._moment:
            raise DataError(f"an event at {time} s would be in the past: it is {self.now} s already")
        self._agenda.add(tick, _Turn(node=self._numbers[node], up=up))

    def run(self, until: float | None = None) -> float:
        """As of `Simulation`; a program with timers that never end is never quiet, and needs `until`."""
        if until is None and self.events.never_quiet:
            raise ValueError("`periodic` events come for ever: say how long, run(until=...)")
        return super().run(until)

    def is_up(self, node: Any) -> bool:
        """Whether a node runs."""
        return self._up[self._numbers[node]]

    # A moment

    def _begin(self) -> None:
        super()._begin()
        assert self._tables is not None
        self._sizes = RowSizes(self._tables.symbols)
        for action in self.events.actions:
            self._check_types(action)
        for node in range(len(self._up)):
            self._start_timers(node)

    def _check_types(self, action: Action) -> None:
        assert self._tables is not None
        stores = self._tables.shard.stores
        made = stores[action.derived].table.types[action.first :]
        kept = stores[action.relation].table.types
        if made != kept:
            at = next(place for place, pair in enumerate(zip(made, kept, strict=True)) if pair[0] != pair[1])
            raise DataError(
                f"error[HW815]: rule {action.label} gives column {at + 1} of `{action.relation}` a {made[at]}, "
                f"where it is a {kept[at]}\n  hint: write numbers alike in all rules (1.0 where others are floats), "
                "or pass types={...}"
            )

    def _work(self, due: list[Happening]) -> None:
        turns = [each for each in due if isinstance(each, _Turn)]
        for turn in turns:  # before all else of the moment: rows that come with a node come to it
            self._switch(turn)
        super()._work([each for each in due if not isinstance(each, _Turn)])

    def _switch(self, turn: _Turn) -> None:
        assert self._tables is not None
        node = turn.node
        if turn.up == self._up[node]:
            return
        self._up[node] = turn.up
        self._lives[node] += 1
        if turn.up:
            self._start_timers(node)
            return
        self._queues[node].clear()
        self._kept.forget(node)
        self._settle()

    def _take(self, inserts: dict[str, Codes], deletes: dict[str, Codes]) -> None:
        plain_in = {name: rows for name, rows in inserts.items() if not self._acts_on(name)}
        plain_out = {name: rows for name, rows in deletes.items() if not self._acts_on(name)}
        if plain_in or plain_out:
            super()._take(plain_in, plain_out)
        for deed, changes in ((ActionKind.DELETE, deletes), (ActionKind.STORE, inserts)):
            for name, rows in changes.items():
                if name in self.events.events and deed is ActionKind.STORE:
                    self._give(name, rows, ActionKind.HAPPEN)
                elif name in self.events.tables:
                    self._give(name, rows, deed, exact=True)
        self._settle()

    def _acts_on(self, name: str) -> bool:
        return name in self.events.events or name in self.events.tables

    def _give(self, name: str, rows: Codes, deed: ActionKind, *, exact: bool = False) -> None:
        assert self._tables is not None
        for node, row in zip(self._tables.nodes_of(rows[:, 0]).tolist(), rows.tolist(), strict=True):
            self._orders.append((node, Order(deed, name, tuple(row), exact)))

    def _run_tasks(self, tasks: list[ScheduledTask]) -> None:
        for task in tasks:
            match task:
                case _Delivery(receiver=node, orders=orders):
                    self._orders += [(node, order) for order in orders]
                case _Period():
                    self._go_off(task)
                case _Expiry():
                    self._expiries.discard(self._moment)
                    self._kept.expire(self._moment)
                case _:
                    raise AssertionError(task)
        self._settle()

    def _start_timers(self, node: int) -> None:
        for timer in self.events.timers:
            self._agenda.add(
                self._moment + math.ceil(timer.seconds / self._tick - 1e-6),
                _Period(timer.times is None, timer, node, self._lives[node], timer.times),
            )

    def _go_off(self, period: _Period) -> None:
        assert period.timer is not None
        assert self._tables is not None
        node, timer = period.node, period.timer
        if period.life != self._lives[node] or not self._up[node] or period.left == 0:
            return
        identifier = self._chance.randrange(IDENTIFIERS)
        row = (int(self._tables.node_codes[node]), identifier)
        self._orders.append((node, Order(ActionKind.HAPPEN, timer.moments, row)))
        left = None if period.left is None else period.left - 1
        if left != 0:
            ticks = max(1, math.ceil(timer.seconds / self._tick - 1e-6))
            self._agenda.add(self._moment + ticks, _Period(period.waits, timer, node, period.life, left))

    # Steps

    def _settle(self) -> None:
        """Step after step, until no node has anything to do at this moment."""
        assert self._nodes is not None
        for _ in range(MOST_STEPS):
            self._obey()
            inserts, deletes = self._kept.take()
            deletes |= {name: np.array(rows, dtype=np.int64) for name, rows in self._present.items()}
            self._present = {}
            for node, queue in enumerate(self._queues):
                if queue:
                    self._show(node, *queue.popleft())
            inserts |= {name: np.array(rows, dtype=np.int64) for name, rows in self._present.items()}
            if not inserts and not deletes:
                return
            self._follow(*self._nodes.work([], inserts, deletes))
        raise GuardError(
            f"{MOST_STEPS:,} steps follow each other at {self.now} s and there are more; "
            "events that cause each other at one node never end: let a condition stop them"
        )

    def _show(self, node: int, moments: str, row: Row) -> None:
        """The rows of an event for its step: its own, and the values of the moment."""
        assert self._tables is not None
        self._step_number += 1
        number, place = self._step_number, row[0]
        self._present.setdefault(moments, []).append((*row, number))
        if self.events.clock is not None:
            self._present.setdefault(self.events.clock, []).append((place, code_of_float(self.now), number))
        if self.events.chances is not None:
            self._present.setdefault(self.events.chances, []).extend(
                (place, at + 1, self._chance.randrange(IDENTIFIERS), number) for at in range(self.events.chance_count)
            )

    def _obey(self) -> None:
        """Carry out what was ordered: deletions, then rows to store, and events to their queues."""
        orders, self._orders = self._orders, []
        groups: dict[tuple[int, str, str], list[Order]] = {}
        for node, order in orders:
            if self._up[node]:
                groups.setdefault((node, order.deed.value, order.relation), []).append(order)
        for node, deed, relation in sorted(groups):  # deletions first; by relation and value, not by rule or sender
            for order in self._ordered(groups[node, deed, relation]):
                self._carry_out(node, order)

    def _ordered(self, orders: list[Order]) -> list[Order]:
        return orders if len(orders) == 1 else sorted(orders, key=lambda order: order_of(self._shown(order)))

    def _carry_out(self, node: int, order: Order) -> None:
        match order.deed:
            case ActionKind.DELETE:
                self._kept.delete(order.relation, node, order.row, exact=order.exact)
            case ActionKind.HAPPEN:
                moments = self.events.events.get(order.relation, order.relation)  # a timer's are its own
                self._queues[node].append((moments, order.row))
            case ActionKind.STORE:
                self._kept.store(order.relation, node, order.row, self._expires(order.relation))
            case other:
                assert_never(other)

    def _expires(self, table: str) -> int | None:
        lifetime = self.events.tables[table].lifetime
        if lifetime is None:
            return None
        tick = self._moment + max(1, math.ceil(lifetime / self._tick - 1e-6))
        if tick not in self._expiries:
            self._expiries.add(tick)
            self._agenda.add(tick, _Expiry(waits=True))
        return tick

    # What follows from a step

    def _react(self, changes: list[Mapping[str, Change]]) -> None:
        assert self._tables is not None
        posts: dict[tuple[int, int], list[Order]] = {}
        for action in self.events.actions:
            mine = [change for each in changes if (change := each.get(action.derived)) is not None]
            if not mine:
                continue
            coming, going = net(mine)
            self._sort(posts, action, coming, action.deed)
            if action.deed is ActionKind.STORE and not action.momentary:
                self._sort(posts, action, going, ActionKind.DELETE, exact=True)
        for (sender, receiver), orders in posts.items():
            if not self._up[sender]:
                continue
            if sender == receiver:
                self._orders += [(receiver, order) for order in orders]
            else:
                self._post(sender, receiver, orders)

    def _sort(
        self,
        posts: dict[tuple[int, int], list[Order]],
        action: Action,
        rows: Codes,
        deed: ActionKind,
        *,
        exact: bool = False,
    ) -> None:
        assert self._tables is not None
        if not rows.shape[0]:
            return
        senders = self._tables.nodes_of(rows[:, 0]).tolist()
        receivers = self._tables.nodes_of(rows[:, action.first]).tolist()
        for sender, receiver, row in zip(senders, receivers, rows[:, action.first :].tolist(), strict=True):
            if receiver < 0:
                value = self._tables.value(action.derived, action.first, row[0])
                raise DataError(f"rule {action.label} sends a row to {value!r}, which is not a node of the topology")
            posts.setdefault((sender, receiver), []).append(Order(deed, action.relation, tuple(row), exact))

    def _post(self, sender: int, receiver: int, orders: list[Order]) -> None:
        assert self._tables is not None
        channel = self._channels.channel(sender, receiver, self.topology.nodes)
        size = HEADER
        relations = Counter(order.relation for order in orders)
        for relation in relations:
            types = self._tables.shard.stores[relation].table.types
            rows = np.array([order.row for order in orders if order.relation == relation], dtype=np.int64)
            size += PART + int(self._sizes.of(rows, types, tuple(range(1, len(types)))).sum())
        arrivals, sent = self._channels.send(channel, size, self.now)
        self.report.sent(self.now, channel, sent, relations.items(), lost=not arrivals)
        if self._trace:
            told = tuple(
                ("-" if order.deed is ActionKind.DELETE else "+", order.relation, self._shown(order))
                for order in orders
            )
            names = self._channels.names[channel]
            self.report.trace.append(TracedMessage(self.now, min(arrivals, default=None), *names, size, told))
        for arrival in arrivals:
            self._agenda.add(self._arrival(arrival), _Delivery(receiver=receiver, orders=tuple(orders)))

    def _shown(self, order: Order) -> tuple[Any, ...]:
        assert self._tables is not None
        types = self._tables.shard.stores[order.relation].table.types
        return tuple(decoded(code, kind, self._tables.symbols) for code, kind in zip(order.row, types, strict=False))


def decoded(code: int, kind: Type, symbols: Symbols) -> Any:
    """The value of a code."""
    return decode(np.array([code], dtype=np.int64), kind, symbols, nullable=True)[0]
