"""Events as changes of base rows, moment by moment: what a simulation, or a `Database`, is fed.

The state behind it: the base rows as scripted, and which nodes, links and sides of a partition are down. A row stands
while its node is up and, if it is a link, while the link, both its ends and both sides are; failures may overlap in any
way. Each moment's changes are the difference between the rows that stood before and those that stand after.

Every event is checked against the topology and the program before the first moment is given: an unknown node, link or
relation, a value that does not fit its column. All findings are raised at once, as a DataError.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from headwater.core.source import Span
from headwater.core.types import Type
from headwater.network.events.model import (
    LinkChanges,
    LinkFails,
    LinkReturns,
    NetworkEvent,
    NodeFails,
    NodeReturns,
    Partitioned,
    PartitionHeals,
    RowsChange,
)
from headwater.network.links import Topology
from headwater.network.placed import Findings
from headwater.pipeline import CompiledProgram
from headwater.program.model import Relation
from headwater.program.nearest import nearest

BAD_EVENT, UNKNOWN_PLACE = "HW813", "HW814"
Row = tuple[Any, ...]
COSTS = ("cost", "latency_ms", "latency")


@dataclass(frozen=True, slots=True)
class Moment:
    """What changes at one time."""

    time: float
    insert: Mapping[str, list[Row]]
    delete: Mapping[str, list[Row]]
    fails: tuple[str, ...] = ()  # nodes
    returns: tuple[str, ...] = ()
    cut: tuple[tuple[str, str], ...] = ()  # links of the topology that fail
    mended: tuple[tuple[str, str], ...] = ()  # and those that work again


@dataclass(slots=True)
class _Standing:
    """The scripted rows, and what is down."""

    program: CompiledProgram
    topology: Topology
    links: tuple[str, ...]  # names of link relations
    rows: dict[str, dict[Row, Row]] = field(default_factory=dict)  # by key
    first: dict[tuple[str, Row], Row] = field(default_factory=dict)  # link rows as they were at the start
    pairs: dict[tuple[str, frozenset[str]], set[Row]] = field(default_factory=dict)  # the keys of each link's rows
    nodes: set[str] = field(default_factory=set)
    cables: set[frozenset[str]] = field(default_factory=set)
    side: frozenset[str] = frozenset()

    def key(self, relation: str, row: Row) -> Row:
        key = self.program.checked.relation(relation).key
        return row if key is None else tuple(row[at] for at in key)

    def put(self, relation: str, row: Row) -> None:
        key = self.key(relation, row)
        self.rows.setdefault(relation, {})[key] = row
        if relation in self.links:
            self.pairs.setdefault((relation, frozenset(row[:2])), set()).add(key)

    def take(self, relation: str, row: Row) -> None:
        held = self.rows.setdefault(relation, {})
        key = self.key(relation, row)
        if held.get(key) == row:
            del held[key]
            if relation in self.links:
                self.pairs[relation, frozenset(row[:2])].discard(key)

    def standing(self) -> dict[str, set[Row]]:
        return {name: {row for row in held.values() if self._stands(name, row)} for name, held in self.rows.items()}

    def _stands(self, relation: str, row: Row) -> bool:
        if not row:
            return True
        if relation not in self.links:
            return row[0] not in self.nodes
        return self._works(row[0], row[1])

    def _works(self, one: str, other: str) -> bool:
        return (
            one not in self.nodes
            and other not in self.nodes
            and frozenset((one, other)) not in self.cables
            and (one in self.side) == (other in self.side)
        )

    def down(self) -> set[tuple[str, str]]:
        """The links of the topology over which nothing goes."""
        return {(link.src, link.dst) for link in self.topology.links if not self._works(link.src, link.dst)}

    def scale(self, one: str, other: str, factor: float) -> None:
        for name in self.links:
            relation = self.program.checked.relation(name)
            at = cost_column(relation)
            for key in sorted(self.pairs.get((name, frozenset((one, other))), ())):
                row = self.rows[name][key]
                if at is not None:
                    was = self.first.get((name, row[:2]), row)[at]
                    fresh = was * factor
                    value = max(1, round(fresh)) if isinstance(was, int) else fresh
                    self.take(name, row)
                    self.put(name, (*row[:at], value, *row[at + 1 :]))


def cost_column(relation: Relation) -> int | None:
    """The column of a link relation that holds its cost."""
    names = [column.name for column in relation.columns]
    found = next((names.index(name) for name in COSTS if name in names), None)
    return 2 if found is None and len(names) == 3 and not relation.declared else found


def staged(
    program: CompiledProgram,
    topology: Topology,
    links: tuple[str, ...],
    base: Mapping[str, Iterable[Row]],
    events: Iterable[NetworkEvent],
    passing: frozenset[str] = frozenset(),
) -> list[Moment]:
    """The moments of a scenario, in order; the first, at time 0, brings the base rows. Raises DataError.

    Rows of `passing` relations are there at their moment only.
    """
    ordered = sorted(events, key=lambda event: event.time)
    findings = Findings()
    checker = _Checker(program, topology, links, findings)
    fitting = [checker.fitted(event) for event in ordered]
    findings.settle()
    state = _Standing(program, topology, links)
    for relation, rows in base.items():
        for row in rows:
            state.put(relation, row)
            if relation in links:
                state.first[relation, row[:2]] = row
    shown: dict[str, set[Row]] = {name: set() for name in state.rows}
    moments: list[Moment] = []
    broken: set[tuple[str, str]] = set()
    at = 0
    time = 0.0
    while True:
        down = set(state.nodes)
        while at < len(fitting) and fitting[at].time == time:
            _apply(state, fitting[at])
            at += 1
        after = state.standing()
        names = dict.fromkeys((*shown, *after))
        insert = {name: sorted(after.get(name, set()) - shown.get(name, set()), key=order_of) for name in names}
        delete = {name: sorted(shown.get(name, set()) - after.get(name, set()), key=order_of) for name in names}
        turned = tuple(sorted(state.nodes - down)), tuple(sorted(down - state.nodes))
        failed = state.down()
        wires = tuple(sorted(failed - broken)), tuple(sorted(broken - failed))
        moment = Moment(time, _some(insert, keep=not moments), _some(delete), *turned, *wires)
        if not moments or moment.insert or moment.delete or any(turned) or any(wires):
            moments.append(moment)
        for name in passing:
            state.rows.pop(name, None)
            after.pop(name, None)
        shown, broken = after, failed
        if at == len(fitting):
            return moments
        time = fitting[at].time


def order_of(row: Row) -> tuple[tuple[str, Any], ...]:
    """What rows are sorted by: their values, also where these are lists or missing."""
    return tuple(
        (type(value).__name__, value if isinstance(value, int | float | str) else repr(value)) for value in row
    )


def _some(changes: dict[str, list[Row]], *, keep: bool = False) -> dict[str, list[Row]]:
    return {name: rows for name, rows in changes.items() if rows or keep}


def _apply(state: _Standing, event: NetworkEvent) -> None:
    match event:
        case RowsChange():
            for relation, row in event.deletes:
                state.take(relation, row)
            for relation, row in event.inserts:
                state.put(relation, row)
        case NodeFails():
            state.nodes.add(event.node)
        case NodeReturns():
            state.nodes.discard(event.node)
        case LinkFails():
            state.cables.add(frozenset((event.one, event.other)))
        case LinkReturns():
            state.cables.discard(frozenset((event.one, event.other)))
        case LinkChanges():
            state.scale(event.one, event.other, event.factor)
        case Partitioned():
            state.side = frozenset(event.nodes)
        case PartitionHeals():
            state.side = frozenset()
        case _:
            assert_never(event)


class _Checker:
    """Holds events against the topology and the program, and gives rows their types."""

    def __init__(
        self, program: CompiledProgram, topology: Topology, links: tuple[str, ...], findings: Findings
    ) -> None:
        self._program = program
        self._nodes = set(topology.nodes)
        self._pairs = {frozenset((src, dst)) for src, dst, _ in topology.channels}
        self._links = links
        self._findings = findings
        self._bases = {each.name: each for each in program.checked.relations if not each.derived}

    def fitted(self, event: NetworkEvent) -> NetworkEvent:
        match event:
            case RowsChange():
                return RowsChange(
                    event.time,
                    tuple((name, self._row(name, row, event.span)) for name, row in event.inserts),
                    tuple((name, self._row(name, row, event.span)) for name, row in event.deletes),
                    span=event.span,
                )
            case NodeFails() | NodeReturns():
                self._node(event.node, event.span)
            case LinkFails() | LinkReturns() | LinkChanges():
                if self._node(event.one, event.span) and self._node(event.other, event.span):
                    self._pair(event.one, event.other, event.span)
                if isinstance(event, LinkChanges):
                    self._has_cost(event.span)
            case Partitioned():
                for node in event.nodes:
                    self._node(node, event.span)
            case PartitionHeals():
                pass
            case _:
                assert_never(event)
        return event

    def _node(self, node: Any, span: Span | None) -> bool:
        if node in self._nodes:
            return True
        close = nearest(str(node), [str(each) for each in self._nodes])
        hint = f"did you mean {close!r}?" if close else "add the node to the topology, or correct the event"
        self._findings.add(UNKNOWN_PLACE, f"the topology has no node {node!r}", span, hint=hint)
        return False

    def _pair(self, one: str, other: str, span: Span | None) -> None:
        if frozenset((one, other)) not in self._pairs:
            hint = "add the link to the topology, or correct the event"
            self._findings.add(UNKNOWN_PLACE, f"no link joins {one!r} and {other!r}", span, hint=hint)

    def _has_cost(self, span: Span | None) -> None:
        if not any(cost_column(self._program.checked.relation(name)) is not None for name in self._links):
            names = ", ".join(f"`{name}`" for name in self._links)
            hint = "declare a column `cost`, or leave the event out"
            self._findings.add(BAD_EVENT, f"{names} has no cost that could change", span, hint=hint)

    def _row(self, name: str, row: Row, span: Span | None) -> Row:
        relation = self._bases.get(name)
        if relation is None:
            close = nearest(name, list(self._bases))
            hint = f"did you mean `{close}`?" if close else f"the base relations are {', '.join(sorted(self._bases))}"
            self._findings.add(BAD_EVENT, f"the program has no base relation `{name}`", span, hint=hint)
            return row
        columns = relation.visible
        if len(row) != len(columns):
            hint = f"give {', '.join(column.name for column in columns)}"
            message = f"{len(row)} value{'s' if len(row) != 1 else ''} for the {len(columns)} columns of `{name}`"
            self._findings.add(BAD_EVENT, message, span, hint=hint)
            return row
        values = tuple(
            self._value(value, column.type, f"{name}.{column.name}", span)
            for value, column in zip(row, columns, strict=True)
        )
        if self._node(values[0], span) and name in self._links and self._node(values[1], span):
            self._pair(values[0], values[1], span)
        return values

    def _value(self, value: Any, kind: Type | None, what: str, span: Span | None) -> Any:
        if not isinstance(value, str) or kind in (None, Type.STRING, Type.ADDRESS):
            return value
        try:
            if kind is Type.INT:
                return int(value)
            if kind is Type.FLOAT:
                return float(value)
            if kind is Type.BOOL and value in ("true", "false"):
                return value == "true"
        except ValueError:
            pass
        kind_name = kind.value if kind is not None else "any"
        hint = f"give a value of type {kind_name}" if kind in (Type.INT, Type.FLOAT, Type.BOOL) else "use a .jsonl file"
        self._findings.add(BAD_EVENT, f"{value!r} does not fit `{what}`, which is {kind_name}", span, hint=hint)
        return value
