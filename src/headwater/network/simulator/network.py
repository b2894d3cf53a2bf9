"""A network of nodes that maintain one program's views together, in one process, message by message (000).

    network = Network(program, nodes=12, strategy="absorption")
    outcome = network.apply(insert={"link": rows})
    network.rows("reachable"); outcome.traffic.bytes

All strategies run the same plan over the same links, and their bytes are counted alike:

- `absorption`: rows carry absorption provenance; no node ever waits. `shipping` is `Lazy()` or `Eager(batch)`;
- `relative`: the same with derivation graphs;
- `dred`: no provenance; a deletion removes every row that it could concern, and then all nodes derive again;
- `witness`: Headwater's own: a row's node keeps one derivation of it, a deletion removes the rows that rested on it.

`apply` returns when no message is under way any more: then every view is what the rules say, whatever the delays were.
A transaction that fails (a number too large, a budget spent) leaves the network unusable: every later call raises
StateError.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

from headwater.core.errors import GuardError, StateError, UnknownRelation
from headwater.language.syntax import Query, Variable, Wildcard
from headwater.network.simulator.annotated_node import AnnotatedNode, FactNumbers
from headwater.network.simulator.layout.layout import Known, Places, layout
from headwater.network.simulator.node import Maker, Node
from headwater.network.simulator.operators.minship import Lazy, Shipping
from headwater.network.simulator.provenance.absorption import Absorption
from headwater.network.simulator.provenance.algebra import Algebra
from headwater.network.simulator.provenance.relative import Relative
from headwater.network.simulator.rows.table import RowChange
from headwater.network.simulator.rows.terms import Row
from headwater.network.simulator.scan import BaseScan, Rows
from headwater.network.simulator.two_phase_node import TwoPhaseNode
from headwater.network.simulator.wire import message
from headwater.network.simulator.wire.links import Delays, Delivery, Links, LinkTraffic
from headwater.pipeline import CompiledProgram, uncollected
from headwater.plan.model import Table, literal

STRATEGIES = ("dred", "relative", "absorption", "witness")


@dataclass(frozen=True, slots=True)
class TransactionBudget:
    """Where a transaction is stopped; None: no bound."""

    seconds: float | None = None
    bytes: int | None = None
    messages: int | None = 1_000_000
    rows: int | None = 50_000_000  # that are followed through rules: a recursion without end is found here


@dataclass(frozen=True, slots=True)
class NetworkOutcome:
    """What one transaction did: changes of the views, traffic between nodes, seconds of CPU of all nodes together."""

    changes: Mapping[str, tuple[list[Row], list[Row]]]  # rows that came, rows that went
    traffic: LinkTraffic
    seconds: float
    busiest: float = 0.0  # of these seconds, those of the node that took longest


@dataclass(slots=True)
class _Count:
    traffic: LinkTraffic = field(default_factory=LinkTraffic)
    started: float = 0.0
    followed: int = 0
    before: LinkTraffic = field(default_factory=LinkTraffic)


class Network:
    """Nodes, the links between them, and the views that they maintain."""

    def __init__(
        self,
        program: CompiledProgram,
        nodes: int,
        strategy: str = "absorption",
        *,
        shipping: Shipping | None = None,
        delays: Delays | None = None,
        budget: TransactionBudget | None = None,
        windows: Mapping[str, float] | None = None,
        places: Mapping[Any, int] | None = None,
        known: Known | None = None,
    ) -> None:
        """`windows` are the lifetimes of base rows by relation; `places` names the nodes of some locations' values."""
        if nodes < 1:
            raise ValueError(f"a network has one node or more, not {nodes}")
        self.layout = layout(program, known or {})
        self._places = Places(nodes, places or {})
        self._scan = BaseScan(self.layout, self._places, windows or {})
        self._links = Links(delays or Delays())
        self._budget = budget or TransactionBudget()
        self._count = _Count()
        self._broken = False
        self._busy: list[float] = []  # CPU seconds of each node in the present transaction
        self.numbers = FactNumbers()
        self.algebra: Algebra[Any] | None = _algebra(strategy)
        make = _maker(strategy, self.algebra, shipping or Lazy(), self.numbers)
        self.nodes: list[Node] = [make(number, self.layout, self._places) for number in range(nodes)]
        for node in self.nodes:
            node.watch(self._check_budget)
        self._transact(self._scan.first(), first=True)

    @property
    def traffic(self) -> LinkTraffic:
        """Since the network was made."""
        return self._count.traffic

    def apply(self, insert: Rows | None = None, delete: Rows | None = None, *, now: Any = None) -> NetworkOutcome:
        """One transaction over base rows; `now` is its time, for rows that live by the clock.

        Rows of streams that are later than their stream allows are left out; `late` counts them.
        """
        changes = self._scan.apply(insert or {}, delete or {}, None if now is None else self._scan.moment(now))
        with uncollected():  # rows and provenance hold no cycles either
            return self._transact(changes, first=False)

    def advance(self, now: Any) -> NetworkOutcome:
        """Let time pass: base rows whose window has ended go."""
        return self.apply(now=now)

    @property
    def now(self) -> float | None:
        """What the clock shows; None: no time is known yet."""
        return self._scan.now

    @property
    def late(self) -> Mapping[str, int]:
        """How many rows came too late, by stream."""
        return dict(self._scan.late)

    def rows(self, relation: str) -> set[Row]:
        """A view: those of its rows that the queries ask for, from all nodes."""
        if relation not in self.layout.tables:
            raise UnknownRelation(f"there is no relation `{relation}`")
        return set(self._asked(relation, (row for node in self.nodes for row in node.visible(relation))))

    def _asked(self, relation: str, rows: Iterable[Row]) -> list[Row]:
        """The rows that the queries ask for, as users see them."""
        own = [query for query in self.layout.queries if query.atom.relation == relation]
        table = self.layout.tables[relation]
        return [_seen(table, row) for row in rows if not own or any(_asks(query, row) for query in own)]

    def provenance(self, relation: str, row: Row) -> Any:
        """All that is known of a row of a view at its owner, as one annotation; None if there is none."""
        kept = self.annotations(relation, row)
        return reduce(self.algebra.either, kept) if self.algebra is not None and kept else None

    def annotations(self, relation: str, row: Row) -> list[Any]:
        """What is stored of a row of a view: one annotation, or with lazy shipping several."""
        annotated = (node for node in self.nodes if isinstance(node, AnnotatedNode))
        return [kept for node in annotated for kept in node.fixpoints[relation].store.kept(row)]

    def _transact(self, changes: list[dict[str, RowChange]], *, first: bool) -> NetworkOutcome:
        if self._broken:
            raise StateError("a transaction of this network failed half-way; start another network")
        self._broken = True
        self._count = _Count(self.traffic, time.process_time(), 0, replace(self.traffic))
        self._busy = [0.0] * len(self.nodes)
        for node, change in zip(self.nodes, changes, strict=True):
            node.open(change)
        for stage in range(self.layout.stages.count):
            for node in self.nodes:
                node.start(stage)
            for phase in self.nodes[0].phases:
                for node in self.nodes:
                    with self._timed(node):
                        node.run(phase, first=first)
                        self._post(node)
                self._settle()
            for node in self.nodes:
                node.finish()
        found: dict[str, tuple[list[Row], list[Row]]] = {}
        for name in self.layout.outputs:
            nets = [node.net(name) for node in self.nodes]
            came, went = ([row for net in nets for row in net.came], [row for net in nets for row in net.went])
            found[name] = self._asked(name, came), self._asked(name, went)
        for node in self.nodes:
            node.close()
        self.numbers.release()
        self._broken = False
        seconds = time.process_time() - self._count.started
        return NetworkOutcome(found, self.traffic.since(self._count.before), seconds, max(self._busy))

    @contextmanager
    def _timed(self, node: Node) -> Iterator[None]:
        started = time.process_time()
        yield
        self._busy[node.number] += time.process_time() - started

    def _settle(self) -> None:
        """Deliver messages until none is under way and no node holds anything back."""
        while True:
            while found := self._links.next():
                self._check_budget()
                receiver = self.nodes[found[0].receiver]
                with self._timed(receiver):
                    for delivery in found:
                        receiver.receive(delivery.sender, message.decode(delivery.content))
                    self._post(receiver)
            sent = self.traffic.messages
            for node in self.nodes:
                with self._timed(node):
                    node.flush()
                    self._post(node)
            if self.traffic.messages == sent:
                self.traffic.clock = self._links.now
                return

    def _post(self, node: Node) -> None:
        for receiver, batches in node.collect().items():
            content = message.encode(batches)
            self.traffic.messages += 1
            self.traffic.rows += sum(len(batch.rows) for batch in batches)
            self.traffic.bytes += len(content)
            self.traffic.provenance += sum(len(batch.provenance) for batch in batches)
            self._links.send(Delivery(node.number, receiver, content))

    def _check_budget(self, followed: int = 0) -> None:
        self._count.followed += followed
        used, budget = self.traffic.since(self._count.before), self._budget
        if budget.rows is not None and self._count.followed > budget.rows:
            raise GuardError(f"the transaction followed more than {budget.rows:,} rows; does a recursion never end?")
        if budget.messages is not None and used.messages > budget.messages:
            raise GuardError(f"the transaction sent more than {budget.messages:,} messages")
        if budget.bytes is not None and used.bytes > budget.bytes:
            raise GuardError(f"the transaction sent more than {budget.bytes:,} bytes")
        if budget.seconds is not None and time.process_time() - self._count.started > budget.seconds:
            raise GuardError(f"the transaction took longer than {budget.seconds:g} s")


