"""A program on a network, in simulated time: events come, nodes derive and send, messages arrive after their delays.

See `headwater.network` for the interface. The clock jumps from one moment at which something happens to the next; at
each of them, all nodes with something to do work at once, as one transaction over their tables (see `tables`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

import numpy as np

from headwater.core.errors import DataError, GuardError, StateError
from headwater.engine.border.codec import Change
from headwater.engine.border.learnt_types import Known
from headwater.engine.codes.symbols import Codes
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.following import QuestionRow
from headwater.language.syntax import Query
from headwater.network.links import Topology
from headwater.network.nodes.boxes import local_model
from headwater.network.nodes.channels import Channels
from headwater.network.nodes.holding import HeldMessages, Periodic
from headwater.network.nodes.moments import Event, Happening, Moments, ScheduledTask, Timer, TimerKind
from headwater.network.nodes.post import Message
from headwater.network.nodes.questions import (
    OpenQuestions,
    QuestionEvent,
    QuestionStep,
    SimulatedQuestion,
    node_question,
)
from headwater.network.nodes.reclaiming import SymbolReclaimer
from headwater.network.nodes.report import SimulationReport, TracedMessage
from headwater.network.nodes.soft_state import SoftState
from headwater.network.nodes.tables import NodeTables, known_types, take
from headwater.network.nodes.work import NodeWork
from headwater.pipeline import CompiledProgram, uncollected
from headwater.program.text import print_program

EVALUATIONS = ("psn", "bsn", "sn")
MAINTENANCE = (None, "count", "proofs")
_SLACK = 1e-6  # of a tick: sums of floats that should be equal are


class Simulation:
    """Nodes that keep the views of one program up to date together."""

    RENEWS = True  # what is lost must be renewed: the program itself does not
    RECLAIMS = True  # nobody but tables and messages names paths and proofs

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
        caching: float = 0.0,
        guard: Guard | int | None = DEFAULT_GUARD,
    ) -> None:
        if not isinstance(program, CompiledProgram):
            raise TypeError(
                f"Simulation takes a compiled program, not {type(program).__name__}; compile(text) makes one"
            )
        _refuse_options(evaluation, tick, iteration, selections, sharing, maintenance, caching)
        unreliable = [link for link in topology.links if not link.is_reliable]
        if unreliable and not fifo and refresh is None and self.RENEWS:
            link = unreliable[0]
            raise ValueError(
                f"link {link.src!r} - {link.dst!r} may lose, reorder or double messages, and nothing would put that "
                "right; pass refresh=... for rows that are renewed, or fifo=True for a transport that repeats"
            )
        self._hold = sharing if sharing is not None else None if isinstance(selections, str) else selections.seconds
        self._shares = sharing is not None
        self._held: HeldMessages | None = None
        self._soft = None if refresh is None else SoftState(refresh, 3 * refresh if lifetime is None else lifetime)
        self._maintenance = maintenance
        self._caching = caching
        self._questions = OpenQuestions()
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
        self._noted: dict[int, int] = {}  # by message under way: how many were traced up to it
        self._counts = counts_inferences
        self._most = messages
        self._guard = Guard.of(guard)
        self._model = local_model(program)
        self._known: Known = {}
        self._agenda = Moments()
        self._moment = 0  # in ticks
        self._round: list[tuple[int, Message]] = []  # sn: messages of the next round, with the ticks of their arrival
        self._barrier = 0  # sn: the tick at which the present round ends
        self._tables: NodeTables | None = None
        self._nodes: NodeWork | None = None
        self._reclaimer: SymbolReclaimer | None = None
        self._broken = False
        self._down: set[tuple[int, int]] = set()  # channels that have failed
        self.report = SimulationReport(topology.nodes, self._channels.names)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The views that a user asks for, in order."""
        return self.program.outputs

    # What is to happen

    def at(
        self,
        time: float,
        *,
        insert: Mapping[str, Any] | None = None,
        delete: Mapping[str, Any] | None = None,
        cut: Iterable[tuple[Any, Any]] = (),
        mend: Iterable[tuple[Any, Any]] = (),
    ) -> None:
        """At this moment, base rows come and go, each at the node that its location column names; deletes first.

        `cut` names links, by their ends, that fail: messages under way on them are lost, what came over them is
        forgotten, and nothing is sent over them until `mend` names them. Link rows are the caller's to delete.
        """
        tick = self._tick_of(time)
        what = f"event at {time} s"
        event = Event(
            take(self._model, insert or {}, what),
            take(self._model, delete or {}, what),
            self._both_ways(cut, what),
            self._both_ways(mend, what),
        )
        self._check_places(event, what)
        if self._tables is None:
            self._known = known_types(self._model, self._known, event.inserts)
        else:
            self._tables.encoded(event.inserts, event.deletes)
        self._agenda.add(tick, event)

    def _both_ways(self, links: Iterable[tuple[Any, Any]], what: str) -> tuple[tuple[int, int], ...]:
        found: list[tuple[int, int]] = []
        for one, other in links:
            ends = self._numbers.get(one, -1), self._numbers.get(other, -1)
            both = [pair for pair in (ends, ends[::-1]) if pair in self._channels.number]
            if not both:
                raise DataError(f"{what}: no link joins {one!r} and {other!r}; name a link of the topology by its ends")
            found += both
        return tuple(dict.fromkeys(found))

    def _tick_of(self, time: float) -> int:
        if not isinstance(time, int | float) or not math.isfinite(time):
            raise ValueError(f"an event takes place at a number of seconds, not at {time!r}")
        tick = math.ceil(time / self._tick - _SLACK)
        if tick < self._moment:
            raise DataError(f"an event at {time} s would be in the past: it is {self.now} s already")
        return tick

    def follow(self, view: str, /, *, at: float | None = None, **given: Any) -> SimulatedQuestion:
        """Ask a question with a value for each of the query's parameters, now or at a later moment, until it is closed.

        It is asked at the node that it names as the location of its answers, else at the node that it names first.
        """
        time = self.now if at is None else at
        question = node_question(self._model.queries, view, given, self._numbers)
        tick = self._tick_of(time)
        if self._is_asked(question):
            rows = {question.relation: [question.values]}
            event = Event(take(self._model, rows, f"question at {time} s"), {})
            self._check_places(event, f"question at {time} s")
            if self._tables is None:
                self._known = known_types(self._model, self._known, event.inserts)
            else:
                self._tables.encoded(event.inserts, {})
        self._agenda.add(tick, QuestionEvent(question, QuestionStep.OPENS))

        def close(question: QuestionRow, at: float | None) -> None:
            ends = self._tick_of(self.now if at is None else at)
            if ends < tick:
                raise DataError(f"a question of {time} s cannot end before")
            self._agenda.add(ends, QuestionEvent(question, QuestionStep.CLOSES))
            if math.isfinite(self._caching):
                later = ends + math.ceil(self._caching / self._tick - _SLACK)
                self._agenda.add(later, QuestionEvent(question, QuestionStep.GOES))

        return SimulatedQuestion(question, self._answers, close)

    def _is_asked(self, question: QuestionRow) -> bool:
        """Whether there is a relation for questions; else all answers are there anyway."""
        return any(relation.name == question.relation for relation in self._model.relations)

    def _answers(self, query: Query) -> set[tuple[Any, ...]]:
        if query not in self._questions.queries(query.atom.relation):
            return set()
        assert self._tables is not None
        return self._tables.rows(query.atom.relation, None, [query])

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
            if not self._agenda.heap:
                self._rest()
        if end is not None:
            self._moment = end
        return self.now

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is under way and no event is left, renewals of rows apart."""
        return not self._round and all(
            (isinstance(what, Timer) and what.kind is TimerKind.RENEW)
            or (isinstance(what, ScheduledTask) and what.waits)
            for _, _, what in self._agenda.heap
        )

    def _begin(self) -> None:
        tables = NodeTables(self._model, self._known, self.topology.nodes, self._guard, self._maintenance)
        for _, _, event in self._agenda.heap:
            if isinstance(event, Event):
                tables.encoded(event.inserts, event.deletes)
        tables.shard.meter.counts_all = self._counts
        self._tables = tables
        self._nodes = NodeWork(tables, self.topology.nodes, self._channels.number, shares=self._shares)
        self._reclaimer = SymbolReclaimer(self._nodes, self.report)
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

    def _work(self, due: list[Happening]) -> None:
        assert self._tables is not None
        assert self._nodes is not None
        self._broken = True
        events = [each for each in due if isinstance(each, Event | QuestionEvent)]
        messages = [each for each in due if isinstance(each, Message)]
        if messages:
            if self._soft is not None:
                self._soft.heard(messages, self.now)
            self._follow(*self._nodes.work(messages, {}, {}))
        for event in events:  # one after the other: a row with a key replaces another, and may then be deleted
            change = event if isinstance(event, Event) else self._asked(event)
            if change is not None and (change.cut or change.mended):
                self._rewire(change)
            if change is not None:
                self._take(*self._tables.encoded(change.inserts, change.deletes))
        for timer in due:
            if isinstance(timer, Timer):
                self._ring(timer)
        self._run_tasks([each for each in due if isinstance(each, ScheduledTask)])
        self._close_round()
        self._reclaim()
        self._broken = False

    def _reclaim(self, *, always: bool = False) -> None:
        """Give back paths and proofs that are not needed any more, if there are many of them."""
        assert self._reclaimer is not None
        if self.RECLAIMS and (always or self._reclaimer.is_due):
            messages = [what for _, _, what in self._agenda.heap if isinstance(what, Message)]
            messages += [message for _, message in self._round]
            held = [] if self._held is None else [each for own in self._held.waiting.values() for each in own.values()]
            noticed = {fact for message in messages for fact in message.dead}
            if self._soft is not None:
                noticed.update(self._soft.noticed())
            self._reclaimer.reclaim([message.batches for message in messages] + held, noticed)

    def _rest(self) -> None:
        """Nothing is left to happen: give back what tables, paths and proofs do not need any more, if it is much."""
        assert self._reclaimer is not None
        assert self._tables is not None
        if self._reclaimer.pays_at_rest:
            self._reclaim(always=True)
        self._tables.shard.rest()

    def _rewire(self, event: Event) -> None:
        """Links fail, with what is under way on them; links work again, and their ends tell each other all."""
        assert self._nodes is not None
        failing = set(event.cut) - self._down
        if failing:
            self._down |= failing
            lost = self._agenda.drop(failing)
            lost += [message for _, message in self._round if (message.sender, message.receiver) in failing]
            self._round = [each for each in self._round if (each[1].sender, each[1].receiver) not in failing]
            if not any(isinstance(what, Message) for _, _, what in self._agenda.heap):
                self._barrier = self._moment  # semi-naive: nothing is left to wait for in this round
            if self._held is not None:
                self._held.drop(failing)
            self.report.lost_under_way(len(lost))
            for at in filter(None, (self._noted.get(id(message)) for message in lost)):
                self.report.trace[at - 1] = replace(self.report.trace[at - 1], arrived=None)
            self._follow(*self._nodes.cut(failing, lost))
        back = set(event.mended) & self._down
        if back:
            self._down -= back
            self._follow(self._nodes.mend(back), [])

    def _asked(self, event: QuestionEvent) -> Event | None:
        """What a step of a question changes of base rows."""
        sign = self._questions.take(event)
        if not sign or not self._is_asked(event.question):
            return None
        rows = take(self._model, {event.question.relation: [event.question.values]}, "question")
        return Event(rows, {}) if sign > 0 else Event({}, rows)

    def _take(self, inserts: dict[str, Codes], deletes: dict[str, Codes]) -> None:
        """Base rows come and go."""
        assert self._nodes is not None
        self._follow(*self._nodes.work([], inserts, deletes))

    def _run_tasks(self, tasks: list[ScheduledTask]) -> None:
        """What a simulation of another kind does, at the end of a moment."""

    def _react(self, changes: list[Mapping[str, Change]]) -> None:
        """What a simulation of another kind makes of a transaction's changes."""

    def _follow(self, messages: list[Message], changes: list[Mapping[str, Change]]) -> None:
        self.report.transactions += 1
        for change in changes:
            for view in self.outputs:
                if view in change:
                    self.report.changed(self.now, view, -1, change[view].deleted)
                    self.report.changed(self.now, view, 1, change[view].inserted)
        for message in messages:
            if (message.sender, message.receiver) in self._down:
                continue
            now = message if self._held is None else self._held.hold(message)
            if self._held is not None and message.sender in self._held.waiting:
                self._set(TimerKind.FLUSH, message.sender)
            if now is not None:
                if self._soft is not None:
                    self._soft.noted(now)
                self._send(now)
        self._react(changes)
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
        if (message.sender, message.receiver) in self._down:
            return
        size = self._nodes.sorter.size(message)
        arrivals, sent = self._channels.send(channel, size, self.now)
        boxes = self._nodes.tables.program.boxes
        rows = ((boxes[batch.box].relation, batch.rows.shape[0]) for batch in message.batches)
        self.report.sent(self.now, channel, sent, rows, lost=not arrivals)
        if self._trace:
            self._note(message, channel, size, arrivals)
        for arrival in arrivals:
            tick = self._arrival(arrival)
            if self._evaluation == "sn":
                self._round.append((tick, message))
            else:
                self._agenda.add(tick, message)

    def _arrival(self, time: float) -> int:
        """The tick at which a node reads what arrives at a time."""
        tick = math.ceil(time / self._tick - _SLACK)
        return max(self._moment + 1, -(-tick // self._step) * self._step)

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
        self._noted[id(message)] = len(self.report.trace)

    # What is there

    def rows(self, relation: str) -> set[tuple[Any, ...]]:
        """The rows of a relation at all nodes, at this moment; those that open questions ask for, if only they do."""
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
        queries = [*self._model.queries, *self._questions.queries(relation)]
        return self._tables.rows(relation, None if node is None else self._numbers[node], queries)

    def explain(self) -> str:
        """The rules that nodes run, before they are cut at the links; with what is derived only if asked for."""
        return print_program(self._model)

    def changes(self, view: str) -> list[tuple[float, int, tuple[Any, ...]]]:
        """Every row of a view that came (1) or went (-1) at some node so far, with the moment."""
        if self._tables is None or self._reclaimer is None or view not in self.outputs:
            return []
        queries = [*self._model.queries, *self._questions.queries(view)]
        return [
            (now, sign, row)
            for now, sign, codes in self.report.changes(view)
            for row in self._tables.asked(view, self._reclaimer.recalled(view, codes), queries)
        ]

    def settled(self, view: str, since: float = 0.0) -> np.ndarray[Any, np.dtype[np.float64]]:
        """For each row that a view has now, when it came to stay; in ascending order, none before `since`."""
        if self._tables is None or view not in self.outputs:
            return np.zeros(0)
        return self.report.settled(view, self._tables.present(view), since)

    def converged(self, view: str, since: float = 0.0) -> float:
        """When the last of a view's rows came to stay."""
        found = self.settled(view, since)
        return float(found[-1]) if found.size else since

    def summary(self) -> dict[str, Any]:
        """The main numbers, for a table or JSON."""
        return self.report.table({view: self.converged(view) for view in self.outputs})

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
        """Bytes of the tables of all nodes, and about those of the lists and proofs that their rows have."""
        if self._tables is None or self._nodes is None or self._reclaimer is None:
            return 0
        proofs = 0 if self._nodes.proofs is None else self._nodes.proofs.nbytes()
        return self._tables.shard.nbytes + self._reclaimer.nbytes + proofs


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node of a simulation, to be read."""

    simulation: Simulation = field(repr=False)
    name: Any

    def rows(self, relation: str) -> set[tuple[Any, ...]]:
        """The rows of a relation that live at this node, at this moment."""
        return self.simulation._read(relation, self.name)


def _refuse_options(
    evaluation: str,
    tick: float,
    iteration: float,
    selections: str | Periodic,
    sharing: float | None,
    maintenance: str | None,
    caching: float,
) -> None:
    """Raise ValueError for options that no simulation can have."""
    if evaluation not in EVALUATIONS:
        raise ValueError(f"there is no evaluation {evaluation!r}; choose one of {', '.join(EVALUATIONS)}")
    if tick <= 0 or iteration < tick:
        raise ValueError(f"a tick is longer than 0 s, and an iteration no shorter: not {tick} and {iteration}")
    if isinstance(selections, str) and selections != "eager":
        raise ValueError(f"selections are 'eager' or Periodic(seconds), not {selections!r}")
    if sharing is not None and not sharing > 0:
        raise ValueError(f"rows wait longer than 0 seconds to be shared, not {sharing}")
    if maintenance not in MAINTENANCE:
        raise ValueError(f"there is no maintenance {maintenance!r}; choose None, 'count' or 'proofs'")
    if not (isinstance(caching, int | float) and caching >= 0):
        raise ValueError(f"answers are kept for 0 seconds or more after a question, not for {caching!r}")
