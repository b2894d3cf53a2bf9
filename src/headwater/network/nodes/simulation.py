"""A program on a network, in simulated time: events come, nodes derive and send, messages arrive after their delays.

See `headwater.network` for the interface. The clock jumps from one moment at which something happens to the next; at
each of them, all nodes with something to do work at once, as one transaction over their tables (see `tables`).
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, assert_never

import numpy as np

from headwater.core.errors import DataError, GuardError, StateError
from headwater.engine.border.codec import Change
from headwater.engine.border.intake import Intake
from headwater.engine.border.learnt_types import Known
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.network.links import Topology
from headwater.network.nodes.boxes import local_model
from headwater.network.nodes.channels import Channels
from headwater.network.nodes.holding import HeldMessages, Periodic
from headwater.network.nodes.post import Message
from headwater.network.nodes.report import SimulationReport, TracedMessage
from headwater.network.nodes.soft_state import SoftState
from headwater.network.nodes.tables import NodeTables, known_types, take
from headwater.network.nodes.work import NodeWork
from headwater.pipeline import CompiledProgram, uncollected

EVALUATIONS = ("psn", "bsn", "sn")
MAINTENANCE = (None, "count", "proofs")
_SLACK = 1e-6  # of a tick: sums of floats that should be equal are


@dataclass(frozen=True, slots=True)
class Event:
    """Base rows that come and go at one moment."""

    inserts: dict[str, Intake]
    deletes: dict[str, Intake]


class TimerKind(Enum):
    """What a node does when its timer goes off."""

    FLUSH = "flush"  # send what was held back
    RENEW = "renew"  # let rows expire that nobody renewed, and renew those that it has sent


@dataclass(frozen=True, slots=True)
class Timer:
    """A node's timer."""

    kind: TimerKind
    node: int


@dataclass(slots=True)
class _Agenda:
    """What is to happen, by tick: events, arrivals, and timers of nodes."""

    heap: list[tuple[int, int, Event | Message | Timer]] = field(default_factory=list)
    count: int = 0

    def add(self, tick: int, what: Event | Message | Timer) -> None:
        self.count += 1
        heapq.heappush(self.heap, (tick, self.count, what))

    def next(self) -> tuple[int, list[Event | Message | Timer]]:
        tick = self.heap[0][0]
        found = []
        while self.heap and self.heap[0][0] == tick:
            found.append(heapq.heappop(self.heap)[2])
        return tick, found