def _algebra(strategy: str) -> Algebra[Any] | None:
    match strategy:
        case "absorption":
            return Absorption()
        case "relative":
            return Relative()
        case "dred" | "witness":
            return None
    raise ValueError(f"there is no strategy {strategy!r}; the strategies are {', '.join(STRATEGIES)}")


def _maker(strategy: str, algebra: Algebra[Any] | None, shipping: Shipping, numbers: FactNumbers) -> Maker:
    if algebra is None:
        return partial(TwoPhaseNode, witnesses=strategy == "witness")
    return partial(AnnotatedNode, algebra=algebra, shipping=shipping, numbers=numbers)


def _seen(table: Table, row: Row) -> Row:
    """A row in the columns of the program: a time that is not kept is None."""
    if table.shown is None:
        return row
    return tuple(None if column.at is None else row[column.at] for column in table.written)


def _asks(query: Query, row: Row) -> bool:
    """Whether a query asks for a row: its constants agree, and so do columns with the same variable."""
    bound: dict[str, Any] = {}
    for arg, value in zip(query.atom.args, row, strict=True):
        match arg:
            case Variable(name=name):
                if bound.setdefault(name, value) != value:
                    return False
            case Wildcard():
                continue
            case _:
                if literal(arg).value != value:
                    return False
    return True