class Simulation:
    """Nodes that keep the views of one program up to date together."""

    def __init__(
        self,
        program: CompiledProgram,
        topology: Topology,
        *,
        evaluation: str = "psn",
        seed: int = 0,
        fifo: bool = True,
        tick: float = 0.001,
        iteration: float = 0.1,
        trace: bool = False,
        counts_inferences: bool = False,
        messages: int = 10_000_000,
        selections: str | Periodic = "eager",
        sharing: float | None = None,
        refresh: float | None = None,
        lifetime: float | None = None,
        maintenance: str | None = None,
        guard: Guard | int | None = DEFAULT_GUARD,
    ) -> None:
        if not isinstance(program, CompiledProgram):
            raise TypeError(
                f"Simulation takes a compiled program, not {type(program).__name__}; compile(text) makes one"
            )
        if evaluation not in EVALUATIONS:
            raise ValueError(f"there is no evaluation {evaluation!r}; choose one of {', '.join(EVALUATIONS)}")
        if tick <= 0 or iteration < tick:
            raise ValueError(f"a tick is longer than 0 s, and an iteration no shorter: not {tick} and {iteration}")
        unreliable = [link for link in topology.links if not link.is_reliable]
        if unreliable and not fifo and refresh is None:
            link = unreliable[0]
            raise ValueError(
                f"link {link.src!r} - {link.dst!r} may lose, reorder or double messages, and nothing would put that "
                "right; pass refresh=... for rows that are renewed, or fifo=True for a transport that repeats"
            )
        if isinstance(selections, str) and selections != "eager":
            raise ValueError(f"selections are 'eager' or Periodic(seconds), not {selections!r}")
        if sharing is not None and not sharing > 0:
            raise ValueError(f"rows wait longer than 0 seconds to be shared, not {sharing}")
        self._hold = sharing if sharing is not None else None if isinstance(selections, str) else selections.seconds
        self._shares = sharing is not None
        self._held: HeldMessages | None = None
        self._soft = None if refresh is None else SoftState(refresh, 3 * refresh if lifetime is None else lifetime)
        if maintenance not in MAINTENANCE:
            raise ValueError(f"there is no maintenance {maintenance!r}; choose None, 'count' or 'proofs'")
        self._maintenance = maintenance
        self.program = program
        self.topology = topology
        self._evaluation = evaluation
        self._numbers = {node: at for at, node in enumerate(topology.nodes)}
        self._channels = Channels(topology, self._numbers, seed, in_order=fifo)
        self._dice = random.Random(f"phases {seed}")
        self._flushing: set[int] = set()
        self._tick = tick
        self._step = max(1, round(iteration / tick)) if evaluation == "bsn" else 1
        self._trace = trace
        self._counts = counts_inferences
        self._most = messages
        self._guard = Guard.of(guard)
        self._model = local_model(program)
        self._known: Known = {}
        self._agenda = _Agenda()
        self._moment = 0  # in ticks
        self._round: list[tuple[int, Message]] = []  # sn: messages of the next round, with the ticks of their arrival
        self._barrier = 0  # sn: the tick at which the present round ends
        self._tables: NodeTables | None = None
        self._nodes: NodeWork | None = None
        self._broken = False
        self.report = SimulationReport(topology.nodes, self._channels.names)

    # What is to happen

    def at(
        self, time: float, *, insert: Mapping[str, Any] | None = None, delete: Mapping[str, Any] | None = None
    ) -> None:
        """At this moment, base rows come and go, each at the node that its location column names; deletes first."""
        if not isinstance(time, int | float) or not math.isfinite(time):
            raise ValueError(f"an event takes place at a number of seconds, not at {time!r}")
        tick = math.ceil(time / self._tick - _SLACK)
        if tick < self._moment:
            raise DataError(f"an event at {time} s would be in the past: it is {self.now} s already")
        what = f"event at {time} s"
        event = Event(take(self._model, insert or {}, what), take(self._model, delete or {}, what))
        self._check_places(event, what)
        if self._tables is None:
            self._known = known_types(self._model, self._known, event.inserts)
        else:
            self._tables.encoded(event.inserts, event.deletes)
        self._agenda.add(tick, event)

    def _check_places(self, event: Event, what: str) -> None:
        for intakes in (event.inserts, event.deletes):
            for name, intake in intakes.items():
                column = intake.columns[self._model.relation(name).location or 0]
                for at, value in enumerate(column):
                    plain = value.as_py() if hasattr(value, "as_py") else value
                    if plain not in self._numbers:
                        raise DataError(
                            f"{what}: row {at + 1} of `{name}` lives at {plain!r}, which is not a node of the "
                            "topology; add the node, or correct the row"
                        )

    # Time

    @property
    def now(self) -> float:
        """The simulated time, in seconds."""
        return self._moment * self._tick

    def run(self, until: float | None = None) -> float:
        """Let time pass until a moment, or until nothing is under way and no event is left; gives the time then."""
        if self._broken:
            raise StateError("a transaction of this simulation failed half-way; start another one")
        if until is None and self._soft is not None:
            raise ValueError("rows are renewed for ever: say how long, run(until=...)")
        end = None if until is None else math.floor(until / self._tick + _SLACK)
        if end is not None and end < self._moment:
            raise ValueError(f"time does not go back: it is {self.now} s already, not {until}")
        with uncollected():
            if self._tables is None:
                self._begin()
            while self._agenda.heap and (end is None or self._agenda.heap[0][0] <= end):
                self._moment, due = self._agenda.next()
                self._work(due)
        if end is not None:
            self._moment = end
        return self.now

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is under way and no event is left, renewals of rows apart."""
        return not self._round and all(
            isinstance(what, Timer) and what.kind is TimerKind.RENEW for _, _, what in self._agenda.heap
        )

    def _begin(self) -> None:
        tables = NodeTables(self._model, self._known, self.topology.nodes, self._guard, self._maintenance)
        for _, _, event in self._agenda.heap:
            assert isinstance(event, Event), "nothing is sent, and no timer is set, before the first run"
            tables.encoded(event.inserts, event.deletes)
        tables.shard.meter.counts_all = self._counts
        self._tables = tables
        self._nodes = NodeWork(tables, self.topology.nodes, self._channels.number, shares=self._shares)
        if self._hold is not None:
            boxes = tables.program.boxes
            stores = tables.shard.stores
            picked = [at for at, box in enumerate(boxes) if self._shares or stores[box.outbox].table.picks]
            self._held = HeldMessages(picked)
        if self._soft is not None:
            for node in range(len(self.topology.nodes)):
                phase = self._dice.random() * self._soft.refresh
                self._agenda.add(self._moment + math.ceil(phase / self._tick), Timer(TimerKind.RENEW, node))
        self._broken = True
        self._follow(*self._nodes.begin())
        self._broken = False

    def _work(self, due: list[Event | Message | Timer]) -> None:
        assert self._tables is not None
        assert self._nodes is not None
        self._broken = True
        events = [each for each in due if isinstance(each, Event)]
        messages = [each for each in due if isinstance(each, Message)]
        if messages:
            if self._soft is not None:
                self._soft.heard(messages, self.now)
            self._follow(*self._nodes.work(messages, {}, {}))
        for event in events:  # one after the other: a row with a key replaces another, and may then be deleted
            self._follow(*self._nodes.work([], *self._tables.encoded(event.inserts, event.deletes)))
        for timer in due:
            if isinstance(timer, Timer):
                self._ring(timer)
        self._close_round()
        self._broken = False

    def _follow(self, messages: list[Message], changes: list[Mapping[str, Change]]) -> None:
        self.report.transactions += 1
        for change in changes:
            for view in self.program.outputs:
                if view in change:
                    self.report.changed(self.now, view, -1, change[view].deleted)
                    self.report.changed(self.now, view, 1, change[view].inserted)
        for message in messages:
            now = message if self._held is None else self._held.hold(message)
            if self._held is not None and message.sender in self._held.waiting:
                self._set(TimerKind.FLUSH, message.sender)
            if now is not None:
                if self._soft is not None:
                    self._soft.noted(now)
                self._send(now)
        if self.report.messages > self._most:
            raise GuardError(
                f"{self._most:,} messages were sent and the network is not quiet at {self.now} s; "
                "if the protocol counts to infinity, bound its costs or paths, or pass messages=... for more"
            )
        self._close_round()

    def _set(self, kind: TimerKind, node: int) -> None:
        """Set a node's timer for held rows, unless it is set."""
        assert self._hold is not None
        if node not in self._flushing:
            self._flushing.add(node)
            self._agenda.add(self._moment + max(1, round(self._hold / self._tick)), Timer(kind, node))

    def _ring(self, timer: Timer) -> None:
        assert self._nodes is not None
        match timer.kind:
            case TimerKind.FLUSH:
                assert self._held is not None
                self._flushing.discard(timer.node)
                for message in self._held.flush(timer.node):
                    self._send(message)
            case TimerKind.RENEW:
                assert self._soft is not None
                ended = self._soft.expired(self._nodes, timer.node, self.now)
                if ended:
                    self._follow(*self._nodes.work([], {}, ended))
                for message in self._soft.renewals(self._nodes, timer.node):
                    self._send(message)
                self._agenda.add(self._moment + max(1, round(self._soft.refresh / self._tick)), timer)
            case other:
                assert_never(other)

    def _close_round(self) -> None:
        """Semi-naive: no message of a round is read before the last of them has arrived."""
        if self._round and self._barrier <= self._moment:
            self._barrier = max(tick for tick, _ in self._round)
            for _, message in self._round:
                self._agenda.add(self._barrier, message)
            self._round = []

    def _send(self, message: Message) -> None:
        assert self._nodes is not None
        channel = self._channels.channel(message.sender, message.receiver, self.topology.nodes)
        size = self._nodes.sorter.size(message)
        arrivals, sent = self._channels.send(channel, size, self.now)
        self.report.sent(self.now, channel, sent, message.rows, lost=not arrivals)
        if self._trace:
            self._note(message, channel, size, arrivals)
        for arrival in arrivals:
            tick = math.ceil(arrival / self._tick - _SLACK)
            tick = max(self._moment + 1, -(-tick // self._step) * self._step)
            if self._evaluation == "sn":
                self._round.append((tick, message))
            else:
                self._agenda.add(tick, message)

    def _note(self, message: Message, channel: int, size: int, arrivals: list[float]) -> None:
        assert self._tables is not None
        src, dst = self._channels.names[channel]
        rows = tuple(
            ("+" if batch.sign > 0 else "-", box.relation, row[1:])
            for batch in message.batches
            for box in (self._tables.program.boxes[batch.box],)
            for row in self._tables.values(box.outbox, batch.rows)
        )
        self.report.trace.append(TracedMessage(self.now, min(arrivals, default=None), src, dst, size, rows))

    # What is there

    def rows(self, relation: str) -> set[tuple[Any, ...]]:
        """The rows of a relation at all nodes, at this moment."""
        return self._read(relation, None)

    def node(self, name: Any) -> NodeView:
        """What one node holds."""
        if name not in self._numbers:
            raise DataError(f"there is no node {name!r}")
        return NodeView(self, name)

    def _read(self, relation: str, node: Any) -> set[tuple[Any, ...]]:
        if self._tables is None:
            self._begin()
        assert self._tables is not None
        return self._tables.rows(relation, None if node is None else self._numbers[node])

    def settled(self, view: str, since: float = 0.0) -> np.ndarray[Any, np.dtype[np.float64]]:
        """For each row that a view has now, when it came to stay; in ascending order, none before `since`."""
        if self._tables is None or view not in self.program.outputs:
            return np.zeros(0)
        return self.report.settled(view, self._tables.present(view), since)

    def converged(self, view: str, since: float = 0.0) -> float:
        """When the last of a view's rows came to stay."""
        found = self.settled(view, since)
        return float(found[-1]) if found.size else since

    def summary(self) -> dict[str, Any]:
        """The main numbers, for a table or JSON."""
        return self.report.table({view: self.converged(view) for view in self.program.outputs})

    @property
    def inferences(self) -> int:
        """How many derivations the program's rules have found, those of rows that were known already too.

        Ask for them by `counts_inferences=True`: compiled loops count only on demand, and are then slower.
        """
        if not self._counts:
            raise ValueError("inferences are counted by Simulation(..., counts_inferences=True)")
        return 0 if self._tables is None else self._tables.inferences

    @property
    def stored_rows(self) -> int:
        """Rows in the tables of all nodes, boxes and copies too."""
        return 0 if self._tables is None else sum(store.count for store in self._tables.shard.stores.values())

    @property
    def nbytes(self) -> int:
        """Bytes of the tables of all nodes, and about those of proofs."""
        if self._tables is None or self._nodes is None:
            return 0
        proofs = 0 if self._nodes.proofs is None else self._nodes.proofs.nbytes()
        return self._tables.shard.nbytes + proofs


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node of a simulation, to be read."""

    simulation: Simulation = field(repr=False)
    name: Any

    def rows(self, relation: str) -> set[tuple[Any, ...]]:
        """The rows of a relation that live at this node, at this moment."""
        return self.simulation._read(relation, self.name)
